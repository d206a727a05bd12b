#!/usr/bin/env bats
# bats file_tags=turn:2
# Runs that go on by themselves: awf-run --auto-resume, awf-worker --resumer.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

cleanup() { [ -z "${RESUMER-}" ] || kill "$RESUMER" 2>/dev/null || true; }
resumer() {
	awf-worker --resumer "$@" >resumer.out 2>resumer.err 3>&- &
	RESUMER=$!
	eventually test -e "$AWF_STORAGE/resumes/.lock"
}
# A workflow that allows it, and writes into the ledger after a decision.
workflow() {
	cat >flow.awf <<-END
		#!/usr/bin/env awf-run
		# awf: resume: auto
		# awf: env: STAGE
		awf-step ok --approve | awf-step use --effects external -- sh -c 'cat >>ledger; echo "\$STAGE" >>ledger'
		$*
	END
	chmod +x flow.awf
}
waiting() { run -75 --separate-stderr awf-run "$@" <<<x; }
id() { basename "$(transcript)" .jsonl; }
status() { awf-tail --list --json | jq -r .status | head -n 1; }

@test "a decision continues a run that allows it, with the variables that it has declared" {
	workflow
	resumer
	export STAGE=staging
	waiting ./flow.awf
	unset STAGE
	run -0 --separate-stderr awf-ctl approve ok
	same "$stderr" 'awf-ctl: ok:0:0: approved; the run goes on by itself'
	eventually eval '[ "$(status)" = success ]'
	same "$(cat ledger)" $'x\nstaging'
	eventually eval '[ -s resumer.out ]'
	same "$(cat resumer.out)" "$(id)	success"
	same "$(ls "$AWF_STORAGE/resumes")" ''
	awf-verify -q
}

@test "a run that does not allow it is left to a person" {
	resumer
	waiting -c 'awf-step ok --approve'
	same "$(ls "$AWF_STORAGE/resumes")" ''
	run -0 --separate-stderr awf-ctl approve ok
	[[ $stderr == *'the run goes on with: awf-run --resume '* ]]
	run -125 --separate-stderr awf-run --auto-resume --resume @
	[[ $stderr == *'may not be resumed automatically'* ]]
	waiting --auto-resume -c 'awf-step ok --approve'
	awf-ctl approve ok 2>/dev/null
	eventually eval '[ "$(status)" = success ]'
}

@test "it is not resumed if the workflow or a variable that it reads is another; a person can" {
	workflow
	waiting ./flow.awf
	awf-ctl approve ok 2>/dev/null
	echo '# more' >>flow.awf
	run -125 --separate-stderr awf-run --auto-resume --resume @
	[[ $stderr == *'files that it is made of have changed: awf-run --resume '* ]]
	run -0 awf-run --resume @

	workflow 'true "$PLACE"'
	PLACE=here waiting ./flow.awf
	awf-ctl approve ok 2>/dev/null
	run -125 --separate-stderr awf-run --auto-resume --resume @
	[[ $stderr == *'reads PLACE, which has another value here: declare it (# awf: env: PLACE), or awf-run --resume '* ]]
	PLACE=here run -0 awf-run --auto-resume --resume @
}

@test "variables that the script of a child run reads, and those of a shell's arithmetic" {
	printf '#!/usr/bin/env awf-run\ntrue "$PLACE" | awf-step -n inner -- true\n' >child
	chmod +x child
	PLACE=here waiting -n --auto-resume -c './child && awf-step -n ok --approve'
	awf-ctl approve ok 2>/dev/null
	PLACE=there run -125 --separate-stderr awf-run --auto-resume --resume @
	[[ $stderr == *'reads PLACE, which has another value here'* ]]
	N=1 waiting --auto-resume -c 'awf-step "n$((1 + N))" --approve'
	awf-ctl approve n2 2>/dev/null
	N=2 run -125 --separate-stderr awf-run --auto-resume --resume @
	[[ $stderr == *'reads N, which has another value here'* ]]
	N=1 run -0 awf-run --auto-resume --resume @
}

@test "limits and notifications of the attempt before hold again" {
	cat >flow.awf <<-'END'
		#!/usr/bin/env awf-run
		# awf: resume: auto
		awf-step ok --approve | awf-step slow -- sh -c 'sleep 60; cat'
	END
	chmod +x flow.awf
	waiting --timeout 700ms --max-cost 2.50 --on-failure 'cat >>notices' ./flow.awf
	same "$(payloads run.started .options)" '{"max_cost":"2.50","on_failure":"cat >>notices","timeout_ms":700}'
	test ! -e notices
	awf-ctl approve ok 2>/dev/null
	run -0 awf-worker --resumer --once
	same "$output" "$(id)	timeout"
	same "$(jq -r .status notices)" timeout
	same "$(payloads run.started .options | uniq | wc -l)" 1
	same "$(payloads run.started .attempt)" $'1\n2'
	awf-verify -q
}

@test "a run whose input was not read to its end is left to a person" {
	workflow 'cat'
	(echo x; sleep 2; echo y) | awf-run --wait 0 --auto-resume -c 'awf-step -n first --approve && cat >all' >out 2>&1 || true
	awf-ctl approve first 2>/dev/null
	run -125 --separate-stderr awf-run --auto-resume --resume @
	[[ $stderr == *'its standard input was not read to its end: give it again to awf-run --resume '* ]]
	(echo x; echo y) | awf-run --resume @
	same "$(cat all)" $'x\ny'
}

@test "nothing has come: there is nothing to do" {
	workflow
	waiting ./flow.awf
	run -75 --separate-stderr awf-run --auto-resume --resume @
	same "$stderr" "awf-run: $(id): what it waits for has not come yet"
	awf-worker --resumer --once >out
	same "$(cat out)" ''
	awf-ctl approve ok 2>/dev/null
	awf-worker --resumer --once >out
	same "$(cat out)" "$(id)	success"
	same "$(wc -l <ledger)" 2
}

@test "a time that has come, and a result whose time is over" {
	cat >flow.awf <<-'END'
		#!/usr/bin/env awf-run
		# awf: resume: auto
		awf-step nap --sleep 5s | awf-step job --pending=1s -- sh -c 'echo . >>made; exit 75' |
			awf-step done --rescue -- tee -a ledger
	END
	chmod +x flow.awf
	resumer
	waiting ./flow.awf
	eventually eval '[ "$(status)" = failed ] || [ "$(status)" = success ]'
	same "$(wc -l <made)" 1
	same "$(wc -l <ledger)" 1
	awf-verify -q
}

# Programs of AWF that work for this storage.
processes() {
	local process
	for process in $(pgrep '^awf-'); do
		! grep -qzx "AWF_STORAGE=$AWF_STORAGE" "/proc/$process/environ" 2>/dev/null || cat "/proc/$process/comm"
	done
}

@test "a workflow sleeps three days, is approved, and sleeps three more; all locks are lost in between" {
	cat >flow.awf <<-'END'
		#!/usr/bin/env awf-run
		# awf: resume: auto
		awf-step first --sleep 3d | awf-step ok --approve | awf-step second --sleep 3d | awf-step -r use -- tee -a ledger
	END
	chmod +x flow.awf
	resumer
	same "$(processes)" awf-worker
	kill "$RESUMER"
	wait "$RESUMER" || true
	waiting ./flow.awf
	same "$(processes)" ''
	same "$(ahead 2.9 awf-worker --resumer --once)" ''
	find "$AWF_STORAGE/runs" -name '*lock*' -delete
	same "$(ahead 3.1 awf-worker --resumer --once)" "$(id)	waiting"
	same "$(awf-tail --list --json | jq -c '.waits|map([.call,.for])')" '[["ok:0:0","approval"]]'
	ahead 3.2 awf-ctl approve ok
	same "$(ahead 3.2 awf-worker --resumer --once)" "$(id)	waiting"
	find "$AWF_STORAGE/runs" -name '*lock*' -delete
	same "$(ahead 6.1 awf-worker --resumer --once)" ''
	same "$(ahead 6.3 awf-worker --resumer --once)" "$(id)	success"
	same "$(cat ledger)" x
	rm ledger
	begun=$(date +%s)
	awf-verify -q
	awf-verify --determinism --isolation copy
	[ "$(($(date +%s) - begun))" -lt 60 ]
}

@test "what cannot be resumed is tried three times, and again after the next decision" {
	workflow
	resumer
	waiting ./flow.awf
	chmod -x flow.awf
	mv flow.awf away
	awf-ctl approve ok 2>/dev/null
	eventually eval '[ "$(jq .failures "$AWF_STORAGE/resumes/$(id)")" = 3 ]'
	same "$(wc -l <resumer.out)" 3
	same "$(jq 'has("next")' "$AWF_STORAGE/resumes/$(id)")" false
	[[ $(jq -r .message "$AWF_STORAGE/resumes/$(id)") == *flow.awf* ]]
	mv away flow.awf
	chmod +x flow.awf
	sleep 1
	same "$(status)" waiting
	run -0 awf-run --resume @
	same "$(cat ledger | head -n 1)" x
	same "$(ls "$AWF_STORAGE/resumes")" ''
}

@test "a count of failures that cannot be is none" {
	workflow
	waiting ./flow.awf
	chmod -x flow.awf
	mv flow.awf away
	awf-ctl approve ok 2>/dev/null
	echo '{"failures":-20,"message":"no"}' >"$AWF_STORAGE/resumes/$(id)"
	awf-worker --resumer --once
	same "$(jq .failures "$AWF_STORAGE/resumes/$(id)")" 1
	echo '{"failures":9223372036854775807,"message":"no"}' >"$AWF_STORAGE/resumes/$(id)"
	awf-worker --resumer --once
	same "$(jq .failures "$AWF_STORAGE/resumes/$(id)")" 1
}

@test "what a killed awf-run has left behind is removed" {
	run -0 awf-run --auto-resume -n -c 'awf-step -n a -- true'
	touch "$AWF_STORAGE/resumes/$(id)" "$AWF_STORAGE/resumes/00000000-0000-4000-8000-000000000000"
	awf-worker --resumer --once
	same "$(ls "$AWF_STORAGE/resumes")" ''
}

@test "a run whose record cannot be read at the moment is not forgotten" {
	workflow
	waiting ./flow.awf
	awf-ctl approve ok 2>/dev/null
	record=$(transcript)
	mv "$record" away
	mkdir "$record"
	awf-worker --resumer --once >out 2>err
	same "$(cat out)" ''
	[ -s err ]
	rmdir "$record"
	mv away "$record"
	awf-worker --resumer --once >out
	same "$(cat out)" "$(id)	success"
}

@test "a run goes on though a child run has no record" {
	cat >flow.awf <<-'END'
		#!/usr/bin/env awf-run
		# awf: resume: auto
		awf-run -n --try --no-transcript -c 'exit 3' || true
		awf-step ok --approve
	END
	chmod +x flow.awf
	waiting ./flow.awf
	awf-ctl approve ok "$(id)" 2>/dev/null
	run -0 --separate-stderr awf-worker --resumer --once
	# The child may have changed something: its parent asks about that, in an attempt of its own.
	same "$output$stderr" "$(id)	waiting"
	same "$(payloads run.started .attempt)" $'1\n2'
	same "$(payloads step.completed '[.call, (.reused_from | type)]' | tail -n 1)" '["ok:0:0","string"]'
}

@test "a decision that a further attempt does not come to is no reason for more attempts" {
	cat >flow.awf <<-'END'
		#!/usr/bin/env awf-run
		# awf: resume: auto
		awf-run -n --try --no-transcript -c 'exit 3' || [ $? != 75 ] || exit 75
		awf-step ok --approve
	END
	chmod +x flow.awf
	waiting ./flow.awf
	awf-ctl approve ok 2>/dev/null
	run -0 --separate-stderr awf-worker --resumer --once
	same "$output" "$(id)	waiting"
	run -0 --separate-stderr awf-worker --resumer --once
	same "$output" ''
	run -1 awf status
	[[ $output == *"awf-run --resume $(id | cut -c 1-8)  (can go on)"* ]]
	same "$(payloads run.started .attempt)" $'1\n2'
	# The same in a run around it.
	waiting --auto-resume -c './flow.awf'
	child=$(jq -r 'select(.child_run_id).child_run_id' "$(transcript)" | head -n 1)
	awf-ctl approve ok "$child" 2>/dev/null
	run -0 --separate-stderr awf-worker --resumer --once
	same "$output" "$(id)	waiting"
	same "$(payloads run.started .attempt)" $'1\n2'
}

@test "a run that is due while there is no room is waited for without looking all the time" {
	cat >flow.awf <<-'END'
		#!/usr/bin/env awf-run
		# awf: resume: auto
		awf-step ok --approve | awf-step long --effects none -- sh -c 'touch begun; until [ -e go ]; do sleep 0.05; done; cat'
	END
	cat >nap.awf <<-'END'
		#!/usr/bin/env awf-run
		# awf: resume: auto
		awf-step nap --sleep 4s | awf-step done -- tee -a slept
	END
	chmod +x flow.awf nap.awf
	resumer -j 1
	waiting ./nap.awf
	waiting ./flow.awf
	awf-ctl approve ok 2>/dev/null
	eventually test -e begun
	nap 4.5
	looks() { awk '/^voluntary/ { print $2 }' "/proc/$RESUMER/status"; }
	before=$(looks)
	nap 1
	[ $(($(looks) - before)) -lt 100 ]
	[ ! -e slept ]
	touch go
	eventually test -s slept
}

@test "of two resumers one works, and the other takes its place" {
	workflow
	resumer
	first=$RESUMER
	awf-worker --resumer >second.out 2>&1 3>&- &
	RESUMER=$!
	waiting ./flow.awf
	awf-ctl approve ok 2>/dev/null
	eventually eval '[ "$(status)" = success ]'
	same "$(cat second.out)" ''
	kill "$first"
	wait "$first" || true
	waiting ./flow.awf
	awf-ctl approve ok 2>/dev/null
	eventually eval '[ "$(status)" = success ]'
	same "$(wc -l <ledger)" 4
}

@test "a person and the resumer at once: one attempt, and nothing is said to have failed" {
	workflow
	for round in $(rounds 3 30); do
		rm -f ledger
		waiting ./flow.awf
		awf-ctl approve ok 2>/dev/null
		awf-run --auto-resume --resume @ >/dev/null 2>a.err &
		awf-run --resume @ >/dev/null 2>b.err &
		wait %1 || { cat a.err; false; }
		wait %2 || { cat b.err; false; }
		same "$(wc -l <ledger)" 2
		same "$(grep -c '"type":"run.started"' "$(transcript)")" 2
	done
}

@test "a child run's decision continues the outermost run" {
	cat >child <<-'END'
		#!/usr/bin/env awf-run
		awf-step inner --approve
	END
	chmod +x child
	resumer
	waiting --auto-resume -c './child | awf-step use -- tee -a ledger'
	run -0 --separate-stderr awf-ctl approve inner @child
	eventually eval '[ -s ledger ]'
	same "$(cat ledger)" x
}

@test "jobs of a worker go on when what their runs wait for has come" {
	workflow
	mkdir jobs
	awf-worker jobs ./flow.awf >worker.out 2>&1 3>&- &
	RESUMER=$!
	echo one >jobs/.a
	mv jobs/.a jobs/a
	eventually test -d jobs/waiting/a
	awf-ctl approve ok 2>/dev/null
	eventually test -d jobs/done/a
	same "$(head -n 1 ledger)" one
	same "$(ls jobs/done/a)" $'err\njob\nout\noutcome\nrun'
	same "$(cut -f 1,2 worker.out)" $'a\twaiting\na\tsuccess'

	# A file has changed: the job stays where it is, and says why.
	echo two >jobs/.b
	mv jobs/.b jobs/b
	eventually test -d jobs/waiting/b
	echo '# more' >>flow.awf
	awf-ctl approve ok 2>/dev/null
	eventually eval 'grep -q "have changed" jobs/waiting/b/err'
	mv jobs/waiting/b jobs/running/b
	eventually test -d jobs/done/b
	same "$(grep -c two ledger)" 1
}

@test "a job that waits goes on also if another of its name has run meanwhile" {
	cat >flow.awf <<-'END'
		#!/usr/bin/env awf-run
		# awf: resume: auto
		read -r x
		[ "$x" != long ] || { touch begun; until [ -e go ]; do sleep 0.05; done; exit 0; }
		echo "$x" | awf-step ok --approve | awf-step use --effects external -- tee -a "$PWD/ledger"
	END
	chmod +x flow.awf
	mkdir jobs
	awf-worker --jobs 2 jobs ./flow.awf >worker.out 2>worker.err 3>&- &
	RESUMER=$!
	put() { echo "$1" >jobs/.a; mv jobs/.a jobs/a; }
	put one
	eventually test -d jobs/waiting/a
	put long
	eventually test -e begun
	awf-ctl approve ok "$(cat jobs/waiting/a/run)" 2>/dev/null
	sleep 1
	same "$(ls jobs/waiting jobs/running)" $'jobs/running:\na\n\njobs/waiting:\na'
	touch go
	eventually test -s ledger
	eventually eval '[ "$(ls jobs/done | wc -l)" = 2 ]'
	same "$(cat ledger)" one
}

@test "wrong lines of a script, and options that do not go together" {
	printf '#!/usr/bin/env awf-run\n# awf: resume: always\ntrue\n' >flow.awf
	run -125 --separate-stderr awf-run -n flow.awf
	[[ $stderr == *"# awf: resume: 'always' is not known: the only value is auto" ]]
	printf '#!/usr/bin/env awf-run\n# awf: env: A-B\ntrue\n' >flow.awf
	run -125 --separate-stderr awf-run -n flow.awf
	[[ $stderr == *"# awf: env: 'A-B' is not a variable's name" ]]
	run -125 --separate-stderr awf-run --auto-resume --resume @ --redo x
	run -1 --separate-stderr awf-worker --resumer jobs
	same "$stderr" 'awf-worker: --resumer: not with DIR: it resumes runs, and takes no jobs'
	run -1 --separate-stderr awf-worker --resumer -t 1m
	same "$stderr" 'awf-worker: --resumer: not with -t: it resumes runs, and takes no jobs'
	run -1 --separate-stderr awf-worker --resumer=x
}
