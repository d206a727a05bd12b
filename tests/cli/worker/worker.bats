#!/usr/bin/env bats
# awf-worker: jobs of a directory become runs, and lie with what came of them where that says.
# shellcheck shell=bash disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	workflow 'awf-step -r work -- tr a-z A-Z'
	mkdir jobs
}

# A workflow that reads a job.
workflow() { printf '#!/usr/bin/env -S awf-run%s\n%s\n' "${2:+ $2}" "$1" >up.awf; chmod +x up.awf; }
# NAME TEXT: gives a job, as one should.
give() { echo "$2" >"jobs/.$1" && mv "jobs/.$1" "jobs/$1"; }
worker() { awf-worker "$@" 3>&-; }
# What is where: PLACE/NAME, in a row.
places() { (cd jobs && for at in *; do if [ -d "$at" ]; then for in in "$at"/*; do [ ! -e "$in" ] || echo "$in"; done; else echo "$at"; fi; done) | paste -sd' '; }
outcome() { jq -r "$2" "jobs/$1/outcome"; }

@test "each job is a run, and what came of it lies beside it" {
	give a.txt one
	give b two
	run -0 --separate-stderr worker --once jobs ./up.awf
	same "$(cut -f1-2 <<<"$output")" $'a.txt\tsuccess\nb\tsuccess'
	same "$stderr" ''
	same "$(places)" 'done/a.txt done/b'
	same "$(cat jobs/done/a.txt/job jobs/done/a.txt/out jobs/done/a.txt/err)" $'one\nONE'
	same "$(outcome done/a.txt '[.job, .status, .exit_code] | @tsv')" $'a.txt\tsuccess\t0'
	same "$(outcome done/a.txt .run_id)" "$(cat jobs/done/a.txt/run)"
	same "$(cut -f3 <<<"$output" | head -n 1)" "$(cat jobs/done/a.txt/run)"
	run -0 awf-verify "$(cat jobs/done/b/run)"
	same "$(ls "$AWF_STORAGE/transcripts" | wc -l)" 2
}

@test "what is unfinished, or no file, is no job" {
	give .hidden x
	echo x >jobs/.half
	echo x >jobs/half.tmp
	mkdir jobs/sub
	ln -s /etc/passwd jobs/link
	mkfifo jobs/pipe
	run -0 worker -1 jobs ./up.awf
	same "$output" ''
	[ -e jobs/half.tmp ] && [ -e jobs/.half ] && [ -p jobs/pipe ] && [ -L jobs/link ]
	mv jobs/half.tmp jobs/whole
	run -0 worker -1 jobs ./up.awf
	same "$(cat jobs/done/whole/out)" X
}

@test "a job that somebody still writes is left until it is whole" {
	exec 8>jobs/slow
	printf fi >&8
	run -0 worker -1 jobs ./up.awf
	[ "$output" = "" ] || skip 'this file system tells nobody who writes'
	same "$(places)" slow
	awf-worker jobs ./up.awf >told 3>&- 8>&- &
	worker=$!
	nap 0.2
	[ -f jobs/slow ]
	echo ne >&8
	exec 8>&-
	eventually test -s told
	kill "$worker"
	wait "$worker" || true
	same "$(cat jobs/done/slow/out)" FINE
}

@test "a job that fails, and one whose workflow is not there" {
	workflow 'read -r x; [ "$x" != bad ] || { echo no >&2; exit 3; }'
	give a bad
	give b good
	run -3 worker -1 jobs ./up.awf
	same "$(places)" 'done/b failed/a'
	same "$(outcome failed/a '[.status, .exit_code] | @tsv')" $'failed\t3'
	[[ $(cat jobs/failed/a/err) == no*'exit status 3'* ]]
	workflow 'rm -f "$AWF_WORKFLOW_DIR/up.awf"'
	give c good
	give d good
	run -3 --separate-stderr worker -1 jobs ./up.awf
	same "$(places)" 'done/b done/c failed/a failed/d'
	[[ $(cat jobs/failed/d/err) == *up.awf* ]]
}

@test "a job that has ended is gone on with where it is put back, and a name comes again" {
	workflow 'awf-step first -- sh -c "cat; echo x >>effects" | awf-step -r second --effects read -- sh -c "cat; test -e room"'
	give a text
	run -3 worker -1 jobs ./up.awf
	same "$(places)" 'failed/a'
	touch room
	mv jobs/failed/a jobs/running
	run -0 worker -1 jobs ./up.awf
	same "$(places)" 'done/a'
	same "$(cat jobs/done/a/out)" text
	same "$(wc -l <effects)" 1
	same "$(ls "$AWF_STORAGE/transcripts" | wc -l)" 1
	give a again
	give b again
	run -0 worker -1 jobs ./up.awf
	give a more
	run -0 worker -1 jobs ./up.awf
	[[ $output == $'a.2\tsuccess\t'* ]]
	same "$(places)" 'done/a done/a.1 done/a.2 done/b'
	same "$(cat jobs/done/a/out jobs/done/a.1/out jobs/done/a.2/out | paste -sd' ')" 'text again more'
}

@test "a run that waits for somebody, and goes on when it was decided" {
	workflow 'awf-step --approve release | awf-step -r publish -- cat'
	give a text
	run -0 worker -1 jobs ./up.awf
	same "$(places)" 'waiting/a'
	same "$(outcome waiting/a '[.status, .exit_code] | @tsv')" $'waiting\t75'
	awf-ctl approve release "$(cat jobs/waiting/a/run)"
	mv jobs/waiting/a jobs/running
	run -0 worker -1 jobs ./up.awf
	same "$(places) $(cat jobs/done/a/out)" 'done/a text'
}

@test "without a workflow each job is one" {
	workflow 'awf-step -n -r say -- echo "$AWF_INPUT_job $AWF_INPUT_more"' '--input more=words'
	mv up.awf jobs/nightly.awf
	printf 'echo plain\n' >jobs/plain
	printf '#!/usr/bin/env -S awf-run --name "x y"\ntrue\n' >jobs/quoted
	run -3 --separate-stderr worker -1 jobs
	same "$stderr" ''
	same "$(places)" 'done/nightly.awf done/plain failed/quoted'
	same "$(cat jobs/done/nightly.awf/out jobs/done/plain/out)" $'nightly.awf words\nplain'
	same "$(awf-tail --list --json | jq -r .name | sort | paste -sd' ')" 'nightly plain'
	[[ $(cat jobs/failed/quoted/err) == "awf-worker: $PWD/jobs/running/quoted/job: is started by programs without quotes"* ]]
}

@test "words for awf-run behind --, and for the workflow" {
	give a text
	run -0 worker -1 jobs -- --name mine -c 'cat; echo "$1"' sh
	same "$(cat jobs/done/a/out)" $'text\nsh'
	same "$(awf-tail --list --json | jq -r .name)" mine
	give a text
	run -0 worker -1 jobs -- awf-run --timeout 1m --name called -c 'cat; echo "$#"'
	same "$(cat jobs/done/a.1/out)" $'text\n0'
	same "$(awf-tail --list --json | jq -r .name | paste -sd' ')" 'called mine'
	rm -r "$AWF_STORAGE/transcripts"
	workflow 'cat; echo "$@"' '--name told'
	give b text
	run -0 worker -1 jobs ./up.awf -x --once
	same "$(cat jobs/done/b/out)" $'text\n-x --once'
	same "$(awf-tail --list --json | jq -r .name | paste -sd' ')" told
}

@test "--timeout holds for each attempt" {
	workflow 'awf-step -n -q --effects read nap -- sleep 60'
	give a x
	run -3 worker -1 --timeout 200ms jobs ./up.awf
	same "$(outcome failed/a '[.status, .exit_code] | @tsv')" $'timeout\t124'
	mv jobs/failed/a jobs/running
	run -3 worker -1 -t 200ms jobs ./up.awf
	same "$(outcome failed/a .status)" timeout
	same "$(payloads run.started .attempt | wc -l)" 2
}

@test "so many at a time, in the order in which they came" {
	workflow 'echo "+" >>order; cat >>order; sleep 0.2; echo - >>order'
	for job in c a b; do give $job $job; nap 0.02; done
	run -0 worker -1 jobs ./up.awf
	same "$(tr -d '\n' <order)" '+c-+a-+b-'
	rm order
	for job in 1 2 3 4 5 6; do give $job $job; done
	run -0 worker -1 -j 3 jobs ./up.awf
	same "$(awk '/\+/ { if (++n > most) most = n } /-/ { n-- } END { print most }' order)" 3
}

@test "it waits for jobs, and ends by a signal; what ran goes on with the next worker" {
	workflow 'awf-step first -- sh -c "cat; echo x >>effects" | awf-step -r second --effects read -- sh -c "cat; test -e room || { : >here; sleep 60; }"'
	awf-worker jobs ./up.awf >told 3>&- &
	worker=$!
	nap 0.1
	give a text
	eventually test -e here
	kill "$worker"
	status=0
	wait "$worker" || status=$?
	same "$status" 143
	same "$(places)" 'running/a'
	touch room
	awf-worker jobs ./up.awf >told 3>&- &
	worker=$!
	eventually test -s told
	give b more
	eventually test -e jobs/done/b
	kill "$worker"
	wait "$worker" || true
	same "$(cut -f1-2 told)" $'a\tsuccess\nb\tsuccess'
	same "$(cat jobs/done/a/out)" text
	same "$(wc -l <effects)" 2
	same "$(ls "$AWF_STORAGE/transcripts" | wc -l)" 2
}

@test "a run that was cancelled is none of a worker that was stopped" {
	workflow 'awf-step -n -q nap --effects read -- sh -c ": >here; sleep 60"'
	give a x
	awf-worker -1 jobs ./up.awf >told 3>&- &
	worker=$!
	eventually test -e here
	awf-ctl cancel @
	wait "$worker" || true
	same "$(places)" 'failed/a'
	same "$(outcome failed/a .status)" cancelled
}

@test "awf-run that cannot begin burns no job" {
	give a text
	run -4 --separate-stderr worker -1 jobs -- --no-such-option ./up.awf
	same "$stderr" "awf-worker: a: has no run yet; see $PWD/jobs/running/a/err"
	[[ $(cat jobs/running/a/err) == *'--no-such-option'* ]]
	run -0 worker -1 jobs ./up.awf
	same "$(places)" 'done/a'
	# One that cannot begin holds up no other.
	printf '#!/usr/bin/env -S awf-run --no-such-option\n' >jobs/bad
	nap 0.02
	echo true >jobs/good
	awf-worker jobs >told 3>&- 2>errors &
	worker=$!
	eventually test -e jobs/done/good
	kill "$worker"
	wait "$worker" || true
	same "$(places)" 'done/a done/good running/bad'
}

@test "a name that is no UTF-8, and one that is as long as can be and comes again, hold up no other job" {
	printf '#!/usr/bin/env -S awf-run\necho "$AWF_INPUT_job"\n' >name.awf
	chmod +x name.awf
	give $'bad\xff\xc3' x
	nap 0.02
	give good x
	run -0 --separate-stderr worker -1 jobs ./name.awf
	same "$(cat jobs/done/bad*/out jobs/done/good/out)" $'bad\ufffd\ufffd\ngood'
	long=$(printf 'é%.0s' {1..127})x
	for i in 1 2 3; do
		echo $i >"jobs/$long"
		give "a$i" x
		run -0 --separate-stderr worker -1 jobs ./name.awf
		[ -e "jobs/done/a$i" ]
	done
	same "$(cat jobs/done/"$long"/job jobs/done/"${long:0:126}".{1,2}/job | paste -sd' ')" '1 2 3'
}

@test "a job that cannot be read, and a name that is none for a terminal" {
	[ "$(id -u)" != 0 ] || skip 'root reads everything'
	give a x
	chmod 000 jobs/a
	run -3 worker -1 jobs ./up.awf
	[[ $(cat jobs/failed/a/err) == *'Permission denied' ]]
}

@test "mistakes" {
	mistake() {
		run "-$1" --separate-stderr worker "${@:3}"
		same "$stderr" "awf-worker: $2"
	}
	mistake 1 'no directory of jobs given (see --help)'
	mistake 1 '-j: 0 is not between 1 and 1000' -j 0 jobs
	mistake 1 "--timeout: 'x' is not a duration (as in 30, 500ms, 20m, 2h)" -t x jobs
	mistake 1 '--onec: unknown option (did you mean --once?)' --onec jobs
	touch file
	mistake 4 "file: unable to make the directory: Not a directory" -1 file ./up.awf
	give $'a\033[2J' x
	run -0 worker -1 jobs ./up.awf
	[[ $output == 'a\x1b[2J'* ]]
}

@test "a workflow that is not there is told before anything is made" {
	for words in ./nosuch.awf nosuchprogram '-- --timeout 1m ./nosuch.awf' '-- --timeout 1m'; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr worker --once new $words
		[[ $stderr == 'awf-worker: '*'no such '* && $stderr != *$'\n'* ]]
		[ ! -e new ] && [ ! -e "$AWF_STORAGE" ]
	done
	[[ $stderr == 'awf-worker: 1m: no such file '* ]]
	mkdir flow.awf
	run -1 --separate-stderr worker --once new ./flow.awf
	same "$stderr" 'awf-worker: ./flow.awf: is a directory'
	[ ! -e new ]
	run -0 worker --once new -- --timeout 1m ./up.awf
	run -0 worker --once new -- -nc true
	run -0 worker --once new awf-step -n x -- true
	run -0 worker --once new
}

@test "a run or a database that is not there is told before anything is made" {
	for command in 'awf-ship nosuch' 'awf-ship --to sqlite:new.db nosuch' 'awf-ship --to nosuch:x' 'awf-record nosuch' \
		'awf-serve --workflows new' 'awf-mcp -w new'; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr timeout 20 $command </dev/null
		[[ $stderr == "${command%% *}: "* && $stderr != *$'\n'* ]]
		[ ! -e "$AWF_STORAGE" ] && [ ! -e new.db ] && [ ! -e new ]
	done
}

# bats test_tags=turn:2
@test "more jobs at a time than there are open files for are refused; as many as are, are done" {
	workflow 'awf-step -r work -- sh -c "sleep 0.5; cat"'
	run -1 --separate-stderr bash -c 'ulimit -n 64; awf-worker -j 300 --once nosuch ./up.awf'
	same "$stderr" 'awf-worker: -j 300 needs 632 open files, and the hard limit is 64 (ulimit -Hn): -j 16 is the most here'
	[ ! -e nosuch ]
	for i in $(seq 20); do give "$i" x; done
	run -0 --separate-stderr bash -c 'ulimit -n 64; awf-worker -j 16 --once jobs ./up.awf 3>&-'
	same "$stderr $(cut -f2 <<<"$output" | uniq -c | xargs)" ' 20 success'
	# A soft limit is raised.
	for i in $(seq 20); do give "b$i" x; done
	run -0 --separate-stderr bash -c 'ulimit -Sn 64; awf-worker -j 20 --once jobs ./up.awf 3>&-'
	same "$stderr $(cut -f2 <<<"$output" | uniq -c | xargs)" ' 20 success'
}

@test "what a sandboxed program may have written is started by no worker, as the workflow or as a job" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip 'no sandbox'
	mkdir -p "$AWF_STORAGE"
	give a one
	"$BUILD/libexec/awf/awf-sandbox" -- sh -c 'echo "touch ran" >>up.awf'
	for words in './up.awf' '-- -j 2 ./up.awf' 'up.awf'; do
		# shellcheck disable=SC2086
		run -3 --separate-stderr worker --once jobs $words
		[[ $stderr == *'up.awf: a sandboxed program may have written it, and it would run in no sandbox: read it, then touch it'* ]]
		[ ! -e ran ]
	done
	touch up.awf
	run -0 worker --once jobs ./up.awf
	[ -e ran ]
	# A job that is a workflow itself.
	rm ran
	mkdir scripts
	"$BUILD/libexec/awf/awf-sandbox" -- sh -c 'echo "touch ran" >scripts/x.awf'
	run -3 worker --once scripts
	[[ $output == x.awf$'\tfailed\t'* ]]
	[ ! -e ran ]
	grep -q 'x.awf: a sandboxed program may have written it' scripts/failed/x.awf/err
	mv scripts/failed/x.awf scripts/running/
	run -0 worker --once scripts
	[ -e ran ]
}

@test "a worker that a workflow starts ends with the run, however that ends" {
	worker="awf-worker '$PWD/jobs' -- -c 'cat >/dev/null; touch \"$PWD/ran\"'"
	started() { pgrep -f "awf-worker $PWD/jobs" >/dev/null; }
	ended() { ! started; }
	run -0 awf-run -n -c "$worker & while ! [ -d '$PWD/jobs/running' ]; do sleep 0.05; done"
	ended
	awf-run -n -c "$worker" >/dev/null 2>&1 3>&- &
	run=$!
	eventually started
	kill -TERM "$run"
	wait "$run" || same $? 143
	ended
	# It may have a run of its own.
	mkdir -p jobs
	echo x >jobs/one
	awf-run -n -c "awf-worker '$PWD/jobs' -- -c 'touch \"$PWD/begun\"; sleep 300'" >/dev/null 2>&1 3>&- &
	run=$!
	eventually test -e begun
	kill -KILL "$run"
	eventually ended
	[ ! -e ran ]
}
