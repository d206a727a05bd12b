#!/usr/bin/env bats
# bats file_tags=turn:3
# awf-import: spans of OpenTelemetry and of the OpenAI Agents SDK become runs. The files in tests/fixtures/import
# were made by these programs against a server with a script.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/import

prepare() { DATA=$ROOT/tests/fixtures/import; }

all() { cat "$AWF_STORAGE"/transcripts/*.jsonl; }
tree() { awf-replay --tree "$(awf-tail --list --json | jq -r --arg name "$1" 'select(.name == $name).run_id')" | tail -n +2 | sed 's/ ([^)]*)//; s/: .*//'; }

# TRACE ID PARENT START END NAME ATTRIBUTES [MORE]: a span, times in ms.
span() {
	printf '{"traceId":"%032d","spanId":"%016d"%s,"name":"%s","startTimeUnixNano":"%s000000","endTimeUnixNano":"%s000000","attributes":[%s]%s}' \
		"$1" "$2" "$([ "$3" = - ] || printf ',"parentSpanId":"%016d"' "$3")" "$6" "$((1700000000000 + $4))" "$((1700000000000 + $5))" "$7" "${8-}"
}
# KEY VALUE ...: attributes that are texts.
texts() {
	local some=
	while [ $# -gt 1 ]; do
		printf '%s{"key":"%s","value":{"stringValue":%s}}' "$some" "$1" "$(jq -Rn --arg v "$2" '$v')"
		some=,
		shift 2
	done
}
tokens() { printf ',{"key":"%s","value":{"intValue":"%s"}},{"key":"%s","value":{"intValue":%s}}' "$@"; }
# SPAN ...: a line with these.
line() {
	local IFS=,
	printf '{"resourceSpans":[{"resource":{"attributes":[%s]},"scopeSpans":[{"scope":{"name":"test"},"spans":[%s]}]}]}\n' "$(texts service.name shop)" "$*"
}

# FORMAT FILE: cut at lines and anywhere, and again: the lines of one import.
pieces() {
	local size bytes
	size=$(stat -c %s "$2")
	for bytes in $(seq 200 "$((size / $(rounds 9 60) + 1))" "$size"); do
		head -c "$bytes" "$2" >log.jsonl
		import 0 -q --from "$1" ./log.jsonl
	done
	cp "$2" log.jsonl
	import 0 -q --from "$1" --ended 0s ./log.jsonl
	all >pieces
	rm -rf "$AWF_STORAGE/imports"
	import 0 -q --from "$1" --ended 0s ./log.jsonl
	cmp pieces <(all)
	AWF_STORAGE=$PWD/other import 0 -q --from "$1" --ended 0s ./log.jsonl
	cmp pieces <(AWF_STORAGE=$PWD/other all)
	sound
}

@test "otel: what the AI SDK sends: tokens of each answer, not of what is around, tools with their results" {
	import 0 --from otel "$DATA/ai-sdk-6.otlp.jsonl"
	same "$stderr" 'awf-import: 9 lines of 1 session of otel'
	sound
	same "$(awf-tail --list --json | jq -c '[.name, .status, .calls, .input_tokens, .output_tokens, .origin]')" '["forecast","success",1,44,10,"otel"]'
	same "$(all | jq -c 'select(.type == "message.user").payload.blocks[0].text')" '"What is the weather in Bern?"'
	same "$(all | jq -c 'select(.type == "tool.result").payload | [.name, .output]')" '["weather",{"city":"Bern","sky":"sunny"}]'
	same "$(all | jq -c 'select(.type == "message.assistant").payload | [.provider, .model, .stop_reason, .usage.cache_read_tokens]' | paste -sd' ')" \
		'["shop.chat","gpt-4o-mini","tool_use",4] ["shop.chat","gpt-4o-mini","end_turn",4]'
	import 0 --from otel "$DATA/ai-sdk-6.otlp.jsonl"
	same "$stderr" 'awf-import: 0 lines of 0 sessions of otel'
}

@test "otel: what OpenLLMetry sends, from spans that no agent is around" {
	import 0 --from otel "$DATA/openllmetry-0.27.otlp.jsonl"
	[[ $stderr == *'left out: spans of shop 1' ]]
	sound
	same "$(tree weather.workflow)" '└─ prompt agent done
   ├─ turn 0
   │  └─ weather done
   └─ turn 1'
	same "$(all | jq -c 'select(.type == "tool.result").payload.output')" '"sunny"'
	same "$(all | jq -c 'select(.type == "step.completed").payload.result')" '"It is sunny in Bern."'
}

@test "otel and agents: cut anywhere, and again" {
	pieces otel "$DATA/ai-sdk-6.otlp.jsonl"
	rm -rf "$AWF_STORAGE" other
	pieces agents "$DATA/openai-agents-0.20.jsonl"
	rm -rf "$AWF_STORAGE" other
	# One line for all is one document, and one that was written to be read is, too.
	jq -sc '{resourceSpans: map(.resourceSpans[])}' "$DATA/ai-sdk-6.otlp.jsonl" >one.jsonl
	jq . one.jsonl >pretty.json
	import 0 -q --from otel ./one.jsonl
	import 0 --from otel ./pretty.json
	same "$stderr" 'awf-import: 0 lines of 0 sessions of otel'
	same "$(awf-tail --list --json | wc -l)" 1
}

@test "otel: sub-agents are child runs, calls of tools without texts are told, old names are known" {
	line "$(span 1 3 2 10 20 chat "$(texts gen_ai.system openai gen_ai.operation.name chat gen_ai.request.model gpt-4)$(tokens gen_ai.usage.prompt_tokens 10 gen_ai.usage.completion_tokens 2)")" \
		"$(span 1 5 4 32 38 chat "$(texts gen_ai.operation.name chat gen_ai.provider.name gcp.gemini gen_ai.response.model gemini-2.5-pro)$(tokens gen_ai.usage.input_tokens 7 gen_ai.usage.output_tokens 1)")" \
		"$(span 1 4 6 31 39 'invoke_agent Searcher' "$(texts gen_ai.operation.name invoke_agent gen_ai.agent.name Searcher)$(tokens gen_ai.usage.input_tokens 7 gen_ai.usage.output_tokens 1)")" \
		"$(span 1 6 2 30 40 'execute_tool search' "$(texts gen_ai.operation.name execute_tool gen_ai.tool.name search)")" >log.jsonl
	line "$(span 1 2 1 5 50 'invoke_agent Boss' "$(texts gen_ai.operation.name invoke_agent gen_ai.agent.name Boss)$(tokens gen_ai.usage.input_tokens 10 gen_ai.usage.output_tokens 2)")" \
		"$(span 1 1 - 1 60 'POST /chat' "$(texts http.method POST)" ',"status":{"code":2,"message":"gave up"}')" >>log.jsonl
	import 0 --from otel ./log.jsonl
	sound
	same "$(tree 'POST /chat')" '└─ prompt agent done
   ├─ turn 0
   │  └─ search done
   └─ agent call_workflow done
      └─ prompt agent done
         └─ turn 0'
	same "$(awf-tail --list -R --json | jq -c '[.name, .status, .input_tokens, .output_tokens]' | sort | paste -sd' ')" \
		'["POST /chat","failed",10,2] ["Searcher","success",7,1]'
	same "$(all | jq -r 'select(.type == "run.completed").payload.error.message // empty')" 'gave up'
	same "$(all | jq -r 'select(.type == "message.assistant").payload | .provider' | sort | paste -sd,)" google,openai
}

@test "otel: what comes late is added, and counts once; what comes again does not" {
	agent=$(span 1 1 - 0 50 'invoke_agent Boss' "$(texts gen_ai.operation.name invoke_agent gen_ai.agent.name Boss gen_ai.conversation.id c7)$(tokens gen_ai.usage.input_tokens 10 gen_ai.usage.output_tokens 2)")
	chat=$(span 1 2 1 10 20 chat "$(texts gen_ai.operation.name chat)$(tokens gen_ai.usage.input_tokens 10 gen_ai.usage.output_tokens 2)")
	tool=$(span 1 3 1 60 90 'execute_tool late' "$(texts gen_ai.operation.name execute_tool gen_ai.tool.name late)")
	line "$chat" >log.jsonl
	import 0 --from otel ./log.jsonl
	same "$(awf-tail --list --json)" ''
	line "$agent" >>log.jsonl
	line "$chat" "$agent" >>log.jsonl
	import 0 -q --from otel ./log.jsonl
	same "$(awf-tail --list --json | jq -c '[.name, .status, .input_tokens]')" '["Boss","success",10]'
	all >before
	line "$tool" >>log.jsonl
	import 0 -q --from otel ./log.jsonl
	sound
	cmp before <(all | head -n "$(wc -l <before)")
	same "$(all | jq -c 'select(.type == "tool.call").payload.name')" '"late"'
	same "$(all | jq -s '[.[] | select(.type == "message.assistant").payload.usage.input_tokens] | add')" 10
	# The agent before its model.
	line "$agent" >other.jsonl
	line "$chat" >>other.jsonl
	export AWF_STORAGE=$PWD/other
	import 0 -q --from otel ./other.jsonl
	sound
	same "$(all | jq -s '[.[] | select(.type == "message.assistant").payload.usage.input_tokens // 0] | add')" 10
}

@test "otel: a parent in another program; one that never comes" {
	local chat
	chat=$(span 1 2 9 10 20 chat "$(texts gen_ai.operation.name chat gen_ai.input.messages '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]' gen_ai.output.messages '[{"role":"assistant","parts":[{"type":"text","content":"Ho"}]}]')" ',"flags":769')
	line "$chat" >log.jsonl
	import 0 -q --from otel ./log.jsonl
	same "$(all | jq -r 'select(.type == "run.started").payload.traceparent')" 00-00000000000000000000000000000001-0000000000000009-01
	same "$(all | jq -c 'select(.type == "step.completed").payload.result')" '"Ho"'
	line "${chat/769/257}" >log.jsonl
	export AWF_STORAGE=$PWD/other
	import 0 -q --from otel ./log.jsonl
	same "$(awf-tail --list --json)" ''
	touch log.jsonl
	import 0 -q --from otel --ended 0s ./log.jsonl
	same "$(awf-tail --list --json | jq -r .status)" success
	sound
}

@test "otel: messages in attributes that are numbered, in events, in the words of OpenInference" {
	line "$(span 1 1 - 1 2 chat "$(texts llm.request.type chat gen_ai.prompt.0.role user gen_ai.prompt.0.content One gen_ai.completion.0.role assistant gen_ai.completion.0.content Uno gen_ai.completion.0.tool_calls.0.id c1 gen_ai.completion.0.tool_calls.0.name look gen_ai.completion.0.tool_calls.0.arguments '{"a":1}' gen_ai.completion.0.finish_reason length)")" \
		"$(span 2 1 - 3 4 chat "$(texts gen_ai.operation.name chat)" ",\"events\":[{\"name\":\"gen_ai.user.message\",\"attributes\":[$(texts content Two)]},{\"name\":\"gen_ai.choice\",\"attributes\":[$(texts message '{"role":"assistant","content":"Due"}')]}]")" \
		"$(span 3 1 - 5 6 chat "$(texts openinference.span.kind LLM llm.model_name m input.value Three output.value Tre)$(tokens llm.token_count.prompt 3 llm.token_count.completion 4)")" \
		"$(span 4 1 - 7 8 embed "$(texts gen_ai.operation.name embeddings)")" '{"name":"x"}' >log.jsonl
	echo '{"resourceMetrics":[]}' >>log.jsonl
	import 0 --from otel ./log.jsonl
	[[ $stderr == *'spans of test 1'* && $stderr == *'spans without an id 1'* && $stderr == *'lines that are no spans 1'* ]]
	same "$(awf-verify "$AWF_STORAGE" 2>&1 | sed 's/.*warning: //')" 'tool call c1 never ended: it has no tool.result'
	same "$(all | jq -r 'select(.type == "message.user").payload.blocks[0].text' | sort | paste -sd,)" One,Three,Two
	same "$(all | jq -c 'select(.type == "message.assistant").payload | [(.blocks | map(.text // .tool_input)), .stop_reason, .usage.output_tokens]' | sort | paste -sd' ')" \
		'[["Due"],null,null] [["Tre"],null,4] [["Uno",{"a":1}],"max_tokens",null]'
}

@test "otel: what awf-ship sends comes back" {
	cat "$ROOT"/tests/fixtures/projections/brief.otlp >log.jsonl
	import 0 --from otel ./log.jsonl
	sound
	same "$(awf-tail --list --json | jq -c 'select(.name == "brief") | [.status, .input_tokens, .output_tokens]')" \
		"$(jq -cs '[.[].resourceSpans[].scopeSpans[].spans[].attributes[] | {key, value: (.value.intValue // "0" | tonumber)}] | ["failed", (map(select(.key == "gen_ai.usage.input_tokens").value) | add), (map(select(.key == "gen_ai.usage.output_tokens").value) | add)]' log.jsonl)"
	same "$(awf-tail --list --json | jq -r 'select(.name == "brief").run_id' | xargs awf-tail --json | jq -r 'select(.type == "run.started").payload.inputs.awf_run' )" \
		"$(jq -r '.resourceSpans[].scopeSpans[].spans[].attributes[] | select(.key == "awf.run_id").value.stringValue' log.jsonl | tail -n 1)"
}

@test "agents: handovers, guardrails, an agent that is a tool of another" {
	import 0 --from agents --ended 0s "$DATA/openai-agents-0.20.jsonl"
	same "$stderr" 'awf-import: 34 lines of 2 sessions of agents'
	sound
	same "$(tree Weather)" '├─ prompt agent done
│  ├─ guardrail-polite command done
│  └─ turn 0
│     └─ transfer_to_Expert done
└─ prompt[1] agent done
   ├─ turn 0
   │  └─ weather done
   └─ turn 1'
	same "$(tree Nested)" '└─ prompt agent done
   ├─ turn 0
   │  └─ poem done
   ├─ agent call_workflow done
   │  └─ prompt agent done
   │     └─ turn 0
   └─ turn 1'
	same "$(awf-tail --list -R --json | jq -c '[.name, .input_tokens, .output_tokens]' | sort | paste -sd' ')" '["Nested",44,10] ["Poet",22,5] ["Weather",72,15]'
	same "$(all | jq -r 'select(.type == "step.started" and .payload.kind == "agent").payload.agent' | sort | paste -sd,)" 'Boss,Expert,Front desk,Poet'
	same "$(all | jq -r 'select(.type == "run.started" and .payload.name == "Weather").payload.inputs.group')" chat-7
	jq -c 'if .span_data.type == "handoff" then .span_data.type = "mcp_tools" else . end' "$DATA/openai-agents-0.20.jsonl" >new.jsonl
	AWF_STORAGE=$PWD/other import 0 --from agents ./new.jsonl
	[[ $stderr == *'left out: mcp_tools 1' ]]
}

@test "agents: what the SDK for Python exports: agents without a task around, usage beside messages, ids of responses alone" {
	agent() { printf '{"object":"trace.span","id":"%s","trace_id":"t1","parent_id":%s,"started_at":"2026-03-01T10:00:0%s+00:00","ended_at":"2026-03-01T10:00:0%s+00:00","span_data":%s,"error":%s}\n' "$@"; }
	{
		agent s2 '"s1"' 1.1 1.5 '{"type":"generation","input":[{"role":"user","content":"Sum?"}],"output":[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"x\": 1}"}}]}],"model":"gpt-5.2","model_config":{},"usage":{"input_tokens":9,"output_tokens":2}}' null
		agent s3 '"s1"' 1.5 1.6 '{"type":"function","name":"add","input":"{\"x\": 1}","output":null}' '{"message":"no such tool","data":null}'
		agent s1 null 1.0 2.0 '{"type":"agent","name":"Adder","handoffs":[],"tools":["add"],"output_type":"str"}' null
		echo '{"object":"trace","id":"t1","workflow_name":"Sums","group_id":null,"metadata":{"user":"u7"}}'
		agent s5 '"s4"' 3.1 3.5 '{"type":"response","response_id":"resp_1"}' null
		agent s4 null 3.0 4.0 '{"type":"agent","name":"Writer","handoffs":[],"tools":[],"output_type":"str"}' null
	} >log.jsonl
	import 0 --from agents ./log.jsonl
	same "$(awf-tail --list --json | jq -c '[.name, .status]')" '["Sums","running"]'
	import 0 -q --from agents --ended 0s ./log.jsonl
	sound
	same "$(awf-tail --list --json | jq -c '[.name, .status, .calls, .input_tokens, .output_tokens]')" '["Sums","success",2,9,2]'
	same "$(tree Sums)" '├─ prompt agent done
│  └─ turn 0
│     └─ add failed
└─ prompt[1] agent done
   └─ turn 0'
	same "$(all | jq -r 'select(.type == "tool.result").payload | .output, .error.message' | paste -sd,)" 'no such tool,no such tool'
	cp log.jsonl whole.jsonl
	rm -rf "$AWF_STORAGE"
	pieces agents "$PWD/whole.jsonl"
}

@test "traces: a session that is refused is no hindrance for others in its log; a mask covers all" {
	cp "$DATA/openai-agents-0.20.jsonl" log.jsonl
	import 0 -q --from agents ./log.jsonl
	sed -i 's/What is the weather/Where is the weather/' log.jsonl
	jq -c 'if .object == "trace" and .workflow_name == "Nested" then ., (.id = "t9" | .workflow_name = "New") else . end' log.jsonl >more.jsonl
	jq -c 'select(.span_data.type == "guardrail") | .trace_id = "t9" | .parent_id = null' log.jsonl >>more.jsonl
	import 3 --from agents ./more.jsonl
	same "$(awf-tail --list --json | jq -r .name | sort | paste -sd,)" Nested,New,Weather
	sound
	printf 'Bern\nsunny\nPoet\nsearcher\n' >secrets
	export AWF_STORAGE=$PWD/masked
	import 0 -q --from agents --mask "patterns $PWD/secrets" --ended 0s "$DATA/openai-agents-0.20.jsonl"
	sound
	same "$(grep -rlE 'Bern|sunny|Poet' "$AWF_STORAGE")" ''
}

@test "traces in a directory, in files of either name" {
	mkdir -p logs/in
	cp "$DATA/ai-sdk-6.otlp.jsonl" logs/in/
	jq -s '{resourceSpans: map(.resourceSpans[])}' "$DATA/openllmetry-0.27.otlp.jsonl" >logs/one.json
	echo x >logs/notes.txt
	import 0 --from otel ./logs
	[[ $stderr == 'awf-import: 18 lines of 2 sessions of otel'* ]]
}

@test "inspect: a run for each sample and epoch, with its scores" {
	inspect_log >log.json
	import 0 --from inspect ./log.json
	same "$stderr" 'awf-import: 31 lines of 3 sessions of inspect
awf-import: left out: sample_init 3'
	sound
	same "$(awf-tail --list --json | jq -c '[.name, .status, .calls, .input_tokens, .output_tokens, .duration_ms]' | sort | paste -sd' ')" \
		'["sums","failed",1,35,4,5000] ["sums","success",2,35,4,5000] ["sums","success",2,35,4,5000]'
	same "$(all | jq -c 'select(.type == "run.started").payload.inputs | [.sample, .epoch, .model]' | sort | paste -sd' ')" \
		'["b",1,"openai/gpt-4o-mini"] [1,1,"openai/gpt-4o-mini"] [1,2,"openai/gpt-4o-mini"]'
	same "$(all | jq -c 'select(.payload.name == "score-match" and .type == "step.completed").payload.result | [.value, .answer, .explanation]' | sort -u)" '["C","4","Two and two?"]'
	same "$(all | jq -c 'select(.type == "message.user").payload.blocks[0].text' | sort -u)" '"Two and two?"'
	same "$(all | jq -r 'select(.type == "run.completed").payload.error.message // empty')" 'no more'
	same "$(all | jq -c 'select(.type == "message.assistant" and .payload.turn == 0).payload | [.provider, .model, (.blocks | map(.thinking // .tool_input)), .duration_ms]' | sort -u)" \
		'["openai","gpt-4o-mini-2024",["add",{"x":2,"y":2}],1000]'
	import 0 --from inspect ./log.json
	[[ $stderr == 'awf-import: 0 lines of 0 sessions of inspect'* ]]
	# More samples of the same evaluation, in any order; and not yet whole.
	jq -c '.samples |= [.[2], (.[0] | .id = 7), .[0]]' log.json >more.json
	import 0 --from inspect ./more.json
	[[ $stderr == 'awf-import: 11 lines of 1 session of inspect'* ]]
	head -c 900 log.json >cut.json
	import 0 --from inspect ./cut.json
	[[ $stderr == 'awf-import: 0 lines of 0 sessions'* ]]
}

@test "inspect: logs of messages alone, logs without samples" {
	inspect_log | jq '.samples |= [.[0] | .events = [] | .model_usage = {"openai/gpt-4o-mini": {input_tokens: 30, output_tokens: 4, total_tokens: 34}} |
		.messages = [{role: "user", content: "Two?"}, {role: "assistant", content: "", tool_calls: [{id: "c1", function: "add", arguments: {}}]},
			{role: "tool", tool_call_id: "c1", function: "add", content: "", error: {type: "timeout", message: "late"}}, {role: "assistant", content: "4"}]]' >log.json
	import 0 --from inspect ./log.json
	sound
	same "$(awf-tail --list --json | jq -c '[.calls, .input_tokens, .output_tokens]')" '[2,30,4]'
	same "$(all | jq -c 'select(.type == "tool.result").payload | [.output, .error.code]')" '["late","tool"]'
	inspect_log | jq 'del(.samples)' >none.json
	import 0 --from inspect ./none.json
	[[ $stderr == *'left out: logs without samples 1' ]]
}

# HOW [NAME]: log.eval of log.json, with its members deflated, stored or other; NAME: the member of the head.
inspect_archive() {
	python3 - "$@" <<-'END'
		import json, sys, zipfile
		how, head = sys.argv[1], (sys.argv[2:] + ["header.json"])[0]
		log = json.load(open("log.json"))
		samples = log.pop("samples")
		with zipfile.ZipFile("log.eval", "w", {"deflated": 8, "stored": 0}[how]) as z:
		    z.writestr("_journal/start.json", json.dumps({"version": 2, "eval": log["eval"]}))
		    for sample in samples:
		        z.writestr("samples/%s_epoch_%s.json" % (sample["id"], sample["epoch"]), json.dumps(sample))
		    z.writestr("summaries.json", "[]")
		    if head:
		        z.writestr(head, json.dumps(log))
	END
}

@test "inspect: archives have the runs of the same log as JSON" {
	inspect_log >log.json
	import 0 -q --from inspect ./log.json
	all >before
	for how in deflated stored; do
		inspect_archive "$how"
		export AWF_STORAGE=$PWD/$how
		import 0 --from inspect ./log.eval
		[[ $stderr == 'awf-import: 31 lines of 3 sessions of inspect'* ]]
		cmp before <(all)
		sound
	done
	# One that is found by itself, and of an evaluation that has not ended.
	inspect_archive deflated ''
	export AWF_STORAGE=$PWD/journal
	mkdir logs
	mv log.eval logs
	import 0 --from inspect ./logs
	[[ $stderr == 'awf-import: 31 lines of 3 sessions of inspect'* ]]
}

@test "inspect: archives that are damaged, hostile, or packed otherwise are refused, wherever they are cut" {
	inspect_log >log.json
	inspect_archive deflated
	cp log.eval whole
	size=$(stat -c %s whole)
	for bytes in 4 20 $(seq 100 "$(rounds 397 29)" "$((size - 1))"); do
		head -c "$bytes" whole >log.eval
		import 3 --from inspect ./log.eval
		[[ $stderr == *'log.eval: is a damaged zip archive: '* ]]
	done
	python3 - <<-'END'
		import struct, zipfile, zlib
		whole = open("whole", "rb").read()
		entry = whole.rindex(b"PK\1\2")
		def change(name, at, form, value):
		    data = bytearray(whole)
		    struct.pack_into(form, data, at, value)
		    open(name, "wb").write(data)
		change("sum", entry + 16, "<I", 7)
		change("longer", entry + 24, "<I", struct.unpack_from("<I", whole, entry + 24)[0] + 1)
		change("shorter", entry + 24, "<I", 3)
		change("place", entry + 42, "<I", len(whole) - 3)
		change("packed", entry + 20, "<I", len(whole))
		change("huge", entry + 24, "<I", 0xfffffffe)
		change("large", entry + 24, "<I", 0xffffffff)
		change("secret", entry + 8, "<H", 1)
		change("names", entry + 28, "<H", 65535)
		change("list", len(whole) - 6, "<I", len(whole) - 4)
		change("many", len(whole) - 12, "<H", 65533)
		# zstd, in the list of members.
		change("zstd", entry + 10, "<H", 93)
		def archive(name, *members):
		    with zipfile.ZipFile(name, "w", 8) as z:
		        for member in members:
		            z.writestr(*member)
		archive("bomb", ("_journal/start.json", '{"eval":{}' + " " * 300000000 + "}"))
		archive("text", ("_journal/start.json", '{"eval":{}}'), ("samples/../../x.json", '}],"x":['))
		archive("other", ("word/document.xml", "<x/>"))
	END
	while IFS='|' read -r name said; do
		cp "$name" log.eval
		import 3 --from inspect ./log.eval
		[[ $stderr == *'log.eval: '*"$said"* ]] || same "$name: $stderr" "$said"
	done <<-'END'
		sum|is a damaged zip archive: a member is not as long, or has not the sum
		longer|is a damaged zip archive: a member is not as long
		shorter|is a damaged zip archive: a member is not as long
		place|is a damaged zip archive: a member is not where it should be
		packed|is a damaged zip archive: a member is cut off
		huge|is a zip archive of more than 256 MiB
		large|is a zip archive with members of 4 GiB
		secret|is an encrypted zip archive
		names|is a damaged zip archive: its list is cut off
		list|is a damaged zip archive: its list is cut off
		many|is a damaged zip archive: its list is cut off
		zstd|inspect log convert --to json --output-dir DIR FILE
		bomb|is a zip archive of more than 256 MiB
		text|which is no JSON object
		other|is a zip archive of something else
	END
	same "$(ls "$AWF_STORAGE/transcripts" 2>/dev/null)" ''
}

@test "awf: transcripts of another storage, with their blobs, as they are there" {
	head -c 300000 /dev/zero | tr '\0' x >large
	(
		export AWF_STORAGE=$PWD/there
		awf-run -n --name flow -c 'awf-step -n big -- cat' <large >printed
		awf-run -n --name outer -c 'awf-step -n in -q -- awf-run -n -c "awf-step -n deep -q -- true"'
	)
	[ -n "$(ls there/blobs/*/*)" ]
	import 0 --from awf ./there/transcripts
	[[ $stderr == *' lines of 3 sessions of awf' ]]
	sound
	for file in there/transcripts/*.jsonl; do cmp "$file" "$AWF_STORAGE/transcripts/${file##*/}"; done
	diff -r there/blobs "$AWF_STORAGE/blobs"
	same "$(awf-tail --list --json | jq -r .origin | sort -u)" awf
	rm -r "$AWF_STORAGE/imports"
	import 0 --from awf ./there/transcripts
	same "$stderr" 'awf-import: 0 lines of 0 sessions of awf'
	# Cut anywhere, and not a transcript.
	export AWF_STORAGE=$PWD/pieces
	file=$(grep -l '"name":"flow"' there/transcripts/*.jsonl)
	for bytes in $(seq 100 "$(rounds 1511 211)" "$(stat -c %s "$file")"); do
		head -c "$bytes" "$file" >cut.jsonl
		import 0 -q --from awf ./cut.jsonl
	done
	cp "$file" cut.jsonl
	echo '{"type":"note"}' >>cut.jsonl
	import 0 --from awf ./cut.jsonl
	[[ $stderr == *'left out: lines of no transcript 1' ]]
	cmp "$file" "$AWF_STORAGE/transcripts/${file##*/}"
	# A mask would change them; their own storage has them.
	AWF_STORAGE=$PWD/masked import 3 --from awf --mask cat ./cut.jsonl
	[[ $stderr == *'not masked'* ]]
	AWF_STORAGE=$PWD/there import 3 --from awf ./cut.jsonl
	sed 's/"name":"flow"/"name":"flaw"/' "$file" >changed.jsonl
	import 3 --from awf ./changed.jsonl
}

@test "otel: spans that are in each other, in very many others, or very many in one" {
	python3 -c '
import json
def span(trace, id, parent, start, **attributes):
    return {"traceId": f"{trace:032x}", "spanId": f"{id:016x}", "parentSpanId": f"{parent:016x}" if parent else "",
        "name": "x", "startTimeUnixNano": str(start * 1000), "endTimeUnixNano": str(start * 1000 + 500),
        "attributes": [{"key": k.replace("__", "."), "value": {"stringValue": v}} for k, v in attributes.items()]}
chat = {"gen_ai__operation__name": "chat"}
spans = [span(1, 1, 2, 5), span(1, 2, 1, 6), span(1, 3, 1, 7, **chat), span(1, 4, 4, 8, **chat)]
spans += [span(2, n, n - 1, n) for n in range(1, 20000)] + [span(2, 20000, 19999, 20000, **chat)]
spans += [span(3, 1, 0, 1, gen_ai__operation__name="invoke_agent")]
for n in range(2, 10000, 2):
    spans += [span(3, n, 1, n, **chat), span(3, n + 1, 1, n + 1, gen_ai__operation__name="execute_tool", gen_ai__tool__name="t")]
print(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))' >log.jsonl
	timeout 60 awf-import -q --from otel ./log.jsonl
	same "$(awf-tail --list --json | wc -l)" 1
	same "$(all | grep -c '"type":"message.assistant"')" 4999
	timeout 60 awf-import -q --from otel --ended 0s ./log.jsonl
	same "$(awf-tail --list --json -n 1000 | wc -l)" 4
	sound
}
