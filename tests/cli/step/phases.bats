#!/usr/bin/env bats
# bats file_tags=turn:2
# Agents with phases: parts of the work that are handed out one at a time.
# shellcheck shell=bash disable=SC2154,SC2016 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/resume
load ../../support/scripted

prepare() {
	resume_tools
	scripted_provider
	mkdir agents tools
	tool note '"effects":"external"' 'ledger note'
	tool calc '"effects":"none"' 'cat; echo "$AWF_CALL $AWF_PATH"'
	# Enters itself, then is held.
	tool wait '"effects":"read"' 'ledger wait; hold'
	phased '[{name: collect, instructions: Collect it.},
  {name: analyse, instructions: Analyse it., tools: [calc, wait]},
  {name: write, prompt: Write it., tools: []}]' 'tools: [note, wait]'
	printf '#!/bin/sh\n%s\n' 'echo "the topic" | awf-step -a worker work | awf-step next -r -- cat' >flow.awf
	chmod +x flow.awf
}

# The agent, with these phases and further lines of front matter.
phased() { printf -- '---\nprovider: scripted\nmodel: m\n%s\nphases: %s\n---\nBe brief.\n' "${2-}" "$1" >agents/worker.md; }

# Calls that end a phase, of this id, with this output.
proceed() { called "$1" continue_workflow "{\"token\":\"${3-@TOKEN}\",\"output\":$2}"; }
finish() { called "$1" finish_workflow "{\"token\":\"${3-@TOKEN}\",\"output\":$2}"; }

work() { awf-step -a worker work "$@" <<<'the topic'; }
# What became of the calls of a tool: its error's code, or null.
fates() { jq -r "select(.type == \"tool.result\" and .payload.name == \"$1\").payload.error.code" "$(transcript)" | paste -sd' '; }

@test "a phase has a limit of its own" {
	phased '[{name: collect, instructions: Collect it., max_turns: 2}, {name: write, prompt: Write it., max_turns: 1}]' 'tools: [note, wait]'
	script "$(called t1 note '{"n":1}')" "$(proceed c1 '{}')" "$(finish c3 '"the text"')"
	same "$(work -r)" "the text"
	script "$(called t1 note '{"n":1}')" "$(called t2 note '{"n":2}')" "$(proceed c1 '{}')"
	run -3 --separate-stderr work -r
	[[ $stderr == *"phase 'collect' reached its max_turns (2) without an end"* ]]
	same "$(payloads step.completed 'select(.kind == "agent").error.code')" '"max_turns"'
	script "$(called t1 note '{"n":1}')" "$(proceed c1 '{}')" "$(called t2 note '{"n":2}')" "$(finish c3 '"the text"')"
	run -3 --separate-stderr work -r
	[[ $stderr == *"phase 'write' reached its max_turns (1) without an end"* ]]
}

@test "phases are handed out one at a time, each is a sub-step with its result" {
	script "$(called t1 note '{"n":1}'),$(proceed c1 '{"facts":[1,2]}')" \
		"$(called t2 calc '{}')" "$(proceed c2 '"an analysis"')" "$(finish c3 '"the text"')"
	same "$(work -r)" "the text"
	same "$(asked)" "1 3 5 7"
	# What the model was given: instructions and token of the first phase, no word of the others.
	jq -r '.messages[0].blocks[1].text' requests.jsonl | head -n 1 >first
	grep -q '^The work has 3 phases.*phase 1, "collect":$' first
	token=$(payloads step.started 'select(.phase.number == 1).phase.token' | tr -d '"')
	[[ $token =~ ^[0-9a-f]{32}$ ]]
	jq -sr '.[0].messages[0].blocks[1].text' requests.jsonl | grep -qF "continue_workflow with the token \"$token\""
	run ! grep -q 'Analyse\|Write' <<<"$(jq -sc '.[0]' requests.jsonl)"
	same "$(payloads tool.result 'select(.name | endswith("_workflow")).output | [.isComplete, .phase, .number, .of, .instructions, .tools]')" \
		'[false,"analyse",2,3,"Analyse it.",["calc","wait"]]
[false,"write",3,3,"Write it.",[]]
[true,null,null,null,null,null]'
	# The tools of each turn.
	same "$(jq -c '[.tools[].name]' requests.jsonl)" \
		'["note","wait","continue_workflow","finish_workflow"]
["calc","wait","continue_workflow","finish_workflow"]
["calc","wait","continue_workflow","finish_workflow"]
["continue_workflow","finish_workflow"]'
	# The record.
	same "$(payloads step.completed '[.name, .kind, .call, .result, .phase]')" \
		'["collect","phase","work:0:0/collect:0:0",{"facts":[1,2]},{"number":1,"of":3}]
["analyse","phase","work:0:0/analyse:0:0","an analysis",{"number":2,"of":3}]
["write","phase","work:0:0/write:0:0","the text",{"number":3,"of":3}]
["work","agent","work:0:0","the text",null]'
	same "$(jq -r 'select(.type == "tool.call") | .path + " " + .payload.name' "$(transcript)" | paste -sd,)" \
		'work.collect note,work.collect continue_workflow,work.analyse calc,work.analyse continue_workflow,work.write finish_workflow'
	same "$(payloads tool.result 'select(.name == "calc").output')" '"{}\nwork:0:0/analyse:0:0 work.analyse"'
	same "$(awf-tail --path work.write --type 'tool.*' --json | wc -l)" 2
	same "$(awf-replay --state work.analyse)" \
		'{"call":"work:0:0/analyse:0:0","attempt":1,"input":{"facts":[1,2]},"output":"an analysis"}'
	awf-replay --tree >tree
	same "$(grep -c ' phase done ' tree)" 3
	awf-verify -q
}

@test "causes: a phase follows the one before it, the step its last" {
	script "$(proceed c1 1)" "$(proceed c2 2)" "$(finish c3 3)"
	work -q
	jq -s 'def of(t; c): map(select(.type == t and .payload.call == c))[0];
		"work:0:0" as $w | [
		of("step.started"; "\($w)/collect:0:0").parent_event_id == of("step.started"; $w).event_id,
		of("step.started"; "\($w)/analyse:0:0").parent_event_id == of("step.completed"; "\($w)/collect:0:0").event_id,
		of("step.started"; "\($w)/write:0:0").parent_event_id == of("step.completed"; "\($w)/analyse:0:0").event_id,
		of("step.completed"; $w).parent_event_id == of("step.started"; $w).event_id,
		of("step.completed"; $w).links == [of("step.completed"; "\($w)/write:0:0").event_id]] | all' \
		"$(transcript)" >all
	same "$(cat all)" true
}

@test "a wrong, stale, missing or misused token leaves the phase as it is, which is told again" {
	script "$(called c1 continue_workflow '{"token":"00000000000000000000000000000000","output":1}'),$(called c2 continue_workflow '{"output":1}'),$(called c3 continue_workflow '{"token":7,"output":1}'),$(called c4 continue_workflow '{"token":"@TOKE","output":1}')" \
		"$(proceed c5 1)" "$(proceed c6 2 @FIRST),$(finish c7 2)" "$(proceed c8 2),$(proceed c9 3)" \
		"$(proceed c10 4),$(called c11 finish_workflow '{"token":"@TOKEN"}')" "$(finish c12 '"end"')"
	same "$(work -r)" end
	same "$(fates continue_workflow)" "blocked blocked blocked blocked null blocked null blocked blocked"
	same "$(fates finish_workflow)" "blocked schema null"
	# Each tells why, and the phase, unless it has just ended.
	payloads tool.result 'select(.error) | [.call_id, .output.phase, .output.number, .error.message]' >told
	same "$(jq -rs 'map("\(.[0]) \(.[1])")[]' told | paste -sd,)" \
		'c1 collect,c2 collect,c3 collect,c4 collect,c6 analyse,c7 analyse,c9 null,c10 write,c11 write'
	grep -q '"c2".*the token of the phase is missing; phase 1 of 3' told
	grep -q '"c6".*that of a phase that has ended; phase 2 of 3' told
	grep -q '"c7".*not the last phase: continue_workflow ends it' told
	grep -q '"c9".*a call before this one has ended the phase"' told
	grep -q '"c10".*the last phase, which finish_workflow ends' told
	grep -q "\"c11\".*the argument 'output' is missing" told
	# The model reads both, and the token that it needs.
	jq -sr '.[1].messages[2].blocks[0] | .is_error, .tool_content' requests.jsonl >was-read
	grep -q '^true$' was-read
	grep -q '^{"isComplete":false,"phase":"collect".*"instructions":"Collect it.".*"token":"[0-9a-f]\{32\}"' was-read
	awf-verify -q
}

@test "tools of another phase are not offered, and refused if called" {
	script "$(called t1 calc '{}'),$(called t2 note '{}')" "$(called t3 calc '{}'),$(proceed c1 1),$(called t4 note '{}')" \
		"$(called t5 note '{}'),$(called t6 calc '{}')" "$(proceed c2 1)" "$(called t7 wait '{}')" "$(finish c3 '"end"')"
	same "$(work -r)" end
	same "$(payloads tool.result 'select(.name | endswith("_workflow") | not) | [.call_id, .error.code]' | paste -sd' ')" \
		'["t1","blocked"] ["t2",null] ["t3","blocked"] ["t4",null] ["t5","blocked"] ["t6",null] ["t7","blocked"]'
	# All calls of an answer belong to the phase in which it was given.
	same "$(jq -r 'select(.type == "tool.result" and .payload.call_id == "t4").path' "$(transcript)")" work.collect
	same "$(entries note)" 2
}

@test "--allow-tools takes tools from phases and gives them none" {
	script "$(called t1 note '{}'),$(proceed c1 1)" "$(called t2 calc '{}'),$(proceed c2 1)" "$(finish c3 '"end"')"
	same "$(work -r --allow-tools calc)" end
	same "$(jq -c '[.tools[].name] - ["continue_workflow","finish_workflow"]' requests.jsonl | paste -sd' ')" '["calc"] ["calc"] []'
	same "$(fates note) $(fates calc)" "blocked null"
}

@test "an answer that calls nothing is reminded of the phase once, the second in a row is an error" {
	script "$(said 'I am done.')" "$(called t1 calc '{}')" "$(said 'Now I am.')" "$(proceed c1 1)" "$(proceed c2 1)" "$(said well)" "$(said 'no, really')"
	run -3 --separate-stderr work -q
	same "$stderr" "awf-step: work: worker: phase 3 of 3, 'write', was not ended: two answers in a row called no tool"
	same "$(asked)" "1 3 5 7 9 11 13"
	same "$(payloads message.user '[.turn, (.blocks | length)]' | paste -sd' ')" "[0,2] [1,1] [3,1] [6,1]"
	same "$(payloads step.completed '[.name, .error.code]' | paste -sd' ')" \
		'["collect",null] ["analyse",null] ["write","incomplete"] ["work","incomplete"]'
	jq -r 'select(.type == "message.user" and .payload.turn == 6).payload.blocks[0].text' "$(transcript)" >text
	grep -q '^The work is not done: nothing but a call of finish_workflow ends the phase.$' text
	grep -qF "$(payloads step.started 'select(.phase.number == 3).phase.token')" text
	awf-verify -q
}

@test "limits count over all phases, and end the one that they meet" {
	script "$(proceed c1 1)" "$(called t1 calc '{}')" "$(called t2 calc '{}')"
	run -3 work -q --max-turns 2
	same "$(payloads step.completed '[.name, .error.code]' | paste -sd' ')" \
		'["collect",null] ["analyse","max_turns"] ["work","max_turns"]'
	run -3 work -q --max-tokens-total 20
	same "$(payloads step.completed '[.name, .error.code]' | paste -sd' ')" \
		'["collect",null] ["analyse","max_tokens"] ["work","max_tokens"]'
	same "$(payloads run.completed '.error.message' | grep -c 'max_tokens_total')" 1
	# What is excused with the step is excused with its phases.
	awf-run -n -c 'echo x | awf-step -a worker work --allow-failure --max-turns 2 -q'
	run -1 awf-run -n -c 'echo x | awf-step -a worker work --try --max-turns 2 -q || exit 1'
	same "$(payloads run.completed .status)" '"failed"'
}

@test "one phase has no continue_workflow; several items have tokens of their own" {
	phased '[{name: all, instructions: Do it.}]'
	script "$(finish c1 '{"n":1}')"
	printf 'a\nb\n' | awf-step -i lines -j 2 -a worker work | jq -c .data >out
	same "$(paste -sd' ' out)" '{"n":1} {"n":1}'
	same "$(jq -c '[.tools[].name]' requests.jsonl | sort -u)" '["finish_workflow"]'
	same "$(payloads step.completed '.call' | sort | paste -sd' ')" '"work:0:0" "work:0:0/all:0:0" "work:0:1" "work:0:1/all:0:0"'
	same "$(payloads step.started '.phase.token // empty' | sort -u | wc -l)" 2
}

@test "tools_policy warn lets tools of other phases run, with a warning" {
	phased '[{name: one, instructions: x, tools: []}, {name: two, instructions: y, tools: [calc]}]' 'tools_policy: warn'
	script "$(called t1 calc '{}'),$(proceed c1 1)" "$(finish c2 2)"
	work -q
	same "$(payloads tool.call 'select(.name == "calc").warning != null')" true
	same "$(fates calc)" null
}

@test "--dry-run shows the first request, and starts no phase" {
	script
	work --dry-run >request
	same "$(jq -c '[.messages[0].blocks | length, .[].text != ""]' request)" '[2,true,true]'
	same "$(jq -c '[.tools[].name]' request)" '["note","wait","continue_workflow","finish_workflow"]'
	[ ! -e "$AWF_STORAGE/latest" ]
}

@test "what is wrong with phases is said with its file and line" {
	while IFS='|' read -r phases place message; do
		phased "$(printf '%b' "$phases")"
		run -2 --separate-stderr work
		same "$stderr" "awf-step: agents/worker.md$place: $message"
	done <<-'END'
		x|:5|phases: expected a list of phases {name: …, instructions: …}
		[]|:5|phases: expected a list of phases {name: …, instructions: …}
		{name: a}|:5|phases: expected a list of phases {name: …, instructions: …}
		[a]|:5|expected a phase {name: …, instructions: …}, got text
		\n  - name: a\n    instructions: x\n  - instructions: y|:8|the phase has no name
		\n  - name: a|:6|the phase 'a' has no instructions
		\n  - name: a\n    instructions: x\n  - name: a\n    instructions: y|:5|phases: 'a' is there twice
		\n  - name: a b\n    instructions: x|:6|name: 'a b' is no name of a step (1 to 128 of A-Z a-z 0-9 _ -)
		\n  - name: [a]\n    instructions: x|:6|name: expected a text, got list
		\n  - name: a\n    instructions: 7|:7|instructions: expected a text, got whole number
		\n  - name: a\n    instructions: ' '|:7|instructions: must not be empty
		\n  - name: a\n    prompt: x\n    instructions: y|:7|prompt: 'instructions' says the same, drop one
		\n  - name: a\n    instruction: y|:7|instruction: unknown key (did you mean 'instructions'?)
		\n  - name: a\n    instructions: x\n    tools: [a b]|:8|tools: 'a b' is no tool's name (1 to 64 of A-Z a-z 0-9 _ -)
		\n  - name: a\n    instructions: x\n    tools: [a, a]|:8|tools: 'a' is there twice
		\n  - name: a\n    instructions: x\n    tools: [finish_workflow]|:5|phases: 'finish_workflow' is there for every phase, and no tool of the agent's
		\n  - name: a\n    instructions: x\nstop_when: {tool: x}|:5|phases: not with stop_when: finish_workflow ends the call
		\n  - name: a\n    instructions: x\nstop_when: {command: x}|:5|phases: not with stop_when: finish_workflow ends the call
		\n  - name: a\n    instructions: x\nhandoffs: [x]|:5|phases: not with handoffs: the phases are this agent's
	END
	printf -- '---\nmodel: scripted/m\nhandoffs: [worker]\n---\n' >agents/lead.md
	phased '[{name: a, instructions: x}]'
	run -2 --separate-stderr awf-step -n -p x -a lead work
	same "$stderr" "awf-step: agents/lead.md:3: handoffs: 'worker' has phases: it works from its first on or not at all"
	phased '[{name: a, instructions: x, tools: [nowhere]}]'
	run -2 --separate-stderr work
	[[ $stderr == "awf-step: agents/worker.md: tools: nowhere.tool.json: not found in "* ]]
	echo '{"provider":"scripted","model":"m","phases":[{"name":"a","instructions":"x"},{"name":"b","tools":7}]}' >agents/j.json
	run -2 --separate-stderr awf-step -n -p x -a agents/j.json work
	same "$stderr" "awf-step: agents/j.json: phases/1: tools: expected a list of names, got whole number"
}

@test "an agent that is cancelled ends its phase" {
	script "$(proceed c1 1)" "$(called t1 wait '{}')"
	: >held
	awf-run -n --id-file run.id ./flow.awf >out1 2>err1 3>&- &
	eventually test -e ready
	kill -TERM $!
	status=0
	wait $! || status=$?
	same "$status" 143
	rm -f held
	same "$(payloads step.completed 'select(.name != "next") | [.name, .error.code]' "$(record)" | paste -sd' ')" \
		'["collect",null] ["analyse","cancelled"] ["work","cancelled"]'
	awf-verify -q "$(id)"
	script "$(proceed c1 1)" "$(called t1 wait '{}')" "$(proceed c2 2)" "$(finish c3 '"end"')"
	run -0 --separate-stderr resume
	same "$output" end
	same "$(asked)" "5 7"
	same "$(payloads step.started '[.name, .attempt, .phase.token, .claims != null]' "$(record)" | jq -sc 'map(select(.[0] == "analyse")) | .[0][2] == .[1][2], map([.[1], .[3]])' | paste -sd' ')" \
		'true [[1,false],[2,true]]'
	awf-verify -q "$(id)"
}

# bats test_tags=turn:3
@test "killed in any phase, it goes on in that phase" {
	for phase in 1 2 3; do
		rm -f ./*.ledger
		phased '[{name: collect, instructions: Collect it.}, {name: analyse, instructions: Analyse it.}, {name: write, instructions: Write it.}]' 'tools: [note, wait]'
		script "$(called t1 note '{}'),$(called "w$((phase == 1))" "$([ $phase = 1 ] && echo wait || echo note)" '{}')" "$(proceed c1 '"facts"')" \
			"$(called t2 "$([ $phase = 2 ] && echo wait || echo note)" '{}')" "$(proceed c2 '"thoughts"')" \
			"$(called t3 "$([ $phase = 3 ] && echo wait || echo note)" '{}')" "$(finish c3 '"the text"')"
		die -n ./flow.awf
		same "$(asked)" "$(seq 1 2 $((4 * phase - 3)) | paste -sd' ')"
		run -0 --separate-stderr resume
		same "$output" "the text"
		same "$(asked)" "1 3 5 7 9 11"
		same "$(entries note) $(entries wait)" "3 2"
		same "$(payloads step.completed 'select(.name != "next") | [.name, .result]' "$(record)" | paste -sd' ')" \
			'["collect","facts"] ["analyse","thoughts"] ["write","the text"] ["work","the text"]'
		# The phase that was cut off begins again under its token, the others once.
		same "$(payloads step.started '.phase.number // empty' "$(record)" | sort | uniq -c | awk '{print $2 ":" $1}' | paste -sd' ')" \
			"$(for n in 1 2 3; do echo "$n:$((1 + (n == phase)))"; done | paste -sd' ')"
		same "$(payloads step.started '.phase.token // empty' "$(record)" | sort -u | wc -l)" 3
		awf-verify -q "$(id)"
		awf-verify -q --determinism "$(id)"
	done
}

@test "killed between two phases, it goes on with the token that its model has; an ended phase's stays refused" {
	script "$(proceed c1 '"facts"')" "$(proceed c2 '"thoughts"')" "$(finish c3 '"the text"')"
	awf-run -n --id-file run.id ./flow.awf >out
	cp "$(record)" whole
	token=$(payloads tool.result 'select(.call_id == "c1").output.token' whole | tr -d '"')
	# What the model was told last is recorded; the next phase has not begun, or just has.
	told=$(grep -n '"type":"tool.result".*"c1"' whole | cut -d: -f1)
	begun=$(grep -n '"type":"step.started".*"name":"analyse"' whole | cut -d: -f1)
	script "$(proceed c1 '"facts"')" "$(proceed c4 '"no"' @FIRST)" \
		"$(proceed c5 '"thoughts"' "$token")" "$(finish c6 '"the text"')"
	for line in "$told" "$begun"; do
		head -n "$line" whole >"$(record)"
		rm -f requests.jsonl
		run -0 --separate-stderr resume
		same "$output" "the text"
		same "$(asked)" "3 5 7"
		# Its conversation has the token, so a fresh one would shut it out.
		jq -sc '.[0].messages[2]' requests.jsonl | grep -qF "$token"
		same "$(payloads step.started 'select(.name == "analyse").phase.token' "$(record)" | sort -u)" "\"$token\""
		same "$(payloads tool.result 'select(.name == "continue_workflow") | [.call_id, .error.code]' "$(record)" | paste -sd' ')" \
			'["c1",null] ["c4","blocked"] ["c5",null]'
		payloads tool.result 'select(.call_id == "c4").error.message' "$(record)" | grep -q 'that of a phase that has ended'
		awf-verify -q "$(id)"
	done
}

# bats test_tags=turn:2
@test "cut off after any line, it comes to the same" {
	tool note '"effects":"external","idempotent":true' 'echo noted'
	script "$(called t1 note '{"n":1}'),$(proceed c0 1 x)" "$(said hm),$(proceed c1 '"facts"'),$(called t2 note '{"n":2}')" \
		"$(said 'what now?')" "$(called t3 calc '{}'),$(proceed c2 '"thoughts"')" "$(finish c3 '"the text"')"
	awf-run -n --id-file run.id ./flow.awf >out
	cp -r "$AWF_STORAGE" whole
	last=$(grep -n '"type":"step.completed","path":"work"' "$(record)" | cut -d: -f1)
	for line in $(seq 2 "$(rounds 4 1)" "$((last - 1))"); do
		rm -rf "$AWF_STORAGE" requests.jsonl
		cp -r whole "$AWF_STORAGE"
		answers=$(head -n "$line" "$(record)" | grep -c '"type":"message.assistant"' || true)
		head -n "$line" "whole/transcripts/$(id).jsonl" >"$(record)"
		run -0 --separate-stderr resume
		same "$line: $output" "$line: the text"
		# No answer that is recorded was asked for again.
		same "$line: $(grep -c . requests.jsonl 2>/dev/null || true)" "$line: $((5 - answers))"
		same "$line: $(payloads step.completed '.call' "$(record)" | sort | uniq -d)" "$line: "
		awf-verify -q "$(id)"
		awf-replay -q --isolation "$(isolation)" "$(id)" >/dev/null 2>err || { cat err >&2; echo "cut at $line" >&2; false; }
	done
}

@test "an agent that failed between a reminder and its answer does not ask again what was answered" {
	script "$(said hm)" "$(called t1 calc '{}')" "$(proceed c1 1)" "$(proceed c2 1)" "$(finish c3 '"end"')"
	awf-run -n --id-file run.id ./flow.awf >out
	# Back to the reminder, after which the call failed.
	line=$(grep -n '"turn":1' "$(record)" | head -n 1 | cut -d: -f1)
	head -n "$line" "$(record)" >cut-off
	mv cut-off "$(record)"
	rm requests.jsonl
	run -0 --separate-stderr resume
	same "$(asked)" "3 5 7 9"
}

@test "replayed and verified, with tokens of the recording" {
	script "$(called t1 note '{"n":1}'),$(proceed c0 1 x)" "$(proceed c1 '"facts"')" "$(said 'what now?')" \
		"$(called t3 calc '{}'),$(proceed c2 '"thoughts"'),$(proceed c4 4)" "$(finish c3 '"the text"')"
	awf-run -n ./flow.awf >out
	awf-verify -q --determinism
	same "$(entries note)" 1
	# Failed ones too.
	script "$(proceed c1 1)" "$(said hm)" "$(said hm)"
	run -3 awf-run -n ./flow.awf
	awf-verify -q --determinism
	# Other instructions make another conversation.
	script "$(proceed c1 1)" "$(proceed c2 1)" "$(finish c3 '"end"')"
	awf-run -n ./flow.awf >out
	sed -i 's/Analyse it/Look at it/' agents/worker.md
	run -3 awf-replay -q --current --isolation copy
}

@test "a fork takes the work over as a whole; a phase alone is no place for one" {
	script "$(proceed c1 1)" "$(proceed c2 1)" "$(finish c3 '"end"')"
	awf-run -n --id-file run.id ./flow.awf >out
	run -125 --separate-stderr awf-run --fork "$(id)" --at work.analyse
	[[ $stderr == *"no recorded call is, or is of, 'work.analyse'"* ]]
	rm requests.jsonl
	same "$(awf-run --fork "$(id)" --at next)" end
	[ ! -e requests.jsonl ]
	same "$(awf-run --fork "$(id)" --at work)" end
	same "$(asked)" "1 3 5"
}

@test "steps that a tool of a phase runs lie in that phase, and are found there again" {
	tool inner '"effects":"none"' 'read -r n; echo "$n" | awf-step inner -r --effects external -- ledger inner; hold </dev/null'
	phased '[{name: one, instructions: x}, {name: two, instructions: y}]' 'tools: [inner]'
	script "$(called t1 inner '{"n":1}')" "$(proceed c1 1)" "$(called t2 inner '{"n":1}')" "$(finish c2 '"end"')"
	awf-run -n --id-file run.id ./flow.awf >out
	same "$(payloads step.completed 'select(.name == "inner").call' "$(record)" | paste -sd' ')" \
		'"work:0:0/one:0:0/inner:0:0" "work:0:0/two:0:0/inner:0:0"'
	same "$(jq -r 'select(.type == "step.started" and .payload.name == "inner").path' "$(record)" | sort -u | paste -sd' ')" "work.one.inner work.two.inner"
	awf-verify -q
	awf-verify -q --determinism
	same "$(entries inner)" 2
	# Killed in the tool, after what it ran: that is not run again.
	rm -f ./*.ledger
	: >held
	awf-run -n --id-file run.id ./flow.awf >out1 2>err1 3>&- &
	eventually test -e ready
	kill -9 $!
	wait $! 2>/dev/null || true
	eventually deserted
	rm -f held ready
	same "$(entries inner)" 1
	run -0 --separate-stderr resume
	same "$output $(entries inner)" "end 2"
	awf-verify -q "$(id)"
}

# bats test_tags=turn:2
@test "a program before each turn: asked in every phase, once for each turn that is answered; its end ends the phase" {
	cat >bin/before <<-'END'
		#!/bin/sh
		jq -c '{params: {max_tokens: (100 + .turn)}} + if .turn == 3 and (env.ENDS // "") != "" then {end: {result: "enough"}} else {} end'
	END
	chmod +x bin/before
	phased '[{name: one, instructions: x, tools: []}, {name: two, instructions: y}, {name: three, instructions: z}]' 'tools: [wait]
before_turn: before'
	script "$(proceed c1 1)" "$(called t1 wait '{}')" "$(said hm)" "$(proceed c2 2)" "$(finish c3 '"end"')"
	die -n ./flow.awf
	run -0 --separate-stderr resume
	same "$output" end
	same "$(jq -c '.params.max_tokens' requests.jsonl | paste -sd' ')" "100 101 102 103 104"
	same "$(payloads message.user 'select(.before_turn).turn' "$(record)" | paste -sd' ')" "0 1 2 3 4"
	awf-verify -q "$(id)"
	awf-verify -q --determinism "$(id)"
	# Cut off where a phase has begun and the program was asked.
	rm requests.jsonl
	line=$(grep -n '"before_turn":.*"turn":4' "$(record)" | cut -d: -f1)
	head -n "$line" "$(record)" >cut-off
	mv cut-off "$(record)"
	run -0 --separate-stderr resume
	same "$output $(asked)" "end 9"
	same "$(payloads message.user 'select(.before_turn).turn' "$(record)" | paste -sd' ')" "0 1 2 3 4"
	awf-verify -q "$(id)"
	awf-replay -q --isolation "$(isolation)" "$(id)" >/dev/null 2>&1
	script "$(proceed c1 1)" "$(called t1 wait '{}')" "$(called t2 wait '{}')" "$(finish c3 '"end"')"
	same "$(ENDS=yes work -r)" enough
	same "$(payloads step.completed '[.name, .result]' | paste -sd' ')" '["one",1] ["two","enough"] ["work","enough"]'
	awf-verify -q
}
