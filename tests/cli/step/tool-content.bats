#!/usr/bin/env bats
# Results of tools that are more than text: images and documents reach each API as what they are.
# shellcheck disable=SC2154,SC2016 # bats sets stderr; jq has dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	mkdir tools
	printf '\x89PNG\r\n\x1a\nabc' >x.png
	printf '%%PDF-1.7 \0 doc' >x.pdf
	PNG=$(base64 -w 0 x.png) PDF=$(base64 -w 0 x.pdf)
	tool shot '"effects":"none"' "cat <<'END'
[{\"type\":\"text\",\"text\":\"here\"},
 {\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"$(base64 -w 8 x.png | sed 's/$/\\n/' | tr -d '\n')\"},
 {\"type\":\"resource\",\"resource\":{\"uri\":\"file:///x.pdf\",\"mimeType\":\"application/pdf\",\"blob\":\"$PDF\"}},
 {\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"aGk=\"},
 {\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a.txt\",\"text\":\"within\"}},
 {\"type\":\"resource_link\",\"uri\":\"https://example.com/b\",\"name\":\"b\"}]
END"
	WORDS='here
[image/png, 11 B]
[application/pdf file:///x.pdf, 14 B]
[audio/wav, 2 B]
within
https://example.com/b'
}

# PROVIDER/MODEL [TOOL]: the agent calls the tool once; the body of the second request.
second() {
	local provider=${1%%/*} input=${3-}
	[ -n "$input" ] || input='{}'
	printf -- '---\ntools: [%s]\n---\nBe brief.\n' "${2-shot}" >a.md
	case $provider in
	anthropic)
		stream tool_use "$(use t1 "${2-shot}" "$input")" >call
		text done >said
		;;
	openai)
		{
			jq -cn --arg name "${2-shot}" --arg in "$input" '{id: "c", object: "chat.completion.chunk", model: "m", choices: [{index: 0, delta: {role: "assistant", tool_calls: [{index: 0, id: "t1", type: "function", function: {name: $name, arguments: $in}}]}}]}'
			echo '{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}'
		} >call
		echo '{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}' >said
		;;
	google)
		jq -cn --arg name "${2-shot}" --argjson in "$input" '{candidates: [{content: {role: "model", parts: [{functionCall: {name: $name, args: $in}}]}, finishReason: "STOP"}]}' >call
		echo '{"candidates":[{"content":{"role":"model","parts":[{"text":"done"}]},"finishReason":"STOP"}]}' >said
		;;
	openai-responses)
		jq -cn --arg name "${2-shot}" --arg in "$input" '{type: "response.completed", response: {id: "r", object: "response", status: "completed", model: "m", output: [{type: "function_call", id: "f", call_id: "t1", name: $name, arguments: $in, status: "completed"}], usage: {input_tokens: 1, output_tokens: 1}}}' >call
		jq -cn '{type: "response.completed", response: {id: "r", object: "response", status: "completed", model: "m", output: [{type: "message", id: "g", role: "assistant", status: "completed", content: [{type: "output_text", text: "done", annotations: []}]}], usage: {input_tokens: 1, output_tokens: 1}}}' >said
		;;
	esac
	model_server --answer call --answer said
	same "$(awf-run awf-step -a a.md -m "$1" ask -r <<<x)" 'done'
	jq -c '.body | if type == "string" then fromjson else . end' "$MODEL_SERVER_LOG" | tail -n 1
}

@test "Anthropic: blocks of the result" {
	same "$(second anthropic/m | jq -c '.messages[-1].content[0].content')" "$(jq -cn --arg png "$PNG" --arg pdf "$PDF" '[
		{type: "text", text: "here"},
		{type: "image", source: {type: "base64", media_type: "image/png", data: $png}},
		{type: "document", source: {type: "base64", media_type: "application/pdf", data: $pdf}, title: "file:///x.pdf"},
		{type: "text", text: "[audio/wav, 2 B]"}, {type: "text", text: "within"}, {type: "text", text: "https://example.com/b"}]')"
}

@test "Responses: items of the output" {
	same "$(second openai-responses/m | jq -c '.input[-1].output')" "$(jq -cn --arg png "$PNG" --arg pdf "$PDF" '[
		{type: "input_text", text: "here"},
		{type: "input_image", image_url: ("data:image/png;base64," + $png)},
		{type: "input_file", filename: "file:///x.pdf", file_data: ("data:application/pdf;base64," + $pdf)},
		{type: "input_text", text: "[audio/wav, 2 B]"}, {type: "input_text", text: "within"},
		{type: "input_text", text: "https://example.com/b"}]')"
}

@test "Chat Completions: words in the result, files in a message behind it" {
	body=$(second openai/m)
	same "$(jq -r '.messages[-2] | .role, .content' <<<"$body")" "tool
$WORDS"
	same "$(jq -c '.messages[-1]' <<<"$body")" "$(jq -cn --arg png "$PNG" --arg pdf "$PDF" '{role: "user", content: [
		{type: "text", text: "The files that the tools gave, in the order of their results:"},
		{type: "image_url", image_url: {url: ("data:image/png;base64," + $png)}},
		{type: "file", file: {filename: "file:///x.pdf", file_data: ("data:application/pdf;base64," + $pdf)}}]}')"
}

@test "Gemini: parts of the response, or beside it for older models" {
	body=$(second google/gemini-3-flash)
	same "$(jq -r '.contents[-1].parts[0].functionResponse.response.output' <<<"$body")" "$WORDS"
	same "$(jq -c '.contents[-1].parts | map(keys), .[0].functionResponse.parts' <<<"$body")" "[[\"functionResponse\"]]
$(jq -cn --arg png "$PNG" --arg pdf "$PDF" '[{inlineData: {mimeType: "image/png", data: $png}}, {inlineData: {mimeType: "application/pdf", data: $pdf}}]')"
	body=$(second google/gemini-2.5-pro)
	same "$(jq -c '.contents[-1].parts | map(keys), .[0].functionResponse.parts, .[1].inlineData.data' <<<"$body")" "[[\"functionResponse\"],[\"inlineData\"],[\"inlineData\"]]
null
\"$PNG\""
}

@test "a file that is read: the bytes that the API gets are those of the file, and a blob has them" {
	same "$(second anthropic/m read '{"file_path":"x.png"}' | jq -r '.messages[-1].content[0].content[0].source.data' | base64 -d | cmp - x.png; echo $?)" 0
	same "$(JQ=jq payloads tool.result .output)" '[{"type":"image","mimeType":"image/png","data":null}]'
	same "$(jq -c 'select(.type == "tool.result").refs | map([.at, .bytes])' "$(transcript)")" '[["/payload/output/0/data",11]]'
	cmp x.png "$AWF_STORAGE/blobs/"*/"$(sha256sum <x.png | cut -c1-64)"
	awf-verify -q @
	same "$(second anthropic/m read '{"file_path":"x.pdf"}' | jq -c '.messages[-1].content[0].content[0] | [.type, .source.media_type, .title]')" '["document","application/pdf","x.pdf"]'
	cp x.png x.bin
	printf 'a\0b' >y.bin
	same "$(second anthropic/m read '{"file_path":"x.bin"}' | jq -c '.messages[-1].content[0].content[0].type')" '"image"'
	[[ $(second anthropic/m read '{"file_path":"y.bin"}' | jq -c '.messages[-1].content[0]') == *'this is a binary file'* ]]
}

@test "who follows a run sees what they are" {
	second anthropic/m >/dev/null
	same "$(awf-tail @ | sed -n 's/.*result shot ([^)]*): //p')" "${WORDS//$'\n'/ }"
}

@test "the record replays, resumes and goes on with them" {
	second anthropic/m >/dev/null
	awf-replay -q @
	# Killed after the tool: the second request is the same.
	stream tool_use "$(use t1 shot '{}')" >call
	text done >said
	model_server --answer call --fault 2:stall --answer said
	awf-run --name cut awf-step -a a.md -m anthropic/m ask -r <<<x &
	asking=$!
	twice() { [ "$(wc -l <"$MODEL_SERVER_LOG")" -ge 2 ]; }
	eventually twice
	awf-ctl cancel @cut
	wait "$asking" || true
	model_server --answer said
	awf-run --resume @cut >/dev/null
	same "$(jq -c '.body | if type == "string" then fromjson else . end | .messages[-1].content[0].content[1].source.data' "$MODEL_SERVER_LOG")" "\"$PNG\""
}

# bats test_tags=turn:2
@test "what is nearly such a list is data" {
	while IFS= read -r out; do
		tool shot '"effects":"none"' "cat <<'END'
$out
END"
		same "$(second anthropic/m | jq -c '.messages[-1].content[0].content | type')" '"string"'
	done <<-'END'
		[{"type":"text","text":"only"}]
		[{"type":"image","data":"aGk="}]
		[{"type":"image","data":1,"mimeType":"image/png"}]
		[{"type":"video","data":"aGk=","mimeType":"video/x"}]
		[{"type":"image","data":"aGk=","mimeType":"image/png"},7]
		{"type":"image","data":"aGk=","mimeType":"image/png"}
		[]
	END
}

# LIST: what the API gets of a tool that prints it.
gets() {
	tool shot '"effects":"none"' "echo '$1'"
	second anthropic/m | jq -c '.messages[-1].content[0].content | map([.type, .text // .source.media_type])'
}

# bats test_tags=turn:2
@test "an image is what its bytes are; what is none does not go to the API, which would refuse it all" {
	image() { printf '[{"type":"image","mimeType":"%s","data":"%s"}]' "$1" "$2"; }
	same "$(gets "$(image image/png '###')")" '[["text","[image/png]: no base64"]]'
	same "$(gets "$(image image/png "data:image/png;base64,$PNG")")" '[["text","[image/png]: no base64"]]'
	same "$(gets "$(image image/png '')")" '[["text","[image/png, 0 B]: empty"]]'
	same "$(gets "$(image image/png aGk=)")" '[["text","[image/png, 2 B]: its bytes are none"]]'
	same "$(gets "$(image image/jpeg "$PNG")")" '[["image","image/png"]]'
	same "$(gets "$(image image/png "$PDF")")" '[["document","application/pdf"]]'
	resource() { printf '[{"type":"resource","resource":{"uri":"x:a"%s,"blob":"%s"}}]' "$1" "$2"; }
	same "$(gets "$(resource '' "$PNG")")" '[["image","image/png"]]'
	same "$(gets "$(resource ',"mimeType":"application/octet-stream"' "$PNG")")" '[["image","image/png"]]'
	same "$(gets "$(resource ',"mimeType":"application/pdf"' aGk=)")" '[["text","[application/pdf x:a, 2 B]: its bytes are none"]]'
}

@test "a masked run has what its filter lets through" {
	tool shot '"effects":"none"' "echo '[{\"type\":\"image\",\"data\":\"$PNG\",\"mimeType\":\"image/png\"}]'"
	printf -- '---\ntools: [shot]\n---\nBe brief.\n' >a.md
	stream tool_use "$(use t1 shot '{}')" >call
	text done >said
	model_server --answer call --answer said
	awf-run --mask cat awf-step -a a.md -m anthropic/m ask -r <<<x
	same "$(payloads tool.result '.output[0].data')" "\"$PNG\""
}

# bats test_tags=turn:2
@test "a result that no API would take is the model's to know of, not the record's to keep" {
	printf -- '---\ntools: [shot]\n---\nBe brief.\n' >a.md
	stream tool_use "$(use t1 shot '{}')" >call
	text 'done' >said
	# PROGRAM WORDS: what it prints is told of in these words.
	refused() {
		tool shot '"effects":"none"' "$1"
		model_server --answer call --answer said
		run -0 awf-run --name refused awf-step -a a.md -m anthropic/m ask -r <<<x
		same "$output" 'done'
		same "$(jq -c 'select(.type == "tool.result") | .payload | [.output, .error.message]' "$(transcript)")" "[null,\"$2\"]"
		[ "$(wc -c <"$(transcript)")" -lt 100000 ]
		same "$(find "$AWF_STORAGE/blobs" -type f -size +0 -newer "$MODEL_SERVER_LOG" | wc -l)" 0
	}
	# Without an end; it is ended, and what it printed is not a text that is cut somewhere.
	refused 'yes' 'ended because its output is larger than 32.0 MiB'
	refused "python3 -S -c 'print(\"[\" + \",\".join([\"\"\"{\\\"type\\\":\\\"image\\\",\\\"data\\\":\\\"iVBORw0KGgo=\\\",\\\"mimeType\\\":\\\"image/png\\\"}\"\"\"] * 1001) + \"]\")'" \
		'the result of a tool has at most 1000 files'
}

# bats test_tags=turn:2
@test "nor one of an MCP server" {
	cat >server <<-'END'
		#!/usr/bin/env -S python3 -S
		import json, sys
		for line in sys.stdin:
		    m = json.loads(line)
		    if m.get("method") == "initialize":
		        r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
		    elif m.get("method") == "tools/list":
		        r = {"tools": [{"name": "large", "inputSchema": {"type": "object"}}]}
		    elif m.get("method") == "tools/call":
		        r = {"content": [{"type": "text", "text": "x" * 40000000}]}
		    else:
		        continue
		    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
	END
	chmod +x server
	printf -- '---\nmcp_servers: [s]\n---\nBe brief.\n' >a.md
	echo "{\"mcpServers\":{\"s\":{\"command\":\"$PWD/server\"}}}" >.mcp.json
	stream tool_use "$(use t1 mcp__s__large '{}')" >call
	text 'done' >said
	model_server --answer call --answer said
	run -0 awf-run awf-step -a a.md -m anthropic/m ask -r <<<x
	same "$output" 'done'
	same "$(jq -c 'select(.type == "tool.result") | .payload | [.output, .error.message]' "$(transcript)")" \
		'[null,"the result of a tool has at most 32 MiB"]'
}
