#!/usr/bin/env bats
# bats file_tags=turn:2
# Approval: awf-step --approve, awf-ctl approve and deny. At a terminal: see
# approve-terminal.bats.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
load ../../support/resume
bats_require_minimum_version 1.5.0

prepare() {
	resume_tools
	ME=$(command id -un)
	cat >flow <<-'END'
		awf-step plan -- sed 's/^/plan: /' | awf-step --approve ok | awf-step --effects external go -r -- ledger go
	END
}

# Runs a workflow until it waits; its id is in run.id.
waits() {
	local status=0
	awf-run --id-file run.id "$@" >out 2>err 3>&- || status=$?
	[ "$status" = 75 ] || { cat err; false; }
}
decide() { awf-ctl "$@" </dev/null; }
events() { jq -c "select(.type == \"step.completed\" and .path == \"$1\") | .payload$2" "$(record)"; }
last() { events "$1" "$2" | tail -n 1; }

@test "without a terminal a run waits, costs nothing, and says what to run next" {
	waits ./flow <<<cake
	same "$(cat err)" "awf-step: ok: waits for a decision
awf-run: flow: waits for a decision: awf-ctl approve ok:0:0 $(id | cut -c 1-8)
awf-run: flow: $ME decides, or who may on the page of awf-serve; awf-ctl deny says no"
	[ ! -s out ] && [ "$(entries go)" = 0 ]
	[ -z "$(ls "$AWF_STORAGE/runs")" ]
	deserted
	same "$(last ok '|[.kind,.error.code,.approval]')" '["approval","waiting",{"asks":"approval"}]'
	same "$(last go .skipped)" '"upstream_waiting"'
	same "$(awf-tail --list --status waiting | awk '{print $1, $3}')" 'flow waiting'
	same "$(awf-replay --state ok | jq -c '[.input,.error.code]')" '["plan: cake","waiting"]'
	awf-verify
}

@test "approved: the data goes on at the next resume, and the decision is recorded" {
	waits ./flow <<<cake
	run -0 decide approve ok
	same "$output" "awf-ctl: ok:0:0: approved; the run goes on with: awf-run --resume $(id | cut -c 1-8)"
	same "$(last ok '|[.result,.approval.decision,.approval.by]')" \
		"[\"plan: cake\",\"approved\",\"$ME\"]"
	same "$(awf-tail --list | awk '{print $3}')" waiting
	awf-tail | grep -q "ok done .*approved by $ME"
	same "$(resume)" 'done plan: cake'
	same "$(entries plan) $(entries go)" '0 1'
	awf-verify
	awf-verify --determinism
}

@test "what waited is named by its path or its call, the run by id, prefix, @ or @NAME" {
	local run
	for run in '' @ @flow ID PREFIX; do
		waits ./flow <<<cake
		run=${run/ID/$(id)}
		run=${run/PREFIX/$(id | cut -c 1-8)}
		# shellcheck disable=SC2086
		decide approve ok:0:0 $run
		same "$(resume)" 'done plan: cake'
	done
}

@test "options may follow the run" {
	waits ./flow <<<cake
	same "$(decide approve --reason 'looks good' ok && resume)" 'done plan: cake'
	same "$(events ok '.approval.reason | select(.)')" '"looks good"'
	waits ./flow <<<tea
	decide approve ok @ --reason fine
	same "$(resume)" 'done plan: tea'
}

@test "denied: an error line that --rescue catches, and it stands" {
	cat >flow <<-'END'
		awf-step --approve ok | tee line | awf-step go -- ledger go | awf-step --rescue no -r -- sed 's/^/kept: /'
	END
	waits ./flow <<<cake
	decide deny ok --reason 'too sweet'
	same "$(last ok '|[.error,.approval.decision]')" \
		"[{\"code\":\"denied\",\"message\":\"denied by $ME: too sweet\"},\"denied\"]"
	same "$(resume)" 'kept: cake'
	same "$(jq -r .metadata.error.code line) $(entries go)" 'denied 0'
	awf-verify --determinism
}

@test "a run that nobody rescues from a no has failed, at each resume" {
	local i
	waits ./flow <<<cake
	decide deny ok
	for i in 1 2; do
		run -3 resume
		[[ $output == *"step ok:0:0 failed: denied by $ME" ]]
		same "$(jq -r 'select(.type == "run.completed") | .payload.status' "$(record)" | tail -n 1)" failed
	done
	same "$(events ok '.approval.decision | select(.)' | wc -l)" 1
	awf-verify
	# Another run may be asked again.
	run -75 awf-run --id-file run.id --fork @ --at ok </dev/null
	decide approve ok
	same "$(resume)" 'done plan: cake'
	awf-verify --determinism
}

@test "edited: bytes on stdin replace the data, in the form it had" {
	local data edit want
	while IFS='|' read -r data edit want; do
		waits -c "awf-step -i json --approve ok | jq -c '[.data,.metadata.no_newline]'" <<<"$data"
		printf %b "$edit" | awf-ctl approve -e ok
		same "$(resume)" "$want"
		same "$(events ok '.approval.decision | select(.)')" '"edited"'
		awf-verify
	done <<-'END'
	{"a":1}|{"a": [2]}\n|[{"a":[2]},null]
	[1]|"text"|["text",null]
	"text"|{"a": 1}\n|["{\"a\": 1}",null]
	"text"|other|["other",true]
	null|{"a":1}|[{"a":1},null]
	null|word\n|["word",null]
	"text"|\0377\0376|["//4=",null]
	END
}

@test "the same again is no edit, and no bytes are nothing" {
	waits -c 'awf-step -i json --approve ok | jq -c .data' <<<'{"a":1,"b":[]}'
	awf-replay --state ok | jq .input | awf-ctl approve -e ok
	same "$(last ok .approval.decision)" '"approved"'
	waits ./flow <<<cake
	echo 'plan: cake' | awf-ctl approve --edit ok
	same "$(last ok .approval.decision)" '"approved"'
	waits ./flow <<<cake
	run -1 awf-ctl approve -e ok </dev/null
	same "$output" 'awf-ctl: --edit: there is no data on stdin'
	same "$(events ok '' | wc -l)" 1
}

@test "the run of a step alone goes on with its input given again, as is said" {
	run -75 awf-step --approve ok -r <<<hi
	run -0 awf-ctl approve ok
	[[ $output == "awf-ctl: ok:0:0: approved; the run goes on with: awf-run --resume "????????' (a step without a workflow keeps no input: give it again, if it had any)' ]]
	run -1 awf-run --resume @ </dev/null
	same "$(awf-run --resume @ <<<hi)" hi
}

@test "without --edit nothing is read: the runs of a loop are each approved with their data" {
	for cake in apple plum; do
		waits ./flow <<<"$cake"
		id
	done >ids
	while read -r run; do
		awf-ctl approve ok "$run"
		awf-run --resume "$run"
	done <ids >made
	same "$(grep -o 'apple\|plum' made | paste -sd' ')" 'apple plum'
}

@test "JSON stays JSON: what is none is refused, and nothing is decided" {
	waits -c 'awf-step -i json --approve ok' <<<'{"a":1}'
	run -1 awf-ctl approve -e ok <<<'{"a":'
	[[ $output == 'awf-ctl: no JSON: '* ]]
	same "$(events ok '' | wc -l)" 1
	decide approve ok
}

@test "bytes that are no text, and large data, are approved as they are" {
	head -c 300000 /dev/zero | tr '\0' x >large
	printf '\377\376\0\n' >binary
	for file in large binary; do
		waits -c 'awf-step --approve ok | awf-step show -r -- cat' <"$file"
		decide approve ok
		resume >again
		cmp again "$file"
		awf-verify
	done
	head -c 300000 /dev/zero | tr '\0' y >edited
	waits -c 'awf-step --approve ok | awf-step show -r -- cat' <large
	awf-ctl approve -e ok <edited
	resume >again
	cmp again edited
	awf-verify
}

@test "a decision arrives once" {
	waits ./flow <<<cake
	decide approve ok
	run -3 decide deny ok
	same "$output" "awf-ctl: ok:0:0: does not wait any more: approved by $ME"
	resume
	run -3 decide approve ok
	same "$(events ok '.approval.decides | select(.)' | wc -l)" 1
}

@test "of twenty at the same time exactly one is taken" {
	local i
	waits ./flow <<<cake
	for i in $(seq 20); do
		{ decide "$( ((i % 2)) && echo approve || echo deny)" ok --reason "$i" 2>>refused && echo "$i" >>taken; } 3>&- &
	done
	wait
	same "$(wc -l <taken) $(grep -vc "goes on with" refused)" '1 19'
	same "$(events ok '.approval.reason | select(.)')" "\"$(cat taken)\""
	grep -v 'goes on with' refused | grep -vq 'does not wait any more' && { cat refused; false; }
	awf-verify
}

@test "one killed while it decides has decided or not" {
	local i
	waits ./flow <<<cake
	for i in $(seq 15); do
		awf-ctl approve ok </dev/null 2>/dev/null 3>&- &
		sleep "0.00$((i % 10))"
		kill -9 $! 2>/dev/null || true
		wait $! 2>/dev/null || true
	done
	decide approve ok 2>/dev/null || [ $? = 3 ]
	same "$(events ok '.approval.decides | select(.)' | wc -l)" 1
	same "$(resume)" 'done plan: cake'
	awf-verify
}

@test "wrong paths and runs are refused, with what waits" {
	waits ./flow <<<cake
	run -1 decide approve okk
	same "$output" "awf-ctl: okk: no such call waits in run $(id) (did you mean 'ok'?); these do: ok:0:0"
	run -1 decide approve ok:1:0
	[[ $output == *"these do: ok:0:0" ]]
	run -1 decide approve plan
	[[ $output == *"no such call waits in run $(id); these do: ok:0:0" ]]
	run -1 decide complete ok
	same "$output" 'awf-ctl: complete: ok:0:0 waits for a decision: say approve or deny'
	run -1 decide approve ok 00000000-0000-4000-8000-000000000000
	[[ $output == 'awf-ctl: 00000000-0000-4000-8000-000000000000: '* ]]
	cp "$(record)" copy.jsonl
	run -1 decide approve ok ./copy.jsonl
	[[ $output == 'awf-ctl: ./copy.jsonl: is not a transcript of the storage '* ]]
	awf-run -n --name other -c 'awf-step -n a -q -- true'
	run -1 decide approve ok @other
	[[ $output == 'awf-ctl: ok: no call of run '*' waits for a decision' ]]
}

@test "a run that waits for one inside of it says which that is" {
	local child
	printf 'awf-step --approve ok\n' >inner
	waits -c 'awf-run ./inner | awf-step show -r -- cat' <<<cake
	run -1 decide approve ok
	[[ $output == *"no call of run $(id) itself waits for a decision, but one of its child run "* ]]
	child=${output##* }
	decide approve ok "$child"
	same "$(jq -c 'select(.payload.approval.decision).payload.result' "$AWF_STORAGE/transcripts/$child.jsonl")" '"cake"'
}

@test "several calls of a step: each by its name" {
	waits -c 'awf-step -i lines --approve ok | awf-step go -r -- cat' <<<$'a\nb\nc'
	[[ $(cat err) == *"approve ok:0:0 $(id | cut -c 1-8) (and 2 more)"* ]]
	run -1 decide approve ok
	same "$output" 'awf-ctl: ok: several calls of it wait, name one: ok:0:0, ok:0:1, ok:0:2'
	decide approve ok:0:0
	run -75 resume
	same "$(jq -r 'select(.type == "step.completed" and .payload.name == "go").payload.result | select(.)' "$(record)")" a
	run -1 decide approve ok
	[[ $output == *'name one: ok:0:1, ok:0:2' ]]
	decide deny ok:0:1
	decide approve ok
	run -3 --separate-stderr resume
	same "$output" $'a\nc'
	awf-verify
	awf-verify --determinism
}

# bats test_tags=turn:2
@test "calls that wait at the same time, in groups, loops and -j" {
	waits -c 'awf-step -i lines -j 4 --each review -- sh -c "awf-step draft -- sed s/^/x/ | awf-step --approve ok" |
		awf-step -s -r join -- jq -c .' <<<$'a\nb'
	decide approve review:0:0/ok:0:0
	run -1 decide approve review
	[[ $output == *'these do: review:0:1/ok:0:0' ]]
	decide approve review.ok
	same "$(resume)" '["xa","xb"]'
	awf-verify
	awf-verify --determinism
	waits -c 'awf-step --max 2 twice -- sh -c "awf-step --approve ok | awf-step more -- sed s/^/x/" | jq -r .data' <<<a
	same "$(resume 2>&1 >/dev/null | grep ': waits for a decision: ')" \
		"awf-run: pipeline: waits for a decision: awf-ctl approve twice:0:0/twice:0:0/ok:0:0 $(id | cut -c 1-8)"
	decide approve twice.ok
	run -75 resume
	decide approve twice.ok
	same "$(resume)" xxa
	awf-verify
	awf-verify --determinism
}

@test "what is around a quiet step waits with it, though the step prints no line" {
	local command
	for command in '--parallel out -- "awf-step -q ok --approve"' 'out -r -- sh -c "awf-step -q ok --approve"' \
		'out -r -- sh -c "awf-step -r ok --approve; exit \$?"'; do
		run -75 --separate-stderr awf-run -c "echo hi | awf-step $command" </dev/null
		[[ $stderr == *"awf-step: out: "*"waits for a decision"* ]]
		same "$(jq -r 'select(.type == "step.completed" and .payload.name == "out").payload.error.code' "$AWF_STORAGE/latest" | sort -u)" waiting
		awf-ctl approve out.ok @ </dev/null
		run -0 awf-run --resume @ </dev/null
	done
	# The status alone is a failure, also where something had waited before.
	run -3 awf-run -c 'echo hi | awf-step out -- sh -c "exit 75"' </dev/null
	run -75 awf-run -c 'echo hi | awf-step out -- sh -c "awf-step -q ok --approve; exit 75"' </dev/null
	awf-ctl approve out.ok @ </dev/null
	run -3 awf-run --resume @ </dev/null
}

@test "without a decision a resume waits on, and the same decision is taken" {
	waits ./flow <<<cake
	run -75 resume
	run -75 resume
	same "$(jq -r 'select(.type == "step.started" and .path == "ok") | .payload.claims | select(.)' "$(record)" | wc -l)" 2
	decide approve ok
	same "$(resume)" 'done plan: cake'
	same "$(entries go)" 1
	awf-verify
	awf-verify --determinism
}

@test "a decision that comes while the run lives is taken by the next attempt" {
	cat >flow <<-'END'
		awf-step --approve ok <in | awf-step --effects external go -r -- ledger go &
		awf-step -n slow -q -- hold
		wait
	END
	echo cake >in
	: >held
	awf-run -n --id-file run.id ./flow >out 2>err 3>&- &
	eventually test -e ready
	eventually grep -q 'waits for a decision' err
	decide approve ok "$(id)"
	run -125 resume
	[[ "$output" == "awf-run: "*": the run is alive"* ]] || { echo "$output"; false; }
	run -3 decide deny ok "$(id)"
	rm held
	wait $! || true
	same "$(jq -r 'select(.type == "run.completed") | .payload.status' "$(record)")" waiting
	same "$(tail -n 1 err)" "awf-run: flow: goes on as was decided: awf-run --resume $(id | cut -c 1-8)"
	awf-verify
	same "$(resume)" 'done cake'
}

@test "a decision that comes while a resume is on its way there is taken by it" {
	cat >flow <<-'END'
		awf-step -n slow -q -- hold
		awf-step --approve ok <in | awf-step --effects external go -r -- ledger go
	END
	echo cake >in
	waits -n ./flow
	: >held
	rm -f ready
	# The history is made, the call not yet.
	sed -i 's/slow -q/other -q/' flow
	awf-run --resume "$(id)" >out2 2>err2 3>&- </dev/null &
	eventually test -e ready
	decide approve ok
	rm held
	wait $!
	same "$(cat out2)" 'done cake'
	grep -q "ok:0:0: $ME has decided meanwhile" err2
	run -3 decide deny ok
	awf-verify
}

@test "killed in the middle of a resume, before and after the call was taken over" {
	cat >flow <<-'END'
		awf-step --approve ok | awf-step slow -- hold | awf-step --effects external go -r -- ledger go
	END
	waits ./flow <<<cake
	decide approve ok
	die_again
	same "$(resume)" 'done cake'
	same "$(entries go)" 1
	same "$(events ok '.approval.decision | select(.)' | wc -l)" 1
	awf-verify
}

@test "cut off between its start and its end, a call waits, or is decided, as before" {
	local kept
	waits ./flow <<<cake
	run -75 resume
	# As if the second attempt had died right after the call's step.started.
	kept=$(jq -r 'select(.type == "step.started" and .path == "ok") | .seq' "$(record)" | tail -n 1)
	sed -i "$((kept + 1)),\$d" "$(record)"
	decide approve ok:0:0
	awf-verify
	same "$(resume)" 'done plan: cake'
	same "$(events ok '.approval.decision | select(.)' | wc -l)" 1
	awf-verify
}

@test "a call whose input is another now is asked about again" {
	echo cake >in
	cat >flow <<-'END'
		awf-step -n plan -- cat in | awf-step --approve ok | awf-step go -r -- cat
	END
	waits -n ./flow
	decide approve ok
	sed -i 's/cat in/cat in in/' flow
	run -75 resume
	[[ $output == *'waits for a decision: awf-ctl approve ok:0:0 '* ]]
	decide approve ok
	same "$(resume)" $'cake\ncake'
}

@test "--allow-failure lets a no pass, not the wait; --try tells them apart" {
	waits -c 'awf-step --approve --allow-failure ok | awf-step show -r -- sed s/^/got/' <<<cake
	decide deny ok
	same "$(resume)" ''
	same "$(jq -r 'select(.type == "run.completed") | .payload.status' "$(record)" | tail -n 1)" success
	cat >flow <<-'END'
		awf-step --try --approve ok <in
		case $? in 0) echo yes ;; 3) echo no ;; 75) exit 75 ;; esac
	END
	echo cake >in
	waits -n ./flow
	decide deny ok
	same "$(resume)" no
	waits -n ./flow
	decide approve ok
	same "$(resume | tail -n 1)" yes
}

@test "a waiting line passes --rescue and -s, and stays in the run that made it" {
	waits -c 'awf-step --approve ok | awf-step --rescue r -- touch rescued | awf-step -s -O json j -- cat' <<<cake
	[ ! -e rescued ]
	decide approve ok
	resume | jq -e '.data == ["cake"]'
}

@test "a run of one step waits too" {
	echo cake | awf-step --approve ok >out 2>err || same $? 75
	same "$(jq -r .metadata.error.code out)" waiting
	decide approve ok
	same "$(jq -r 'select(.payload.approval.decision) | .payload.result' "$(transcript)")" cake
	awf-verify
}

@test "runs that cannot be gone on from do not wait" {
	run -3 --separate-stderr awf-run --no-transcript -c 'awf-step --approve ok' <<<cake
	[[ $stderr == *'nobody can decide later about a run that keeps no transcript (--no-transcript)'* ]]
	run -3 --separate-stderr awf-run --mask 'sed -u s/secret/xxx/' -c 'awf-step --approve ok' <<<cake
	[[ $stderr == *'nobody can decide later about a run that is masked (--mask)'* ]]
	run -1 decide approve ok
	[[ $output == *'is masked (--mask), so that it cannot be gone on from, nor decided about' ]]
}

@test "a run does not decide about itself" {
	waits ./flow <<<cake
	sed -i '1i awf-ctl approve ok "$AWF_RUN_ID" </dev/null' flow
	run -75 resume
	[[ $output == *"awf-ctl: $(id): a run does not decide about itself"* ]]
	# Whatever of its environment it drops.
	sed -i '1s|.*|RUN=$AWF_RUN_ID; env -u AWF_RUN_ID awf-ctl approve ok "$RUN" </dev/null|' flow
	run -75 resume
	[[ $output == *"awf-ctl: $(id): a run does not decide about itself"* ]]
	same "$(events ok '.approval.decision | select(.)')" ''
}

@test "nor does a run inside of it" {
	waits ./flow <<<cake
	sed -i '1i PARENT=$AWF_RUN_ID awf-run -n --name kid -c "awf-ctl approve ok \$PARENT </dev/null"' flow
	run -75 resume
	[[ $output == *"awf-ctl: $(id): a run does not decide about itself, nor about one that it is inside of"* ]]
	same "$(events ok '.approval.decision | select(.)')" ''
}

@test "decisions are signed where there is a key, and verified behind a seal" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	awf-verify --keygen "$XDG_CONFIG_HOME/awf/seal.key"
	awf-verify --keygen other.key
	local key="$XDG_CONFIG_HOME/awf/seal.key.pub"
	waits --seal ./flow <<<cake
	awf-verify --key "$key"
	decide approve ok
	awf-verify --key "$key"
	run -3 awf-verify --key other.key.pub
	# Changed by who has no key: the chain can be made anew, the signature not.
	sed -i '$ s/plan: cake/plan: poison/' "$(record)"
	run -3 awf-verify
	[[ $output == *seal* ]]
	# Another's, or none.
	waits --seal ./flow <<<cake
	awf-ctl approve ok --seal=other.key </dev/null
	awf-verify
	run -3 awf-verify --key "$key"
	[[ $output == *'the last line is a decision that the key of the seal has not signed'* ]]
	mv "$XDG_CONFIG_HOME/awf/seal.key" kept
	waits --seal=kept ./flow <<<cake
	decide approve ok
	awf-verify
	run -3 awf-verify --key "$key"
	chmod 644 kept
	mv kept "$XDG_CONFIG_HOME/awf/seal.key"
	waits ./flow <<<cake
	run -4 decide approve ok
	[[ $output == *seal.key* ]]
}

@test "a second decision, or one about nothing, is a fault of the record" {
	waits ./flow <<<cake
	decide approve ok
	same "$(awf-verify 2>&1)" ''
	python3 - "$(record)" <<-'END'
		import hashlib, json, sys, uuid
		path = sys.argv[1]
		lines = open(path, 'rb').read().splitlines()
		last = json.loads(lines[-1])
		last['seq'] += 1
		last['event_id'] = str(uuid.uuid4())
		last['prev'] = hashlib.blake2b(lines[-1], digest_size=32).hexdigest()
		with open(path, 'ab') as f:
		    f.write(json.dumps(last, separators=(',', ':')).encode() + b'\n')
	END
	run -3 awf-verify
	[[ $output == *'call ok:0:0 was decided about before'* ]]
}

@test "wrong command lines of awf-step and awf-run" {
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run -1 awf-step $options </dev/null
		same "$output" "awf-step: $message"
	done <<-'END'
	--approve|a NAME for the step is missing (awf-step --help)
	--approve ok -- cat|--approve: not together with a command or a loop
	--approve --max 2 ok|--approve: not together with a command or a loop
	--approve --timeout 3 ok|--approve: not with --timeout: who is asked may take any time; a command with --pending=24h waits no longer for its result
	--approve --into k ok|--approve: not with --into: nothing is run
	--pending ok|ok: nothing to do: say -- command, -a AGENT, -m MODEL, -t TOOL, --approve or --ask
	--pending --approve ok|--pending: only with a command, and not with a group of steps
	--pending=soon ok -- true|--pending: 'soon' is not a duration (as in 30, 500ms, 20m, 2h)
	--pending --each ok -- true|--pending: only with a command, and not with a group of steps
	END
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run -1 awf-ctl $options </dev/null
		same "$output" "awf-ctl: $message"
	done <<-'END'
	|no command given (see --help)
	aprove ok|aprove: no such command (did you mean approve?)
	decide ok|decide: no such command; there are approve, deny, complete, heartbeat, tell, cancel, prune, list
	approve|approve: the PATH is missing: awf-ctl approve [options] PATH [RUN]
	approve ok @ @x|@x: is one word too many: awf-ctl approve [options] PATH [RUN]
	approve ok --failed|--failed: unknown option (see --help)
	deny ok -n|-n: unknown option (see --help)
	complete ok --reason x|--reason: only with --failed
	complete ok -n --failed|--failed: not with -n, which gives a result
	cancel|cancel: the RUN is missing: awf-ctl cancel RUN
	END
	same "$(echo cake | awf-step --dry-run --approve ok)" '{"approve":true,"input":"cake"}'
}

@test "a call is named as messages name it, too" {
	local status=0
	printf 'a\nb\n' | awf-run --id-file run.id -c 'awf-step -i lines --approve ok' >out 2>err || status=$?
	same "$status" 75
	run -0 --separate-stderr awf-ctl approve 'ok[1]' </dev/null
	[[ $stderr == 'awf-ctl: ok:0:1: approved'* ]]
	same "$(awf-replay --state 'ok[1]' | jq -r .input)" b
	run -1 --separate-stderr awf-ctl approve 'ok[7]' </dev/null
	[[ $stderr == 'awf-ctl: ok[7]: no such call waits'* ]]
}
