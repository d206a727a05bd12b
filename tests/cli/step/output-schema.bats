#!/usr/bin/env bats
# bats file_tags=turn:2
# Answers that have to keep to a JSON Schema.
# shellcheck shell=bash disable=SC2154,SC2016 # bats sets stderr; jq has dollars of its own
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/resume
load ../../support/scripted

SCHEMA='{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}'

prepare() {
	resume_tools
	mkdir agents tools
	tool note '"effects":"external"' 'ledger note'
	told_provider
	extractor
	printf '#!/bin/sh\n%s\n' 'echo question | awf-step -a extractor ask' >flow.awf
	chmod +x flow.awf
}

# An agent with this schema and further lines of front matter.
extractor() {
	printf -- '---\nprovider: told\nmodel: m\noutput_schema: %s\n%s\n---\nExtract.\n' "${2-$SCHEMA}" "${1-}" \
		>agents/extractor.md
}

# A provider that answers turn N with the text of the file answer.N; if there is a file
# hold.N it is held before.
told_provider() {
	cat >bin/awf-provider-told <<-'END'
		#!/bin/sh
		while read -r line; do
			printf '%s\n' "$line" >>"$LEDGERS/requests.jsonl"
			turn=$(printf '%s' "$line" | jq '[.messages[] | select(.role == "assistant")] | length')
			[ ! -e "$LEDGERS/hold.$turn" ] || hold </dev/null
			printf '%s' "$line" | jq -c --rawfile text "$LEDGERS/answer.$turn" '{id, type: "message",
				blocks: [{type: "text", text: $text}], model: "told-1", stop_reason: "end_turn",
				usage: {input_tokens: 10, output_tokens: 5}}'
		done
	END
	chmod +x bin/awf-provider-told
}

# The texts of the answers, one after another.
answers() {
	local turn=0 text
	rm -f requests.jsonl
	for text; do
		printf '%s' "$text" >answer.$turn
		turn=$((turn + 1))
	done
}

ask() { awf-step -a extractor ask "$@" <<<question; }

@test "an answer that keeps to the schema is JSON in the state line, by its own bytes" {
	answers ' {"n": 1.0} '
	ask | grep '^{"data":{"n":1.0},"metadata":'
	same "$(ask -r)" '{"n":1.0}'
	ask --into found | grep '^{"data":{"input":"question","found":{"n":1.0}},'
	same "$(ask | awf-step next -r -- jq -c '.n + 1')" 2
	ask -q
	grep '"type":"step.completed".*"result":{"n":1.0},' "$(transcript)"
	awf-verify -q
}

@test "the schema true takes any JSON value, and is asked for as {}" {
	answers '[1, "two"]'
	echo true >any.json
	extractor '' true
	ask | grep '^{"data":\[1,"two"\],"metadata":'
	awf-step -m told/m --output-schema any.json any <<<question | grep '^{"data":\[1,"two"\],"metadata":'
	same "$(jq -c .output_schema requests.jsonl | sort -u)" '{}'
	echo false >any.json
	run -2 --separate-stderr awf-step -m told/m --output-schema any.json none <<<question
	same "$stderr" 'awf-step: any.json: expected a JSON Schema, an object or true, got false'
}

@test "an answer is held to a pattern that looks ahead" {
	answers '{"mail":"a..b@example.org"}' '{"mail":"a.b@example.org"}'
	extractor '' '{"type":"object","properties":{"mail":{"type":"string","format":"email","pattern":"^(?!\\.)(?!.*\\.\\.)[a-z.]*@[a-z.]+$"}}}'
	same "$(ask -r)" '{"mail":"a.b@example.org"}'
}

@test "the system prompt tells the schema, and the request has it" {
	export JQ=jq
	answers '{"n":1}'
	ask -q
	same "$(jq -c .output_schema requests.jsonl)" "$SCHEMA"
	same "$(jq -r .system requests.jsonl)" "Extract.

The last answer has to be one JSON value that fits this JSON Schema, and nothing else: no words around it, no Markdown.

$SCHEMA"
	same "$(payloads message.user .system_prompt)" "$(jq -c .system requests.jsonl)"
	same "$(ask --dry-run | jq -c '[.system, .output_schema]')" "$(jq -c '[.system, .output_schema]' requests.jsonl)"
	# The API is held to it, where it can be.
	extractor 'provider: anthropic'
	sed -i '/^provider: told/d; s/^model: m/model: claude-sonnet-4-5/' agents/extractor.md
	text '{\"n\":1}' >answer
	model_server --answer answer
	same "$(ask -r)" '{"n":1}'
	same "$(bodies | jq -c '.output_config.format.schema.required')" '["n"]'
}

@test "one fence around it is none of the answer" {
	local text
	for text in $'```json\n{"n":1}\n```' $'\n```\n{"n":1}\n```\n' $'```JSON \n\n{"n":\n1}```'; do
		answers "$text"
		same "$(ask -r)" '{"n":1}'
	done
	same "$(payloads message.assistant .turn)" 0
	for text in $'Here:\n```json\n{"n":1}\n```' '```{"n":1}```' '```' '``` ```'; do
		answers "$text" '{"n":2}'
		same "$(ask -r)" '{"n":2}'
	done
}

@test "a byte order mark is no part of an answer, of a schema, nor of what a tool and a program before a turn say" {
	local mark=$'\xef\xbb\xbf' text
	for text in "$mark"'{"n":1}' $'```json\n'"$mark"$'{"n":1}\n```' "$mark"$'```\n{"n":1}\n```' $'\n'"$mark"' {"n":1}'; do
		answers "$text"
		ask | grep '^{"data":{"n":1},"metadata":'
		same "$(ask -r)" '{"n":1}'
		awf-verify -q
	done
	printf '%s%s' "$mark" "$SCHEMA" >schema.json
	printf '%s{"command":["true"],"input_schema":%s}' "$mark" "$SCHEMA" >tools/marked.tool.json
	extractor 'tools: [marked]' ../schema.json
	ask -q
	tail -n 1 requests.jsonl | jq -e --argjson schema "$SCHEMA" '[.output_schema, .tools[0].input_schema] == [$schema, $schema]'
	printf '#!/bin/sh\nprintf %%s \x27%s{"params":{"temperature":0}}\x27\n' "$mark" >before
	chmod +x before
	extractor "before_turn: [$PWD/before]"
	ask -q
	same "$(tail -n 1 requests.jsonl | jq .params.temperature)" 0
	awf-verify -q
}

@test "an answer that does not is sent back with what is wrong" {
	answers 'The number is 1.' '{"n":"1"}' '{"n":1}'
	same "$(ask -r)" '{"n":1}'
	same "$(types)" 'message.user message.assistant message.user message.assistant message.user message.assistant '
	same "$(payloads message.user '[.turn, .blocks[0].text, .blocks[0].fidelity]' | tail -n 2)" \
		'[1,"The answer does not keep to the JSON Schema: not JSON: expected a value\n\nGive the whole answer again: the JSON value alone, nothing before or behind it.","router"]
[2,"The answer does not keep to the JSON Schema: /n: expected integer, got string\n\nGive the whole answer again: the JSON value alone, nothing before or behind it.","router"]'
	same "$(jq -c '[.messages[].role]' requests.jsonl | tail -n 1)" '["user","assistant","user","assistant","user"]'
	same "$(payloads step.completed '[.result, .error]')" '[{"n":1},null]'
	awf-verify -q
}

@test "after output_repairs the call fails, and says why" {
	answers '{}' '{"n":1,"m":2}' '{"n":[]}' '{"n":1}'
	run -3 --separate-stderr ask
	same "$stderr" "awf-step: ask: extractor: the answer does not keep to output_schema: /n: expected integer, got array; it begins: {\"n\":[]}"
	same "$(jq -c '[.data, .metadata.error.code]' <<<"$output")" '["question","schema"]'
	same "$(payloads message.assistant .turn | paste -sd' ')" '0 1 2'
	extractor 'output_repairs: 0'
	run -3 --separate-stderr ask
	same "$stderr" "awf-step: ask: extractor: the answer does not keep to output_schema: 'n' is missing; it begins: {}"
	extractor 'output_repairs: 3'
	same "$(ask -r)" '{"n":1}'
	run -3 --separate-stderr ask --max-turns 2
	same "$stderr" 'awf-step: ask: extractor: reached max_turns (2) without a result'
	answers "Sorry, ${LONG:=$(printf '%080d' 0)}"
	extractor 'output_repairs: 0'
	run -3 --separate-stderr ask
	same "$stderr" "awf-step: ask: extractor: the answer does not keep to output_schema: not JSON: expected a value; it begins: Sorry, ${LONG:0:52}…"
	answers '' '' ''
	extractor
	run -3 --separate-stderr ask
	same "$stderr" 'awf-step: ask: extractor: the answer does not keep to output_schema: not JSON: it has no text'
}

@test "a file, from the directory of the agent's; --output-schema comes before it" {
	mkdir agents/schemas
	printf '{ "type": "array",\n  "items": { "const": 1.50 } }\n' >agents/schemas/list.json
	extractor '' schemas/list.json
	answers '[1.5]'
	same "$(ask -r)" '[1.5]'
	grep -F '"output_schema":{"type":"array","items":{"const":1.50}}' requests.jsonl
	same "$(payloads step.started .files | jq -c 'map(select(.program | not).path | sub(".*/agents/"; ""))')" '["extractor.md","schemas/list.json"]'
	echo '{"type":"string"}' >text.json
	answers '"one"'
	same "$(ask -r --output-schema text.json)" one
	same "$(awf-step -m told/m -p 'x' ask -n --output-schema text.json | jq -c .data)" '"one"'
	run -1 --separate-stderr awf-step --output-schema text.json ask -- cat
	same "$stderr" 'awf-step: --output-schema: only with -a, -m or --ask'
}

@test "what the schema says is part of the definition" {
	extractor '' list.json
	echo '{"type":"array"}' >agents/list.json
	answers '[]'
	ask -q
	before=$(payloads step.started .definition_sha256)
	ask -q
	same "$(payloads step.started .definition_sha256)" "$before"
	echo '{"type":["array"]}' >agents/list.json
	ask -q
	differs=$(payloads step.started .definition_sha256)
	[ "$differs" != "$before" ]
}

@test "a bad schema is refused by file and line" {
	extractor '' '{type: object, require: [n]}'
	run -2 --separate-stderr ask
	same "$stderr" "awf-step: agents/extractor.md:4: output_schema: /require: unknown keyword (did you mean 'required'?)"
	extractor '' '[1]'
	run -2 --separate-stderr ask
	same "$stderr" 'awf-step: agents/extractor.md:4: output_schema: expected a JSON Schema, an object or true, got list'
	extractor '' list.json
	run -2 --separate-stderr ask
	[[ $stderr == 'awf-step: agents/extractor.md:4: output_schema: '*'agents/list.json: unable to open'* ]]
	printf '{"type":\n5x}' >agents/list.json
	run -2 --separate-stderr ask
	[[ $stderr == 'awf-step: agents/extractor.md:4: output_schema: '*'agents/list.json:2: '* ]]
	extractor
	run -2 --separate-stderr ask --output-schema nowhere.json
	same "$stderr" 'awf-step: nowhere.json: unable to open: No such file or directory'
	echo '{"items":{"type":5}}' >bad.json
	extractor
	run -2 --separate-stderr ask --output-schema bad.json
	[[ $stderr == 'awf-step: bad.json: /items/type: expected null, boolean, '* ]]
	extractor 'output_repairs: -1'
	run -2 --separate-stderr ask
	[[ $stderr == 'awf-step: agents/extractor.md:5: output_repairs: '* ]]
}

@test "with tools: only the last answer counts" {
	extractor 'tools: [note]
provider: anthropic'
	sed -i '/^provider: told/d' agents/extractor.md
	stream tool_use '{"type":"text","text":"I note it."}' "$(use t1 note '{"n":1}')" >first
	text 'It is done.' >second
	text '{\"n\":7}' >third
	model_server --answer first --answer second --answer third
	same "$(ask -r)" '{"n":7}'
	same "$(types)" 'message.user message.assistant tool.call tool.result message.assistant message.user message.assistant '
	awf-verify -q
}

@test "with a stop tool its arguments are checked instead, and refused as a result" {
	export JQ=jq
	scripted_provider
	extractor 'stop_when: {tool: report}
output_repairs: 1'
	sed -i 's/^provider: told/provider: scripted/' agents/extractor.md
	script "$(called t1 report '{"n":"x"}')" "$(called t2 report '{"n":2}')"
	same "$(ask -r)" '{"n":2}'
	# It is offered with the schema, and no other answer is held to it.
	same "$(jq -sc '.[0] | [.tools[0].input_schema, .output_schema]' requests.jsonl)" "[$SCHEMA,null]"
	same "$(jq -sr '.[0].system' requests.jsonl | sed -n 3p)" 'The arguments of the tool report have to fit this JSON Schema:'
	same "$(payloads tool.result '[.call_id, .error.code]' | paste -sd' ')" '["t1","schema"] ["t2",null]'
	script "$(called t1 report '{"n":"x"}')" "$(called t2 report '{"n":[]}')" "$(called t3 report '{"n":2}')"
	run -3 --separate-stderr ask
	same "$stderr" 'awf-step: ask: extractor: report: the arguments break the schema: /n: expected integer, got array'
	same "$(payloads step.completed .error.code)" '"schema"'
	# One with a file of its own, which says less, is not run for such arguments.
	tool report '"effects":"external"' 'ledger report'
	script "$(called t1 report '{"n":"x"}')" "$(called t2 report '{"n":2}')"
	same "$(ask -r)" '{"n":2}'
	same "$(entries report)" 1
	awf-verify -q
}

@test "with phases the last output is checked, with a stop command the text it stops at" {
	scripted_provider
	extractor 'phases: [{name: a, instructions: Do a.}, {name: b, instructions: Do b.}]'
	sed -i 's/^provider: told/provider: scripted/' agents/extractor.md
	script "$(called c1 continue_workflow '{"token":"@TOKEN","output":"any"}')" \
		"$(called c2 finish_workflow '{"token":"@TOKEN","output":"any"}')" \
		"$(called c3 finish_workflow '{"token":"@TOKEN","output":{"n":3}}')"
	same "$(ask -r)" '{"n":3}'
	same "$(payloads tool.result '[.call_id, .error.code, .error.message]' | sed -n 2p)" \
		"[\"c2\",\"schema\",\"expected object, got string; phase 2 of 2, 'b', goes on\"]"
	same "$(jq -sr '.[0].system' requests.jsonl | sed -n 3p)" 'The output that is given to finish_workflow has to fit this JSON Schema:'
	extractor 'tools: [note]
stop_when: {command: "grep -q stop"}'
	sed -i 's/^provider: told/provider: scripted/' agents/extractor.md
	script "$(said 'I stop'),$(called t1 note '{}')" "$(said '{"n":1}')"
	same "$(ask -r)" '{"n":1}'
	same "$(types)" 'message.user message.assistant tool.call tool.result message.user message.assistant '
	awf-verify -q
}

@test "before_turn and handoffs: who ends the call has the schema" {
	answers 'no JSON'
	printf '%s\n' '#!/bin/sh' 'jq -c "{end: {result: .}}" result' >end
	chmod +x end
	extractor 'before_turn: ./end'
	echo 5 >result
	run -3 --separate-stderr ask
	same "$stderr" 'awf-step: ask: extractor: the result of before_turn does not keep to output_schema: expected object, got integer'
	echo '{"n":5}' >result
	same "$(ask -r)" '{"n":5}'
	scripted_provider
	extractor 'handoffs: [other]'
	sed -i 's/^provider: told/provider: scripted/' agents/extractor.md
	printf -- '---\nname: other\n---\nOther.\n' >agents/other.md
	script "$(called t1 transfer_to_other '{}')" "$(said 'no JSON')" "$(said '{"n":1}')"
	same "$(ask -r)" 'no JSON'
	same "$(jq -c 'has("output_schema")' requests.jsonl | paste -sd' ')" 'true false'
	echo "$SCHEMA" >s.json
	rm requests.jsonl
	same "$(ask -r --output-schema s.json)" '{"n":1}'
	same "$(payloads message.user 'select(.turn == 2) | .agent')" '"other"'
}

@test "killed in the middle of a repair it goes on there; the run replays" {
	answers 'no' '{"n":"x"}' '{"n":1}'
	: >hold.1
	die -n ./flow.awf
	same "$(jq -r .type "$(record)" | grep -c message.user)" 2
	rm requests.jsonl hold.1
	run -0 --separate-stderr resume
	same "$(jq -c .data <<<"$output")" '{"n":1}'
	same "$(jq -c '.messages | length' requests.jsonl | paste -sd' ')" '3 5'
	same "$(RECORD=$(record) payloads message.user .turn | paste -sd' ')" '0 1 2'
	awf-verify -q "$(id)"
	awf-replay -q --isolation copy "$(id)"
	awf-verify -q --determinism --isolation copy "$(id)"
}

@test "killed after a text that the stop command ended was sent back" {
	scripted_provider
	extractor 'tools: [note, wait]
stop_when: {command: "grep -q stop"}'
	sed -i 's/^provider: told/provider: scripted/' agents/extractor.md
	tool wait '"effects":"read"' 'hold'
	script "$(said 'I stop'),$(called t1 note '{}')" "$(called t2 wait '{}')" "$(said '{"n":1}')"
	die -n ./flow.awf
	run -0 --separate-stderr resume
	same "$(jq -c .data <<<"$output")" '{"n":1}'
	same "$(entries note)" 1
	tail -n 1 requests.jsonl | jq -c .messages >resumed
	same "$(RECORD=$(record) payloads message.user .turn | paste -sd' ')" '0 1 2'
	awf-verify -q "$(id)"
	awf-verify -q --determinism --isolation copy "$(id)"
	rm requests.jsonl
	run -0 ./flow.awf
	tail -n 1 requests.jsonl | jq -c .messages | cmp - resumed
}

@test "calls that failed so, and results that were refused, replay" {
	answers no no no
	recorded 3 -n ./flow.awf
	scripted_provider
	extractor 'stop_when: {tool: report}'
	sed -i 's/^provider: told/provider: scripted/' agents/extractor.md
	script "$(called t1 report '{"n":"x"}')" "$(called t2 report '{"n":2}')"
	recorded 0 -n ./flow.awf
	script "$(called t1 report '{}')" "$(called t2 report '{}')" "$(called t3 report '{}')"
	recorded 3 -n ./flow.awf
}

@test "a call that failed is asked its last answer anew by a resumed run" {
	answers 'no' 'no' 'no'
	run -3 awf-run --id-file run.id -n ./flow.awf
	rm requests.jsonl
	answers 'no' 'no' '{"n":4}'
	run -0 --separate-stderr resume
	same "$(jq -c .data <<<"$output")" '{"n":4}'
	same "$(jq -c '.messages | length' requests.jsonl)" 5
	awf-verify -q "$(id)"
}
