#!/usr/bin/env bats
# bats file_tags=turn:3
# awf-mcp: workflows for outside agents, question by question. What real clients make of it: see
# awf-mcp-real.bats.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

prepare() {
	mkdir flows
	echo '{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}' >answer.json
	flow two '# awf: description: Asks two things' \
		'awf-step --ask-grace 30 --ask "Is {{data}} right?" --output-schema '"$PWD"'/answer.json --accept "jq -e .data.ok >/dev/null || { echo say it is >&2; exit 1; }" first |' \
		'	awf-step --ask-grace 30 --ask "And {{data.ok}}?" -r second'
}
# What a test leaves waiting ends with it.
cleanup() {
	local run
	for run in $(awf-tail --list --json --status running 2>/dev/null | jq -r .run_id); do
		awf-ctl cancel "$run" 2>/dev/null || true
	done
}
# flow NAME LINE…
flow() {
	local name=$1
	shift
	printf '%s\n' '#!/usr/bin/env awf-run' "$@" >"flows/$name.awf"
	chmod +x "flows/$name.awf"
}
# Asks what stands on stdin, a line each (mcp-client.py); a program of jq shows what came.
asks() { python3 -S "$ROOT/tests/support/mcp-client.py" awf-mcp -w flows | jq -rc "$1"; }
GO='TOOL:start_workflow {"workflow":"two","input":"cake"}'
YES='TOOL:continue_workflow {"continueToken":"$TOKEN","answer":{"ok":true}}'
FINE='TOOL:continue_workflow {"continueToken":"$TOKEN","answer":"fine"}'
STATE='.ok // .failed | [.status, .isComplete, .prompt // .output // .error.message // .error]'

@test "an empty line is no message, and has no answer" {
	same "$(yes "" | head -n 1000 | awf-mcp -w flows)" ''
}

@test "a file that is too large for a workflow is left out, and said" {
	{ printf '#!/bin/sh\n' && head -c 17000000 /dev/zero | tr '\0' '#'; } >flows/large.awf
	chmod +x flows/large.awf
	asks '.ok | [.workflows[].name]' >out 2>said <<<'TOOL:list_workflows {}'
	same "$(cat out)" '["two.awf"]'
	same "$(grep large said)" 'awf-mcp: flows/large.awf: is larger than 16 MiB, and no workflow'
}

@test "an agent is led from question to question, and all of it is recorded" {
	asks "$STATE" >out <<<"$GO
$YES
$FINE"
	same "$(cat out)" '["waiting",false,"Is cake right?"]
["waiting",false,"And true?"]
["success",true,"fine\n"]'
	same "$(jq -c 'select(.payload.approval).payload | [.call, .result, .approval.by]' "$AWF_STORAGE/latest")" \
		'["first:0:0",{"ok":true},"tester"]
["second:0:0","fine","tester"]'
	awf-verify
	awf-verify --determinism
}

@test "what is refused says why and changes nothing; the same answer again finds out how it stands" {
	asks '.ok // .failed | [.continueToken != null, .prompt, .error]' >out <<<"$GO
TOOL:continue_workflow {\"continueToken\":\"\$TOKEN\",\"answer\":{\"ok\":3}}
TOOL:continue_workflow {\"continueToken\":\"\$TOKEN\",\"answer\":{\"ok\":false}}
TOOL:continue_workflow {\"continueToken\":\"x\",\"answer\":1}
TOOL:continue_workflow {\"continueToken\":\"\$TOKEN\"}
TOOL:continue_workflow {\"answer\":1}
TOOL:continue_workflow {\"continueToken\":\"\$TOKEN\",\"answer\":1,\"more\":2}
TOOL:cancel_workflow {\"run\":\"\$RUN\"}"
	same "$(sed 8d out)" '[true,"Is cake right?",null]
[true,"Is cake right?",{"code":"schema","message":"/ok: expected boolean, got integer"}]
[true,"Is cake right?",{"code":"schema","message":"say it is"}]
[false,null,{"code":"blocked","message":"x: is a token of no run that this session leads: resume_session with the run takes one over"}]
[false,null,{"code":"invalid_input","message":"answer: is missing"}]
[false,null,{"code":"invalid_input","message":"continueToken: is missing"}]
[false,null,{"code":"invalid_input","message":"more: is no argument of continue_workflow"}]'
	python3 - >again <<-'END'
		import json, os, subprocess
		p = subprocess.Popen(["python3", "-S", os.environ["ROOT"] + "/tests/support/mcp-client.py", "awf-mcp", "-w", "flows"],
		                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def ask(line):
		    p.stdin.write(line + "\n"); p.stdin.flush()
		    return json.loads(p.stdout.readline())
		first = ask('TOOL:start_workflow {"workflow":"two","input":"x"}')["ok"]["continueToken"]
		give = lambda token, answer: ask('TOOL:continue_workflow ' + json.dumps({"continueToken": token, "answer": answer}))
		second = give(first, {"ok": True})["ok"]
		assert give(first, {"ok": True})["ok"] == second
		print(give(first, {"ok": False})["failed"]["error"]["message"].split(": ")[1])
		end = give(second["continueToken"], "y")["ok"]
		assert give(second["continueToken"], "y")["ok"] == end and give(first, {"ok": True})["ok"] == end
		p.stdin.close()
	END
	same "$(cat again)" 'this question has an answer already, which is another one'
}

@test "workflows that say what they do are tools; what they take is checked, and is their input" {
	flow greet '# awf: description: Greets' \
		'# awf: input: {"type":"object","required":["name"],"properties":{"name":{"type":"string"},"n":{"type":"integer"}}}' \
		'awf-step -i json -r hello -- jq -r "\"hello \(.name) $AWF_INPUT_n\""'
	flow plain 'awf-step -r up -- tr a-z A-Z'
	printf 'awf-step -n x -- true\n' >flows/no-program
	asks 'if .tools then [.tools[].name] | tostring else .ok // .failed | .output // .error.message // ([.workflows[] | [.name, .description]] | tostring) end' >out <<-'END'
		tools/list
		TOOL:list_workflows
		TOOL:greet {"name":"you","n":3}
		TOOL:greet {"n":3}
		TOOL:start_workflow {"workflow":"plain","input":"abc"}
		TOOL:start_workflow {"workflow":"plain.aw"}
		TOOL:start_workflow {"workflow":"greet","input":{"name":"me"},"inputs":{"n":4}}
	END
	same "$(cat out)" '["list_workflows","inspect_workflow","start_workflow","continue_workflow","wait_workflow","cancel_workflow","resume_session","rewind_workflow","checkpoint","greet","two"]
[["greet.awf","Greets"],["plain.awf",null],["two.awf","Asks two things"]]
hello you 3

greet.awf: the input is not what it takes: '"'name'"' is missing
ABC

plain.aw: no such workflow (did you mean '"'plain.awf'"'?)
hello me 4'
}

@test "what cannot be an input, an argument or a name is refused, and nothing is cut" {
	flow show 'awf-step -r it -- sh -c "env | grep ^AWF_INPUT_ | sort"'
	flow say '# awf: description: Says' 'awf-step -r it -- cat'
	asks 'if .error then .error[1] else .ok // .failed | .error.message // .output end' >out <<-'END'
		TOOL:start_workflow {"workflow":"show","input":"","inputs":{"a":"x y","b":1,"c":true}}
		TOOL:start_workflow {"workflow":"show","input":"","inputs":{"a-b":1}}
		TOOL:start_workflow {"workflow":"show","input":"","inputs":{"":1}}
		TOOL:start_workflow {"workflow":"show","input":"","inputs":{"a\u0000b":1}}
		TOOL:start_workflow {"workflow":"show","input":"","inputs":{"a":"x\u0000y"}}
		TOOL:start_workflow {"workflow":"show","input":"","inputs":{"a":null}}
		TOOL:start_workflow {"workflow":"show","input":"","inputs":{"a":{"b":1}}}
		TOOL:start_workflow {"workflow":"show","input":"","inputs":[1]}
		TOOL:start_workflow {"workflow":"show\u0000x"}
		TOOL:start_workflow {"workflow":7}
		TOOL:start_workflow {"workflow":""}
		TOOL:start_workflow {"workflow":"show","input":"","x\u0000y":1}
		tools/call {"name":"say\u0000x"}
		TOOL:say {"input":"a\u0009b"}
		TOOL:say {"input":{"a":1}}
		TOOL:say {"output":"a"}
	END
	same "$(cat out)" 'AWF_INPUT_a=x y
AWF_INPUT_b=1
AWF_INPUT_c=true

inputs: "a-b" is no name of letters, digits and _
inputs: "" is no name of letters, digits and _
inputs: "a\u0000b" is no name of letters, digits and _
inputs: "a" has a NUL
inputs: "a" is to be a text, a number, true or false
inputs: "a" is to be a text, a number, true or false
inputs: is to be an object
workflow: has a NUL
workflow: is to be a text
no such workflow; there are: say.awf, show.awf, two.awf
x\u0000y: is no argument of start_workflow
say\u0000x: no such tool
a	b

input: is to be a text
output: is no argument of say'
}

@test "of two answers at the same time one is taken, and the other is told" {
	flow slow 'awf-step --ask-grace 30 --ask "Well?" --accept "sleep 0.3" -r first'
	python3 -S - >out <<-'END'
		import json, os, subprocess
		def session():
		    return subprocess.Popen(["python3", "-S", os.environ["ROOT"] + "/tests/support/mcp-client.py", "awf-mcp",
		        "-w", "flows"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def call(p, tool, **arguments):
		    p.stdin.write("TOOL:%s %s\n" % (tool, json.dumps(arguments))); p.stdin.flush()
		def answer(p): return json.loads(p.stdout.readline())
		one, two = session(), session()
		def ask(first, second):
		    call(one, "start_workflow", workflow="slow", input="x")
		    run = answer(one)["ok"]["run"]
		    call(two, "resume_session", run=run)
		    token = answer(two)["ok"]["continueToken"]
		    call(one, "continue_workflow", continueToken=token, answer=first)
		    call(two, "continue_workflow", continueToken=token, answer=second)
		    told = [answer(p) for p in (one, two)]
		    return sorted(t["ok"]["output"] if "ok" in t else t["failed"]["error"]["message"].split(": ", 1)[1] for t in told)
		print(*ask("a", "b"), sep=""); print(*ask("a", "a"), sep="", end="")
	END
	sed 's/^[ab]$/a/' out | same "$(cat)" 'a
this question has an answer already, which is another one: nothing was changed
a
a'
}

@test "a workflow that a sandboxed program may have written is not started" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip 'no sandbox'
	mkdir -p "$AWF_STORAGE"
	"$BUILD/libexec/awf/awf-sandbox" -- sh -c 'echo "# more" >>flows/two.awf'
	asks "$STATE" <<<"$GO" >out
	[[ $(tail -n 1 out) == *'flows/two.awf: a sandboxed program may have written it, and it would run in no sandbox: read it, then touch it'* ]]
	touch flows/two.awf
	asks "$STATE" <<<"$GO" >out
	run ! grep -q 'a sandboxed program' out
}

@test "a workflow that has changed since is not started" {
	mkfifo lines
	asks "$STATE" <lines >out 3>&- &
	exec 9>lines
	echo 'tools/list' >&9
	eventually [ -s out ]
	echo '# more' >>flows/two.awf
	echo "$GO" >&9
	exec 9>&-
	wait
	[[ $(tail -n 1 out) == *'has changed since awf-mcp was started, and is not started, resumed or continued any more'* ]]
}

@test "branches and items ask at the same time; a child run's questions stand with its parent's" {
	flow many 'awf-step -n --parallel -q panel -- "awf-step -n --ask left a" "awf-run --name inner -n -c \"awf-step -n --ask right b\""' \
		'printf "1\n2\n" | awf-step -i lines -j 2 --ask "{{data}}?" -r item'
	python3 - <<-'END'
		import json, os, subprocess
		p = subprocess.Popen(["python3", "-S", os.environ["ROOT"] + "/tests/support/mcp-client.py", "awf-mcp", "-w", "flows"],
		                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def ask(line):
		    p.stdin.write(line + "\n"); p.stdin.flush()
		    return json.loads(p.stdout.readline())["ok"]
		state, seen = ask('TOOL:start_workflow {"workflow":"many"}'), {}
		while not state["isComplete"]:
		    if not state["pending"]:
		        state = ask('TOOL:wait_workflow ' + json.dumps({"run": state["run"]}))
		        continue
		    q = state["pending"][0]
		    seen[q["prompt"]] = "run" in q
		    state = ask('TOOL:continue_workflow ' + json.dumps({"continueToken": q["continueToken"], "answer": "to " + q["prompt"]}))
		assert state["status"] == "success" and state["output"] == "to 1?\nto 2?\n", state
		assert seen == {"left": False, "right": True, "1?": False, "2?": False}, seen
		p.stdin.close()
	END
	awf-verify "$AWF_STORAGE"
}

@test "a session that was killed is taken over: while its questions are open, and after that" {
	asks '.ok.run' <<<"$GO" >run
	run=$(cat run)
	# It goes on; then nobody was there for the grace.
	asks '.ok // .failed | [.status, .prompt, .notes]' >out <<<"TOOL:wait_workflow {\"run\":\"$run\"}
TOOL:resume_session {\"run\":\"${run:0:8}\"}
TOOL:checkpoint {\"run\":\"$run\",\"notes\":\"half way\"}
$YES"
	same "$(tail -n 1 out)" '["waiting","And true?",null]'
	# It has ended meanwhile, as one that waits.
	awf-ctl cancel "$run"
	asks '.ok // .failed | [.status, .prompt // .output, .notes]' >out <<<"TOOL:resume_session {\"run\":\"@two.awf\"}
$FINE
TOOL:resume_session {\"run\":\"$run\"}
TOOL:resume_session {\"run\":\"nothing\"}"
	same "$(sed 4d out)" '["waiting","And true?",["half way"]]
["success","fine\n",null]
["success","fine\n",["half way"]]'
	awf-verify
}

@test "of two sessions one is answered, and the other is told" {
	asks '.ok.run' <<<"$GO" >run
	run=$(cat run)
	mkfifo one two
	asks '.ok // .failed | [.prompt, .error.code]' <one >out.one 3>&- &
	asks '.ok // .failed | [.prompt, .error.code]' <two >out.two 3>&- &
	exec 8>one 9>two
	for fd in 8 9; do echo "TOOL:resume_session {\"run\":\"$run\"}" >&$fd; done
	eventually sh -c '[ -s out.one ] && [ -s out.two ]'
	echo "$YES" >&8
	eventually sh -c '[ $(wc -l <out.one) = 2 ]'
	echo "${YES/true/false}" >&9
	exec 8>&- 9>&-
	wait
	same "$(tail -n 1 out.one)" '["And true?",null]'
	same "$(tail -n 1 out.two)" '[null,"blocked"]'
}

# bats test_tags=turn:2
@test "nobody is held up by a run that takes long, is told how far it is, and can cancel it" {
	flow slow '# awf: description: Takes long' 'awf-step -n a -- true; awf-step -n long -- sleep 60'
	asks '.ok // .failed // . | [.status, .error]' >out <<-'END'
		TOOL:start_workflow {"workflow":"slow"}
		async TOOL:wait_workflow {"run":"$RUN"}
		cancel
		TOOL:list_workflows
		TOOL:cancel_workflow {"run":"$RUN"}
	END
	same "$(sed -n '1p;3p' out)" "[\"running\",null]
[\"cancelled\",\"cancelled by $(id -un)\"]"
	# What ends it is not left behind.
	collected() { ! pgrep -x awf-ctl -P "$(pgrep -d, -x awf-mcp)"; }
	{
		printf '%s\n' 'TOOL:start_workflow {"workflow":"slow"}' 'TOOL:cancel_workflow {"run":"$RUN"}'
		eventually sh -c '[ "$(awf-tail --list | grep -c cancelled)" = 2 ]'
		eventually collected || touch left
	} | asks .ok >out
	[ ! -e left ]
	# As a tool it ends with the request.
	asks . >out <<-'END'
		async TOOL:slow {"input":""}
		TOOL:list_workflows
		cancel
		TOOL:list_workflows
	END
	eventually sh -c 'awf-tail --list | head -n 1 | grep -q cancelled'
}

# bats test_tags=turn:2
@test "an answer that is looked at for long holds nobody up, and is told about later" {
	flow judged 'awf-step -n --ask-grace 30 --ask Why --accept "until [ -e seen ]; do sleep .02; done; [ -e good ] || { echo too short >&2; exit 1; }" -r why'
	mkfifo lines
	asks '.ok // .failed | [.status, .prompt, .refused, .output, .error.message]' <lines >out 3>&- &
	exec 9>lines
	echo 'TOOL:start_workflow {"workflow":"judged"}
TOOL:continue_workflow {"continueToken":"$TOKEN","answer":"so"}' >&9
	eventually sh -c '[ $(wc -l <out) = 2 ]'
	# It is not asked again meanwhile; the request is cancelled, the answer is not.
	echo 'async TOOL:continue_workflow {"continueToken":"$TOKEN","answer":"so"}
cancel
TOOL:continue_workflow {"continueToken":"$TOKEN","answer":"or so"}' >&9
	eventually sh -c '[ $(wc -l <out) = 3 ]'
	touch seen
	echo 'TOOL:wait_workflow {"run":"$RUN"}' >&9
	eventually sh -c '[ $(wc -l <out) = 4 ]'
	touch good
	echo 'TOOL:continue_workflow {"continueToken":"$TOKEN","answer":"so"}' >&9
	exec 9>&-
	wait
	same "$(sed '3s/"[^"]*: this/"TOKEN: this/' out)" '["waiting","Why",null,null,null]
["running",null,null,null,null]
[null,null,null,null,"TOKEN: this question has an answer already, which is another one: nothing was changed"]
["waiting","Why","too short",null,null]
["success",null,null,"so\n",null]'
	awf-verify
}

@test "questions, answers and arguments may be long, and one that is not taken yet holds nobody up" {
	local long
	long=$(printf %300000s '' | tr ' ' x)
	flow echo '# awf: description: Says it' '# awf: input: {"type":"object"}' \
		'awf-step -i json --ask-grace 30 --ask "{{data.text}}" -r told-at-length'
	mkfifo lines
	asks '.ok // .failed | [.status, (.prompt // .gates[0].prompt // .output | length?), .outputUri != null, .error.message]' <lines >out 3>&- &
	exec 9>lines
	echo "TOOL:echo {\"text\":\"$long\"}
TOOL:inspect_workflow {\"workflow\":\"echo\"}
TOOL:start_workflow {\"workflow\":\"echo\",\"inputs\":{\"text\":\"$long\"}}" >&9
	eventually sh -c '[ $(wc -l <out) = 3 ]'
	pkill -STOP -f -- "-r told-at-length"
	echo "async TOOL:continue_workflow {\"continueToken\":\"\$TOKEN\",\"answer\":\"$long$long\"}
TOOL:list_workflows" >&9
	eventually sh -c '[ $(wc -l <out) = 4 ]'
	pkill -CONT -f -- "-r told-at-length"
	echo wait >&9
	exec 9>&-
	wait
	same "$(cat out)" '["waiting",300000,false,null]
[null,300000,false,null]
[null,0,false,"inputs: \"text\" is above 64 KiB: give it as the input"]
[null,0,false,null]
["success",0,true,null]'
	awf-verify
}

@test "each message of a batch is answered, and every request" {
	same "$(awf-mcp -w flows <<-'END' | jq -c '[.id, .error.code]'
		[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":2,"method":"ping"}]
		[]
		[[]]
		{"jsonrpc":"2.0","id":3,"method":4}
	END
	)" '[1,null]
[2,null]
[null,-32600]
[null,-32600]
[3,-32600]'
}

@test "each revision of the protocol is spoken; what is none is an error of JSON-RPC" {
	asks '[.result.protocolVersion // .error.code]' >out <<-'END'
		raw {"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2024-11-05"}}
		raw {"jsonrpc":"2.0","id":"b","method":"initialize","params":{"protocolVersion":"1999-01-01"}}
		raw {"jsonrpc":"2.0","id":1,"method":"nothing"}
		raw {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}
		raw {"jsonrpc":"2.0","id":1
		raw [1]
		raw {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"awf://runs/x"}}
		raw {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}}}
	END
	same "$(cat out)" '["2024-11-05"]
["2025-11-25"]
[-32601]
[-32602]
[-32700]
[-32600]
[-32602]
[-32022]'
	MCP_MODERN=1 asks 'if .ok then .ok.prompt else [.resultType, .supportedVersions, .ttlMs, (.tools | length)] end' >out <<<"server/discover
tools/list
$GO"
	same "$(cat out)" '["complete",["2026-07-28"],0,0]
["complete",null,0,10]
Is cake right?'
}

@test "transcript and output are resources; a long output is one alone" {
	flow long 'awf-step -n -r long -- sh -c "yes word | head -n 9000"'
	asks 'if .resources then [.resources[].mimeType] | tostring elif .contents then .contents[0].text | length else .ok.outputUri | sub("[0-9a-f-]{36}"; "RUN") end' >out <<-'END'
		TOOL:start_workflow {"workflow":"long"}
		resources/list
		resources/read {"uri":"awf://runs/$RUN/output"}
		resources/read {"uri":"awf://runs/$RUN"}
	END
	same "$(sed 4d out)" 'awf://runs/RUN/output
["application/x-ndjson","text/plain"]
45000'
	same "$(tail -n 1 out)" "$(wc -c <"$AWF_STORAGE/latest")"
}

@test "mistakes of who starts it are told" {
	run -1 --separate-stderr awf-mcp </dev/null
	same "$stderr" 'awf-mcp: no directory of workflows given: --workflows DIR'
	run -1 --separate-stderr awf-mcp -w nowhere </dev/null
	same "$stderr" 'awf-mcp: nowhere: unable to read the workflows: No such file or directory'
	run -1 --separate-stderr awf-mcp -w flows more </dev/null
	same "$stderr" 'awf-mcp: more: no such argument (awf-mcp --help)'
	flow bad '# awf: input: {"type":3}'
	run -2 --separate-stderr awf-mcp -w flows </dev/null
	[[ $stderr == 'awf-mcp: '*/flows/bad.awf:* ]]
	run -0 awf-mcp --help
	run -0 awf-mcp --version
}

@test "what waits for a person goes on once that has decided" {
	flow careful 'awf-step -n draft -- echo text | awf-step --approve check | awf-step -r out -- cat'
	mkfifo lines
	asks '.ok | [.status, .waitsFor, .output]' <lines >out 3>&- &
	exec 9>lines
	echo 'TOOL:start_workflow {"workflow":"careful"}' >&9
	eventually [ -s out ]
	echo 'TOOL:wait_workflow {"run":"$RUN"}' >&9
	eventually sh -c '[ $(wc -l <out) = 2 ]'
	same "$(uniq out)" '["waiting",[{"asks":"approval","call":"check:0:0"}],null]'
	awf-ctl approve check </dev/null
	echo 'TOOL:wait_workflow {"run":"$RUN"}' >&9
	exec 9>&-
	wait
	same "$(tail -n 1 out)" '["success",null,"text\n"]'
}

# What a client's user is asked about a call that waits for a person, and what comes of it.
CAREFUL='TOOL:start_workflow {"workflow":"careful"}'
says() { MCP_ELICITS=$1 asks "if .asked then .asked else $STATE end"; }
careful() { flow careful 'awf-step -n draft -- echo text | awf-step --approve check | awf-step -r out -- cat'; }
decided() {
	jq -c 'select(.payload.approval.decision).payload.approval | [.decision, .by, .reason]' "$AWF_STORAGE/latest" | sort -u
}

@test "the client's user is asked about what waits for a person, and decides" {
	careful
	for modern in '' 1; do
		if [ -n "$modern" ]; then export MCP_MODERN=1; fi
		same "$(says '[{"action":"accept","content":{"approve":true,"reason":"fine"}}]' <<<"$CAREFUL")" \
			'careful.awf: check:0:0 waits for your approval of:

text

["success",true,"text\n"]'
		same "$(decided)" '["approved","tester","fine"]'
		awf-verify -q
		says '[{"action":"accept","content":{"approve":false}}]' <<<"$CAREFUL" >out
		same "$(tail -n 1 out | jq -c .[:2])" '["failed",true]'
		same "$(decided)" '["denied","tester",null]'
	done
}

# bats test_tags=turn:2
@test "who is asked and says nothing decides nothing; what he says late is about what he was asked" {
	careful
	for said in '{"action":"decline"}' '{"action":"cancel"}' '{"error":{"code":-32603,"message":"no"}}'; do
		says "[$said]" <<<"$CAREFUL" >out
		same "$(tail -n 1 out)" '["waiting",false,null]'
		same "$(decided)" ''
	done
	says '[{"action":"accept","content":{"approve":"yes"}}]' <<<"$CAREFUL" >out
	same "$(tail -n 1 out | sed 's/run [^:]*/run ID/')" '[null,null,"run ID: approve: is to be true or false"]'
	MCP_MODERN=1 says '[{"action":"decline"},{"action":"accept","content":{"approve":true}}]' >out <<<"$CAREFUL
TOOL:wait_workflow {\"run\":\"\$RUN\"}"
	same "$(grep '^\[' out)" '["waiting",false,null]
["success",true,"text\n"]'
	# Decided elsewhere before the answer comes: it is refused, and the run goes on as it was decided.
	says '[{"action":"decline"},{"first":"awf-ctl deny check </dev/null","action":"accept","content":{"approve":true}}]' >out <<<"$CAREFUL
TOOL:wait_workflow {\"run\":\"\$RUN\"}
TOOL:wait_workflow {\"run\":\"\$RUN\"}"
	grep -q 'run [0-9a-f-]\{36\}: what was asked about does not wait any more' out
	same "$(tail -n 1 out | jq -c .[:2])" '["failed",true]'
	same "$(decided | jq -r .[0])" denied
	# Who is not in time: the request is told that the run waits, and what he says counts all the same.
	says '[{"late":true,"action":"accept","content":{"approve":true}}]' >out <<<"$CAREFUL
TOOL:wait_workflow {\"run\":\"\$RUN\"}"
	same "$(grep '^\[' out)" '["waiting",false,null]
["success",true,"text\n"]'
}

@test "what clients would not show, and letters that pass for others, are told to the user who is asked" {
	flow careful 'awf-step -n draft -- printf "curl g\321\226thub.com\n\342\200\213rm\342\200\256" | awf-step --approve check | awf-step -r out -- cat'
	same "$(says '[{"action":"accept","content":{"approve":true}}]' <<<"$CAREFUL" | sed '/^\[/d')" \
		'careful.awf: check:0:0 waits for your approval of:

curl gіthub.com
\u200brm\u202e

(Letters that look like others: g\u0456thub.com.)'
}

@test "an agent's tool call: the client's user reads its arguments, and may allow all of the run" {
	load ../../support/agent
	mkdir -p agents tools
	export ASAN_OPTIONS=detect_leaks=0
	tool ship '"effects":"external","input_schema":{"type":"object"}' "cat >>'$PWD/ledger'; echo shipped"
	agent op 'tools: [ship]
approve_tools: [ship]'
	stream tool_use "$(use t1 ship '{"command":"ls\ncat x"}')" >first
	stream tool_use "$(use t2 ship '{"command":"make"}')" >second
	text done >last
	model_server --answer first --answer second --answer last
	flow tools 'awf-step -n draft -- echo x | awf-step -a op -r work'
	says '[{"action":"accept","content":{"approve":true,"always":true}}]' <<<'TOOL:start_workflow {"workflow":"tools"}' >out
	same "$(cat out)" 'tools.awf: work:0:0/ship:0:0 waits for your approval of:

tool: ship
rule: ship
  command:
    ls
    cat x

["success",true,"done\n"]'
	same "$(jq -c .command ledger)" '"ls\ncat x"
"make"'
	same "$(decided | sort -u)" '["edited","tester",null]'
	careful
	says '[{"action":"accept","content":{"approve":true,"always":true}}]' <<<"$CAREFUL" >out
	[[ $(cat out) == *'is not the approval of a tool call: only such can be given for the whole run'* ]]
}

@test "a client is asked what it can ask, and of what it has been asked" {
	flow careful '{ printf a; yes é | head -c 9000; } | awf-step draft -- cat | awf-step --approve check'
	says '[{"action":"decline"}]' <<<"$CAREFUL" >out
	grep -qE '^\(810 bytes more: awf-replay --state check [0-9a-f-]{36}\)$' out
	careful
	MCP_CAPABILITIES='{"elicitation":{"url":{}}}' says '[]' <<<"$CAREFUL" >out
	same "$(cat out)" '["waiting",false,null]'
	MCP_MODERN=1 asks '.ok.status // (.content[0].text | fromjson.error.message)' >out <<-'END'
		tools/call {"name":"start_workflow","arguments":{"workflow":"careful"},"requestState":"x"}
		TOOL:start_workflow {"workflow":"careful"}
		tools/call {"name":"wait_workflow","requestState":"$RUN"}
		tools/call {"name":"wait_workflow","requestState":"$RUN","inputResponses":{"x":{"action":"accept","content":{"approve":true}}}}
	END
	same "$(sed 's/run [0-9a-f-]*:/run ID:/' out)" 'requestState: names no run that this session leads
waiting
inputResponses: has no answer
run ID: what was asked about does not wait any more: wait_workflow tells how the run stands'
	same "$(decided)" ''
}

@test "a run is rewound to a question: a fork asks it anew, and the run stays as it is" {
	asks "$STATE" >out <<<"$GO
$YES
TOOL:rewind_workflow {\"run\":\"\$RUN\",\"gate\":\"nosuch\"}
TOOL:rewind_workflow {\"run\":\"x\",\"gate\":\"first\"}
TOOL:rewind_workflow {\"run\":\"\$RUN\",\"gate\":\"first\"}
$FINE
TOOL:rewind_workflow {\"run\":\"\$RUN\",\"gate\":\"second:0:0\"}
TOOL:continue_workflow {\"continueToken\":\"\$TOKEN\",\"answer\":\"better\"}
TOOL:rewind_workflow {\"run\":\"\$RUN\",\"gate\":\"first\"}
TOOL:cancel_workflow {\"run\":\"\$RUN\"}"
	same "$(sed 's/run [0-9a-f-]*/run ID/; s/[0-9a-f-]\{36\}/ID/' out)" '["waiting",false,"Is cake right?"]
["waiting",false,"And true?"]
[null,null,"nosuch: is no question that run ID has asked itself: give the `call` of one (inspect_workflow tells them)"]
[null,null,"x: belongs to another session: resume_session takes it over"]
[null,null,"ID: goes on: it can be rewound when it has ended (cancel_workflow)"]
["success",true,"fine\n"]
["waiting",false,"And true?"]
["success",true,"better\n"]
["waiting",false,"Is cake right?"]
["cancelled",true,""]'
	same "$(jq -s -c '[.[] | select(.seq == 1).payload.forked_at] | sort' "$AWF_STORAGE"/transcripts/*.jsonl)" \
		'[null,"first","second:0:0"]'
	for run in "$AWF_STORAGE"/transcripts/*.jsonl; do
		run=${run##*/}
		awf-verify -q "${run%.jsonl}"
	done
}

@test "a run of a workflow that has changed is not rewound" {
	mkfifo lines
	asks "$STATE" <lines >out 3>&- &
	exec 9>lines
	echo "$GO" >&9
	eventually [ -s out ]
	echo '# changed' >>flows/two.awf
	printf '%s\n' 'TOOL:rewind_workflow {"run":"$RUN","gate":"first"}' 'TOOL:cancel_workflow {"run":"$RUN"}' >&9
	exec 9>&-
	wait
	sed -n 2p out | grep -q 'has changed'
	same "$(find "$AWF_STORAGE/transcripts" -name '*.jsonl' | wc -l)" 1
}

# bats test_tags=turn:3
@test "only runs that this directory's workflows made: no tool, no resource reaches another one" {
	mkdir elsewhere
	printf '%s\n' '#!/usr/bin/env awf-run' '# awf: description: Foreign' \
		'echo ran >>"$PWD/ledger"; awf-step -n --ask "a foreign question" q; awf-step -n -r secret -- echo foreign-output; exit 3' \
		>elsewhere/two.awf
	chmod +x elsewhere/two.awf
	mkdir same
	# Nobody answers the one that is started without a client.
	sed -i 's/--ask-grace 30/--ask-grace 1/' flows/two.awf
	cp flows/two.awf same/two.awf
	run -75 awf-run -n --id-file id elsewhere/two.awf
	run -3 awf-run -n --name two.awf -c 'echo ran >>ledger; exit 3'
	(cd flows && run -3 awf-run -n --name two.awf -c 'echo ran >>../ledger; exit 3')
	awf-run same/two.awf <<<foreign-output || [ $? = 75 ]
	mv ledger before
	# All tools there are: a text is each of the runs, all else as the schema has it.
	asks . <<<tools/list >listed
	for name in "$AWF_STORAGE"/transcripts/*.jsonl @two @two.awf @ @pipeline; do
		name=${name##*/}
		name=${name%.jsonl}
		jq -r --arg run "$name" '.tools[] | select(.inputSchema.properties != {}) | "TOOL:\(.name) \([.inputSchema.properties | keys[] |
			{key: ., value: (if . == "inputs" then {} else $run end)}] | from_entries)"' listed |
			grep -v '^TOOL:two ' >calls
		[ "$(wc -l <calls)" -ge 8 ]
		MCP_ELICITS=[] asks . <calls >out
		same "$(jq -s 'all(.failed)' out)" true
		run ! grep -F foreign- out
		for uri in "awf://runs/$name" "awf://runs/$name/output"; do
			asks .error[0] <<<"resources/read {\"uri\":\"$uri\"}" | same "$(cat)" -32602
		done
	done
	same "$(asks '.ok | [.run, .gates]' <<<'TOOL:inspect_workflow {"workflow":"two"}')" '[null,[]]'
	same "$(asks .resources <<<resources/list)" '[]'
	[[ $(asks .failed.error.message <<<"TOOL:resume_session {\"run\":\"$(cat id)\"}") == *"was not made by a workflow of $PWD/flows"* ]]
	[ ! -e ledger ]
	# The directory's own is found behind them, by @NAME too.
	own=$(asks .ok.run <<<"$GO")
	awf-run -n --name two.awf true
	same "$(asks .ok.run <<<'TOOL:resume_session {"run":"@two"}')" "$own"
	same "$(asks .ok.run <<<'TOOL:inspect_workflow {"workflow":"two"}')" "$own"
}

@test "a workflow that has changed is not resumed, rewound, gone on with or answered" {
	asks .ok.run <<<"$GO" >run
	run=$(cat run)
	awf-ctl cancel "$run"
	flow later 'echo more >>ledger' 'awf-step --ask-grace 30 -n --ask why q' 'echo more >>ledger' 'exit 3'
	mkfifo lines
	asks "$STATE" <lines >out 3>&- &
	exec 9>lines
	echo 'TOOL:start_workflow {"workflow":"later"}' >&9
	eventually [ -s out ]
	wait_lines() { eventually sh -c "[ \$(wc -l <out) -ge $1 ]"; }
	echo '# changed' | tee -a flows/two.awf >>flows/later.awf
	echo "${FINE}" >&9
	wait_lines 2
	echo 'TOOL:resume_session {"run":"$RUN"}' >&9
	wait_lines 3
	echo 'TOOL:rewind_workflow {"run":"$RUN","gate":"q"}' >&9
	wait_lines 4
	echo "TOOL:resume_session {\"run\":\"$run\"}" >&9
	wait_lines 5
	echo 'TOOL:cancel_workflow {"run":"$RUN"}' >&9
	exec 9>&-
	wait
	same "$(sed -n 2,5p out | grep -c 'has changed since awf-mcp was started')" 4
	same "$(tail -n 1 out | jq -c .[0:2])" '["cancelled",true]'
	same "$(cat ledger)" more
	# A server that knows the file as it is now goes on with it.
	same "$(asks "$STATE" <<<"TOOL:resume_session {\"run\":\"$run\"}")" '["waiting",false,"Is cake right?"]'
}

# bats test_tags=turn:2
@test "what a workflow prints and says without an end is in no memory, also when the server has ended" {
	printf '%s\n' '#!/usr/bin/env -S awf-run -n' 'head -c 50M /dev/zero >&2' 'head -c 1M /dev/zero' 'echo said >&2' 'touch said' 'until [ -e go ]; do sleep 0.05; done' >flows/noisy.awf
	chmod +x flows/noisy.awf
	mkfifo asked
	python3 -S "$ROOT/tests/support/mcp-client.py" awf-mcp -w flows <asked >answered 3>&- &
	client=$!
	exec 7>asked
	echo 'TOOL:start_workflow {"workflow":"noisy"}' >&7
	eventually test -e said
	# MiB that files in memory have which processes in this directory hold open.
	in_memory() {
		local total=0 fd
		for fd in $(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$PWD" 2>/dev/null | sed 's/cwd$/fd/'); do
			for file in "$fd"/*; do
				case $(readlink "$file" 2>/dev/null) in /memfd:*) total=$((total + $(stat -L -c %s "$file"))) ;; esac
			done
		done
		echo $((total >> 20))
	}
	[ "$(in_memory)" -lt 10 ] || { in_memory >&2; return 1; }
	exec 7>&-
	wait "$client"
	[ "$(in_memory)" -lt 10 ]
	touch go
	ended() { grep -qs run.completed "$AWF_STORAGE"/transcripts/*.jsonl; }
	eventually ended
	same "$(jq -r 'select(.type == "run.completed").payload.status' "$AWF_STORAGE"/transcripts/*.jsonl)" success
	# Who reads for nobody goes with those that write.
	gone() { [ -z "$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$PWD" 2>/dev/null | sed 's/cwd$/comm/' | xargs cat 2>/dev/null | grep -x awf-mcp)" ]; }
	eventually gone
}
