#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-run(1), "Forking".
# shellcheck shell=bash disable=SC2016,SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	cat >flow.awf <<-'END'
		#!/bin/sh
		awf-step research -- sh -c 'echo research >>ledger; cat' |
		awf-step --effects external analyse -- sh -c 'echo analyse >>ledger; sed "s/$/ analysed/"' |
		awf-step write -r -- sh -c 'echo write >>ledger; sed "s/$/ and written for ${AWF_INPUT_who-nobody}/"'
	END
	chmod +x flow.awf
	echo topic | awf-run --input who=me --id-file original ./flow.awf >out
	record="$AWF_STORAGE/transcripts/$(cat original).jsonl"
	cp "$record" before
	: >ledger
}

ledger() { paste -sd' ' ledger; }

@test "a fork without --at makes again what is not as recorded, and what came of it" {
	run -0 --separate-stderr awf-run --fork "$(cat original)" </dev/null
	same "$output" "topic analysed and written for me"
	same "$(ledger)" ''
	same "$(jq -c 'select(.seq == 1).payload | [.forked_from, .forked_at]' "$(transcript)")" "[\"$(cat original)\",null]"
	sed -i 's/ written/ noted/' flow.awf
	run -0 --separate-stderr awf-run --fork "$(cat original)" </dev/null
	same "$output" "topic analysed and noted for me"
	same "$(ledger)" write
	awf-verify -q
	awf-verify --determinism --isolation copy
	# What has changed something outside is asked about.
	sed -i 's/ analysed/ examined/' flow.awf
	run -75 --separate-stderr awf-run --fork "$(cat original)" </dev/null
	[[ $stderr == *'with --redo analyse:0:0 or --skip analyse:0:0'* ]]
	same "$(ledger)" write
}

@test "without --at, commands depend on inputs, and on variables of --env, that the fork was given with other values" {
	cat >flow <<-'EOF'
		#!/bin/sh
		awf-step -n -r solve -- sh -c 'echo solve >>ledger; echo "$STYLE $AWF_INPUT_STYLE"' |
			awf-step -r last -- sh -c 'echo last >>ledger; cat; test ! -e broken'
	EOF
	chmod +x flow
	STYLE=a awf-run --id-file first --env STYLE --input STYLE=1 ./flow >out
	same "$(cat out)" "a 1"
	same "$(STYLE=a awf-run --env STYLE --fork "$(cat first)" --input STYLE=1 ./flow)" "a 1"
	same "$(STYLE=b awf-run --fork "$(cat first)" --ignore-env STYLE ./flow)" "a 1"
	same "$(wc -l <ledger)" 2
	same "$(STYLE=b awf-run --fork "$(cat first)" ./flow 2>err)" "b 1"
	grep -q 'solve 1 (another STYLE: --ignore-env STYLE' err
	same "$(wc -l <ledger)" 4
	# The fork that died has its own calls, and those of the other run have another input.
	touch broken
	STYLE=a run -3 awf-run --id-file second --fork "$(cat first)" --input STYLE=2 --input NEW=1 ./flow
	same "$(wc -l <ledger)" 6
	rm broken
	same "$(STYLE=a awf-run --resume "$(cat second)")" "a 2"
	same "$(wc -l <ledger)" 7
	same "$(STYLE=a awf-run --fork "$(cat second)")" "a 2"
	same "$(wc -l <ledger)" 7
	same "$(env -u STYLE awf-run --fork "$(cat second)" ./flow)" " 2"
	same "$(wc -l <ledger)" 9
}

@test "a fork takes over all but the PATH and what came of it" {
	while IFS='|' read -r at did; do
		: >ledger
		run -0 --separate-stderr awf-run --fork "$(cat original)" --at "$at" --id-file id </dev/null
		same "$output" "topic analysed and written for me"
		same "$stderr" ""
		same "$(ledger)" "$did"
		awf-verify -q "$(cat id)"
		same "$(jq -c 'select(.seq == 1).payload | [.forked_from, .forked_at, .attempt, .name]' "$(transcript)")" \
			"[\"$(cat original)\",\"$at\",1,\"flow.awf\"]"
		cmp "$AWF_STORAGE/inputs/$(cat original)" "$AWF_STORAGE/inputs/$(cat id)"
		[ "$(cat id)" != "$(cat original)" ]
	done <<-'END'
		write|write
		write:0:0|write
		analyse|analyse write
		research|research analyse write
	END
	cmp before "$record"
}

@test "what is taken over stands in the fork's own record, with its result" {
	awf-run --fork @ --at write </dev/null
	same "$(jq -c 'select(.type == "step.completed").payload | [.call, .result, .reused_from.run_id]' "$(transcript)" | head -n 2)" \
		"[\"research:0:0\",\"topic\",\"$(cat original)\"]
[\"analyse:0:0\",\"topic analysed\",\"$(cat original)\"]"
	same "$(jq -c 'select(.type == "step.started").payload.claims.run_id' "$(transcript)")" \
		"\"$(cat original)\"
\"$(cat original)\"
null"
}

@test "another input, another workflow" {
	run -0 --separate-stderr awf-run --fork @ --at write --input who=you </dev/null
	same "$output" "topic analysed and written for you"
	sed -i 's/and written/and rewritten/' flow.awf
	run -0 --separate-stderr awf-run --fork "$(cat original)" --at write </dev/null
	same "$output" "topic analysed and rewritten for me"
	sed 's/and rewritten/and cut/' flow.awf >cut.awf
	: >ledger
	run -0 --separate-stderr awf-run --fork "$(cat original)" --at write --id-file id ./cut.awf </dev/null
	same "$output" "topic analysed and cut for me"
	same "$(ledger)" write
	same "$(jq -c 'select(.seq == 1).payload.name' "$(transcript)")" '"cut.awf"'
	run -0 --separate-stderr awf-run --fork "$(cat original)" --at write -c 'cat' </dev/null
	same "$output" topic
}

@test "a changed call with effects that is not left out is asked about" {
	sed -i 's/ analysed/ thought about/' flow.awf
	run -75 --separate-stderr awf-run --fork "$(cat original)" --at write </dev/null
	[[ $stderr == *"analyse:0:0: its definition is"*"--redo analyse:0:0 or --skip analyse:0:0"* ]]
	same "$(ledger)" ""
	run -0 --separate-stderr awf-run --fork "$(cat original)" --at write --redo analyse </dev/null
	same "$output" "topic thought about and written for me"
	same "$(ledger)" "analyse write"
}

@test "what was cut off in the other run is asked about before there is a new one" {
	cat >cut.awf <<-'END'
		#!/bin/sh
		awf-step -n one -q -- sh -c 'echo one >>ledger'
		awf-step -n --effects external two -r -- sh -c 'echo two >>ledger; [ -e fine ] || { read -r pid _ <"$AWF_STORAGE/runs/$AWF_RUN_ID/lock"; kill -9 "$pid"; sleep 9; }; echo 2'
	END
	chmod +x cut.awf
	run -137 awf-run --id-file dead ./cut.awf </dev/null
	touch fine
	ls "$AWF_STORAGE/transcripts" >transcripts
	: >ledger
	run -75 --separate-stderr awf-run --fork "$(cat dead)" --at one </dev/null
	[[ $stderr == "awf-run: two:0:0: sh -c echo two"*"may or may not have happened: say --redo two:0:0 or --skip two:0:0" ]]
	same "$(ls "$AWF_STORAGE/transcripts")" "$(cat transcripts)"
	run -0 --separate-stderr awf-run --fork "$(cat dead)" --at one --redo two </dev/null
	same "$output" 2
	run -0 --separate-stderr awf-run --fork "$(cat dead)" --at two </dev/null
	same "$output" 2
	same "$(ledger)" "one two two"
}

@test "a fork that dies is resumed: from its own record first, then from the other's" {
	cat >die <<-'END'
		#!/bin/sh
		echo die >>ledger
		[ -e fine ] || { read -r pid _ <"$AWF_STORAGE/runs/$AWF_RUN_ID/lock"; kill -9 "$pid"; sleep 9; }
		cat
	END
	chmod +x die
	sed -i 's/awf-step research --/awf-step middle -- .\/die | awf-step research --/' flow.awf
	run -137 awf-run --fork "$(cat original)" --at write --id-file id ./flow.awf </dev/null
	touch fine
	: >ledger
	run -0 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	same "$output" "topic analysed and written for me"
	same "$(ledger)" "die write"
	awf-verify -q "$(cat id)"
	# And forks of forks.
	: >ledger
	run -0 --separate-stderr awf-run --fork "$(cat id)" --at write ./flow.awf </dev/null
	same "$output" "topic analysed and written for me"
	same "$(ledger)" write
}

@test "a fork whose original is gone" {
	awf-run --fork "$(cat original)" --at write --id-file id -c 'awf-step -n write -- false' </dev/null 2>/dev/null || true
	rm "$record"
	run -125 --separate-stderr awf-run --resume "$(cat id)" </dev/null
	same "$stderr" "awf-run: $record: unable to open: No such file or directory"
}

@test "an original that is damaged" {
	sed -i '2s/"name":"research"/"name":"searches"/' "$record"
	run -125 --separate-stderr awf-run --fork "$(cat original)" --at write </dev/null
	[[ $stderr == "awf-run: $record:"*"; see awf-verify" ]]
	same "$(ls "$AWF_STORAGE/transcripts")" "$(basename "$record")"
	cp before "$record"
	printf '{"seq":' >>"$record"
	run -125 --separate-stderr awf-run --fork "$(cat original)" --at write </dev/null
	[[ $stderr == "awf-run: $record:"*"; see awf-verify" ]]
	[ ! -e "${record%.jsonl}.torn" ]
}

@test "the same research, written by another model; and the fork replays by itself" {
	local who
	for who in research write other; do
		printf '{"blocks":[{"type":"text","text":"%s"}]}\n' "$who" >"$who.jsonl"
	done
	mkdir agents
	printf -- '---\nmodel: replay/%s/research.jsonl\n---\nSearch.\n' "$PWD" >agents/research.md
	printf -- '---\nmodel: replay/%s/write.jsonl\n---\nWrite.\n' "$PWD" >agents/write.md
	printf '%s\n' '#!/bin/sh' 'awf-step -a research research | tee kept | awf-step -a write write -r' >agents.awf
	run -0 awf-run --id-file id ./agents.awf <<<topic
	same "$output" write
	rm research.jsonl
	sed -i 's/write.jsonl/other.jsonl/' agents/write.md
	run -0 --separate-stderr awf-run --fork "$(cat id)" --at write --id-file fork </dev/null
	same "$output" other
	same "$(jq -r .data kept)" research
	rm "$AWF_STORAGE/transcripts/$(cat id).jsonl"
	run -0 --separate-stderr awf-replay --isolation none "$(cat fork)"
	same "$output" other
	awf-verify -q "$(cat fork)"
}

@test "an agent that the other run left unfinished begins anew, if it has changed nothing" {
	rows=0
	mkdir agents tools
	for effects in none external; do
		printf '{"description":"x","input_schema":{"type":"object"},"effects":"%s"}\n' "$effects" >"tools/$effects.tool.json"
		printf '#!/bin/sh\necho %s >>ledger\n' "$effects" >"tools/$effects"
		chmod +x "tools/$effects"
		printf -- '---\nmodel: replay/%s/%s.jsonl\ntools: [%s]\n---\nBe brief.\n' "$PWD" "$effects" "$effects" >"agents/$effects.md"
		printf '{"turn":0,"blocks":[{"type":"tool_use","tool_id":"t1","tool_name":"%s","tool_input":{}}]}\n' "$effects" >"$effects.jsonl"
	done
	while IFS='|' read -r effects code did skipped asked; do
		: >ledger
		run -3 awf-run -n --id-file died -c "awf-step -n first -q -- true; awf-step -n -p hi -a $effects talk -r"
		same "$(ledger)" "$effects"
		printf '{"turn":1,"blocks":[{"type":"text","text":"done"}]}\n' >>"$effects.jsonl"
		run -"$code" --separate-stderr awf-run --fork "$(cat died)" --at first --id-file id </dev/null
		[[ $stderr == *"$asked"* ]]
		run -0 --separate-stderr awf-run --fork "$(cat died)" --at first --redo talk --id-file id </dev/null
		same "$output" "done"
		same "$(ledger)" "$did"
		run -0 awf-verify "$(cat id)"
		same "$output" ''
		# It runs what has no effects again, here where it is.
		run -0 awf-replay -q --isolation none "$(cat id)"
		same "$output" "done"
		run -0 --separate-stderr awf-run --fork "$(cat died)" --at first --skip talk --id-file id </dev/null
		same "$output $(ledger)" "$skipped"
		awf-verify -q "$(cat id)"
		rows=$((rows + 1))
	done <<-'END'
		none|0|none none none|null none none none none|
		external|75|external external|null external external|talk: talk:0:0: has changed something in the run that this was forked from, and did not end: fork with --redo talk:0:0 or --skip talk:0:0
	END
	same "$rows" 2
}

@test "--at does not name a call in a child run" {
	awf-run -n -c 'echo a | awf-run -c "awf-step hit -r -- cat" | awf-step last -r -- cat'
	call=$(payloads step.call_workflow.started .call | tr -d '"')
	for at in "$call/hit:0:0" "${call%%:*}.hit" "${call%%:*}.nope"; do
		run -125 --separate-stderr awf-run --fork @ --at "$at"
		same "$stderr" "awf-run: --at: '$at' is in a child run: name the call of that, $call"
	done
	run -0 awf-run --fork @ --at "${call%%:*}"
}

# bats test_tags=turn:2
@test "--at leaves out a child run that read from what it names, and who reads from that" {
	local flow
	for flow in 'awf-run -c "awf-step k -- cat made" | awf-step z -r -- cat' \
		'awf-run -c "awf-run -c \"awf-step k -- cat made\"" | awf-step --each g -- sh -c "cat | awf-step z -- cat" | awf-step y -r -- cat' \
		'awf-run -c "awf-step k -- sh -c \"cat made >copy; echo same\"" | awf-step z -r -- cat copy'; do
		for first in "awf-step -n e -- sh -c 'cp val made; echo done' | $flow" \
			"awf-step -n --each g1 -- sh -c \"awf-step -n e -- sh -c 'cp val made; echo done' | $(sed 's/[\\"]/\\&/g' <<<"${flow%% | *}")\" | ${flow#* | }"; do
			echo old >val
			same "$(awf-run -n --name f -c "$first")" old
			echo new >val
			at=e
			[[ $first != *g1* ]] || at=g1.e
			same "$(awf-run --fork @f --at "$at" 2>err)" new
			# What did not come of it stands.
			echo newer >val
			same "$(awf-run --fork @f --at "$(grep -o '[yz] -r' <<<"$first" | cut -c1)" 2>err)" "$([[ $first == *copy* ]] && cat copy || echo new)"
		done
	done
}

@test "--at leaves a branch that failed beside what it names in a best-effort group" {
	cat >flow.awf <<-'END'
		#!/bin/sh
		echo in | awf-step --parallel --strategy best-effort g -- 'awf-step a -- sh -c "echo a >>ledger; cat - v"' \
			'awf-step b --effects external -- sh -c "echo b >>ledger; exit 3"' | jq -c '[.data, .metadata.error.code]'
	END
	chmod +x flow.awf
	echo 1 >v
	run -0 awf-run --id-file id ./flow.awf </dev/null
	echo 2 >v
	rm ledger
	run -0 --separate-stderr awf-run --fork "$(cat id)" --at g.a </dev/null
	same "$output" $'["in\\n2",null]\n["in","exit_status"]'
	same "$(cat ledger)" a
}

@test "what was cut off in a child run of the other run is asked about before there is a new one" {
	awf-run -n --name top -c 'awf-run -n --name mid -c "awf-run -n --name low -c \"awf-step -n --timeout 100ms --effects external -q send -- sleep 5\""
		awf-step -n z -r -- echo z' 2>/dev/null || true
	runs=$(find "$AWF_STORAGE/transcripts" -name '*.jsonl' | wc -l)
	run -75 --separate-stderr awf-run --fork @top --at z
	same "$output" ''
	[[ $stderr == *"mid:0:0/low:0:0/send:0:0: "*"say --redo mid:0:0/low:0:0/send:0:0 or --skip mid:0:0/low:0:0/send:0:0"* ]]
	same "$(find "$AWF_STORAGE/transcripts" -name '*.jsonl' | wc -l)" "$runs"
	run -0 --separate-stderr awf-run --fork @top --at z --skip mid.low.send
	same "$output" z
}

@test "what --at leaves out is made anew, and has nothing of what was said of another call" {
	cat >loop.awf <<-'END'
		#!/bin/sh
		for x in 1 2 3 4; do
			awf-step -n --effects external s -q -- sh -c "echo $x >>ledger; [ $x != 3 ] || [ -e fine ] || { read -r pid _ <\"\$AWF_STORAGE/runs/\$AWF_RUN_ID/lock\"; kill -9 \$pid; sleep 9; }"
		done
	END
	chmod +x loop.awf
	: >ledger
	run -137 awf-run --id-file dead ./loop.awf </dev/null
	touch fine
	same "$(ledger)" "1 2 3"
	: >ledger
	run -0 --separate-stderr awf-run --fork "$(cat dead)" --at s:1:0 --skip s:2:0 </dev/null
	same "$(ledger)" "2 4"
}

@test "what --at leaves out and the fork has made since is asked about as any other effect" {
	printf '%s\n' '#!/bin/sh' 'RUN=$$ awf-step -n -q --effects external two -- sh -c "echo 2 >>ledger"' \
		'awf-step -n -q gate -- test -e open' >made.awf
	chmod +x made.awf
	: >ledger
	run -3 awf-run -n --id-file first ./made.awf
	run -3 awf-run -n --id-file second --fork "$(cat first)" --at two
	same "$(ledger)" "2 2"
	: >open
	run -75 --separate-stderr awf-run --resume "$(cat second)" </dev/null
	[[ $stderr == *'two:0:0: RUN has another value'*'--redo two:0:0 or --skip two:0:0'* ]]
	same "$(ledger)" "2 2"
}
