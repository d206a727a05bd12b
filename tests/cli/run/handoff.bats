#!/usr/bin/env bats
# Agents that hand the conversation over to each other.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	mkdir agents tools
	agent triage 'description: Sorts what comes in.
handoffs: [billing, support]'
	agent billing 'description: Knows the invoices.
tools: [invoice]
handoffs: [triage]'
	sed -i 's/Be brief/Be exact/; s/^model: test$/model: test-billing/' agents/billing.md
	agent support
	tool invoice '"effects":"none"' 'echo "{\"sum\":7}"'
}

serve() {
	local files=() file
	for file; do files+=(--answer "$file"); done
	model_server "${files[@]}" "${FAULTS[@]}"
}
FAULTS=()

# To billing, and there an answer with the invoice.
serve_billing() {
	stream tool_use "$(use t1 transfer_to_billing '{"reason":"an invoice"}')" >to_billing
	stream tool_use "$(use t2 invoice '{}')" >look
	text 'it is 7' >answer
	serve to_billing look answer
}

@test "the next agent goes on with the conversation, as itself" {
	serve_billing
	echo 'what do I owe?' | awf-step a -a triage >out
	same "$(jq -c '[.data, .metadata.agent_name, .metadata.tool_calls_count]' out)" '["it is 7","billing",2]'
	same "$(types)" 'message.user message.assistant tool.call tool.result message.user message.assistant tool.call tool.result message.assistant '
	same "$(bodies | jq -c '[.model, (.system | if type == "array" then .[0].text else . end), [.tools[].name], (.messages | length)]')" \
		'["test","Be brief.",["transfer_to_billing","transfer_to_support"],1]
["test-billing","Be exact.",["invoice","transfer_to_triage"],3]
["test-billing","Be exact.",["invoice","transfer_to_triage"],5]'
	same "$(bodies | head -n 1 | jq -c '.tools[0].description')" \
		'"Hands the conversation over to billing, who goes on with it. Knows the invoices."'
	same "$(payloads tool.call '[.name, .call_id, .input, .effects, .fidelity]' | head -n 1)" \
		'["transfer_to_billing","t1",{"reason":"an invoice"},"none","router"]'
	same "$(payloads tool.result '.output' | head -n 1)" '{"transferred_to":"billing"}'
	same "$(payloads message.user '[.agent, .handoff, .model, .system_prompt, [.tools[].name], .turn, (.blocks | length)]')" \
		'[null,null,null,"Be brief.",["transfer_to_billing","transfer_to_support"],0,1]
["billing",{"from":"triage","to":"billing"},"test-billing","Be exact.",["invoice","transfer_to_triage"],1,0]'
	same "$(payloads message.assistant '[.agent, .turn]')" '[null,0]
["billing",1]
["billing",2]'
	same "$(payloads step.started .agent) $(payloads step.completed .agent)" '"triage" "billing"'
	# causes: each the event before
	same "$(jq -rs '[.[] | select(.type | test("^(message|tool)"))] as $e |
		[range(1; $e | length) | $e[.].parent_event_id == $e[. - 1].event_id] | all' "$(transcript)")" true
	same "$(payloads run.completed '.usage | [.input_tokens, .output_tokens]')" '[30,15]'
	awf-verify -q
}

@test "other tools of the same answer run; of two transfers the first counts" {
	agent triage 'tools: [invoice]
handoffs: [billing, support]'
	stream tool_use "$(use t1 transfer_to_support '{}')" "$(use t2 invoice '{}')" \
		"$(use t3 transfer_to_billing '{}')" >both
	text 'I can help' >answer
	serve both answer
	same "$(echo help | awf-step a -a triage | jq -c '[.data, .metadata.agent_name]')" '["I can help","support"]'
	same "$(payloads tool.result '[.call_id, .output, .error.code]')" \
		'["t1",{"transferred_to":"support"},null]
["t2",{"sum":7},null]
["t3",null,"blocked"]'
	same "$(bodies | tail -n 1 | jq -c '[.messages[2].content[] | [.tool_use_id, .is_error]]')" \
		'[["t1",null],["t2",null],["t3",true]]'
	same "$(jq -c 'select(.type == "message.user" and .payload.handoff) | .links | length' "$(transcript)")" 2
}

@test "a chain that comes back is ended by max_turns of the whole call" {
	for n in 1 2 3 4 5 6; do
		[ $((n % 2)) = 1 ] && to=billing || to=triage
		stream tool_use "$(use "t$n" transfer_to_"$to" '{}')" >"answer$n"
	done
	serve answer1 answer2 answer3 answer4 answer5 answer6
	run -3 --separate-stderr awf-step -q --max-turns 5 a -a triage <<<x
	same "$stderr" 'awf-step: a: billing: reached max_turns (5) without a result'
	same "$(payloads message.assistant .agent | paste -sd,)" 'null,"billing",null,"billing",null'
	same "$(payloads step.completed '[.agent, .error.code]')" '["billing","max_turns"]'
	same "$(sent)" 5
}

@test "handing over and over is refused in the end, and the model is told" {
	stream tool_use "$(use t1 transfer_to_billing '{}')" >to
	stream tool_use "$(use t2 transfer_to_triage '{}')" >back
	text 'I do it' >answer
	model_server --loop --answer-for '"name":"transfer_to_billing","description"' to \
		--answer-for '"name":"transfer_to_triage","description"' back
	run -3 --separate-stderr awf-step -q --max-turns 40 a -a triage <<<x
	[[ $stderr == *' made the same tool call in 5 turns, and the same came of it (stuck_after): transfer_to_'* ]]
	same "$(payloads tool.result 'select(.output) | 1' | wc -l)" 32
	same "$(payloads tool.result .error.message | sort | uniq -c | tr -s ' ')" \
		' 5 "the conversation was handed over 32 times: go on yourself"
 32 null'
}

@test "stop conditions are those of the agent that answers" {
	agent billing 'stop_when: {tool: bill}'
	agent support 'stop_when: {command: "grep -q solved"}'
	stream tool_use "$(use t1 transfer_to_billing '{}')" >to_billing
	stream tool_use "$(use t2 bill '{"sum":7}')" >billed
	serve to_billing billed
	same "$(echo x | awf-step a -a triage | jq -c '[.data, .metadata.agent_name]')" '[{"sum":7},"billing"]'
	same "$(bodies | jq -c '[.tools[].name]')" '["transfer_to_billing","transfer_to_support"]
["bill"]'
	kill "$MODEL_SERVER_PID"
	stream tool_use "$(use t1 transfer_to_support '{}')" >to_support
	stream tool_use '{"type":"text","text":"it is solved"}' "$(use t2 nothing '{}')" >solved
	serve to_support solved
	same "$(echo x | awf-step a -r -a triage)" 'it is solved'
	# The first agent's condition ends the call before anything is handed over.
	agent triage 'handoffs: [support]
stop_when: {command: "true"}'
	kill "$MODEL_SERVER_PID"
	stream tool_use '{"type":"text","text":"enough"}' "$(use t1 transfer_to_support '{}')" >enough
	serve enough
	same "$(echo x | awf-step a -a triage | jq -c '[.data, .metadata.agent_name]')" '["enough","triage"]'
}

# bats test_tags=turn:2
@test "an agent without a model has the first one's; what one model thought another is not sent" {
	export JQ=jq
	printf -- '---\ndescription: x\n---\nPlain.\n' >agents/support.md
	stream tool_use '{"type":"text","text":"hm"}' "$(use t1 transfer_to_support '{}')" >first
	sed -i 's/"content_block":{"type":"text","text":""}/"content_block":{"type":"thinking","thinking":""}/;
		s/{"type":"text_delta","text":"hm"}/{"type":"thinking_delta","thinking":"hm"}/
		/thinking_delta/{p; s/thinking_delta","thinking":"hm"/signature_delta","signature":"sig"/}' first
	text fine >answer
	serve first answer
	awf-step -q -m anthropic/other a -a triage <<<x
	same "$(bodies | jq -r .model | paste -sd' ')" 'other other'
	# What was thought under another system prompt is not sent either.
	same "$(bodies | tail -n 1 | jq -c '[.messages[1].content[].type]')" '["tool_use"]'
	kill "$MODEL_SERVER_PID"
	agent support
	serve first answer
	awf-step -q -m anthropic/other a -a triage <<<x
	same "$(bodies | jq -r .model | paste -sd' ')" 'other test'
	same "$(bodies | tail -n 1 | jq -c '[.messages[1].content[].type]')" '["tool_use"]'
}

@test "the next agent may be of another provider, which is started when it is needed" {
	agent support
	sed -i 's/^provider: .*/provider: openai/' agents/support.md
	stream tool_use "$(use t1 transfer_to_support '{}')" >first
	printf '%s\n' \
		'{"id":"c","object":"chat.completion.chunk","model":"t-1","choices":[{"index":0,"delta":{"role":"assistant","content":"forty-two"}}]}' \
		'{"id":"c","object":"chat.completion.chunk","model":"t-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}' \
		'[DONE]' >answer
	serve first answer
	same "$(echo x | awf-step -r a -a triage)" forty-two
	same "$(bodies | tail -n 1 | jq -c '[.messages[].role]')" '["system","user","assistant","tool"]'
	same "$(payloads message.user '[.agent, .provider, .model]' | tail -n 1)" '["support","openai","test"]'
	# Both providers have ended.
	same "$(for pid in $(pgrep awf-provider); do
		grep -lsF "AWF_STORAGE=$AWF_STORAGE" "/proc/$pid/environ"
	done)" ''
}

@test "what is wrong with an agent or those it hands over to is said before anything is read" {
	printf -- '---\nhandoffs: [biling]\n---\n' >agents/a.md
	printf -- '---\nhandoffs: [b]\n---\n' >agents/b.md
	printf -- '---\nhandoffs: [triage, d]\n---\n' >agents/c.md
	printf -- '---\nmax_turns: x\n---\n' >agents/d.md
	printf -- '---\nhandoffs: [f, g]\n---\n' >agents/e.md
	printf -- '---\nname: one two\n---\n' >agents/f.md
	printf -- '---\nname: one.two\n---\n' >agents/g.md
	printf -- '---\nhandoffs: [i]\n---\n' >agents/h.md
	printf -- '---\nname: a-name-that-is-longer-than-model-apis-take-for-the-name-of-a-tool\n---\n' >agents/i.md
	printf -- '---\nhandoffs: [k]\n---\n' >agents/j.md
	printf -- '---\ntools: [invoic]\n---\n' >agents/k.md
	printf -- '---\nhandoffs: [../agents/m.json]\n---\n' >agents/l.md
	while IFS='|' read -r agent message; do
		AWF_MODEL=anthropic/m run -2 --separate-stderr awf-step s -a "$agent" </dev/null
		[ "${#stderr_lines[@]}" = 1 ] && [[ $stderr == "awf-step: "$message ]] || same "$stderr" "$message"
	done <<-'END'
		a|agents/a.md:2: handoffs: biling: not found in agents, * (did you mean 'billing'?)
		b|agents/b.md:2: handoffs: 'b' is this agent itself
		c|agents/d.md:2: max_turns: expected a whole number from 0 to 2147483647
		e|agents/e.md:2: handoffs: there are two tools 'transfer_to_one_two'
		h|agents/h.md:2: handoffs: the name of 'a-name-*' is too long for a tool
		j|agents/k.md: tools: invoic.tool.json: not found in * (did you mean 'invoice'?)
		l|agents/l.md:2: handoffs: ../agents/m.json: not found in *
	END
	[ ! -e "$AWF_STORAGE" ]
}

@test "agents are found beside the one that names them; --allow-tools is for all of them" {
	mkdir -p elsewhere/team
	mv agents elsewhere/team/
	serve_billing
	pushd elsewhere >/dev/null
	AWF_TOOL_PATH=../tools run -0 awf-step -r --allow-tools invoice a -a team/agents/triage.md <<<x
	same "$(bodies | jq -c '[.tools[].name]' | tail -n 1)" '["invoice","transfer_to_triage"]'
	same "$output" 'it is 7'
	popd >/dev/null
	AWF_TOOL_PATH=tools run -0 awf-step --dry-run --allow-tools '' a -a elsewhere/team/agents/billing.md <<<x
	same "$(jq -c '[.tools[].name]' <<<"$output")" '["transfer_to_triage"]'
}

@test "--dry-run shows the transfers, -j N works, what fails in the second agent is the call's failure" {
	export JQ=jq
	same "$(echo x | awf-step --dry-run a -a triage | jq -c '.tools[1]')" \
		'{"name":"transfer_to_support","description":"Hands the conversation over to support, who goes on with it.","input_schema":{"type":"object","properties":{"reason":{"type":"string","description":"Why the other agent is to go on."}}}}'
	stream tool_use "$(use t1 transfer_to_support '{}')" >first
	FAULTS=(--fault 2:401)
	serve first
	run -3 --separate-stderr awf-step a -a triage <<<x
	same "$(payloads step.completed '[.agent, .error.code]')" '["support","auth"]'
	same "$(jq -c '[.data, .metadata.agent_name]' <<<"${lines[0]}")" '["x","support"]'
	kill "$MODEL_SERVER_PID"
	text fine >answer
	model_server --loop --answer-for t1 answer --answer first
	same "$(seq 6 | awf-step -i lines -j 3 a -a triage | jq -c '[.data, .metadata.agent_name]' | sort -u)" \
		'["fine","support"]'
}

@test "it replays, with the events of both agents" {
	serve_billing
	printf '#!/bin/sh\nawf-step -a triage a | awf-step b -r -- cat\n' >flow.awf
	chmod +x flow.awf
	echo 'what do I owe?' | awf-run ./flow.awf >out
	same "$(cat out)" 'it is 7'
	run -0 --separate-stderr awf-replay
	same "$output" 'it is 7'
	run -0 awf-verify --determinism --isolation none
	# A changed agent that would have gone on is a divergence.
	sed -i 's/Be exact/Be vague/' agents/billing.md
	run -3 --separate-stderr awf-replay --isolation none
}

@test "other vocabularies tell of it: agent-event, interagent, what awf-tail shows" {
	serve_billing
	printf '#!/bin/sh\nawf-step -a triage a | awf-step -a support b\n' >flow.awf
	chmod +x flow.awf
	text 'noted' >noted
	kill "$MODEL_SERVER_PID"
	serve to_billing look answer noted
	echo 'what do I owe?' | awf-run ./flow.awf >out
	awf-tail --as agent-event >events
	same "$(jq -c 'select(.type == "handoff").payload | [.from, .to, .path]' events)" \
		'["triage","billing","a"]
["billing","support","b"]'
	same "$(jq -c 'select(.type == "llm.turn.start").payload | [.message, .model]' events)" \
		'["triage: turn 0","test"]
["billing: turn 1","test-billing"]
["billing: turn 2","test-billing"]
["support: turn 0","test"]'
	awf-tail --as interagent >events
	same "$(jq -c 'select(.type | startswith("task")) | [.type, .agent_id, .recipient_agent_id]' events)" \
		'["task_sent","flow.awf","triage"]
["task_received","triage",null]
["task_sent","triage","billing"]
["task_received","billing",null]
["task_sent","billing","support"]
["task_received","support",null]'
	same "$(jq -r 'select(.type == "tool_call").agent_id' events | paste -sd' ')" 'triage billing'
	same "$(jq -r .event_id events | sort | uniq -d)" ''
	awf-tail | grep -q 'to billing'
	awf-tail --as agentloom | jq -e '.a | length == 3' >/dev/null
}

@test "Ctrl-C while the second agent is asked; a doubtful key of it is warned of" {
	printf -- '---\nprovider: anthropic\nmodel: test\nhandofs: x\n---\n' >agents/support.md
	stream tool_use "$(use t1 transfer_to_support '{}')" >first
	text fine >answer
	FAULTS=(--fault 2:stall)
	serve first answer
	echo x | env --default-signal=INT awf-step -q a -a triage 2>stderr 3>&- &
	eventually sh -c 'test "$(wc -l <"$1")" = 2' - "$MODEL_SERVER_LOG"
	kill -INT $!
	wait $! || true
	same "$(payloads step.completed '[.agent, .error.code]')" '["support","cancelled"]'
	same "$(head -n 1 stderr)" "awf-step: agents/support.md:4: warning: 'handofs' means nothing (did you mean 'handoffs'?)"
}

@test "an exported run replays elsewhere, with all its agents" {
	serve_billing
	printf '#!/bin/sh\nawf-step -r -a triage a\n' >flow.awf
	chmod +x flow.awf
	echo 'what do I owe?' | awf-run ./flow.awf >out
	awf-replay -q --export ../exported 2>/dev/null
	cd ..
	rm -rf work
	export AWF_STORAGE=$BATS_TEST_TMPDIR/other
	run -0 --separate-stderr awf-replay -q --isolation copy exported
	same "$output" 'it is 7'
}
