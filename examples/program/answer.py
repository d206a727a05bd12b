#!/usr/bin/env python3
"""Answers a mail in two turns with the Messages API. It knows nothing of AWF: an address and a key
are in the environment, as the API's own client reads them, and all else is the standard library."""
import json
import os
import sys
import urllib.request

BASE = os.environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com")
MODEL = os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-4-5")


def ask(messages):
    """The text of the model's answer."""
    body = {"model": MODEL, "max_tokens": 500, "messages": messages}
    request = urllib.request.Request(BASE + "/v1/messages", json.dumps(body).encode(), {
        "x-api-key": os.environ["ANTHROPIC_API_KEY"],
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
    })
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
    return "".join(block["text"] for block in answer["content"] if block["type"] == "text")


mail = sys.stdin.read()
conversation = [{"role": "user", "content": "What does this mail want? In one line.\n\n" + mail}]
wish = ask(conversation)
conversation += [{"role": "assistant", "content": wish},
                 {"role": "user", "content": "Write the answer: three sentences at most."}]
print(json.dumps({"wish": wish, "answer": ask(conversation)}))
