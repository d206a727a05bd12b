#!/usr/bin/env bats
# bats file_tags=ci
# The page of a run as a conversation, in Chromium (tests/support/page.bash says what that needs).
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/writing
load ../../support/serve
load ../../support/page

prepare() { page_prepare; }
drive() { page_drive "$@"; }

# rich N [MODE]: a run with an event of every kind.
rich() {
	RICH=0f1e2d3c-0000-4000-8000-00000000001${1:-0}
	mkdir -p "$AWF_STORAGE/transcripts"
	node "$ROOT/tests/page/rich.mjs" "$RICH" "$AWF_STORAGE/blobs/$RICH" "${@:2}" | chain >"$AWF_STORAGE/transcripts/$RICH.jsonl"
}

@test "a run is shown as what was said: prompt, answers, tools as lines, reasons, each text once; events are the other view" {
	rich
	serve
	drive talk "$RICH"
}

@test "a run of commands: input, output, standard error, exit status" {
	awf-run --name commands -c 'awf-step up -- tr a-z A-Z | awf-step colours -q -- sh -c "cat; printf \"\\033[31mred\\033[0m\\n\""
		awf-step -n --try bad -q -- sh -c "echo why >&2; echo half; exit 4"
		awf-step -n nothing -q -- true' <<<hello || true
	serve
	drive commands @commands
}

@test "hostile Markdown is text or safe elements, loads nothing, and takes little time" {
	awf-run -n --name any -c true
	serve
	drive markdown
}

@test "what events hold is text in the conversation and the details, too" {
	rich 1 hostile
	rich 2 shapes
	serve
	drive talkText 0f1e2d3c-0000-4000-8000-000000000011 0f1e2d3c-0000-4000-8000-000000000012
}

# An answer of some ten seconds: thinking, Markdown that grows, a tool that answers with a picture, one that
# fails, one that is not allowed, a try that fails, a second answer.
@test "an answer that is written for ten seconds is watched in the conversation from its first word to its end" {
	scripted_model
	printf '\x89PNG\r\n\x1a\nabc' >x.png
	: >first
	script 1 'until [ ! -e "$SCRIPT/first" ]; do sleep 0.05; done' 'say "I think " thinking' 'sleep 0.3' 'say "about it." thinking' \
		'say "# Plan\n\nFirst a **pict"' 'sleep 0.5' 'say "ure** of it:\n\n- one\n"' 'for i in 2 3 4 5 6 7 8 9; do say "- item $i\n"; sleep 0.6; done' 'say "{of" tool' hold \
		"blocks '{\"type\":\"thinking\",\"thinking\":\"I think about it.\"},{\"type\":\"text\",\"text\":\"# Plan\\n\\nFirst a **picture** of it:\\n\\n- one\\n- item 2\\n- item 3\\n- item 4\\n- item 5\\n- item 6\\n- item 7\\n- item 8\\n- item 9\\n\"},{\"type\":\"tool_use\",\"tool_id\":\"t1\",\"tool_name\":\"shot\",\"tool_input\":{\"of\":\"all\"}},{\"type\":\"tool_use\",\"tool_id\":\"t2\",\"tool_name\":\"bad\",\"tool_input\":{}},{\"type\":\"tool_use\",\"tool_id\":\"t3\",\"tool_name\":\"ship\",\"tool_input\":{\"to\":\"all\"}}' tool_use"
	script 2 'say wrong' 'sleep 0.3' 'fails overloaded'
	script 3 'say "It is "' 'sleep 1' 'say "\`done\`"' 'sleep 1' 'say "."' 'answer "It is \`done\`."'
	tool shot '"input_schema":{"type":"object"},"effects":"none"' "echo '[{\"type\":\"text\",\"text\":\"here\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"$(base64 -w0 x.png)\"}]'"
	tool bad '"input_schema":{"type":"object"},"effects":"none"' 'echo "no such thing" >&2; exit 4'
	tool ship '"input_schema":{"type":"object"},"effects":"external"' 'echo shipped'
	printf -- '---\nname: slow\nmodel: scripted/m\ntools: [shot, bad, ship]\n---\nBe brief.\n' >agents/slow.md
	awf-run -n --name live -c 'awf-step -n -a slow --allow-tools shot,bad --retries 1 --delay 0 -p "What is the **plan**?" s -q' 3>&- &
	runner=$!
	eventually grep -qs step.started "$AWF_STORAGE/latest"
	serve --host localhost
	drive watched @live "$PWD/first" "$PWD/held"
	wait "$runner" || true
}

@test "fifty agents at once: each in its own section, in the order in which they began, each answer once" {
	scripted_model
	: >first
	script 1 'until [ ! -e "$SCRIPT/first" ]; do sleep 0.05; done' 'say "hm " thinking' 'say "one "' 'sleep 0.5' 'say "two "' hold 'answer "one two three"'
	printf -- '---\nname: slow\nmodel: scripted/m\n---\nBe brief.\n' >agents/slow.md
	awf-run -n --name live -c 'for i in $(seq 50); do awf-step -n -a slow -p "number $i" "s$i" -q & done; wait' 3>&- &
	runner=$!
	eventually grep -qs step.started "$AWF_STORAGE/latest"
	serve
	drive sections @live 50 "$PWD/first" "$PWD/held"
	wait "$runner"
}

@test "a conversation of 5,000 messages opens within a second, and is scrolled as events are" {
	LONG=0f1e2d3c-0000-4000-8000-000000000001
	mkdir -p "$AWF_STORAGE/transcripts"
	node "$ROOT/tests/page/long.mjs" 15000 "$LONG" | chain >"$AWF_STORAGE/transcripts/$LONG.jsonl"
	serve
	drive longTalk "$LONG" 16 >&3
}

@test "keys alone: the conversation, what is folded in it, the events, the details, and back" {
	rich
	serve
	drive talkKeys "$RICH"
}

@test "three columns, two, or one: nothing is cut off, bars are seen, and axe finds nothing, in light and dark" {
	rich
	awf-run --name commands -c 'awf-step up -- tr a-z A-Z' <<<hello >/dev/null
	serve
	drive talkAxe "$RICH" @commands
}
