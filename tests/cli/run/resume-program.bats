#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-run(1), "Resuming": programs of steps that were edited since they succeeded are told, their
# results are kept, and made again with --redo-changed.
# shellcheck shell=bash disable=SC2016,SC2154 # scripts expand their dollars; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/mcp

program() {
	mkdir -p "$(dirname "$1")"
	printf '%s\n' '#!/bin/sh' "${@:2}" >"$1"
	chmod +x "$1"
}
start() { run -"$1" --separate-stderr awf-run --id-file id ./flow.awf </dev/null; }
resume() { run -"$1" --separate-stderr awf-run --resume "$(cat id)" "${@:2}" </dev/null; }
edit() { sed -i 's/\<v1\>/v2/' "$@"; }
# FILE RESULTS: the line that tells of it.
kept() { [[ $'\n'$stderr$'\n' == *$'\n'"awf-run: $PWD/$1: has changed since it was recorded; $2 kept (--redo-changed repeats "* ]]; }
repeated() { [[ $'\n'$stderr$'\n' == *$'\n'"awf-run: $PWD/$1: has changed since it was recorded; $2 made again"$'\n'* ]]; }
files() { payloads step.started 'select(.name == "'"$1"'").files' | tail -n 1 | jq -r '.[]? | select(.program).path' | sed "s|^$PWD/||" | paste -sd,; }
LAST='awf-step -n -q last -- test -e ok'

@test "an edited program is told in one line at each resume, and its result is kept" {
	program one.sh 'echo v1 | tee -a ledger'
	program flow.awf 'awf-step one -n -r -- ./one.sh' "$LAST"
	start 3
	resume 3
	[[ $stderr != *changed* ]]
	edit one.sh
	for _ in 1 2; do
		resume 3
		same "$output" v1
		same "$(grep -c one.sh <<<"$stderr")" 1
		kept one.sh "1 result is"
		same "$(payloads step.completed 'select(.name == "one").program_changed' | tail -n 1)" true
	done
	touch ok
	resume 0
	same "$output" v1
	same "$(cat ledger)" v1
	awf-verify -q
	# The replay takes the result that today's program does not make.
	awf-verify --determinism --isolation copy
}

@test "--redo-changed makes it again, once, and what is external too" {
	program one.sh 'echo v1 | tee -a ledger'
	program other.sh 'echo same | tee -a other'
	program flow.awf 'awf-step one -n -r --effects external -- ./one.sh | awf-step next -r -- sed s/^/next-/' \
		'awf-step other -n -r -- ./other.sh' "$LAST"
	start 3
	edit one.sh
	resume 3 --redo-changed
	repeated one.sh "1 result is"
	same "$output" "next-v2
same"
	same "$(paste -sd, ledger)" v1,v2
	same "$(payloads step.started 'select(.name == "one").made_again' | paste -sd,)" null,true
	awf-verify --determinism --isolation copy
	touch ok
	resume 0 --redo-changed
	[[ $stderr != *changed* ]]
	same "$output" "next-v2
same"
	same "$(paste -sd, ledger)" v1,v2
	same "$(cat other)" same
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "of many items those that succeeded are kept, and the one that failed has the mended script" {
	program one.sh 'read -r n; echo "v1 $n" | tee -a ledger; [ "$n" != 4 ] || [ -e mended ]'
	program flow.awf 'seq 6 | awf-step -i lines -j 3 one -r -- ./one.sh'
	start 3
	edit one.sh
	touch mended
	resume 0
	kept one.sh "5 results are"
	same "$(sort <<<"$output" | paste -sd,)" "v1 1,v1 2,v1 3,v1 5,v1 6,v2 4"
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "of many items all are made again with --redo-changed" {
	program one.sh 'read -r n; echo "v1 $n"; [ "$n" != 4 ] || [ -e mended ]'
	program flow.awf 'seq 6 | awf-step -i lines -j 3 one -r -- ./one.sh'
	start 3
	edit one.sh
	touch mended
	resume 0 --redo-changed
	repeated one.sh "5 results are"
	same "$(sort <<<"$output" | paste -sd,)" "v2 1,v2 2,v2 3,v2 4,v2 5,v2 6"
}

@test "results of two versions: those of the older one are kept, and made again" {
	program one.sh 'read -r n; echo "v1 $n"; [ "$n" != 2 ] || [ -e mended ]'
	program flow.awf 'seq 2 | awf-step -i lines one -r -- ./one.sh' "$LAST"
	start 3
	edit one.sh
	touch mended
	resume 3
	same "$(paste -sd, <<<"$output")" "v1 1,v2 2"
	resume 3
	kept one.sh "1 result is"
	same "$(paste -sd, <<<"$output")" "v1 1,v2 2"
	resume 3 --redo-changed
	repeated one.sh "1 result is"
	same "$(paste -sd, <<<"$output")" "v2 1,v2 2"
	# Back to the first version: that makes both results outdated, for one was made again.
	sed -i s/v2/v1/ one.sh
	resume 3
	kept one.sh "2 results are"
}

@test "a program that has made no result is told without one" {
	program one.sh 'echo v1; exit 1'
	program flow.awf 'awf-step one -n -r -- ./one.sh'
	start 3
	printf '#!/bin/sh\necho v2\n' >one.sh
	resume 0
	[[ $'\n'$stderr$'\n' == *$'\n'"awf-run: $PWD/one.sh: has changed since it was recorded"$'\n'* ]]
	same "$output" v2
}

@test "a program that is not there any more" {
	program one.sh 'echo v1'
	program flow.awf 'awf-step one -n -r -- ./one.sh' "$LAST"
	start 3
	rm one.sh
	touch ok
	resume 0
	[[ $stderr == *"awf-run: $PWD/one.sh: is not there any more; 1 result is kept (--redo-changed repeats it)"* ]]
	same "$output" v1
}

# bats test_tags=turn:2
@test "scripts of interpreters, and what wrappers run" {
	local i=0 command
	mkdir -p pkg bin
	program x.sh 'echo v1'
	printf 'print("v1")\n' | tee x.py >pkg/__main__.py
	printf 'BEGIN { print "v1" }\n' >x.awk
	cp x.sh bin/named
	while read -r command; do
		case $command in *python3*) command -v python3 >/dev/null || continue ;; esac
		case_is_chosen 4 || continue
		i=$((i + 1))
		mkdir "dir$i"
		cp -r x.sh x.py x.awk pkg bin "dir$i"
		(
			cd "dir$i" || exit 1
			program flow.awf 'PATH=$PATH:$PWD/bin' "echo 1 | awf-step one -r -- $command" 'test -e ok'
			start 1
			same "$output" v1
			find . -name 'x.*' -exec sed -i s/v1/v2/ {} + -o -name '__main__.py' -exec sed -i s/v1/v2/ {} + -o -name named -exec sed -i s/v1/v2/ {} +
			touch ok
			resume 0
			same "$output" v1
			if [[ $stderr != *"has changed since it was recorded; 1 result is kept"* ]]; then
				echo "not told: $command"
				exit 1
			fi
		)
	done <<'EOF'
./x.sh
pkg/../x.sh
$PWD/x.sh
sh x.sh
bash -e x.sh
bash -euo pipefail x.sh
sh -c "./x.sh arg"
sh -c "cd pkg && sh ../x.sh | cat"
sh -c 'if true; then ./x.sh; fi'
env FOO=1 ./x.sh
env -S "sh -e x.sh"
timeout 50 ./x.sh
nice ./x.sh
nice -n 1 sh x.sh
xargs ./x.sh
xargs -n 1 sh -c './x.sh'
python3 x.py
python3 -u x.py
python3 -m pkg
awk -f x.awk
named
EOF
}

@test "what is no program is none of the files: data, and what lies elsewhere" {
	echo v1 >data.txt
	program "$HOME/away.sh" 'echo v1'
	ln -s "$HOME/away.sh" link.sh
	program flow.awf 'awf-step data -n -r -- cat data.txt' 'awf-step away -n -r -- "$HOME/away.sh"' \
		'awf-step link -n -r -- ./link.sh' "$LAST"
	start 3
	edit data.txt "$HOME/away.sh"
	touch ok
	resume 0
	[[ $stderr != *changed* ]]
	same "$(files data)$(files away)$(files link)" ""
}

@test "conditions, loops, branches and other directories" {
	program check.sh ': v1'
	program sub/x.sh 'echo v1'
	program y.sh 'echo v1'
	program flow.awf 'echo 1 | awf-step --when ./check.sh when -r -- cat' \
		'cd sub; awf-step -n dir -r -- ./x.sh; cd ..' \
		'awf-step -n --parallel both -r -- ./y.sh "./sub/x.sh; true"' \
		'echo 1 | awf-step --until ./check.sh --max 2 loop -r -- cat' "$LAST"
	start 3
	same "$(files when) $(files dir) $(files both) $(files loop)" "check.sh sub/x.sh y.sh,sub/x.sh check.sh"
	edit check.sh sub/x.sh y.sh
	resume 3
	kept check.sh "2 results are" || kept check.sh "3 results are"
	[[ $stderr == *"$PWD/sub/x.sh: has changed since it was recorded; "* ]]
	[[ $stderr == *"$PWD/y.sh: has changed since it was recorded; "* ]]
	[[ $output != *v2* ]]
	touch ok
	resume 0 --redo-changed
	[[ $output != *v1* ]]
	awf-verify -q
}

@test "a condition that said no is an answer of its program: told, kept, and asked again" {
	program check.sh 'echo v1 >>asked' '! grep -q v1 "$0"'
	program flow.awf 'echo 1 | awf-step --when ./check.sh a -r --effects external -- tee -a ledger' "$LAST"
	start 3
	edit check.sh
	sed -i '2s/.*/echo v2 >>asked/; 3s/.*/true/' check.sh
	for _ in 1 2; do
		resume 3
		kept check.sh "1 result is"
	done
	same "$(cat asked) $(ls ledger 2>&1 | grep -c cannot)" "v1 1"
	resume 3 --redo-changed
	repeated check.sh "1 result is"
	same "$(paste -sd, asked) $(cat ledger)" "v1,v2 1"
	resume 3
	[[ $stderr != *changed* ]]
	touch ok
	resume 0
	same "$(paste -sd, asked) $(cat ledger)" "v1,v2 1"
	awf-verify -q
}

@test "a program that a call in a group ran: the group gives way, what is in it beside stays" {
	program one.sh 'read -r n; echo "v1 $n" | tee -a ledger'
	program beside.sh 'tee -a beside'
	program body.sh 'awf-step one -- ./one.sh | awf-step beside -- ./beside.sh'
	program flow.awf 'seq 2 | awf-step -i lines --each group -r -- ./body.sh' "$LAST"
	start 3
	same "$(files group)" body.sh
	edit one.sh
	resume 3
	kept one.sh "2 results are"
	resume 3 --redo-changed
	same "$(paste -sd, <<<"$output")" "v2 1,v2 2"
	same "$(sort ledger | paste -sd,)" "v1 1,v1 2,v2 1,v2 2"
	# The body itself: it is run again, and its steps keep what they have.
	echo '# more' >>body.sh
	resume 3
	kept body.sh "2 results are"
	resume 3 --redo-changed
	repeated body.sh "2 results are"
	same "$(paste -sd, <<<"$output")" "v2 1,v2 2"
	same "$(wc -l <ledger)" 4
	touch ok
	resume 0
	awf-verify -q
}

@test "tools: what lies beside the tool's file is part of it, other programs are told" {
	program scripts/work.sh 'echo "\"v1\"" | tee -a ledger'
	mkdir tools
	jq -n '{name: "work", description: "x", input_schema: {type: "object"}, effects: "external", command: ["sh", "scripts/work.sh"]}' >tools/work.tool.json
	program flow.awf 'echo {} | awf-step -i json -t work call -r' "$LAST"
	start 3
	same "$(files call)" scripts/work.sh
	edit scripts/work.sh
	resume 3
	kept scripts/work.sh "1 result is"
	[[ $output == *v1* ]]
	touch ok
	resume 0 --redo-changed
	repeated scripts/work.sh "1 result is"
	[[ $output == *v2* ]]
	same "$(wc -l <ledger)" 2
	awf-verify -q
}

@test "agents: programs of tools, of servers and of before_turn; with --redo-changed they begin anew" {
	mcp_place
	program serve.sh ': v1' "exec python3 -S '$SERVER' '$PWD/server.log' \"\$@\""
	program guide.sh ': v1' 'cat >/dev/null'
	program scripts/work.sh 'cat >/dev/null; echo v1'
	mkdir tools
	jq -n '{description: "x", input_schema: {type: "object"}, effects: "read", command: ["sh", "scripts/work.sh"]}' >tools/work.tool.json
	jq -n '{mcpServers: {test: {command: "${CLAUDE_PROJECT_DIR}/serve.sh"}}}' >.mcp.json
	printf -- '---\nprovider: scripted\nmodel: m\ntools: [work]\nmcp_servers: [test]\nbefore_turn: [./guide.sh]\n---\nBe brief.\n' >agents/worker.md
	script "$(called c0 work '{}')" "$(said 'done')"
	program flow.awf 'echo hello | awf-step -a worker ask -r' "$LAST"
	start 3
	same "$(files ask | tr , '\n' | sort | paste -sd,)" bin/awf-provider-scripted,guide.sh,scripts/work.sh,serve.sh
	local asked
	asked=$(wc -l <requests.jsonl)
	edit guide.sh scripts/work.sh serve.sh
	resume 3
	for file in guide.sh scripts/work.sh serve.sh; do kept "$file" "1 result is"; done
	same "$(wc -l <requests.jsonl)" "$asked"
	same "$(payloads tool.result .output | paste -sd,)" '"v1"'
	touch ok
	resume 0 --redo-changed
	same "$(payloads tool.result .output | paste -sd,)" '"v1","v2"'
	[ "$(wc -l <requests.jsonl)" -gt "$asked" ]
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "what the words of the workflow run is told as its script is" {
	program flow.sh ': v1' "$LAST"
	run -3 --separate-stderr awf-run --id-file id sh flow.sh </dev/null
	edit flow.sh
	resume 3
	[[ $'\n'$stderr == *$'\n'"awf-run: $PWD/flow.sh: has changed since it was recorded"$'\n'"@@ -"* ]]
	program list.sh 'echo v1'
	run -3 --separate-stderr awf-run -n --id-file id -c './list.sh | awf-step one -r -- cat; '"$LAST" </dev/null
	edit list.sh
	touch ok
	resume 0
	[[ $'\n'$stderr == *$'\n'"awf-run: $PWD/list.sh: has changed since it was recorded"$'\n'"@@ -"* ]]
	same "$output" v2
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "child runs: their workflow, and the programs of their steps" {
	program one.sh 'echo v1 | tee -a ledger'
	program child.awf 'awf-step one -n -r -- ./one.sh'
	program flow.awf 'awf-run ./child.awf' "$LAST"
	start 3
	edit one.sh
	resume 3
	same "$output" v1
	kept one.sh "1 result is"
	resume 3 --redo-changed
	repeated one.sh "1 result is"
	same "$output" v2
	same "$(paste -sd, ledger)" v1,v2
	resume 3
	[[ $stderr != *changed* ]]
	# The child's workflow: it goes on by it, and its steps keep what they have.
	echo 'echo more' >>child.awf
	resume 3
	[[ $stderr == *"awf-run: $PWD/child.awf: has changed since it was recorded; 1 result is kept (--redo-changed repeats it)"* ]]
	same "$output" v2
	touch ok
	resume 0 --redo-changed
	same "$(paste -sd, <<<"$output")" v2,more
	same "$(paste -sd, ledger)" v1,v2
	awf-verify -q
}

@test "a child run that failed goes on, its results of changed programs with it or without" {
	program one.sh 'echo v1'
	program child.awf 'awf-step one -n -r -- ./one.sh' "$LAST"
	program flow.awf 'awf-run ./child.awf'
	start 3
	edit one.sh
	resume 3
	kept one.sh "1 result is"
	same "$output" v1
	touch ok
	resume 0 --redo-changed
	repeated one.sh "1 result is"
	same "$output" v2
}

@test "a fork takes over what changed programs did, or makes it again" {
	program one.sh 'echo v1'
	program flow.awf 'awf-step one -n -r -- ./one.sh' 'awf-step two -n -r -- echo two'
	start 0
	edit one.sh
	run -0 --separate-stderr awf-run --fork "$(cat id)" --at two </dev/null
	kept one.sh "1 result is"
	same "$(paste -sd, <<<"$output")" v1,two
	run -0 --separate-stderr awf-run --fork "$(cat id)" --at two --redo-changed </dev/null
	repeated one.sh "1 result is"
	same "$(paste -sd, <<<"$output")" v2,two
	awf-verify -q
}

@test "a resume of a fork tells what the fork took over of changed programs, too" {
	program one.sh 'echo v1'
	program flow.awf 'awf-step one -n -r -- ./one.sh' "$LAST"
	start 3
	edit one.sh
	run -3 awf-run --fork "$(cat id)" --at last --id-file id </dev/null
	for _ in 1 2; do
		resume 3
		same "$output" v1
		kept one.sh "1 result is"
	done
	resume 3 --redo-changed
	same "$output" v2
	repeated one.sh "1 result is"
	resume 3
	[[ $stderr != *changed* ]]
}

# Killed with all that belongs to it where the named file appears.
killed_at() {
	awf-run --resume "$(cat id)" "${@:2}" </dev/null >/dev/null 2>&1 &
	local pid=$!
	eventually test -e "$1"
	kill -9 "$pid"
	wait "$pid" || :
}

@test "killed while it is made again: an external effect is asked about, anything else is made" {
	program one.sh 'echo v1 | tee -a ledger; [ ! -e stop ] || { : >stopped; exec sleep 100; }'
	program flow.awf 'awf-step one -n -r --effects external -- ./one.sh' "$LAST"
	start 3
	edit one.sh
	touch stop
	killed_at stopped --redo-changed
	rm stop stopped
	resume 75
	[[ $stderr == *"--redo one:0:0 or --skip one:0:0"* ]]
	touch ok
	resume 0 --redo one:0:0
	same "$output" v2
	same "$(paste -sd, ledger)" v1,v2,v2
	awf-verify -q
}

@test "killed while a call without effects is made again: it is made by the program of now" {
	program one.sh 'echo v1; [ ! -e stop ] || { : >stopped; exec sleep 100; }'
	program flow.awf 'awf-step one -n -r -- ./one.sh' "$LAST"
	start 3
	edit one.sh
	touch stop
	killed_at stopped --redo-changed
	rm stop
	touch ok
	resume 0
	same "$output" v2
}

@test "killed between: what was taken over before that is still of the old program" {
	program one.sh 'echo v1'
	program flow.awf 'awf-step one -n -r -- ./one.sh' '[ ! -e stop ] || { : >stopped; exec sleep 100; }' "$LAST"
	start 3
	edit one.sh
	touch stop
	killed_at stopped
	rm stop
	resume 3
	kept one.sh "1 result is"
	same "$output" v1
	touch ok
	resume 0 --redo-changed
	same "$output" v2
}

@test "a large program is told by its digest, which is not kept" {
	program big.sh 'echo v1' 'exit'
	head -c 2000000 /dev/zero >>big.sh
	program flow.awf 'awf-step one -n -r -- ./big.sh' 'awf-step two -n -r -- ./big.sh' "$LAST"
	start 3
	same "$(payloads step.started 'select(.name == "two").files[0] | [.kept, .program]')" '[false,true]'
	edit big.sh
	touch ok
	resume 0
	kept big.sh "2 results are"
}

@test "a file that a shell sources is told by its digest: it may hold secrets" {
	echo 'KEY=v1' >.env
	program flow.awf 'awf-step one -n -r -- sh -c ". ./.env; echo \$KEY"' "$LAST"
	start 3
	same "$(payloads step.started 'select(.name == "one").files[0] | [.kept, .program]')" '[false,true]'
	edit .env
	touch ok
	resume 0
	kept .env "1 result is"
	run -0 awf-run -n -c '. ./.env; awf-step -n one -r -- echo "$KEY"'
	same "$(payloads run.started '.files[0] | [(.path | sub(".*/"; "")), .kept]')" '[".env",false]'
	run -1 --separate-stderr awf-replay --show .env @
	[[ $stderr == *"the recording has its digest alone: a shell sources it, or it is large" ]]
	[ ! -e "$AWF_STORAGE/blobs" ] || ! grep -rq KEY= "$AWF_STORAGE/blobs"
	awf-verify -q
}

@test "a workspace that was moved: what is there now is compared" {
	mkdir -p project
	cd project
	program one.sh 'echo v1'
	program flow.awf 'awf-step one -n -r -- ./one.sh' "$LAST"
	start 3
	cd ..
	mv project moved
	cd moved
	touch ok
	run -0 --separate-stderr awf-run --resume "$(cat id)" --workspace "$PWD" </dev/null
	[[ $stderr != *changed* ]]
	rm ok
	start 3
	cd ..
	mv moved again
	cd again
	edit one.sh
	touch ok
	run -0 --separate-stderr awf-run --resume "$(cat id)" --workspace "$PWD" </dev/null
	kept one.sh "1 result is"
	same "$output" v1
}

@test "--redo-changed is for runs that were recorded" {
	program flow.awf true
	run -125 --separate-stderr awf-run --redo-changed ./flow.awf </dev/null
	same "$stderr" "awf-run: --redo-changed: only with --resume, --continue or --fork"
}
