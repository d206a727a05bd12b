#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-import: spans of OpenTelemetry and of the OpenAI Agents SDK become runs. The files in tests/fixtures/import
# were made by these programs against a server with a script.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() { DATA=$ROOT/tests/fixtures/import; }

import() { run "-$1" --separate-stderr awf-import "${@:2}"; }
sound() { same "$(awf-verify "$AWF_STORAGE" 2>&1)" ''; }
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

# A log of Inspect, in the form of 0.3.95: two samples, the first in two epochs, with events.
inspect_log() {
	jq -n '
		def at(s): "2026-03-01T10:00:0\(s).000000+00:00";
		def model(from; to; message; usage): {event: "model", timestamp: at(from), completed: at(to), model: "openai/gpt-4o-mini",
			input: [], output: {model: "gpt-4o-mini-2024", choices: [{message: ({role: "assistant"} + message), stop_reason: "stop"}], usage: usage}};
		def sample(id; epoch): {id: id, epoch: epoch, uuid: "u\(id)\(epoch)", input: "attachment://ab", target: "4", attachments: {ab: "Two and two?"},
			scores: {match: {value: "C", answer: "4", explanation: "attachment://ab"}}, events: [
				{event: "sample_init", timestamp: at(0)},
				model(1; 2; {content: [{type: "reasoning", reasoning: "add"}], tool_calls: [{id: "c1", function: "add", arguments: {x: 2, y: 2}}]};
					{input_tokens: 10, output_tokens: 3, total_tokens: 18, input_tokens_cache_read: 5}),
				{event: "tool", timestamp: at(2), completed: at(3), id: "c1", function: "add", arguments: {x: 2, y: 2}, result: "4", error: null},
				model(4; 5; {content: "4"}; {input_tokens: 20, output_tokens: 1, total_tokens: 21, input_tokens_cache_read: 5})]};
		{version: 2, status: "success", eval: {eval_id: "E1", run_id: "R1", task: "sums", model: "openai/gpt-4o-mini", packages: {inspect_ai: "0.3.95"}},
			stats: {started_at: at(0), completed_at: at(9)},
			samples: [sample(1; 1), sample(1; 2), (sample("b"; 1) | .error = {message: "no more"} | .scores = null)]}'
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

@test "inspect: logs of messages alone, logs without samples, archives" {
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
	printf 'PK\3\4rest' >log.eval
	import 3 --from inspect ./log.eval
	[[ $stderr == *'is a zip archive: make JSON of it with '*'inspect log convert --to json'* ]]
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
