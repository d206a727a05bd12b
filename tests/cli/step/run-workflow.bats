#!/usr/bin/env bats
# The tool run_workflow: agents that start workflows as child runs.
# shellcheck shell=bash disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/resume
load ../../support/scripted

prepare() {
	resume_tools
	scripted_provider
	mkdir agents tools sub
	printf -- '---\nprovider: scripted\nmodel: m\ntools: [run_workflow]\n---\nLead.\n' >agents/boss.md
	workflow boss.awf 'echo topic | awf-step -a boss lead -r'
	workflow shout.awf 'awf-step up -r -- tr a-z A-Z'
	workflow sub/quiet 'awf-step down -r -- tr A-Z a-z'
}

workflow() { printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod +x "$1"; }
# A call of the tool, with these members of its arguments.
start() { called "$1" run_workflow "{$2}"; }
results() { payloads tool.result "$1" "$2"; }
boss() { awf-run -n --id-file run.id ./boss.awf; }

@test "a workflow runs as a child of the run, its output is the result" {
	script "$(start t1 '"workflow":"shout.awf","goal":"hello there"'),$(start t2 '"workflow":"sub/quiet","goal":"BE QUIET","wait":true')" \
		"$(start t3 '"workflow":"shout"')" "$(said 'all done')"
	same "$(boss)" "all done"
	same "$(results '.output | [.status, .exit_code, .output]' "$(record)")" \
		'["success",0,"HELLO THERE"]
["success",0,"be quiet"]
["failed",1,""]'
	# Linked both ways: each is a child, its call follows the tool's call and lies in the step's.
	child=$(results 'select(.call_id == "t1").output.run_id' "$(record)" | tr -d '"')
	same "$(jq -r 'select(.type == "step.call_workflow.started" and .payload.name == "shout") | .payload.call + " " + .path' "$(record)" | head -n 1)" \
		"lead:0:0/shout:0:0 lead.shout"
	same "$(jq -rs '(map(select(.type == "tool.call"))[0].event_id) as $call |
		map(select(.type == "step.call_workflow.started"))[0] | [.parent_event_id == $call, .child_run_id] | join(" ")' "$(record)")" \
		"true $child"
	same "$(jq -r 'select(.type == "run.started").parent_run_id' "$AWF_STORAGE/transcripts/$child.jsonl")" "$(id)"
	awf-verify -q "$(id)" "$child"
	awf-replay --tree "$(id)" | grep -q 'up command done'
	# The model reads it.
	jq -r '.messages[-1].blocks[0].tool_content | if type == "string" then . else tojson end' requests.jsonl | grep -q 'HELLO THERE'
}

@test "a child that fails is a result, and no failure of the run" {
	workflow broken.awf 'echo so far; awf-step break -n -q -- sh -c "echo no >&2; exit 7"'
	script "$(start t1 '"workflow":"broken.awf"')" "$(said 'it failed')"
	run -0 --separate-stderr boss
	same "$output" "it failed"
	same "$(results '[.error, .output.status, .output.exit_code, .output.output]' "$(record)")" '[null,"failed",3,"so far"]'
	same "$(payloads run.completed .status "$(record)")" '"success"'
	same "$(payloads step.call_workflow.completed .error.code "$(record)")" '"exit_status"'
	awf-verify -q "$(id)"
	# A step of a tool of one's own, too: the tool has said how it went.
	tool try '"effects":"none"' 'awf-step inner -n -q -- false || echo it did not work'
	printf -- '---\nprovider: scripted\nmodel: m\ntools: [try]\n---\n' >agents/boss.md
	script "$(called t1 try '{}')" "$(said 'tried')"
	same "$(boss 2>err)" tried
	same "$(payloads run.completed .status "$(record)")" '"success"'
}

@test "what it may not or cannot start is told to the model, and nothing is started" {
	mkdir -p elsewhere/inner
	workflow elsewhere/out.awf 'echo out'
	workflow elsewhere/inner/boss.awf 'echo topic | awf-step -a boss lead -r'
	cp -r agents elsewhere/inner
	ln -s ../out.awf elsewhere/inner/link.awf
	script "$(start t1 '"workflow":"../out.awf"'),$(start t2 "\"workflow\":\"$PWD/elsewhere/out.awf\""),$(start t3 '"workflow":"link.awf"'),$(start t4 '"workflow":"nowhere"'),$(start t5 '"workflow":"."'),$(start t6 '"workflow":""'),$(start t7 '"goal":"x"'),$(start t8 '"workflow":"boss.awf"')" \
		"$(said ok)"
	same "$(awf-run -n --id-file run.id elsewhere/inner/boss.awf 2>err)" ok
	same "$(results '[.call_id, .error.code]' "$(record)" | paste -sd' ')" \
		'["t1","exit_status"] ["t2","exit_status"] ["t3","exit_status"] ["t4","exit_status"] ["t5","exit_status"] ["t6","schema"] ["t7","schema"] ["t8","exit_status"]'
	results '.call_id + " " + (.stderr // "")' "$(record)" >told
	for n in 1 2 3; do
		grep -q "t$n run_workflow: .*a workflow must lie in .*/elsewhere/inner, or below: this is .*/elsewhere/out.awf" told
	done
	grep -q 't4 run_workflow: nowhere: no such workflow in ' told
	grep -q 't5 run_workflow: .: no such workflow in ' told
	grep -q 't8 awf-run: .*run_workflow: no run was started' told
	same "$(find "$AWF_STORAGE/transcripts" -name '*.jsonl' | wc -l)" 1
	awf-verify -q "$(id)"
}

@test "--max-children: so many runs, 10 unless given, 0 for no limit" {
	nine=$(for n in 1 2 3 4 5 6 7 8 9; do start "t$n" '"workflow":"shout","goal":"x"'; done | sed 's/}{/},{/g')
	script "$nine" "$(start t10 '"workflow":"shout","goal":"x"'),$(start t11 '"workflow":"shout","goal":"x"')" "$(said ok)"
	boss
	same "$(results 'select(.error) | [.call_id, .error.code, .error.message]' "$(record)")" \
		'["t11","blocked","this call may start no more than 10 runs (--max-children)"]'
	script "$(start t1 '"workflow":"shout","goal":"x"'),$(start t2 '"workflow":"shout","goal":"x"')" "$(start t3 '"workflow":"shout","goal":"x"')" "$(said ok)"
	awf-step -a boss lead -q --max-children 1 <<<x
	same "$(results .error.code "$(transcript)" | paste -sd' ')" 'null "blocked" "blocked"'
	awf-step -a boss lead -q --max-children 0 <<<x
	same "$(results .error.code "$(transcript)" | paste -sd' ')" 'null null null'
	for bad in x -1 1.5; do run -1 awf-step -a boss lead -q --max-children "$bad"; done
	run -1 --separate-stderr awf-step lead --max-children 3 -- true
	same "$stderr" "awf-step: --max-children: only with -a or -m"
}

@test "as an operation, and under a definition of one's own" {
	same "$(echo '{"workflow":"shout","goal":"by hand"}' | awf-step -i json -t run_workflow go -r | jq -c '[.status, .output]')" \
		'["success","BY HAND"]'
	run -3 awf-step -i json -t run_workflow go -q <<<'{"workflow":"nowhere"}'
	run -3 awf-step -i json -t run_workflow go -q <<<'{"workflow":7}'
	echo 'echo ran >ledger' >README
	run -3 --separate-stderr awf-step -i json -t run_workflow go -q <<<'{"workflow":"README"}'
	[[ $stderr == *'README: is no workflow: those are files that end in .awf or may be run'* ]]
	[ ! -e ledger ]
	tool run_workflow '"effects":"none"' 'echo mine'
	same "$(echo '{"workflow":"shout"}' | AWF_TOOL_PATH=$PWD/tools awf-step -i json -t run_workflow go -r)" mine
	run -2 --separate-stderr awf-step -t run_workflows go -n
	[[ $stderr == *libexec/awf* ]]
}

@test "a workflow that was written since the step began is not started" {
	script "$(called t1 bash '{"command":"cp sub/quiet new.awf; cat sub/quiet >shout.awf"}')" \
		"$(start t2 '"workflow":"new"'),$(start t3 '"workflow":"shout"'),$(start t4 '"workflow":"sub/quiet","goal":"X"')" "$(said ok)"
	sed -i 's/\[run_workflow\]/[run_workflow, bash]/' agents/boss.md
	boss
	same "$(payloads tool.result '[.call_id, .error.code, .output.output?]' "$(record)" | grep -v t1)" '["t2","exit_status",null]
["t3","exit_status",null]
["t4",null,"x"]'
}

@test "a workflow that a sandboxed program wrote before is not started" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip 'no sandbox'
	mkdir -p "$AWF_STORAGE"
	"$BUILD/libexec/awf/awf-sandbox" -- sh -c 'echo "touch ran" >>shout.awf; ln -s ../shout.awf sub/link.awf'
	script "$(start t1 '"workflow":"shout.awf"'),$(start t2 '"workflow":"sub/link.awf"')" "$(said done)"
	same "$(boss)" done
	same "$(results '[.error.code, (.error.message | test("a sandboxed program may have written it"))]' "$(record)")" \
		'["exit_status",true]
["exit_status",true]'
	[ ! -e ran ]
}

@test "cancelling the run ends the child" {
	workflow hold.awf 'awf-step wait -n -- sh -c ": >ready; exec sleep 60"'
	script "$(start t1 '"workflow":"hold"')" "$(said ok)"
	awf-run -n --id-file run.id ./boss.awf >out1 2>err1 3>&- &
	eventually test -e ready
	kill -TERM $!
	status=0
	wait $! || status=$?
	same "$status" 143
	eventually deserted
	child=$(jq -r 'select(.type == "step.call_workflow.started").child_run_id' "$(record)")
	same "$(payloads run.completed .status "$AWF_STORAGE/transcripts/$child.jsonl")" '"cancelled"'
	same "$(payloads run.completed .status "$(record)")" '"cancelled"'
	awf-verify -q "$(id)" "$child"
}

@test "replayed and verified: the child is taken from the recording" {
	workflow count.awf 'awf-step count --effects external -n -r -- ledger count'
	script "$(start t1 '"workflow":"count"'),$(start t2 '"workflow":"nowhere"')" "$(said ok)"
	boss 2>err
	same "$(entries count)" 1
	awf-verify -q --determinism "$(id)"
	same "$(entries count)" 1
	# What the child does by chance is found in it.
	workflow draw.awf 'awf-step draw -n -r -- od -An -N8 -tx1 /dev/urandom'
	script "$(start t1 '"workflow":"draw"')" "$(said ok)"
	boss 2>err
	run -3 --separate-stderr awf-verify -q --determinism "$(id)"
	[[ $stderr == 'awf-verify: draw.awf (child run '*'): the replays differ: draw:0:0: step.completed'* ]]
}

@test "wait false: the run is detached, and goes on by itself" {
	workflow later.awf 'awf-step got -r -- sh -c "hold </dev/null; cat"'
	script "$(start t1 '"workflow":"later","goal":"for later","wait":false')" "$(said 'gone on')"
	: >held
	same "$(boss)" "gone on"
	child=$(results .output.run_id "$(record)" | tr -d '"')
	same "$(results '[.output.status, .output.exit_code, .output.output]' "$(record)")" '["running",null,null]'
	same "$(payloads run.completed .status "$AWF_STORAGE/transcripts/$child.jsonl")" ''
	rm held
	eventually grep -q '"type":"run.completed"' "$AWF_STORAGE/transcripts/$child.jsonl"
	same "$(payloads step.completed .result "$AWF_STORAGE/transcripts/$child.jsonl")" '"for later"'
	awf-verify -q "$(id)"
}

@test "killed with a child under way: the run that is resumed goes on with it" {
	workflow slow.awf 'awf-step one -r -- ledger one | awf-step two -- sh -c "hold </dev/null; cat" | awf-step three -r -- tr a-z A-Z'
	for phases in '' 'phases: [{name: first, instructions: x, tools: []}, {name: second, instructions: y}]'; do
		rm -f ./*.ledger
		printf -- '---\nprovider: scripted\nmodel: m\ntools: [run_workflow]\n%s\n---\nLead.\n' "$phases" >agents/boss.md
		if [ -z "$phases" ]; then
			script "$(start t1 '"workflow":"shout","goal":"x"'),$(start t2 '"workflow":"slow","goal":"the goal"')" "$(said 'all done')"
		else
			script "$(called c1 continue_workflow '{"token":"@TOKEN","output":1}')" \
				"$(start t1 '"workflow":"shout","goal":"x"'),$(start t2 '"workflow":"slow","goal":"the goal"')" \
				"$(called c2 finish_workflow '{"token":"@TOKEN","output":"all done"}')"
		fi
		die -n ./boss.awf
		runs=$(find "$AWF_STORAGE/transcripts" -name '*.jsonl' | wc -l)
		child=$(jq -r 'select(.type == "step.call_workflow.started" and .payload.name == "slow").child_run_id' "$(record)")
		run -0 --separate-stderr resume
		same "$output" "all done"
		# The same child, a further attempt; what it had done is not done again.
		same "$(find "$AWF_STORAGE/transcripts" -name '*.jsonl' | wc -l)" "$runs"
		same "$(payloads run.started .attempt "$AWF_STORAGE/transcripts/$child.jsonl" | paste -sd' ')" "1 2"
		# The step may have seen its child die before it was killed itself, and recorded that.
		same "$(results 'select(.call_id == "t2") | .output | [.run_id, .status, .output]' "$(record)" | tail -n 1)" \
			"[\"$child\",\"success\",\"DONE THE GOAL\"]"
		same "$(entries one)" 1
		awf-verify -q "$(id)" "$child"
	done
}
