#!/usr/bin/env bats
# awf-serve: what it is watched by.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/serve

prepare() {
	mkdir agents
	agent writer
	# An answer is 10 tokens in, 5 out: 10 * 1000 + 5 * 2000 nano-dollars.
	echo 'anthropic/test* 1 2' >prices
	export AWF_PRICES=$PWD/prices
	text seen >answer
}

# bats test_tags=turn:2
@test "the figures of thousands of runs cost no memory for each of them" {
	awf-run -n --name one -c 'awf-step -n a -- echo x | awf-step b -q -- cat'
	one=$(transcript)
	id=$(basename "$one" .jsonl)
	text=$(<"$one")
	for ((i = 10000; i < 13000; i++)); do
		printf '%s\n' "${text//"$id"/"${id%?????}$i"}" >"$AWF_STORAGE/transcripts/${id%?????}$i.jsonl"
	done
	serve
	before=$(awk '/^VmHWM/ { print $2 }' "/proc/$SERVE_PID/status")
	ask /metrics | grep -Fx 'awf_runs{status="success"} 3001'
	after=$(awk '/^VmHWM/ { print $2 }' "/proc/$SERVE_PID/status")
	# An overview that is kept takes some 15 KiB; what is known of a run for lists less than 1.
	# (AddressSanitizer keeps what was freed for a while.)
	grep -q libasan "/proc/$SERVE_PID/maps" || [ $((after - before)) -lt 12000 ]
	# The same at once again, as nothing has changed; and of what a token is for.
	ask /metrics | grep -Fx 'awf_runs{status="success"} 3001'
	awf-run -n --name two true
	TOKEN=$(awf-serve --new-token read --name two)
	ask_tcp /metrics | grep -Fx 'awf_runs{status="success"} 1'
}

# bats test_tags=turn:2
@test "figures for Prometheus: runs by status, events, tokens, cost, clients" {
	# The same run twice over, and one that no price is known of.
	model_server --answer answer --loop
	run -7 awf-run -n --name twice --id-file id -c 'awf-step -n -p hi -q -a writer one; [ -e go ] || exit 7; awf-step -n -p hi -q -a writer two'
	touch go
	awf-run --resume "$(cat id)"
	sed -i s/test-1/other/ answer
	model_server --answer answer --loop
	awf-step -n -p hi -q -m anthropic/other dear
	awf-run --name asks -c 'awf-step --approve ok' <<<cake || [ $? = 75 ]
	awf-run -n --name outer -c 'awf-run -n --name inner -c "awf-step -n -q b -- true"'
	run -3 awf-run -n --name bad -c 'awf-step -n -q a -- false'
	serve
	figure() { grep -F "$1 " metrics | grep -v '^#' | awk '{ print $NF }'; }
	ask /metrics -D headers >metrics
	grep -qi '^content-type: text/plain; version=0.0.4; charset=utf-8' headers
	same "$(figure 'awf_runs{status="waiting"}') $(figure 'awf_runs{status="success"}') $(figure 'awf_runs{status="queued"}')" '1 4 0'
	same "$(figure awf_events)" "$(cat "$AWF_STORAGE"/transcripts/*.jsonl | wc -l)"
	same "$(figure 'awf_tokens{direction="input"}') $(figure 'awf_tokens{direction="output"}')" '30 15'
	same "$(figure awf_cost_dollars) $(figure awf_runs_cost_unknown)" '0.00004 1'
	same "$(figure awf_calls_waiting) $(figure awf_serve_streams)" '1 0'
	[ "$(figure awf_serve_clients)" -ge 1 ]
	same "$(figure awf_serve_refused_total)" 0
	# Each line is a comment, or a name, labels and a number; each name is described once.
	run ! grep -vE '^(# (HELP awf_[a-z_]+ .+|TYPE awf_[a-z_]+ (gauge|counter))|awf_[a-z_]+(\{[a-z]+="[a-z]+"\})? [0-9.]+)$' metrics
	same "$(sed -n 's/^# TYPE \([^ ]*\).*/\1/p' metrics)" "$(grep -o '^awf_[a-z_]*' metrics | uniq)"
	# A run that has changed is read again; one that is gone is not counted.
	awf-run -n --name gone true
	rm "$(transcript)"
	awf-run -n --name more true
	awf-ctl deny ok @asks </dev/null
	ask /metrics >metrics
	same "$(figure 'awf_runs{status="success"}') $(figure awf_calls_waiting)" '5 0'
	# Of streams alone.
	same "$(figure awf_serve_stream_bytes_total)" 0
	sent=$(ask /api/runs/@more/events/stream -D headers | cat headers - | wc -c)
	ask /metrics >metrics
	[ "$(figure awf_serve_stream_bytes_total)" -ge "$sent" ]
	# Of what the token is for.
	TOKEN=$(awf-serve --new-token read --name asks)
	ask_tcp /metrics >metrics
	same "$(figure 'awf_runs{status="waiting"}') $(figure 'awf_runs{status="success"}') $(figure awf_serve_refused_total)" '1 0 0'
	same "$(status_of "$URL/metrics")" 401
	TOKEN=$(awf-serve --new-token ingest)
	same "$(ask_tcp /metrics | jq -r .error.code)" forbidden
	# Whether it can do its work.
	same "$(curl -s "$URL/healthz")" ok
	mv "$AWF_STORAGE/transcripts" gone
	same "$(status_of "$URL/healthz")" 503
	mv gone "$AWF_STORAGE/transcripts"
}
