#!/usr/bin/env bats
# bats file_tags=turn:2
# Runs of a server by their URL: awf-tail, awf-replay, and awf-fetch-run, which copies them.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve
load ../../support/manual

BRIEF=6f1c2a80-5b1e-4a7d-9c34-0d2f6b7e8a91
NESTED=b7e0c3d2-91aa-4f06-8e55-3c4d5e6f7081
RELEASE=3d2c7a10-64b8-4f0e-9a51-7c0de1f2a3b4
DAMAGED=00000000-1111-4222-8333-444444444444

prepare() {
	export TZ=UTC LC_ALL=C.UTF-8 TMPDIR="$BATS_TEST_TMPDIR/tmp"
	unset COLUMNS NO_COLOR
	mkdir -p "$TMPDIR" "$AWF_STORAGE/transcripts" "$XDG_CONFIG_HOME/awf"
}

cleanup() {
	for job in $(jobs -p); do kill "$job" 2>/dev/null || true; done
	[ -z "${SERVE_PID-}" ] || kill -CONT "$SERVE_PID" 2>/dev/null || true
	serve_end || true
}

# Puts a line for this origin into the keys file.
key() {
	printf 'AWF_SERVE_TOKEN=%s %s\n' "$1" "${2-$(awf-serve --new-token read)}" >>"$XDG_CONFIG_HOME/awf/keys"
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
}

# A server, whose token is known.
known() {
	serve "$@"
	key "$URL"
}

# The same server again, at the same place.
serve_again() {
	awf-serve --listen "127.0.0.1:$PORT" "$@" >/dev/null 2>"$BATS_TEST_TMPDIR/serve.err" 3>&- &
	SERVE_PID=$!
}
kill_server() {
	kill -KILL "$SERVE_PID"
	wait "$SERVE_PID" 2>/dev/null || true
}

fixture() { chain <"$ROOT/tests/fixtures/$1.events" >"$AWF_STORAGE/transcripts/$2.jsonl"; }
fixtures() {
	fixture brief "$BRIEF"
	fixture nested "$NESTED"
	fixture release "$RELEASE"
}

# A run that has blobs, is given something, and fails in one item.
large() {
	printf '1\n0\n300000\n' | awf-run --name large -c \
		'awf-step -i lines fill -q -- sh -c "read -r n; [ \$n != 0 ] || exit 4; head -c \$n /dev/zero | tr \"\\0\" x; tee side"' || true
}

# RUN PROGRAM OPTION...: the same of its file and of its URL: what is printed, and said, and
# the exit status. With OUT set: the file or directory that it writes, too.
both() {
	local run=$1 status=0 status_url=0
	shift
	rm -rf {out,said,made}.{file,url}
	"$@" "$AWF_STORAGE/transcripts/$run.jsonl" >out.file 2>said.file </dev/null || status=$?
	[ -z "${OUT-}" ] || mv "$OUT" made.file
	"$@" "$URL/runs/$run" >out.url 2>said.url </dev/null || status_url=$?
	[ -z "${OUT-}" ] || mv "$OUT" made.url
	same "$status_url" "$status"
	cmp out.file out.url
	if [ -s said.file ] || [ -s said.url ]; then
		same "$(sed "s|$URL/runs/$run|FILE|g; s|$URL/runs|RUNS|g" said.url)" \
			"$(sed "s|$AWF_STORAGE/transcripts/$run.jsonl|FILE|g; s|$AWF_STORAGE/transcripts\(/[^.]*\).jsonl|RUNS\1|g" said.file)"
	fi
	[ -z "${OUT-}" ] || diff -r made.file made.url
	same "$(echo "$TMPDIR"/*)" "$TMPDIR/*"
}

# bats test_tags=turn:3
@test "awf-tail: each option shows of a URL what it shows of the file" {
	fixtures
	large
	sed "s/$RELEASE/$DAMAGED/; 3s/\"seq\"/seq/; 5s/.*/no JSON/" "$AWF_STORAGE/transcripts/$RELEASE.jsonl" \
		>"$AWF_STORAGE/transcripts/$DAMAGED.jsonl"
	known
	large=$(basename "$(transcript)" .jsonl)
	for run in "$BRIEF" "$RELEASE" "$large" "$DAMAGED"; do
		while read -r options; do
			# Of one of them all, of the others some, in make check.
			[ "$run" = "$BRIEF" ] || case_is_chosen 4 || continue
			# shellcheck disable=SC2086
			both "$run" awf-tail $options || { echo "$run: $options"; false; }
		done <<-'END'

			-n 3
			-n 2 --type step.*
			--after 4
			--since 2026-11-21T08:15:30Z
			--since 2999-01-01
			--type message.*,tool.*
			--path write*,fill
			--grep o.t
			--errors
			-R
			-R -n 5
			--json
			--json --after 3
			--json --after 99999
			--json --after 2 --type step.*
			--json -n 2
			--json -n 0
			--json -n 3 --after 4
			--json -n 2 --type step.*
			--json --inline -n 4
			--json --inline
			-R --json --inline
			--cost
			-R --cost
			--color always
			-f
			-f -n 2
			-f -R --json
			-f --as otlp
			--exit-status
			--exit-status -f
			--drop --buffer 9
			--as interagent
			--as agent-event
			--as daemon-event --tools
			--as runtime -n 4
			-R --as otlp --after 3
			--as agentloom
			-R --as agentloom
		END
	done
	# Only what is wanted is copied; a line that is damaged is counted as the server has it.
	sed -i 's/^{"seq":9,.*/no JSON/' "$AWF_STORAGE/transcripts/$BRIEF.jsonl"
	both "$BRIEF" awf-tail --json --after 7
	grep -q 'line 9 is damaged' said.url
	# By the other names of it.
	for name in "@large" @ "${large:0:8}" "$large/" "$large#e=3"; do
		same "$(awf-tail --json "$URL/runs/$name")" "$(cat "$(transcript)")"
	done
	same "$(awf-tail --json "$URL/api/runs/@large")" "$(cat "$(transcript)")"
}

# bats test_tags=turn:3
@test "awf-replay: each option shows and does of a URL what it does of the file" {
	fixtures
	large
	known
	large=$(basename "$(transcript)" .jsonl)
	for run in "$BRIEF" "$RELEASE" "$large"; do
		while read -r options; do
			# shellcheck disable=SC2086
			both "$run" awf-replay $options || { echo "$run: $options"; false; }
		done <<-'END'
			--tree
			--tree --color always
			--timeline
			--state write
			--state fill
			--state fill:0:2
			--order causal
			--order seq
			--canonical
			--show stdout
			--show stdin
		END
		OUT=page.html both "$run" awf-replay --timeline --html page.html
	done
	OUT=exported both "$large" awf-replay --export exported
	[ -s made.url/inputs/"$large" ]
	[ "$(find made.url/blobs -type f | wc -l)" -ge 1 ]
	both "$large" awf-replay -q --isolation copy
}

@test "a run whose workspace was kept is shown, and not run again without that" {
	echo topic | awf-run --snapshot --name kept -c 'awf-step -r one -- cat'
	known
	same "$(awf-replay --tree "$URL/runs/@kept")" "$(awf-replay --tree @kept)"
	same "$(awf-replay @kept)" topic
	run -4 awf-replay "$URL/runs/@kept"
	id=$(basename "$(transcript)" .jsonl)
	same "$output" "awf-replay: $id: the snapshot of its workspace (snapshots/$id in the storage that has made it) is not here: 'awf-replay --export DIR' takes it along from there"
}

# bats test_tags=turn:2
@test "of the end of a run no more is copied than is asked for" {
	awf-run -n --name long -c 'seq 150 | awf-step -i lines a -q -- true'
	known
	while read -r skipped options; do
		mkfifo hold
		# shellcheck disable=SC2086
		"$(dirname "$(command -v awf-run)")/../libexec/awf/awf-fetch-run" $options "$URL/runs/@" <hold >copied 3>&- &
		copier=$!
		exec 8>hold
		eventually grep -q '"type":"ready"' copied
		same "$options: $(jq -r 'select(.type == "ready").skipped' copied)" "$options: $skipped"
		tail -n +$((${skipped/null/0} + 1)) "$(transcript)" | cmp - "$(jq -r 'select(.directory).directory' copied)"/transcripts/*.jsonl
		exec 8>&-
		wait "$copier"
		rm hold copied
	done <<-'END'
		null
		200 --after 200
		190 --last 6
		250 --after 250 --last 6
		190 --after 100 --last 6
		null --last 200
		999 --after 999
	END
	run -1 --separate-stderr timeout 10 "$(dirname "$(command -v awf-run)")/../libexec/awf/awf-fetch-run" -f --last 1 "$URL/runs/@"
	[[ $output == *'"place":"-f","code":"usage","message":"not with --after or --last"'* || $stderr == *'-f: not with --after or --last'* ]]
}

@test "a fork, whose results are another run's, and a run in a run" {
	cat >inner.awf <<<'awf-step -q one -- cat'
	echo topic | awf-run --name outer --id-file first -c \
		'awf-step a -- sed s/t/T/ | awf-run -c "awf-step one -- cat" | awf-step b -- cat'
	awf-run --fork @ --at b </dev/null
	known
	for run in "$(cat first)" "$(basename "$(transcript)" .jsonl)"; do
		for options in '--state a' '--state b' '--tree' '--timeline'; do
			# shellcheck disable=SC2086
			both "$run" awf-replay $options
		done
		both "$run" awf-tail -R
		both "$run" awf-tail -f -R --json
	done
	OUT=exported both "$(cat first)" awf-replay --export exported
	same "$(find made.url/transcripts -type f | wc -l)" 2
}

# Runs a script, then each line that is written to ./next, until there is a line "end".
held() {
	rm -f next
	mkfifo next
	# It has the pipe open all the time, to write to it as well: where it opened it anew for each
	# line, it could come upon the one who has just written, and find the end when he has closed.
	awf-run -n --name "${2-held}" -c "exec 7<>next; $1; while read -r line <&7 && [ \"\$line\" != end ]; do eval \"\$line\"; done" 3>&- &
	RUNNER=$!
	eventually test -e "$AWF_STORAGE/latest"
}
# LINE: hands it on, unless nobody takes it any more.
tell() { timeout 20 sh -c 'printf "%s\n" "$1" >next' tell "$1"; }
step() { tell "awf-step -n -q '$1' -- true"; }

# Follows in the background; output in ./out, messages in ./said.
follow() {
	: >out
	awf-tail "$@" >out 2>said 3>&- &
	TAIL=$!
}
# STATUS PID: it ends with that.
ends() {
	local status=0
	wait "$2" || status=$?
	same "$status" "$1"
}
has() { grep -q "$1" "${2-out}"; }

@test "a run is followed: nothing is shown twice or left out, whatever becomes of the server" {
	held 'awf-step -n -q first -- true'
	known
	follow -f --json "$URL/runs/@"
	eventually has '"path":"first","iteration":0,"payload":{.*"effects"\|"path":"first"'
	for round in $(seq "$(rounds 3 20)"); do
		step "a$round"
		[ $((round % 2)) = 0 ] || eventually has "\"path\":\"a$round\""
		kill_server
		step "b$round"
		eventually has 'waiting for it' said
		step "c$round"
		serve_again
		eventually has "\"path\":\"c$round\""
		same "$(grep -c 'waiting for it' said)" "$round"
	done
	# One that says nothing any more is as good as gone.
	kill -STOP "$SERVE_PID"
	step silent
	eventually eval '[ "$(grep -c "waiting for it" said)" = $((round + 1)) ]'
	kill -CONT "$SERVE_PID"
	eventually has '"path":"silent"'
	# No argument has the token.
	token=$(sed 's/.* //' "$XDG_CONFIG_HOME/awf/keys")
	run ! grep -qs "$token" /proc/[0-9]*/cmdline
	tell end
	wait "$TAIL" "$RUNNER"
	cmp out "$(transcript)"
	same "$(grep -vc 'waiting for it' said)" 0
	same "$(ls "$TMPDIR")" ''
}

@test "a proxy that does not say that it has lost the server is no end of the run" {
	held 'awf-step -n -q first -- true'
	serve --host 127.0.0.1
	env -u PORT python3 -S "$ROOT/tests/support/relay.py" old "$PORT" >proxy 3>&- &
	eventually test -s proxy
	key "http://127.0.0.1:$(cat proxy)"
	follow -f --json "http://127.0.0.1:$(cat proxy)/runs/@"
	for round in 1 2 3; do
		step "a$round"
		eventually has "\"path\":\"a$round\""
		kill_server
		step "b$round"
		[ "$round" = 1 ] || eventually has 'HTTP 502 (waiting for it)' said
		serve_again --host 127.0.0.1
		eventually has "\"path\":\"b$round\""
	done
	# Its end comes though the server was gone at the time.
	kill_server
	tell end
	wait "$RUNNER"
	serve_again --host 127.0.0.1
	wait "$TAIL"
	cmp out "$(transcript)"
}

@test "a run that dies is told of; one that was followed to its end gives its exit status" {
	held true
	known
	follow -f --exit-status "$URL/runs/@"
	eventually has 'started'
	kill -KILL "$RUNNER"
	ends 3 "$TAIL"
	same "$(cat said)" "awf-tail: $(basename "$(transcript)" .jsonl): run died"
	held 'awf-step -n -q a -- true' second
	eventually awf-tail "$URL/runs/@second" >/dev/null
	run -3 --separate-stderr awf-tail --exit-status "$URL/runs/@second"
	[[ $stderr == *'run has not ended (wait for its end with -f)' ]]
	[[ $(awf-replay --tree "$URL/runs/@second") == 'second'*' running '* ]]
	follow -f --exit-status "$URL/runs/@second"
	tell 'exit 7'
	wait "$RUNNER" || true
	ends 7 "$TAIL"
}

@test "child runs are followed from where they begin, and blobs are there when lines name them" {
	held 'awf-run -n --name child -c "awf-step -n -q early -- true"'
	known
	follow -f -R --json --inline "$URL/runs/@"
	eventually has '"path":"early"'
	tell 'awf-run -n --name child -c "awf-step -n -q late -- sh -c \"head -c 300000 /dev/zero | tr \\\\\\\\0 x\""'
	eventually has '"path":"late","iteration":0,"payload":{.*xxxxxxxx'
	tell end
	wait "$TAIL" "$RUNNER"
	same "$(awf-tail -R --json --inline | jq -S . | sort)" "$(jq -S . out | sort)"
	same "$(cat said)" ''
}

@test "a line that is torn is not shown before it is whole" {
	held 'awf-step -n -q first -- true'
	known
	eventually has '"type":"step.completed"' "$(transcript)"
	follow -f --json "$URL/runs/@"
	eventually has step.completed
	printf '{"seq":4,"timestamp":"2026' >>"$(transcript)"
	same "$(awf-tail --json "$URL/runs/@" 2>&1)" "$(head -n 3 "$(transcript)")"
	step second
	eventually has '"path":"second"'
	tell end
	wait "$TAIL" "$RUNNER"
	cmp out "$(transcript)"
	same "$(cat said)" ''
}

# What a power cut leaves of the latest run, which is not alive: so many of its lines.
cut() {
	head -n "$1" "$(transcript)" >kept
	cat kept >"$(transcript)"
}

@test "another record than before: what is the same is not shown again, and the rest is said to be void" {
	cat >flow.awf <<-'END'
		#!/bin/sh
		awf-step -n -q a -- true
		awf-step -n -q b -- true
		awf-step -n -q c -- cat go
	END
	chmod +x flow.awf
	mkfifo go
	setsid awf-run -n ./flow.awf 3>&- &
	RUNNER=$!
	eventually test -e "$AWF_STORAGE/latest"
	known
	for as in json lines; do
		# shellcheck disable=SC2046
		awf-tail -f $([ $as = json ] && echo --json || echo --as runtime) "$URL/runs/@" >"$as" 2>"said.$as" 3>&- &
		eval "TAIL_$as=$!"
	done
	eventually has '"path":"c"' json
	eventually has c lines
	before=$(wc -l <json)
	kill_server
	pkill -KILL -s "$(ps -o sid= "$RUNNER" | tr -d ' ')"
	wait "$RUNNER" 2>/dev/null || true
	eventually has 'waiting for it' said.json
	cut $((before - 2))
	awf-run --resume @ 3>&- &
	RUNNER=$!
	eventually eval '[ "$(wc -l <"$(transcript)")" -ge "$before" ]'
	serve_again
	eventually has 'the record has changed after event' said.json
	echo >go
	wait "$RUNNER"
	wait "$TAIL_json"
	# What was shown up to the cut, and from there on what stands there now.
	{ head -n "$before" json | head -n $((before - 2)); tail -n +$((before + 1)) json; } | cmp - "$(transcript)"
	[[ $(cat said.json) == *"$URL/runs/"*": the record has changed after event $((before - 2)), as after a power failure: discard "* ]]
	wait "$TAIL_lines"
	awf-tail --as runtime >whole
	tail -n 4 whole >end.whole
	tail -n 4 lines | cmp - end.whole
	[ "$(sort lines | uniq -d | wc -l)" = 0 ]
}

# bats test_tags=turn:2
@test "what is wrong is said in a line, with the exit status of the page" {
	awf-run -n --name demo -c true
	serve --host 127.0.0.1
	fails() {
		local status=$1 words=$2
		shift 2
		run "-$status" --separate-stderr "$@"
		same "$output" ''
		same "$(wc -l <<<"$stderr")" 1
		[[ $stderr == "$(basename "$1"): "*"$words"* ]] || { echo "$stderr, not: $words"; false; }
		same "$(ls "$TMPDIR")" ''
	}
	for program in 'awf-tail' 'awf-tail -f' 'awf-replay --tree' awf-replay; do
		# shellcheck disable=SC2086
		fails 4 "$URL: a token is needed, and the keys file has none: AWF_SERVE_TOKEN=$URL TOKEN" $program "$URL/runs/@"
	done
	key "$URL" awf_0000000000000000000000000000000000000000000
	fails 4 'is not valid (any more)' awf-tail "$URL/runs/@"
	rm "$XDG_CONFIG_HOME/awf/keys"
	key "$URL" "$(awf-serve --new-token ingest)"
	fails 4 'HTTP 403: ' awf-tail "$URL/runs/@"
	rm "$XDG_CONFIG_HOME/awf/keys"
	key "$URL" "$(awf-serve --new-token read --name other)"
	fails 1 'no such run' awf-tail "$URL/runs/@demo"
	rm "$XDG_CONFIG_HOME/awf/keys"
	# By TLS alone.
	key "https://127.0.0.1:$PORT"
	fails 1 "the token is for https://127.0.0.1:$PORT, and is not sent over plain http" awf-tail "$URL/runs/@"
	fails 4 "https://127.0.0.1:$PORT: " awf-tail "https://127.0.0.1:$PORT/runs/@"
	key "$URL" ''
	fails 2 'has no token behind it' awf-tail "$URL/runs/@"
	chmod 644 "$XDG_CONFIG_HOME/awf/keys"
	fails 4 'chmod 600' awf-tail "$URL/runs/@"
	rm "$XDG_CONFIG_HOME/awf/keys"
	key "$URL"
	for name in @none ffffffff 00000000-0000-4000-8000-000000000000; do
		fails 1 'no such run' awf-tail "$URL/runs/$name"
	done
	for wrong in "$URL/run/@" "$URL" "$URL/runs/" "$URL/runs/@?x=1" "http://user:secret@127.0.0.1:$PORT/runs/@" \
		"$URL/a b/runs/@" http://:1/runs/@ 'http://[::1/runs/@' http://127.0.0.1:99999/runs/@; do
		fails 1 "$wrong: " awf-tail "$wrong"
	done
	fails 4 'http://127.0.0.1:1: ' awf-tail http://127.0.0.1:1/runs/@
	fails 1 "$URL/runs/@: runs of a server are for awf-tail and awf-replay alone" awf-verify "$URL/runs/@"
	fails 1 'not with --list' awf-tail --list "$URL/runs/@"
	# No message shows a token.
	token=$(sed 's/.* //' "$XDG_CONFIG_HOME/awf/keys")
	fails 1 "$URL/run/${token//?/*}: " awf-tail "$URL/run/$token"
	TMPDIR=$BATS_TEST_TMPDIR/none fails 4 'TMPDIR' awf-tail "$URL/runs/@"
}

@test "the token goes to no other server, and a redirect is not followed" {
	awf-run -n --name demo -c true
	serve
	cat >redirect.py <<-'END'
		import http.server, sys
		class Handler(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        print(self.headers.get("Authorization"), file=open("asked", "a"), flush=True)
		        self.send_response(int(sys.argv[2]))
		        self.send_header("Location", sys.argv[1] + self.path)
		        self.send_header("Content-Length", "0")
		        self.end_headers()
		    def log_message(self, *words):
		        pass
		server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
		print(server.server_port, flush=True)
		server.serve_forever()
	END
	python3 redirect.py "$URL" 302 >port 3>&- &
	eventually test -s port
	key "$URL"
	run -4 --separate-stderr awf-tail "http://127.0.0.1:$(cat port)/runs/@"
	same "$stderr" "awf-tail: http://127.0.0.1:$(cat port): redirects to $URL/api/runs/@, and the token is not sent elsewhere: use that URL"
	same "$(cat asked)" None
	key "http://127.0.0.1:$(cat port)" awf_another
	run -4 awf-tail "http://127.0.0.1:$(cat port)/runs/@"
	same "$(tail -n 1 asked)" 'Bearer awf_another'
}

@test "a server that cuts off, or says what it should not" {
	large
	cat >fake.py <<-'END'
		import http.server, os, sys
		transcript = open(sys.argv[1], "rb").read()
		run_id = os.path.basename(sys.argv[1])[:36]
		class Handler(http.server.BaseHTTPRequestHandler):
		    protocol_version = "HTTP/1.1"
		    def do_GET(self):
		        kind, what = self.path.split("/")[1], self.path.split("?")[0].split("/")[5:6]
		        body, length = b'{"run_id":"%s","alive":false}' % run_id.encode(), None
		        if kind == "odd":
		            body = b'{"run_id":"../../etc"}'
		        elif what == ["events"]:
		            body = transcript
		            if kind == "cut":
		                body, length = transcript[:100], len(transcript)
		            if kind == "once" and not os.path.exists("was"):
		                open("was", "w").close()
		                body, length = transcript[:-100], len(transcript)
		        elif what == ["blobs"]:
		            body = b"other bytes"
		        self.send_response(200)
		        self.send_header("Content-Length", str(len(body) if length is None else length))
		        self.send_header("Connection", "close")
		        self.end_headers()
		        self.wfile.write(body)
		    def log_message(self, *words):
		        pass
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
		print(server.server_port, flush=True)
		server.serve_forever()
	END
	python3 fake.py "$(transcript)" >port 3>&- &
	eventually test -s port
	fake="http://127.0.0.1:$(cat port)"
	# It is tried again, and goes on where it was; but not for ever.
	run -0 --separate-stderr awf-tail --json "$fake/once/runs/@"
	same "$output" "$(cat "$(transcript)")"
	[[ $stderr == "awf-tail: $fake/once: "*' (waiting for it)' ]]
	run -4 --separate-stderr awf-tail --json "$fake/cut/runs/@"
	same "$output" ''
	same "$(wc -l <<<"$stderr")" 2
	run -4 --separate-stderr awf-tail "$fake/odd/runs/@"
	same "$stderr" "awf-tail: $fake/odd: does not answer as awf-serve does"
	run -4 --separate-stderr awf-tail --json --inline "$fake/blob/runs/@"
	[[ $stderr == "awf-tail: $fake/blob/api/runs/"*"/blobs/"*': the server has different bytes under this name'* ]]
	same "$(ls "$TMPDIR")" ''
}

@test "TLS is verified; a prefix of a proxy stands before" {
	awf-run -n --name demo -c true
	serve --host 127.0.0.1
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=localhost \
		-addext 'subjectAltName=IP:127.0.0.1' 2>/dev/null
	env -u PORT python3 -S "$ROOT/tests/support/relay.py" tls cert.pem key.pem "$PORT" >tls 3>&- &
	eventually test -s tls
	key "https://127.0.0.1:$(cat tls)"
	run -4 --separate-stderr awf-tail "https://127.0.0.1:$(cat tls)/runs/@"
	[[ $stderr == *'its authority can be named in CURL_CA_BUNDLE' ]]
	export CURL_CA_BUNDLE=$PWD/cert.pem
	same "$(awf-tail --json "https://127.0.0.1:$(cat tls)/runs/@")" "$(cat "$(transcript)")"
	same "$(awf-tail --json "HTTPS://127.0.0.1:$(cat tls)/api/runs/@")" "$(cat "$(transcript)")"
}

@test "the copy goes with who has it made, whoever is killed" {
	held 'awf-step -n -q first -- true'
	known
	follow -f "$URL/runs/@"
	eventually has first
	same "$(ls "$TMPDIR" | wc -l)" 1
	kill -KILL "$TAIL"
	eventually eval '[ "$(ls "$TMPDIR" | wc -l)" = 0 ]'
	follow -f --json "$URL/runs/@"
	eventually has first
	kill -KILL "$(pgrep -P "$TAIL")"
	ends 4 "$TAIL"
	same "$(cat said)" 'awf-tail: awf-fetch-run: has ended: killed by signal 9 (Killed)'
	same "$(ls "$TMPDIR")" ''
	# What has come is shown before it is said that no more will.
	follow -f --json "$URL/runs/@"
	eventually has first
	awf-serve --revoke-token "$(sed 's/.* //' "$XDG_CONFIG_HOME/awf/keys")"
	ends 4 "$TAIL"
	[[ $(cat said) == *'is not valid (any more)' ]]
	cmp out "$(transcript)"
	# Before anything has come.
	kill -STOP "$SERVE_PID"
	follow --json "$URL/runs/@"
	eventually pgrep -P "$TAIL"
	kill -KILL "$(pgrep -P "$TAIL")"
	ends 4 "$TAIL"
	kill -CONT "$SERVE_PID"
	same "$(cat said)" 'awf-tail: awf-fetch-run: has ended: killed by signal 9 (Killed)'
	tell end
	wait "$RUNNER"
}

@test "-F: the latest run, and each that becomes it, for ever, through restarts" {
	flow() { awf-run -n --name "$1" -c "awf-step -n -q '$1' -- ${2-true}" 3>&-; }
	flow before
	serve
	key "$URL"
	follow -F "$URL/runs/@"
	eventually has 'before done'
	flow one
	eventually has 'one done'
	flow two & flow three
	wait "$!"
	eventually has 'two done'
	eventually has 'three done'
	kill_server
	eventually has 'waiting for it' said
	flow four
	flow five
	serve_again
	eventually has 'five done'
	# One that is resumed is the latest again; children, and runs from elsewhere, never are.
	flow six 'test -e made' || true
	eventually has 'six failed'
	flow seven
	eventually has 'seven done'
	touch made
	awf-run --resume @six
	eventually eval 'tail -n 3 out | grep -q "six completed\|run completed"'
	awf-run -n --name outer -c 'awf-run -n --name inner -c "awf-step -n -q inner -- true"'
	eventually has 'inner done'
	kill "$TAIL"
	ends 143 "$TAIL"
	for name in before one two three four five; do
		same "$name $(grep -c "$name started" out)" "$name 1"
	done
	run ! grep -q 'inner started (command)' out
	same "$(grep -vc 'waiting for it' said)" 0
	eventually eval '[ -z "$(ls "$TMPDIR")" ]'
	# From no run on; not of one that is named.
	rm -r "$AWF_STORAGE"/transcripts "$AWF_STORAGE"/latest
	follow -F --json "$URL/runs/@"
	flow first
	eventually has '"type":"run.completed"'
	cmp out "$(transcript)"
	kill "$TAIL"
	run -1 --separate-stderr awf-tail -F "$URL/runs/@first"
	same "$stderr" 'awf-tail: RUN: not with -F'
}

@test "a copy that cannot be written is an error, and leaves nothing" {
	large
	known
	full() {
		FAULT="$1" LD_PRELOAD="$BUILD/tests/fault/preload.so" ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
			run -4 --separate-stderr "${@:2}"
		same "$output" ''
		[[ $stderr == "$(basename "$2"): $URL/"*"unable to "*" the copy (TMPDIR says where it lies): "* ]]
		same "$(ls "$TMPDIR")" ''
	}
	full 'write 1 99 ENOSPC' awf-tail "$URL/runs/@"
	full 'write 1 99 EIO' awf-tail -f --json "$URL/runs/@"
	full 'write 1 99 ENOSPC' awf-replay --show stdout "$URL/runs/@"
}

@test "the examples of the pages" {
	mkdir stubs
	printf '#!/bin/sh\ncat >mail\n' >stubs/mail
	chmod +x stubs/mail
	PATH=$PWD/stubs:$BUILD/libexec/awf:$PATH
	awf-run -n --name nightly -c 'awf-step -n -q a -- sh -c "echo why >&2; exit 1"' || true
	awf-run --name brief.awf -c 'awf-step write -r -- tr a-z A-Z' <<<topic
	known
	there() { example "$@" | sed "s|https://awf.example.org|$URL|"; }
	there awf-tail.1 @nightly | sh
	[[ $(cat mail) == *'a failed ('*why* ]]
	same "$(there awf-replay.1 example.org | sh)" "$(printf 'TOPIC\nyes')"
	there awf-fetch-run.1 coproc | bash >count
	same "$(cat count)" "$(wc -l <"$(transcript)")"
	eventually eval '[ -z "$(ls "$TMPDIR")" ]'
}
