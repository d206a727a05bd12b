#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-tail: what it shows, what it follows, what it lists.
# Each test is a subshell of its own, stderr is bats', and cat makes a pipe:
# shellcheck disable=SC2154,SC2030,SC2031,SC2002,SC2094,SC2119,SC2120
bats_require_minimum_version 1.5.0
load ../../support/helpers

BRIEF=6f1c2a80-5b1e-4a7d-9c34-0d2f6b7e8a91
NESTED=b7e0c3d2-91aa-4f06-8e55-3c4d5e6f7081

prepare() {
	export TZ=UTC LC_ALL=C.UTF-8
	unset COLUMNS NO_COLOR
	mkdir -p "$AWF_STORAGE/transcripts"
}

cleanup() {
	[ -z "${TAIL-}" ] || kill "$TAIL" 2>/dev/null || true
	[ -z "${RUN-}" ] || kill "$RUN" 2>/dev/null || true
	tmux -L "awf-tail-$$-$BATS_TEST_NUMBER" kill-server 2>/dev/null || true
}

# Fails if the command succeeds: "!" alone would not.
no() { if "$@"; then return 1; fi; }

# Puts the recorded run and its child into the storage.
brief() {
	chain <"$ROOT/tests/fixtures/brief.events" >"$AWF_STORAGE/transcripts/$BRIEF.jsonl"
	chain <"$ROOT/tests/fixtures/nested.events" >"$AWF_STORAGE/transcripts/$NESTED.jsonl"
	ln -s "transcripts/$BRIEF.jsonl" "$AWF_STORAGE/latest"
	RECORD="$AWF_STORAGE/transcripts/$BRIEF.jsonl"
}

# Follows in the background; output in ./out, messages in ./messages.
follow() {
	: >out
	awf-tail "$@" >out 2>messages 3>&- &
	TAIL=$!
}

# Waits until ./out has at least N lines.
lines() {
	for ((i = 0; i < 500; i++)); do
		[ "$(wc -l <out)" -lt "$1" ] || return 0
		sleep 0.01
	done
	cat out messages >&2
	return 1
}

# Starts a run in the background that lives until release() and runs a script first.
hold() {
	local latest
	latest=$(readlink "$AWF_STORAGE/latest" || true)
	rm -f go next
	mkfifo go next
	awf-run -c "$1; read -r line <go" </dev/null 3>&- &
	RUN=$!
	until [ "$(readlink "$AWF_STORAGE/latest")" != "$latest" ]; do sleep 0.01; done
}
release() { echo >go; ended "$RUN"; }

# Waits for a background process, ten seconds at most; its status.
ended() {
	for ((i = 0; i < 1000; i++)); do
		case $(sed -n 's/^State:\t//p' "/proc/$1/status" 2>/dev/null) in
		'' | Z*) wait "$1"; return ;;
		esac
		sleep 0.01
	done
	echo "still running: $1" >&2
	return 1
}

events() { # COUNT PAYLOAD: as input of append
	for ((i = 0; i < $1; i++)); do echo "tool.call step ${2:-{\"name\":\"t\",\"n\":$i\}}"; done
}

# ---- what is shown

@test "a file that is damaged in every line says so a few times, and how often" {
	yes "" | head -n 5000 >blank
	run --separate-stderr awf-tail --json blank
	same "$(wc -l <<<"$stderr" | tr -d ' ')" 4
	[[ $stderr == *'blank: line 1 is damaged'*'… and 4997 more like it' ]]
}

@test "the view, as it is on no terminal" {
	brief
	same "$(awf-tail)" "$(cat "$ROOT/tests/fixtures/brief.view")"
}

@test "the view with colours and symbols" {
	brief
	same "$(awf-tail --color always)" "$(cat "$ROOT/tests/fixtures/brief.colour")"
}

@test "--full: all that was said, wrapped" {
	brief
	mkdir -p "$AWF_STORAGE/blobs/$BRIEF"
	COLUMNS=50 run -4 --separate-stderr awf-tail --full # one blob is not there
	same "$output" "$(cat "$ROOT/tests/fixtures/brief.full")"
	same "$(awf-tail --full --path check | grep -c .)" 7
	same "$(awf-tail --full --errors --path check | grep -c .)" 5
	same "$(awf-tail --full --path check --color always | grep -c $'\e\\[2mstderr:\e\\[0m')" 1
}

@test "--full: long words, tabs, controls, what is in blobs, and nothing at all" {
	awf-run -n --name w -c 'awf-step -n -q a -- printf "a\tb %s\n  indented %s\n\033]0;x\007" "$(printf "wort%.0s" $(seq 20))" "$(printf "äöü %.0s" $(seq 20))"
		awf-step -n -q b -- sh -c "yes long | head -n 60000"
		awf-step -n -q c -- true'
	COLUMNS=60 awf-tail --full >out
	same "$(sed -n '/a done/,/^$/p' out | tail -n +2)" '    a       b
    wortwortwortwortwortwortwortwortwortwortwortwortwortwort
    wortwortwortwortwortwort
      indented äöü äöü äöü äöü äöü äöü äöü äöü äöü äöü äöü
      äöü äöü äöü äöü äöü äöü äöü äöü äöü
    \x1b]0;x\x07'
	same "$(grep -c '^    long$' out)" 60000
	same "$(sed -n '/c done/,/^$/p' out | wc -l)" 2
	same "$(awf-tail --full --inline | grep -c '^    long$')" 60000
	same "$(awf-tail --json | awf-tail --full - | grep -c '^    long$')" 60000
	# An error that is a text, as those of others may be.
	same "$(awf-tail --json --type step.completed --path c | jq -c '.payload.error = "gone\n\"home\""' |
		awf-tail --full - | tail -n +2)" '    gone
    "home"'
}

@test "--full: a line is as wide as its columns, be characters wide or combined" {
	awf-step -n -q a -- printf '%s\n漢\tb\n%s\n' "$(printf '漢字%.0s' $(seq 12))" "$(printf 'e\u0301%.0s' $(seq 40))"
	COLUMNS=44 awf-tail --full >out
	same "$(sed -n '/a done/,/^$/p' out | tail -n +2)" "    $(printf '漢字%.0s' $(seq 10))
    漢字漢字
    漢      b
    $(printf 'e\u0301%.0s' $(seq 40))"
}

@test "child runs stand below the line that starts them" {
	brief
	awf-tail -R >out
	same "$(grep -n -A1 'nested started (call' out | tail -n 1 | cut -d- -f1)" 14
	same "$(sed -n 14,17p out)" "$(printf '%s\n' \
		"   2.665     run started (nested, 2026-11-21 08:15:32, run $NESTED)" \
		'   2.670       count started (command): wc -l' \
		'   2.690       count done (20ms, 1 B): 2' \
		'   2.990     run completed (success, 325ms)')"
	same "$(wc -l <out)" 26
}

@test "a child run whose transcript is gone is told" {
	brief
	rm "$AWF_STORAGE/transcripts/$NESTED.jsonl"
	run -0 --separate-stderr awf-tail -R
	same "${#lines[@]}" 22
	[[ $stderr == *"$NESTED.jsonl: child run has no transcript" ]]
}

@test "runs that name each other as children end" {
	brief
	sed "s/\"links\"/\"child_run_id\":\"$BRIEF\",&/; s/$NESTED/$BRIEF/" \
		"$RECORD" >tmp && cat tmp >"$RECORD"
	same "$(timeout 10 awf-tail -R | wc -l)" 22
}

@test "--json gives the lines themselves, byte for byte" {
	brief
	awf-tail --json | cmp - "$RECORD"
	awf-tail --json - <"$RECORD" | cmp - "$RECORD"
	cat "$RECORD" | awf-tail --json - | cmp - "$RECORD"
}

@test "filters" {
	brief
	seqs() { awf-tail --json "$@" | jq -r .seq | paste -sd' '; }
	same "$(seqs --type tool.call)" '5 6'
	same "$(seqs --type 'tool.*,run.started')" '1 5 6 7 8'
	same "$(seqs --type 'run.*' --type 'system.*')" '1 21 22'
	same "$(seqs --path check)" '11 12'
	same "$(seqs --path 'review*' --type 'step.started')" '15 16 17'
	same "$(seqs --path 'review.*,check' --type 'step.completed')" '12 18 19'
	same "$(seqs --after 20)" '21 22'
	same "$(seqs --after 0 -n 1)" '22'
	same "$(seqs --after 21 -n 5)" '22'
	same "$(seqs --after 99)" ''
	same "$(seqs -n 2)" '21 22'
	same "$(seqs -n 0)" ''
	same "$(seqs -n 99 --type tool.call)" '5 6'
	same "$(seqs -n 1 --type tool.call)" '6'
	same "$(seqs -n 2 --after 5 --type 'tool.*')" '7 8'
	same "$(seqs --since 2026-11-21T08:15:33.050Z)" '20 21 22'
	same "$(seqs --since 2026-11-22)" ''
	same "$(seqs --errors)" '8 12 22'
	same "$(seqs --grep '"(query|topic)":"[sb]')" '1 4 6'
	same "$(seqs --grep 'no such text')" ''
	same "$(seqs -R --path count)" '2 3'
}

@test "--since is found by bisection" {
	brief
	seqs() { awf-tail --json "$@" | jq -r .seq | paste -sd' '; }
	since=2026-11-21T08:15:33.010Z
	same "$(seqs --since "$since" -n 2)" '21 22'
	same "$(seqs --since "$since" -n 99)" '15 16 17 18 19 20 21 22'
	same "$(seqs --since "$since" -n 1 --type tool.call)" ''
	same "$(seqs --since "$since" --after 18)" '19 20 21 22'
	same "$(seqs --since "$since" --after 3)" '15 16 17 18 19 20 21 22'
	same "$(seqs --since "$since" --path 'review*' --type step.completed)" '18 19 20'

	# Times that one of a few lines has wrong, or not in its place; damage on both sides.
	sed -i '3s/^{/{x/; 18s/^{/{x/; 16s/2026/1926/; 9s/2026/2926/; 20s/"timestamp":"[^"]*",//' "$RECORD"
	run -0 --separate-stderr seqs --since "$since"
	same "$output" '9 15 17 19 20 21 22'
	same "$(grep -c damaged <<<"$stderr")" 1
	[[ $stderr == *'line 18 is damaged'* ]]
	# Of a pipe each line is looked at.
	run -0 --separate-stderr awf-tail --since "$since" - <"$RECORD"
	same "$(grep -c damaged <<<"$stderr")" 2
}

@test "--since with -R takes in a child run that began before" {
	brief
	started=$(jq -r 'select(.child_run_id) | .timestamp' "$RECORD" | head -n 1)
	since=$(jq -r --arg at "$started" 'select(.timestamp > $at) | .timestamp' \
		"$AWF_STORAGE/transcripts/$NESTED.jsonl" | head -n 1)
	[[ $since > $started ]]
	awf-tail --json -R --since "$since" | jq -r .run_id | grep -qx "$NESTED"
}

@test "damaged lines are none of the last events" {
	brief
	printf '\n{}\nx\n' >>"$RECORD"
	seqs() { awf-tail --json "$@" 2>/dev/null | jq -r .seq | paste -sd' '; }
	same "$(seqs -n 1)" '22'
	same "$(seqs -n 2)" '21 22'
	same "$(seqs -n 1 --type 'run.*')" '22'
	same "$(seqs -n 99)" "$(seq 22 | paste -sd' ')"
	run -0 --separate-stderr awf-tail --json -n 1
	same "$(grep -c damaged <<<"$stderr")" 3
}

@test "filters on stdin, which cannot be read again" {
	brief
	seqs() { cat "$RECORD" | awf-tail --json "$@" - | jq -r .seq | paste -sd' '; }
	same "$(seqs --type tool.call)" '5 6'
	same "$(seqs -n 2)" '21 22'
	same "$(seqs -n 1 --type tool.call)" '6'
	same "$(seqs --after 19 -n 99)" '20 21 22'
	same "$(seqs -n 0)" ''
}

@test "events on stdin are shown as they come" {
	brief
	mkfifo pipe
	awf-tail - <pipe >out 2>messages 3>&- &
	TAIL=$!
	exec 4>pipe
	head -n 3 "$RECORD" >&4
	lines 3
	exec 4>&-
	ended "$TAIL"
}

@test "--errors shows the stderr of what failed" {
	brief
	same "$(awf-tail --errors --path check)" "$(printf '%s\n' \
		'   2.650   check failed (30ms): exit_status: exit status 3' \
		'           | check: line 1' '           | check: line 2')"
}

@test "--inline puts blobs back; a missing one is told and exits 4" {
	awf-run -c 'python3 -c "print(\"tool.result step {\\\"output\\\":\\\"\" + \"x\" * 300000 + \"\\\"}\")" | append'
	[ "$(awf-tail --json --type tool.result | wc -c)" -lt 1000 ]
	same "$(awf-tail --json --type tool.result | jq -r '.refs[0].bytes')" 300002
	same "$(awf-tail --json --inline --type tool.result | jq -r '.payload.output|length')" 300000
	same "$(awf-tail --json --inline --type tool.result | jq -r '.refs')" null
	same "$(awf-tail --json --type tool.result | awf-tail --json --inline - | jq -r '.payload.output|length')" 300000
	[[ $(awf-tail --type tool.result) == *'(293.0 KiB)' ]]
	rm -r "$AWF_STORAGE"/blobs/*/*
	run -4 --separate-stderr awf-tail --json --inline --type tool.result
	same "${#lines[@]}" 1
	[[ $stderr == awf-tail:* ]]
}

@test "what models and tools print is data: no escape reaches the output" {
	brief
	printf '%s\n' '{"timestamp":"2026-11-21T08:15:30.000000Z","event_id":"00000000-0000-4000-8000-000000000001","run_id":"'$BRIEF'","parent_event_id":null,"type":"tool\u001b.x","path":"\u001b]0;title\u0007","iteration":0,"payload":{"name":"\u001b[2J","output":"a\u009bb\rc\u202ed"}}' \
		'{"timestamp":"\u001b[31m","event_id":"00000000-0000-4000-8000-000000000002","run_id":"'$BRIEF'","parent_event_id":null,"type":"tool.result","path":"x","iteration":0,"payload":{"name":"\u001b[2J","error":{"code":"\u001b","message":"\u0007"},"stderr":"\u001b[1mbold\n"}}' |
		chain >hostile
	awf-tail --errors hostile >out
	awf-tail hostile >>out
	[ -s out ]
	no env LC_ALL=C grep -q '[^ -~]' out
	awf-tail --color always hostile | sed 's/\x1b\[[0-9]*m//g' >out
	no grep -q $'[\x1b\x07\r]' out
}

@test "a line is one if it has seq and type, whoever wrote it" {
	for line in '{"seq":1,"type":"note"}' '{"type":"","payload":5,"path":7,"more":[],"seq":9223372036854775807}' ' {"seq":1,"type":"x","timestamp":7}'; do
		run -0 --separate-stderr awf-tail --json - <<<"$line"
		same "$output" "$line"
		same "$stderr" 'awf-tail: 1 line does not end in "prev": no chain vouches for it (see awf-verify)'
	done
	for line in '{"a":1}' '{"seq":1}' '{"type":"x"}' '{"seq":0,"type":"x"}' '{"seq":"1","type":"x"}' '{"seq":1.5,"type":"x"}' \
		'{"seq":9223372036854775808,"type":"x"}' '{"seq":1,"type":5}' '["seq",1,"type","x"]' '{"seq":1,"type":"x"' no ''; do
		run -0 --separate-stderr awf-tail --json - <<<"$line"
		same "$output$stderr" 'awf-tail: stdin: line 1 is damaged (see awf-verify)'
	done
}

@test "damaged lines are told by number, and stop nothing" {
	brief
	sed -i -e '3s/$/x/' -e '5s/^/y/' -e '7s/"output":/"output"/' "$RECORD"
	run -0 --separate-stderr awf-tail --json
	same "$(printf '%s\n' "${lines[@]}" | jq -r .seq | paste -sd' ')" \
		'1 2 4 6 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22'
	same "$stderr" "$(for n in 3 5 7; do
		echo "awf-tail: $RECORD: line $n is damaged (see awf-verify)"; done)"
	run -0 --separate-stderr awf-tail --after 4 --type 'tool.result' "$RECORD"
	same "${#lines[@]}" 1
	same "$(grep -c 'line [57] is' <<<"$stderr")" 2
	run -0 --separate-stderr awf-tail - <"$RECORD"
	same "$(grep -c 'stdin: line [357] is' <<<"$stderr")" 3
}

@test "what stands behind the last line of a run that ended is told" {
	brief
	printf '{"seq":23,' >>"$RECORD"
	run -0 --separate-stderr awf-tail -n 1
	same "$stderr" "awf-tail: $RECORD: 10 bytes after the last whole line (see awf-verify)"
	run -0 --separate-stderr awf-tail -n 1 - <"$RECORD"
	same "$stderr" "awf-tail: stdin: 10 bytes after the last whole line (see awf-verify)"
}

@test "RUN may be an id, its beginning, a name, a file, a link" {
	brief
	for run in @ @brief "$BRIEF" "${BRIEF:0:6}" "$RECORD" "$AWF_STORAGE/latest"; do
		same "$(awf-tail --json "$run" | wc -l)" 22
	done
	run -1 awf-tail nonesuch
	[[ $output == 'awf-tail: nonesuch: '* ]]
}

@test "usage errors say what is wrong" {
	table=(
		'--foo|--foo: unknown option'
		'--folow|--folow: unknown option (did you mean --follow?)'
		'-n x|-n: '
		'-n -1|-n: '
		'--after x|--after: '
		'--since yesteryear|--since: '
		'--grep (|--grep: '
		'--color blue|--color: '
		'--status ok|--status: '
		'--buffer 5|--buffer: only with --drop'
		'--drop --buffer 0|--buffer: '
		'--name x|--name: only with --list'
		'-f -F|-f: not with -F'
		'-F @|RUN: not with -F'
		'-F --exit-status|--exit-status: not with -F'
		'-f -|-f: not with -'
		'--full --json|--full: not with --json'
		'--full --as otlp|--full: not with --as'
		'--full --list|--full: not with --list'
		'-R -|-R: not with -'
		'--list @|RUN: not with --list'
		'--list -f|-f: not with --list'
		'a b|b: only one run at a time'
	)
	for row in "${table[@]}"; do
		# shellcheck disable=SC2086
		run -1 awf-tail ${row%%|*}
		[[ $output == "awf-tail: ${row#*|}"* ]] || { echo "$row: $output" >&2; return 1; }
		same "${#lines[@]}" 1
	done
}

@test "--exit-status" {
	awf-run -c 'exit 7' || true
	run -7 awf-tail --exit-status
	run -7 awf-tail --exit-status -n 0
	run -0 awf-tail
	hold true
	run -3 --separate-stderr awf-tail --exit-status
	[[ $stderr == *'run has not ended'* ]]
	kill -9 "$RUN"
	run -3 awf-tail --exit-status
}

@test "no place to write: status 4" {
	brief
	[ -w /dev/full ] || skip
	run -4 --separate-stderr sh -c 'exec awf-tail >/dev/full'
	[[ $stderr == 'awf-tail: stdout: unable to write: '* ]]
	run -4 sh -c 'exec awf-tail --list >/dev/full'
}

# ---- following

@test "-f follows to the end of the run, and takes its exit code" {
	hold 'append tool.call a "{\"name\":\"x\"}"'
	follow -f --json --exit-status
	lines 2
	kill -0 "$TAIL"
	release
	ended "$TAIL"
	cmp out "$(transcript)"
	awf-run -c 'sleep 0.2; exit 9' 3>&- &
	RUN=$!
	run -9 awf-tail -f --exit-status
}

@test "-f waits for the next run if the latest has ended, also in a new storage" {
	rm -rf "$AWF_STORAGE"
	follow -f --json
	sleep 0.1
	awf-run true
	ended "$TAIL"
	cmp out "$(transcript)"
	follow -f --json
	sleep 0.1
	awf-run -c 'append tool.call b "{}"'
	ended "$TAIL"
	cmp out "$(transcript)"
	same "$(wc -l <out)" 3
}

@test "@NAME is the newest of the runs of this name and of its workflow file" {
	printf '#!/usr/bin/env -S awf-run --\nawf-step -n -q one -- true\n' >rep.awf
	named() { awf-tail @rep --type run.started --json | jq -r .payload.name; }
	awf-step -n -q rep -- true
	same "$(named)" rep
	awf-run -n ./rep.awf
	same "$(named)" rep.awf
	awf-step -n -q rep -- true
	same "$(named)" rep
}

@test "-f of a named run that has ended shows it and ends" {
	brief
	awf-run true
	same "$(timeout 5 awf-tail -f "$BRIEF" | wc -l)" 22
	run -3 timeout 5 awf-tail -f "$BRIEF" --exit-status -n 0
	same "$output" ''
}

@test "-f says when the run died" {
	hold true
	follow -f
	lines 1
	kill -9 "$RUN"
	ended "$TAIL"
	same "$(cat messages)" "awf-tail: $(basename "$(transcript)" .jsonl): run died"
	run -3 --separate-stderr awf-tail -f --exit-status "$(transcript)"
	[[ $stderr == *': run died' ]]
}

@test "-n and --after with -f: the past is cut, the future is not" {
	hold 'append tool.call a "{}"; append tool.call b "{}"; read -r line <next; append tool.call c "{}"'
	until [ "$(wc -l <"$(transcript)")" = 3 ]; do sleep 0.01; done
	follow -f -n 1 --json
	lines 1
	awf-tail -f --after 1 --json >after 3>&- &
	other=$!
	until [ "$(wc -l <after)" = 2 ]; do sleep 0.01; done
	echo >next
	release
	ended "$TAIL"
	ended "$other"
	same "$(jq -r .seq out | paste -sd' ')" '3 4 5'
	same "$(jq -r .seq after | paste -sd' ')" '2 3 4 5'
}

@test "-F takes up each new run" {
	follow -F
	for i in 1 2 3; do
		awf-run -c "append tool.call step$i '{\"name\":\"x\"}'"
		lines $((i * 4 - 1))
	done
	same "$(grep -c 'run started' out)" 3
	same "$(grep -c '^==> ' out)" 2
	same "$(grep -o 'step[0-9] call' out | paste -sd' ')" 'step1 call step2 call step3 call'
	kill -0 "$TAIL"
	kill "$TAIL"
}

@test "-F shows a run that came and went while many others that had ended are put away" {
	follow -F --json
	for ((n = 1; n <= 16; n++)); do
		awf-run true
		lines $((n * 2))
	done
	# Neither of these is looked at before the other has ended.
	kill -STOP "$TAIL"
	awf-run true
	awf-run true
	kill -CONT "$TAIL"
	lines 36
	same "$(jq -r .event_id out | sort -u | wc -l)" 36
	kill "$TAIL"
}

@test "-F shows forty runs, each line once" {
	follow -F --json
	# What ran before it began was not missed.
	awf-run true
	lines 2
	for ((n = 1; n < 40; n++)); do awf-run true; done
	lines 80
	sleep 0.1
	same "$(wc -l <out)" 80
	same "$(jq -r .event_id out | sort -u | wc -l)" 80
	# Two of a run, in their order, though those of another may stand between.
	same "$(jq -rs 'group_by(.run_id) | map(map(.type) | join(" ")) | unique[], length' out)" \
		$'run.started run.completed\n40'
	kill "$TAIL"
}

@test "-F shows a run before the latest, which has written nothing yet" {
	follow -F --json
	awf-run true
	lines 2
	AWF_STORAGE=$PWD/other awf-run true
	cp other/transcripts/*.jsonl "$AWF_STORAGE/transcripts/"
	# Its file may be older than the first line of the run before, as file systems tell the time.
	latest=transcripts/11111111-2222-4333-8444-555555555555.jsonl
	touch -d '1 minute ago' "$AWF_STORAGE/$latest"
	ln -s "$latest" "$AWF_STORAGE/new"
	mv -T "$AWF_STORAGE/new" "$AWF_STORAGE/latest"
	lines 4
	kill "$TAIL"
}

@test "-F takes up a second run while the first goes on" {
	hold true
	first=$(basename "$(transcript)" .jsonl)
	follow -F
	lines 1
	awf-run true
	lines 4
	release
	lines 6
	same "$(tail -n 2 out | head -n 1)" "==> $first <=="
}

@test "-f -R follows a child that starts later" {
	hold "append -c $NESTED step.call_workflow.started nested '{\"name\":\"nested\",\"call\":\"nested:0:0\"}'"
	follow -f -R
	lines 2
	chain <"$ROOT/tests/fixtures/nested.events" >"$AWF_STORAGE/transcripts/$NESTED.jsonl"
	lines 6
	grep -q '^   0.000 *count started' out
	release || true # the nested call never ended
	ended "$TAIL"
	same "$(wc -l <out)" 7
}

@test "-f -R -n 0 takes in a child that started before" {
	hold "append -c $NESTED step.call_workflow.started nested '{\"name\":\"nested\",\"call\":\"nested:0:0\"}'"
	until [ "$(wc -l <"$(transcript)")" = 2 ]; do sleep 0.01; done
	chain <"$ROOT/tests/fixtures/nested.events" >whole
	head -n 2 whole >"$AWF_STORAGE/transcripts/$NESTED.jsonl"
	follow -f -R -n 0 --json
	sleep 0.1
	tail -n 2 whole >>"$AWF_STORAGE/transcripts/$NESTED.jsonl"
	lines 2
	release || true
	ended "$TAIL"
	same "$(jq -r .type out | paste -sd' ')" 'step.completed run.completed run.completed'
}

@test "a torn line is shown once, when it has been repaired" {
	hold 'read -r line <next; append tool.call b "{}"; append tool.call c "{}"'
	follow -f --json
	lines 1
	printf '{"seq":2,"timestamp":"2026' >>"$(transcript)"
	sleep 0.1
	same "$(wc -l <out)" 1
	echo >next
	release
	ended "$TAIL"
	cmp out "$(transcript)"
	same "$(cat messages)" ''
}

@test "a transcript that was cut back is read on from there" {
	hold 'read -r line <next; append tool.call b "{\"name\":\"again\"}"'
	follow -f --json
	lines 1
	chain <"$ROOT/tests/fixtures/brief.events" | sed -n 2,4p >>"$(transcript)"
	lines 4
	truncate -s "$(head -n 1 "$(transcript)" | wc -c)" "$(transcript)"
	sleep 0.1
	echo >next
	release
	ended "$TAIL"
	same "$(tail -n 2 out | jq -r .seq | paste -sd' ')" '2 3'
}

# ---- slow and closed outputs

@test "a slow reader delays no writer and loses nothing" {
	awf-run -c 'append' < <(events 3000) 3>&- &
	RUN=$!
	until [ -e "$AWF_STORAGE/latest" ]; do sleep 0.01; done
	mkfifo pipe
	(until [ -e read ]; do sleep 0.01; done; exec cat) <pipe >out 3>&- &
	follower=$!
	awf-tail -f --json @ >pipe 2>messages 3>&- &
	TAIL=$!
	ended "$RUN"
	touch read
	ended "$TAIL"
	ended "$follower"
	cmp out "$(transcript)"
	same "$(cat messages)" ''
}

@test "--drop keeps --buffer events, drops the newest and counts them" {
	payload="{\"text\":\"$(printf '%01000d' 0)\"}"
	awf-run -c append < <(events 2000 "$payload")
	awf-tail --json --drop --buffer 10 2>messages | { sleep 0.3; cat; } >out
	dropped=$(awk '/^awf-tail: dropped [0-9]+ events?$/ { sum += $3 } END { print sum + 0 }' messages)
	same $(($(wc -l <out) + dropped)) 2002
	# a pipe holds 64 KiB, about 50 of these lines
	[ "$(wc -l <out)" -lt 80 ]
	[ "$(wc -l <out)" -ge 10 ]
	jq -e .seq out >seqs
	same "$(cat seqs)" "$(seq "$(wc -l <out)")"
	[ "$(wc -l <messages)" -le 2 ]
}

@test "--drop drops nothing when the reader keeps up" {
	awf-run -c append < <(events 200)
	awf-tail --json --drop >out 2>messages
	cmp out "$(transcript)"
	same "$(cat messages)" ''
	awf-tail --json --drop --buffer 1000 | cat | cmp - "$(transcript)"
}

@test "nobody reads: it dies of SIGPIPE, quietly" {
	brief
	for args in '' '--json' '--drop' '--list'; do
		rm -f status
		# shellcheck disable=SC2086
		{ sleep 0.1; awf-tail $args 2>messages || echo $? >status; } | true
		same "$(cat status)" 141
		same "$(cat messages)" ''
	done
	hold true
	rm status
	{ awf-tail -f 2>messages || echo $? >status; } | head -n 1
	same "$(cat status)" 141
	same "$(cat messages)" ''
	release
}

# ---- on a terminal

# Runs a command in a terminal of COLUMNS x 20.
terminal() {
	tmux -u -L "awf-tail-$$-$BATS_TEST_NUMBER" -f /dev/null new-session -d -x "$1" -y 20 "$2; sleep 60" 3>&-
}
screen() { tmux -u -L "awf-tail-$$-$BATS_TEST_NUMBER" capture-pane -p; }
# Waits until the screen matches.
shows() {
	for ((i = 0; i < 500; i++)); do
		screen >shot
		grep -qE "$1" shot && return 0
		sleep 0.01
	done
	cat shot >&2
	return 1
}

@test "on a terminal lines are cut to its width" {
	brief
	terminal 60 'awf-tail -n 3 @brief'
	shows 'run completed'
	no grep -qE '^.{61}' shot
	grep -q '…$' shot
	grep -q '✗ run completed' shot
}

@test "following on a terminal: calls in progress stand at the bottom" {
	hold 'append step.started research "{\"name\":\"research\",\"call\":\"research:0:0\"}"; read -r line <next; append step.completed research "{\"name\":\"research\",\"call\":\"research:0:0\",\"result\":1}"'
	terminal 80 'awf-tail -f --log --exit-status; echo "status $?"'
	shows '^1 call: research [0-9.]+(ms|s)$'
	before=$(grep '^1 call' shot)
	sleep 0.3
	screen >shot
	[ "$(grep '^1 call' shot)" != "$before" ]
	same "$(grep -c '^1 call' shot)" 1
	tmux -L "awf-tail-$$-$BATS_TEST_NUMBER" resize-window -x 14 -y 20
	shows '^1 call: rese.*…$'
	tmux -L "awf-tail-$$-$BATS_TEST_NUMBER" resize-window -x 80 -y 20
	shows '^1 call: research [0-9.]+(ms|s)$'
	echo >next
	release
	shows '^status 0'
	[[ $(tail -n +1 shot | grep -B1 '^status 0') == *'✓ run completed (success, '*')'* ]]
	[[ $(grep -B1 '✓ run completed' shot) == *'✓ research done (1 B): 1'* ]]
}

@test "the status line is cleared when awf-tail is interrupted" {
	hold 'append step.started research "{\"name\":\"research\",\"call\":\"research:0:0\"}"'
	terminal 80 'sh -c "trap : INT; awf-tail -f --log; echo status \$?"'
	shows '^1 call: research'
	tmux -L "awf-tail-$$-$BATS_TEST_NUMBER" send-keys C-c
	shows '^(\^C)?status 130'
	no grep -q '1 call' shot
	release || true
}

@test "on a terminal it says when it waits for a run" {
	terminal 80 'awf-tail -f --log; echo "status $?"'
	shows '^waiting for a run$'
	awf-run true
	shows '^status 0'
	no grep -q waiting shot
	grep -q '✓ run completed' shot
}

@test "-F reports a run that died, and goes on" {
	hold true
	follow -F
	lines 1
	kill -9 "$RUN"
	until [ -s messages ]; do sleep 0.01; done
	same "$(cat messages)" "awf-tail: $(basename "$(transcript)" .jsonl): run died"
	awf-run true
	lines 4
	kill "$TAIL"
}

@test "colours: auto, always, never, NO_COLOR" {
	brief
	coloured() { script -qec "$1" /dev/null </dev/null | grep -q $'\x1b\[3'; }
	coloured 'awf-tail'
	no coloured 'awf-tail --color never'
	no coloured 'env NO_COLOR=1 awf-tail'
	coloured 'env NO_COLOR=1 awf-tail --color always'
	no grep -q $'\x1b' <(awf-tail)
	awf-tail --color always | grep -q $'\x1b'
}

# ---- lists

@test "--list: what there is of each run" {
	brief
	same "$(awf-tail --list)" \
		'brief  6f1c2a80  failed     2026-11-21 08:15:30      3.0s       6    3.0k'
	same "$(awf-tail --list -R | cut -c1-25)" "$(printf '%s\n' \
		'nested  b7e0c3d2  success' 'brief   6f1c2a80  failed ')"
	same "$(awf-tail --list --json)" '{"run_id":"6f1c2a80-5b1e-4a7d-9c34-0d2f6b7e8a91","name":"brief","status":"failed","child":false,"started":"2026-11-21T08:15:30.000000Z","duration_ms":3060,"exit_code":3,"calls":6,"input_tokens":2734,"output_tokens":300,"error":{"code":"exit_status","message":"check:0:0: exit status 3"}}'
}

@test "--list: running, died, counted from the events" {
	hold 'append step.started a "{\"name\":\"a\",\"call\":\"a:0:0\"}"; append message.assistant a "{\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}"'
	until [ "$(wc -l <"$(transcript)")" = 3 ]; do sleep 0.01; done
	listed() { awf-tail --list --json "$@" | jq -c '[.status, .exit_code, .calls, .input_tokens, .output_tokens]'; }
	same "$(listed)" '["running",null,1,10,5]'
	kill -9 "$RUN"
	ended "$RUN" || true
	until [ "$(listed)" = '["died",null,1,10,5]' ]; do sleep 0.01; done
	RUN=
}

@test "--list: choosing" {
	brief
	awf-run --name nightly true
	awf-run --name nightly -c 'exit 2' || true
	names() { awf-tail --list --json "$@" | jq -r '.name + ":" + .status' | paste -sd' '; }
	same "$(names)" 'nightly:failed nightly:success brief:failed'
	same "$(names --name 'night*')" 'nightly:failed nightly:success'
	same "$(names --status failed)" 'nightly:failed brief:failed'
	same "$(names --status failed -n 1)" 'nightly:failed'
	same "$(names --name brief,nothing)" 'brief:failed'
	same "$(names --status running)" ''
	same "$(names -n 0)" ''
	sed -i 's/2026-11-21/2020-01-01/' "$RECORD"
	same "$(names --since 1h)" 'nightly:failed nightly:success'
}

@test "--list says that it stops at its limit, unless that was chosen or a program reads" {
	brief
	for i in $(seq 10 29); do
		id=${BRIEF%??}$i
		sed "s/$BRIEF/$id/g" "$RECORD" >"$AWF_STORAGE/transcripts/$id.jsonl"
		[ "$i" != 28 ] || { run -0 --separate-stderr awf-tail --list && same "${#lines[@]}$stderr" 20; }
	done
	run -0 --separate-stderr awf-tail --list
	same "${#lines[@]}$stderr" "20awf-tail: these are the newest 20 runs: -n N lists more"
	run -0 --separate-stderr awf-tail --list --json
	same "${#lines[@]}$stderr" 20
	run -0 --separate-stderr awf-tail --list -n 5
	same "${#lines[@]}$stderr" 5
}

@test "--list of an empty storage is empty; a broken transcript is told" {
	same "$(awf-tail --list)" ''
	brief
	echo nonsense >"$AWF_STORAGE/transcripts/$NESTED.jsonl"
	run -0 --separate-stderr awf-tail --list
	same "${#lines[@]}" 1
	[[ $stderr == *"$NESTED.jsonl: does not begin with an event" ]]
}

@test "lines that end in no prev are shown, and counted once" {
	export JQ=jq
	brief
	jq -c 'del(.prev)' "$RECORD" >plain.jsonl
	jq -c '. + {extra: 1}' "$RECORD" >extra.jsonl
	events=$(wc -l <"$RECORD")
	for file in plain.jsonl extra.jsonl; do
		run -0 --separate-stderr awf-tail --json "$file"
		same "${#lines[@]}" "$events"
		same "$stderr" "awf-tail: $events lines do not end in \"prev\": no chain vouches for them (see awf-verify)"
		run -0 --separate-stderr awf-tail --type run.started - <"$file"
		same "${#lines[@]} $stderr" '1 awf-tail: 1 line does not end in "prev": no chain vouches for it (see awf-verify)'
	done
	same "$(awf-tail plain.jsonl 2>/dev/null)" "$(awf-tail "$RECORD")"
}

@test "--grep is given once" {
	run -1 --separate-stderr awf-tail --grep a --grep b
	same "$stderr" "awf-tail: --grep: stands there twice: join them, as in 'ONE|OTHER'"
}

@test "figures of all runs, by workflow, step, tool and model" {
	awf-run -n --name good -c 'awf-step -n a -q -- true; awf-step -n a -q -- true'
	awf-run -n --name bad -c 'awf-step -n b -q -- sh -c "echo why >&2; exit 3"' || true
	[[ $(awf-tail --stats) == workflow*count*cost*$'\n''bad '*' 1 '*' 1 '*'last failure: sh: exit status 3: why'$'\n''good '* ]]
	same "$(awf-tail --stats --by step --json | jq -c '[.step, .count, .failed]' | paste -sd' ')" '["good a",2,0] ["bad b",1,1]'
	same "$(awf-tail --stats --json | jq -c '[.workflow, .count, .failed, .cost]' | sort | paste -sd' ')" '["bad",1,1,0] ["good",1,0,0]'
	# What was taken over is not counted again.
	awf-run --fork @good --at a:1:0
	same "$(awf-tail --stats --by step --json | jq -c 'select(.step == "good a").count')" 3
	same "$(awf-tail --stats --since 2099-01-01 --json)" ''
	same "$(awf stats --json | wc -l)" 2
	run -1 awf-tail --stats -f
	[[ $output == *'--stats: not with -f' ]]
	# The last reason is that of the latest run, and of others the last few are kept.
	for why in why other why; do awf-run -n --name bad -c "awf-step -n b -q -- sh -c 'echo $why >&2; exit 3'" || true; done
	same "$(awf-tail --stats --by step --json | jq -c 'select(.step == "bad b") | [.failed, .last_failure, [.last_failures[].reason]]')" \
		'[4,"sh: exit status 3: why",["sh: exit status 3: why","sh: exit status 3: other"]]'
	same "$(awf-tail --stats --by step --json | jq -r 'select(.step == "bad b").last_failures[0].run_id')" "$(basename "$(transcript)" .jsonl)"
	# Over time: all of it in the last span of a month.
	same "$(awf-tail --stats --since 30d --by step --json | jq -c 'select(.step == "bad b") | [(.spans | length), .spans[22], .spans[23]]')" '[24,[0,0],[4,4]]'
	# What waits has not ended, and has not failed; what was cancelled has not failed.
	awf-run --name asks -c 'awf-step --approve ok | awf-step go -r -- cat' <<<x || [ $? = 75 ]
	same "$(awf-tail --stats --by step --json | jq -c 'select(.step | startswith("asks"))')" ''
	same "$(awf-tail --stats --json | jq -c 'select(.workflow == "asks")')" ''
	awf-ctl approve ok @asks
	awf-run --resume @asks >/dev/null
	same "$(awf-tail --stats --by step --json | jq -c 'select(.step == "asks go") | [.count, .failed]')" '[1,0]'
	awf-run -n --id-file id --name long -c 'awf-step -n wait -q -- sleep 60' 3>&- &
	runner=$!
	eventually eval '[ -s id ] && grep -qs step.started "$AWF_STORAGE/transcripts/$(cat id).jsonl"'
	awf-ctl cancel "$(cat id)"
	wait "$runner" || true
	same "$(awf-tail --stats --json | jq -c 'select(.workflow == "long") | [.count, .failed]')" '[1,0]'
	rm "$AWF_STORAGE/transcripts/$(cat id).jsonl"
	awf-run --fork @good --at a:1:0
	# A run whose lines are damaged is counted without them, and that is said.
	sed -i '3s/.*/garbage/' "$(transcript)"
	run -0 --separate-stderr awf stats --by step --json
	same "$(jq -c 'select(.step == "good a").count' <<<"$output")" 4
	same "$stderr" "awf-stats: $(transcript): 1 line is damaged, and not counted (see awf-verify)"
}

@test "who names a storage is told where its transcript is" {
	awf-run -n -c 'awf-step -n -q a -- true'
	run -1 awf-tail "$AWF_STORAGE"
	same "$output" "awf-tail: $AWF_STORAGE: a directory, not a transcript: latest in it is one"
	same "$(awf-tail --json "$AWF_STORAGE/latest")" "$(awf-tail --json)"
}
