#!/usr/bin/env bats
# bats file_tags=turn:2
# Approval of an agent's tool calls: approve_tools.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	export ASAN_OPTIONS=detect_leaks=0
	mkdir agents tools
	export LEDGER=$PWD/ledger
	tool ship '"effects":"external","input_schema":{"type":"object","required":["to"],"properties":{"to":{"type":"string"}}}' \
		'cat >>"$LEDGER"; echo shipped'
	agent op 'tools: [ship]
approve_tools: [ship]'
	stream tool_use "$(use t1 ship '{"to":"prod"}')" >first
	text done >last
	model_server --loop --answer-for tool_use_id last --answer first
	: >ledger
}

begin() {
	awf-run --wait "${WAIT-30s}" "$@" <in >out 2>err 3>&- &
	BEGUN=$!
}
ended() {
	local status=0
	wait "$BEGUN" || status=$?
	same "$status" "$1" || { cat err; false; }
}
waits() { awf-tail --list --json 2>/dev/null | jq -c '.waits // [] | map(.call)' | head -n 1; }
wait_for() { eventually eval "[ \"\$(waits)\" = '$1' ]"; }
# What the model was told in the last request.
told() { bodies | tail -n 1 | jq -c '.messages[-1].content[]|select(.type=="tool_result")|[.tool_use_id,.is_error,(.content|if type=="array" then .[0].text else . end)]'; }

@test "approved while its process waits: the call is made, and the model reads its result" {
	echo x >in
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	same "$(cat ledger)" ''
	awf-ctl approve work.ship
	ended 0
	same "$(cat out)" 'done'
	same "$(cat ledger)" '{"to":"prod"}'
	same "$(sent)" 2
	same "$(told)" '["t1",null,"shipped"]' || same "$(told)" '["t1",false,"shipped"]'
	same "$(jq -c 'select(.path=="work.ship" and .type=="step.started").payload|[.kind,.input.tool,.input.input,.input.rule,.input.always]' "$(transcript)")" \
		'["approval","ship",{"to":"prod"},"ship",false]'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "denied, with the reason; edited; and an edit that the tool does not take" {
	echo x >in
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	awf-ctl deny --reason 'not on a Friday' work.ship
	ended 0
	same "$(cat ledger)" ''
	same "$(told | jq -c '.[1:]')" "[true,\"denied by $(id -un): not on a Friday\"]"
	awf-verify --determinism --isolation copy

	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	awf-ctl approve -e work.ship <<<'{"tool":"ship","input":{"to":"test"},"rule":"ship","always":false}'
	ended 0
	same "$(cat ledger)" '{"to":"test"}'
	same "$(payloads tool.call .input)" '{"to":"test"}'
	awf-verify --determinism --isolation copy

	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	awf-ctl approve -e work.ship <<<'{"tool":"ship","input":{"to":7},"rule":"ship","always":false}'
	ended 0
	same "$(wc -l <ledger)" 1
	[[ $(told) == *'the arguments break the schema'* ]]
}

@test "unattended: the call waits, and a resume asks the model nothing twice" {
	echo x >in
	WAIT=0 begin -c 'awf-step -a op work | awf-step -r after -- cat'
	ended 75
	same "$(waits)" '["work:0:0/ship:0:0"]'
	same "$(sent)" 1
	awf-verify -q
	awf-verify --determinism --isolation copy
	WAIT=0 begin --resume @
	ended 75
	same "$(sent)" 1
	awf-ctl approve work.ship
	WAIT=0 begin --resume @
	ended 0
	same "$(cat out)" 'done'
	same "$(sent)" 2
	same "$(cat ledger)" '{"to":"prod"}'
	same "$(payloads tool.call .name | wc -l)" 1
	awf-verify -q
	awf-verify --determinism --isolation copy
	run -0 awf-run --resume @
	same "$(sent)" 2
}

@test "killed while it waits: the same" {
	echo x >in
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	kill -9 "$BEGUN"
	wait "$BEGUN" || true
	eventually deserted_latest
	same "$(awf-tail --list --json | jq -r .status)" waiting
	awf-ctl approve work.ship
	WAIT=0 begin --resume @
	ended 0
	same "$(sent)" 2
	same "$(cat ledger)" '{"to":"prod"}'
}

@test "always: this tool, this rule, this run, and never a fork" {
	stream tool_use "$(use t1 ship '{"to":"a"}')" >first
	stream tool_use "$(use t2 ship '{"to":"b"}')" >second
	model_server --answer first --answer second --answer last
	echo x >in
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	awf-ctl approve -e work.ship <<<'{"tool":"ship","input":{"to":"a"},"rule":"ship","always":true}'
	ended 0
	same "$(cat ledger)" '{"to":"a"}
{"to":"b"}'
	awf-verify --determinism --isolation copy
	model_server --answer second --answer last
	WAIT=0 begin --fork @ --at work
	ended 75
	same "$(waits)" '["work:0:0/ship:0:0"]'
}

@test "several calls of an answer are asked about at the same time, and are made when all are decided" {
	stream tool_use "$(use t1 ship '{"to":"a"}')" "$(use t2 ship '{"to":"b"}')" "$(use t3 ship '{"to":"c"}')" >first
	model_server --loop --answer-for tool_use_id last --answer first
	echo x >in
	begin -c 'awf-step -a op -r work'
	eventually eval '[ "$(waits | jq length)" = 3 ]'
	for call in $(waits | jq -r '.[]'); do
		same "$(cat ledger)" ''
		awf-ctl approve "$call"
	done
	ended 0
	same "$(wc -l <ledger)" 3
	same "$(sent)" 2
	awf-verify --determinism --isolation copy
}

@test "the approvals of an answer have the numbers of its calls, in their order" {
	tool mail '"effects":"external","input_schema":{"type":"object"}' 'cat >>"$LEDGER"; echo mailed'
	agent op 'tools: [ship, mail]
approve_tools: [ship, mail]'
	stream tool_use "$(use t1 ship '{"to":"a"}')" "$(use m1 mail '{"n":1}')" "$(use t2 ship '{"to":"b"}')" \
		"$(use t3 ship '{"to":"c"}')" "$(use m2 mail '{"n":2}')" "$(use t4 ship '{"to":"d"}')" "$(use t5 ship '{"to":"e"}')" >first
	numbers() {
		jq -r 'select(.type=="step.started" and .payload.kind=="approval").payload|.call + " " + (.input.input|.to // (.n|tostring))' \
			"$(transcript)" | sort -u | paste -sd,
	}
	in_order='work:0:0/mail:0:0 1,work:0:0/mail:0:1 2,work:0:0/ship:0:0 a,work:0:0/ship:0:1 b,work:0:0/ship:0:2 c,work:0:0/ship:0:3 d,work:0:0/ship:0:4 e'
	echo x >in
	for WAIT in 0 30s; do
		: >ledger
		model_server --loop --answer-for tool_use_id last --answer first
		begin -c 'awf-step -a op -r work'
		if [ "$WAIT" = 0 ]; then ended 75; fi
		eventually eval '[ "$(numbers)" = "$in_order" ]'
		eventually eval '[ "$(waits | jq length)" = 7 ]'
		# Decided in another order than that of the calls; the second is denied, and the fourth edited.
		awf-ctl approve work:0:0/ship:0:4
		awf-ctl deny work:0:0/ship:0:1
		awf-ctl approve work:0:0/mail:0:1
		awf-ctl approve -e work:0:0/ship:0:3 <<<'{"tool":"ship","input":{"to":"D"},"rule":"ship","always":false}'
		awf-ctl approve work:0:0/ship:0:0
		awf-ctl approve work:0:0/mail:0:0
		awf-ctl approve work:0:0/ship:0:2
		if [ "$WAIT" = 0 ]; then WAIT=0 begin --resume @; fi
		ended 0
		same "$(jq -c '.to // .n' ledger | sort | paste -sd,)" '"D","a","c","e",1,2'
		same "$(bodies | tail -n 1 | jq -c '[.messages[-1].content[]|select(.is_error==true).tool_use_id]')" '["t2"]'
		same "$(sent)" 2
		same "$(numbers)" "$in_order"
		awf-verify -q
		awf-verify --determinism --isolation copy
	done
}

@test "the time in which a person decides is not the agent's" {
	agent op 'tools: [ship]
timeout: 2s
approve_tools: ["sh*"]'
	echo x >in
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	sleep 2.5
	awf-ctl approve work.ship
	ended 0
	same "$(cat ledger)" '{"to":"prod"}'
}

@test "rules on arguments: what needs no question, and what does" {
	tool sh '"effects":"none","input_schema":{"type":"object","required":["command"],"properties":{"command":{"type":"string"}}}' 'cat >/dev/null'
	agent op 'tools: [sh]
approve_tools:
  - tool: sh
    unless: {properties: {command: {pattern: "(ls|git (status|diff))( [A-Za-z0-9./ _-]+)?|cat [^ ]+|wc -l < [a-z]+|make( check)? && ls"}}}'
	local command calls=() index=0 asked=() line
	# ask or allow, and the command
	cat >table <<-'END'
		allow ls
		allow ls -l
		allow ls src/a.c src/b.c
		allow git status
		allow git diff
		ask git diff HEAD~1
		allow git status -s
		allow cat README
		allow cat src/a.c
		allow wc -l < file
		allow make && ls
		allow make check && ls
		ask ls ; rm -rf x
		ask ls; rm -rf x
		ask ls && rm x
		ask ls || rm x
		ask ls | sh
		ask ls & rm x
		ask ls $(rm x)
		ask ls `rm x`
		ask ls > out
		ask ls < in
		ask ls $HOME
		ask ls {a,b}
		ask lsof
		ask git push
		ask git
		ask git statuses
		ask git diffs
		ask  ls
		ask git status; git push
		ask git diff --output=x; true
		ask cat a b
		ask cat a;b
		ask cat $(b)
		ask cat a|b
		ask wc -l < FILE
		ask wc -l < a > b
		ask make clean && ls
		ask make && ls && rm x
		ask sudo ls
		ask rm -rf x
	END
	while IFS= read -r line; do
		calls+=("$(use "t$index" sh "$(jq -cn --arg c "${line#* }" '{command:$c}')")")
		[ "${line%% *}" = allow ] || asked+=("${line#* }")
		index=$((index + 1))
	done <table
	[ "$index" -ge 40 ]
	calls+=("$(use nl sh '{"command":"ls\nrm x"}')" "$(use nul sh '{"command":"ls\u0000"}')")
	stream tool_use "${calls[@]}" >first
	model_server --loop --answer-for tool_use_id last --answer first
	echo x >in
	WAIT=0 begin -c 'awf-step -a op -r work'
	ended 75
	same "$(jq -r 'select(.type=="step.started" and .path=="work.sh").payload.input.input.command|select(test("\n|\u0000")|not)' "$(transcript)" | sort)" \
		"$(printf '%s\n' "${asked[@]}" | sort)"
	same "$(waits | jq length)" $((${#asked[@]} + 2))
}

@test "tools of MCP servers by a pattern; wrong rules are refused" {
	for wrong in '7' '{tool: x, when: y}' '{unless: {}}' '[""]' '{tool: x, unless: {propertys: {}}}' '{tool: x, unless: {pattern: "("}}'; do
		agent op "tools: [ship]
approve_tools: $wrong"
		run -2 --separate-stderr awf-step -a op work <<<x
		[[ $stderr == *approve_tools* ]]
	done
}

@test "a masked run, in which nobody can decide: the call is refused" {
	echo x >in
	run -0 awf-run --mask cat -c 'awf-step -a op -r work <in'
	same "$(cat ledger)" ''
	[[ $(told) == *'nobody can decide later about a run that is masked'* ]]
}

# The tools of an answer: opencode's rules for bash, and which of the commands are asked about.
opencode_asks() {
	local rules=$1 index=0 calls=() line
	printf -- '---\nmodel: anthropic/test\ntools: {"*": false, bash: true, read: true}\npermission: %s\n---\nBe brief.\n' \
		"$rules" >.opencode/agent/op.md
	while IFS= read -r line; do
		calls+=("$(use "t$index" "${2-bash}" "$(jq -cn --arg k "${3-command}" --arg c "${line#* }" '{($k):($c|gsub("⏎";"\n"))}')")")
		index=$((index + 1))
	done <table
	stream tool_use "${calls[@]}" >first
	model_server --loop --answer-for tool_use_id last --answer first
	echo x >in
	WAIT=0 begin -c 'awf-step -a .opencode/agent/op.md --sandbox none -r work'
	ended 75
	same "$(jq -r --arg k "${3-command}" 'select(.type=="step.started" and .payload.kind=="approval").payload.input.input[$k]|gsub("\n";"⏎")' "$(transcript)" | sort)" \
		"$(sed -n 's/^ask //p' table | sort)"
}

@test "opencode's rules by command: the last one that matches, whole commands, and no sign of the shell" {
	mkdir -p .opencode/agent
	cat >table <<-'END'
		allow git status
		allow git diff
		allow git diff HEAD~1 -- src/a.c
		allow git diff --
		allow git log
		allow git log --oneline
		allow git log | head
		allow grep a.c
		ask git statuses
		ask git status -s
		ask git log && curl example.org
		ask git log | head -n 1 | sh
		ask git log; rm -rf x
		ask git log > ~/.bashrc
		ask git log $(rm x)
		ask git log `rm x`
		ask git log & rm x
		ask git log⏎rm x
		ask git log <(rm x)
		ask git logs
		ask  git status
		ask X=1 git status
		ask grep abc
		ask ls
		ask git push
		ask git diff --output=x
		ask sudo git status
	END
	opencode_asks '{bash: {"git push": allow, "*": ask, "git status": allow, "git diff*": allow, "git diff --output*": ask, "git log *": allow, "git log | head": allow, "grep a.c": allow}}'
}

@test "opencode's rules that take something away: quotes, blanks and assignments do not hide it" {
	mkdir -p .opencode/agent
	cat >table <<-'END'
		allow ls
		allow make check
		allow rmdir x
		allow git log
		ask rm x
		ask rm
		ask  rm x
		ask r"m" x
		ask 'rm' x
		ask r\m x
		ask A=1 B= rm x
		ask ls; rm x
		ask true | rm x
		ask git push
		ask git  push origin
		ask git push 
	END
	opencode_asks '{"*": deny, read: allow, "ba*": {"*": allow, "rm *": ask, "git push*": ask}}'
}

@test "opencode's rules by path: no other file by another way" {
	mkdir -p .opencode/agent
	cat >table <<-'END'
		allow src/a.c
		allow src/deep/a.c
		allow src/..a
		ask src/../key
		ask src/..
		ask ../src/a.c
		ask src/./secret/a
		ask src//secret/a
		ask src/secret/a
		ask /etc/passwd
		ask ./src/a.c
		ask ~/src/a.c
		ask README
	END
	opencode_asks '{read: {"*": ask, "src/*": allow, "src/secret/*": ask}}' read file_path
}

@test "opencode's rules for tools of MCP servers and of the user; and modes of Claude Code" {
	mkdir -p .opencode/agent .claude/agents
	local name
	for name in count change; do
		tool "$name" '"effects":"none","input_schema":{"type":"object"}' 'cat >/dev/null'
	done
	# The model calls these tools.
	calls() {
		local list=() name
		for name; do
			list+=("$(use "t$name" "$name" "$(jq -cn --arg name "$name" '{bash: {command: "ls"}, read: {file_path: "x"},
				write: {file_path: "x", content: ""}, edit: {file_path: "x", old_string: "a", new_string: "b"},
				glob: {pattern: "x"}, grep: {pattern: "x"}}[$name] // {}')")")
		done
		stream tool_use "${list[@]}" >first
		model_server --loop --answer-for tool_use_id last --answer first
	}
	# Which of them are asked about: those whose step waits.
	asks() {
		echo x >in
		WAIT=0 begin -c "awf-step -a $1 --sandbox none -r work"
		wait "$BEGUN" || true
		jq -r 'select(.type=="step.started" and .payload.kind=="approval").payload.input.tool' "$(transcript)" | sort | tr '\n' ' '
	}
	echo "{\"mcpServers\": {\"github\": {\"command\": \"python3\", \"args\": [\"$PWD/server.py\"]}}}" >.mcp.json
	cat >server.py <<-'END'
		import json, sys
		for line in sys.stdin:
		    m = json.loads(line)
		    if "id" not in m: continue
		    r = {}
		    if m["method"] == "initialize":
		        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
		    elif m["method"] == "tools/list":
		        r = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("get_a", "create")]}
		    elif m["method"] == "tools/call":
		        r = {"content": [{"type": "text", "text": "done"}]}
		    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
	END
	file() { printf -- '---\nmodel: anthropic/test\n%s\n---\nBe brief.\n' "$2" >"$1"; }
	local rules expected
	calls mcp__github__get_a mcp__github__create count change bash edit write read glob grep
	while IFS='|' read -r rules expected; do
		file .opencode/agent/op.md "mcpServers: [github]
tools: {count: true, change: true, mcp__github: true}
permission: $rules"
		same "$rules: $(asks .opencode/agent/op.md)" "$rules: $expected${expected:+ }"
	done <<-'END'
		{"github_*": ask}|mcp__github__create mcp__github__get_a
		{"github_*": ask, "github_get*": allow}|mcp__github__create
		{"github_get*": allow, "github_*": ask}|mcp__github__create mcp__github__get_a
		{"mcp__github__*": ask, "*_get_a": allow}|mcp__github__create
		{"c*": ask, change: allow}|count
		ask|bash change count edit glob grep mcp__github__create mcp__github__get_a read write
		{"*": ask, read: allow, "github_?et_a": allow, count: allow}|bash change edit glob grep mcp__github__create write
		{edit: ask}|edit write
		{write: ask, edit: allow}|
	END
	calls bash edit write read glob grep
	for mode in default:'bash edit write' acceptEdits:bash bypassPermissions:; do
		file .claude/agents/a.md "permissionMode: ${mode%%:*}"
		expected=${mode#*:}
		same "$mode $(asks .claude/agents/a.md)" "$mode $expected${expected:+ }"
	done
}

@test "what a rule is not for; and a pattern where it would not be looked for" {
	tool shape '"effects":"none","input_schema":{"type":"object"}' 'cat >/dev/null; echo shaped'
	agent op 'tools: [ship, shape]
approve_tools: [{tool: "sh*", except: ["shap?"]}]'
	stream tool_use "$(use t1 shape '{}')" "$(use t2 ship '{"to":"prod"}')" >first
	model_server --loop --answer-for tool_use_id last --answer first
	echo x >in
	WAIT=0 begin -c 'awf-step -a op -r work'
	ended 75
	same "$(waits)" '["work:0:0/ship:0:0"]'
	# Each of these would allow "ls; rm x" otherwise.
	for wrong in 'anyOf: [{properties: {to: {pattern: "ls.*"}}}]' 'not: {properties: {to: {pattern: "rm.*"}}}' \
		'properties: {to: {allOf: [{pattern: "ls.*"}]}}' 'patternProperties: {t: {pattern: "ls.*"}}' 'additionalProperties: {pattern: "ls.*"}'; do
		agent op "tools: [ship]
approve_tools: [{tool: ship, unless: {$wrong}}]"
		run -2 --separate-stderr awf-step -a op work <<<x
		[[ $stderr == *'approve_tools: unless: '*': only these keywords are allowed: '* ]]
	done
	agent op 'tools: [ship]
approve_tools: [{tool: ship, except: [7]}]'
	run -2 --separate-stderr awf-step -a op work <<<x
}

# What is allowed after the first question, by whatever way: two calls, one question.
twice() {
	stream tool_use "$(use t1 ship '{"to":"a"}')" >first
	stream tool_use "$(use t2 ship '{"to":"b"}')" >second
	model_server --answer first --answer second --answer last
	: >ledger
	echo x >in
}

@test "awf-ctl approve --always: further calls of the tool are not asked about; what is no tool's approval is refused" {
	twice
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	awf-ctl approve --always work.ship
	ended 0
	same "$(cat ledger)" '{"to":"a"}
{"to":"b"}'
	same "$(payloads step.completed 'select(.kind == "approval") | [.result, .approval.decision]' | sort -u)" \
		'[{"always":true,"input":{"to":"a"},"rule":"ship","tool":"ship"},"edited"]'
	awf-verify -q
	awf-verify --determinism --isolation copy
	# With an edit.
	twice
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	awf-ctl approve --always -e work.ship <<<'{"tool":"ship","input":{"to":"c"},"rule":"ship","always":false}'
	ended 0
	same "$(cat ledger)" '{"to":"c"}
{"to":"b"}'
	# Unattended, and resumed.
	twice
	WAIT=0 begin -c 'awf-step -a op -r work'
	ended 75
	awf-ctl approve --always work.ship
	WAIT=0 begin --resume @
	ended 0
	same "$(wc -l <ledger)" 2
	for data in cake '{"tool":"ship","input":{},"rule":"ship","always":false}'; do
		awf-run -c 'awf-step -i json --approve ship' <<<"$(jq -nR --arg d "$data" '$d|fromjson? // $d')" || [ $? = 75 ]
		run -1 --separate-stderr awf-ctl approve --always ship
		same "$stderr" 'awf-ctl: ship:0:0: is not the approval of a tool call: only such can be given for the whole run'
		same "$(awf-tail --list --json | jq -r .status | head -n 1)" waiting
	done
}

@test "always is for the agent that was asked about: after a hand-over, and in another step, it is asked anew" {
	agent other 'tools: [ship]
approve_tools: ["*"]'
	agent op 'tools: [ship]
handoffs: [other]
approve_tools: ["*"]'
	stream tool_use "$(use t1 ship '{"to":"a"}')" >a
	stream tool_use "$(use t2 ship '{"to":"b"}')" >b
	stream tool_use "$(use t3 transfer_to_other '{}')" >over
	stream tool_use "$(use t4 ship '{"to":"c"}')" >c
	stream tool_use "$(use t5 ship '{"to":"d"}')" >d
	model_server --answer a --answer b --answer over --answer c --answer d --answer last
	always() {
		same "$(waits | jq length)" 1
		awf-ctl approve --always "$(waits | jq -r '.[]')"
		WAIT=0 begin --resume @
	}
	echo x >in
	WAIT=0 begin -c 'awf-step -a op -r work'
	ended 75
	always
	# The hand-over itself is not asked about. The other agent is asked about once more, and then no more.
	ended 75
	same "$(jq -r .to ledger | paste -sd' ')" 'a b'
	always
	ended 0
	same "$(jq -r .to ledger | paste -sd' ')" 'a b c d'
	same "$(sent)" 6
	same "$(payloads step.started 'select(.kind == "approval") | .input.input.to' | sort -u | paste -sd' ')" '"a" "c"'
	awf-verify -q
	awf-verify --determinism --isolation copy
	# Another step: the same agent is not asked about again, another is.
	: >ledger
	model_server --answer a --answer last --answer b --answer last --answer c --answer last
	WAIT=0 begin -c 'awf-step -a op one | awf-step -a op two | awf-step -a other -r three'
	ended 75
	always
	ended 75
	same "$(jq -r .to ledger | paste -sd' ')" 'a b'
	same "$(waits)" '["three:0:0/ship:0:0"]'
}

@test "what another step of the run approves allows no tool" {
	echo '{"tool":"ship","input":{"to":"prod"},"rule":"ship","always":true}' >in
	WAIT=0 begin -c 'awf-step -i json --approve ship | awf-step -a op -r work'
	ended 75
	awf-ctl approve -e ship <<<'{"tool":"ship","input":{"to":"x"},"rule":"ship","always":true}'
	WAIT=0 begin --resume @
	ended 75
	same "$(waits)" '["work:0:0/ship:0:0"]'
	same "$(cat ledger)" ''
}

@test "two calls of an answer, one denied and the other approved with always: the denied one is never made" {
	stream tool_use "$(use t1 ship '{"to":"prod"}')" "$(use t2 ship '{"to":"test"}')" >both
	local order
	asked() { jq -r --arg to "$1" 'select(.type=="step.started" and .payload.kind=="approval" and .payload.input.input.to==$to).payload.call' "$(transcript)" | head -n 1; }
	for order in deny always; do
		: >ledger
		model_server --answer both --answer last
		echo x >in
		WAIT=0 begin -c 'awf-step -a op -r work'
		ended 75
		[ "$order" = always ] || awf-ctl deny "$(asked prod)"
		awf-ctl approve --always "$(asked test)"
		[ "$order" = deny ] || awf-ctl deny "$(asked prod)"
		WAIT=0 begin --resume @
		ended 0
		same "$(cat ledger)" '{"to":"test"}'
		awf-verify -q
		awf-verify --determinism --isolation copy
	done
}

# Its input is in a blob, beside the transcript.
@test "a call with a large input that was denied is never made, though another was approved with always" {
	tool ship '"effects":"external","input_schema":{"type":"object","required":["to"],"properties":{"to":{"type":"string"}}}' \
		'head -c 16 >>"$LEDGER"; cat >/dev/null; echo >>"$LEDGER"'
	head -c 300000 /dev/zero | tr '\0' x >large
	stream tool_use "$(use t1 ship '{"to":"LARGE"}')" "$(use t2 ship '{"to":"test"}')" |
		jq -c --rawfile large large 'walk(if type == "string" then sub("LARGE"; $large) else . end)' >both
	model_server --answer both --answer last
	echo x >in
	WAIT=0 begin -c 'awf-step -a op -r work'
	ended 75
	awf-ctl approve --always "$(jq -r 'select(.type=="step.started" and .payload.kind=="approval" and .payload.input.input.to=="test").payload.call' "$(transcript)")"
	awf-ctl deny "$(awf-tail --list --json | jq -r '.waits[].call')"
	WAIT=0 begin --resume @
	ended 0
	same "$(cat ledger)" '{"to":"test"}'
	awf-verify -q
}

@test "an edit of something else than the input is refused while the call still waits" {
	echo x >in
	WAIT=0 begin -c 'awf-step -a op -r work'
	ended 75
	local edit
	for edit in '{"to":"test"}' '{"tool":"ship","input":{"to":"a"}}' '"x"' \
		'{"tool":"other","input":{"to":"a"},"rule":"ship","always":false}' \
		'{"tool":"ship","input":{"to":"a"},"rule":"other","always":false}'; do
		run -1 awf-ctl approve -e work.ship <<<"$edit"
		[[ $output == *'changes only input and always'* || $output == *'is no '* ]] || { echo "$output"; false; }
	done
	awf-ctl approve -e work.ship <<<'{"tool":"ship","input":{"to":"a"},"rule":"ship","always":false}'
	WAIT=0 begin --resume @
	ended 0
	same "$(cat ledger)" '{"to":"a"}'
}

@test "a rule about a tool that the agent does not have" {
	agent op 'tools: [ship]
approve_tools: [shipp]'
	run -2 awf-step -a op work </dev/null
	[[ $output == *"'shipp' is none of the agent's tools (did you mean 'ship'?)"* ]]
}

@test "over HTTP: always, of a tool alone" {
	load ../../support/serve
	serve
	decide() { ask /api/runs/@/decisions -H 'Content-Type: application/json' --data-binary "$1" | jq -c '.decision // .error.message'; }
	twice
	begin -c 'awf-step -a op -r work'
	wait_for '["work:0:0/ship:0:0"]'
	same "$(decide '{"decision":"deny","call":"work.ship","always":true}')" "\"deny takes no 'always'\""
	same "$(decide '{"decision":"approve","call":"work.ship","always":true}')" '"edited"'
	ended 0
	same "$(wc -l <ledger)" 2
	awf-run -c 'awf-step --approve ok' <<<x || [ $? = 75 ]
	[[ $(decide '{"decision":"approve","call":"ok","always":true}') == *'is not the approval of a tool call'* ]]
	same "$(decide '{"decision":"approve","call":"ok","always":false}')" '"approved"'
	serve_end
}

@test "at a terminal: the arguments as text, and always" {
	command -v tmux >/dev/null || skip "tmux is not installed"
	tool ship '"effects":"external","input_schema":{"type":"object"}' 'cat >>"$LEDGER"; echo shipped'
	stream tool_use "$(use t1 ship '{"command":"ls\nrule: all\n\u001b[2Jrm","n":[1.50],"plain":"a b"}')" >first
	stream tool_use "$(use t2 ship '{"to":"b"}')" >second
	model_server --answer first --answer second --answer last
	tmux -L "awf-tools-$$" -f /dev/null new-session -d -x 120 -y 40 "exec env PS1='ready> ' bash --norc -i" 3>&-
	screen() { tmux -L "awf-tools-$$" capture-pane -p; }
	shown() { eventually eval "screen | grep -qE -- '$1'" || { screen >&2; false; }; }
	keys() { tmux -L "awf-tools-$$" send-keys "$@"; }
	shown 'ready>'
	keys "echo x | awf-run -c 'awf-step -a op -r work'; echo status \$?" Enter
	shown 'yes, no, edit, always for this run'
	shown '^tool: ship'
	shown '^rule: ship'
	shown '^  command:'
	shown '^    ls'
	shown '^    rule: all'
	shown '^    .x1b.2Jrm'
	shown '^  n: .1.5'
	shown '^  plain: a b'
	keys always Enter
	shown '^status 0'
	tmux -L "awf-tools-$$" kill-server
	same "$(grep -o '"to":"b"' ledger)" '"to":"b"'
	same "$(payloads step.completed 'select(.kind == "approval") | [.result.always, .approval.decision]')" '[true,"edited"]'
	awf-verify -q
}

@test "an agent CLI, which runs its tools itself: nobody can be asked about them" {
	mkdir -p .opencode/agent
	printf -- '---\npermission: {bash: {"*": ask, "ls *": allow}}\n---\nBe brief.\n' >.opencode/agent/op.md
	for cli in claude opencode; do
		run -2 --separate-stderr awf-step -a .opencode/agent/op.md -m "$cli/default" work <<<x
		[[ $stderr == *"approve_tools: the agent CLI '$cli' runs its tools itself, and nobody can be asked about 'bash'"* ]]
	done
	agent op 'tools: [read]
approve_tools: ["b*"]'
	run --separate-stderr awf-step -a op -m claude/default --dry-run work <<<x
	[[ $stderr != *approve_tools* ]]
}
