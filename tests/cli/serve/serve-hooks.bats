#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-serve: workflows that hooks start: who may, once for each delivery, and what becomes of the
# runs.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve

prepare() {
	mkdir flows
	cat >flows/deploy.awf <<-'END'
		#!/usr/bin/env -S awf-run --timeout 1m --
		awf-step -q take -- tee -a received
		awf-step -n -q tell -- sh -c 'echo "$AWF_INPUT_event $AWF_INPUT_delivery" >>told; env >environment; pwd >where'
	END
	printf 'It'\''s a Secret to Everybody\n' >flows/deploy.secret
	chmod 600 flows/deploy.secret
}

cleanup() {
	serve_end
	[ -z "${RUN-}" ] || kill -9 "$RUN" 2>/dev/null || true
}

signature() { printf %s "$1" | openssl dgst -sha256 -hmac "$(cat flows/deploy.secret)" -r | sed 's/ .*//; s/^/sha256=/'; }
# BODY [CURL OPTION...]: what a signed delivery gets, as "STATUS WORD".
deliver() {
	curl -s --max-time 20 -H "X-Hub-Signature-256: $(signature "$1")" --data-binary "$1" "${@:2}" \
		-w '\n%{http_code}' "$URL/hooks/deploy" | jq -rs '"\(.[1]) \(.[0].status // .[0].error.code)"'
}
runs() { awf-tail --list --json --name deploy.awf | jq -r .run_id | wc -l; }
all_over() { run ! grep -q '"alive":true' < <(ask /api/runs); }
idle() { all_over && [ "$(ask '/api/runs?status=running' | jq '.runs | length')" = 0 ]; }

@test "a signed delivery starts the workflow, with the body as its input" {
	serve --workflows flows
	same "$(deliver '{"ref":"main"}' -H 'X-GitHub-Event: push' -H 'X-GitHub-Delivery: 72d3162e-cc78-11e3' -D headers)" '202 started'
	eventually idle
	same "$(cat flows/received)" '{"ref":"main"}'
	same "$(cat flows/told)" 'push 72d3162e-cc78-11e3'
	same "$(cat flows/where)" "$(realpath flows)"
	same "$(payloads run.completed .status)" '"success"'
	awf-verify
	# As GitHub's documentation has it, with digits in upper case.
	same "$(curl -s -H 'X-Hub-Signature-256: sha256=757107EA0EB2509FC211221CCE984B8A37570B6D7586C22C46F4379C8B043E17' \
		--data-binary 'Hello, World!' "$URL/hooks/deploy" | jq -r .status)" started
	# GitHub asks whether anybody is there.
	same "$(deliver '{"zen":"x"}' -H 'X-GitHub-Event: ping')" '200 pong'
	eventually idle
	same "$(runs)" 2
}

@test "a hook starts no file that is no workflow: neither .awf nor executable" {
	printf 'echo ran >../ledger\n' | tee flows/README >flows/.hidden.awf
	mkdir flows/folder.awf
	printf '#!/bin/sh\necho may\n' >flows/may
	chmod +x flows/may
	serve --workflows flows
	for name in README .hidden .hidden.awf folder; do
		same "$name $(curl -s --max-time 20 --unix-socket "$BATS_TEST_TMPDIR/socket" -o body -w '%{http_code}' -d x "http://localhost/hooks/$name")" "$name 404"
	done
	same "$(curl -s --max-time 20 --unix-socket "$BATS_TEST_TMPDIR/socket" -d x http://localhost/hooks/may | jq -r .status)" started
	[ ! -e ledger ]
}

@test "a hook does not start what a sandboxed program may have written" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip 'no sandbox'
	serve --workflows flows
	"$BUILD/libexec/awf/awf-sandbox" -- sh -c 'echo "touch ran" >>flows/deploy.awf'
	deliver '{"ref":"main"}' >answer
	[[ $(cat answer) != *started ]]
	same "$(runs)" 0
	touch flows/deploy.awf
	same "$(deliver '{"ref":"main"}')" '202 started'
	eventually test -e flows/ran
}

@test "who may, and what is refused" {
	: >flows/plain
	printf '#!/bin/sh\ncat >>got\n' >flows/other.awf
	serve --workflows flows
	post() { curl -s --max-time 20 -o body -w '%{http_code}' "$@"; }
	start=$(awf-serve --new-token start)
	for role in read decide ingest; do
		token=$(awf-serve --new-token $role)
		same "$(post -H "Authorization: Bearer $token" -d x "$URL/hooks/deploy")" 403
	done
	same "$(post -d x "$URL/hooks/deploy")" 401
	same "$(post -H 'Authorization: Bearer awf_x' -H "X-Hub-Signature-256: $(signature x)" -d x "$URL/hooks/deploy")" 401
	for wrong in "$(signature y)" "$(signature x | tr -d 1)" sha1=x "sha256=$(head -c 64 /dev/zero | tr '\0' z)" ' '; do
		same "$(post -H "X-Hub-Signature-256: $wrong" -d x "$URL/hooks/deploy")" 401
	done
	# It has no secret, so no signature is right.
	same "$(post -H "X-Hub-Signature-256: $(signature x)" -d x "$URL/hooks/other")" 401
	bearer=(-H "Authorization: Bearer $start")
	for name in nothing ..%2Fdeploy %2e%2e%2fflows%2fdeploy deploy.awf deploy.secret deploy%00 %2F "$(head -c 200 /dev/zero | tr '\0' x)"; do
		[[ $(post "${bearer[@]}" -d x "$URL/hooks/$name") == 40[04] ]]
	done
	same "$(post "${bearer[@]}" -d x "$URL/hooks/deploy.secret")" 404
	same "$(post "${bearer[@]}" -d x "$URL/hooks/..%2Fdeploy")" 404
	same "$(post "${bearer[@]}" -H $'X-GitHub-Delivery: \xff' -d x "$URL/hooks/deploy")" 400
	same "$(post "${bearer[@]}" -H "X-GitHub-Delivery: $(head -c 201 /dev/zero | tr '\0' x)" -d x "$URL/hooks/deploy")" 400
	same "$(post "${bearer[@]}" -H 'X-GitHub-Event: a b' -d x "$URL/hooks/deploy")" 400
	head -c 26214401 /dev/zero >large
	same "$(post "${bearer[@]}" --data-binary @large "$URL/hooks/deploy")" 413
	same "$(post "${bearer[@]}" "$URL/hooks/deploy")" 405
	# For some workflows alone.
	token=$(awf-serve --new-token start --name 'other*')
	same "$(post -H "Authorization: Bearer $token" -d x "$URL/hooks/deploy")" 404
	same "$(post -H "Authorization: Bearer $token" -d x "$URL/hooks/other")" 202
	# A secret that others may read is none.
	chmod 644 flows/deploy.secret
	same "$(deliver x)" '500 internal'
	grep -q 'deploy.secret: .*chmod' "$BATS_TEST_TMPDIR/serve.err"
	chmod 600 flows/deploy.secret
	: >flows/deploy.secret
	same "$(curl -s -H "X-Hub-Signature-256: $(printf x | openssl dgst -sha256 -hmac '' -r | sed 's/ .*//; s/^/sha256=/')" -d x "$URL/hooks/deploy" | jq -r .error.code)" internal
	eventually idle
	same "$(runs)" 0
	same "$(cat flows/got)" x
	serve_end 2>/dev/null
	# Without --workflows there is no hook.
	serve
	same "$(post "${bearer[@]}" -d x "$URL/hooks/deploy")" 404
	run -1 awf-serve --workflows none
	[[ $output == "awf-serve: --workflows: unable to find 'none': "* ]]
	run -1 awf-serve --workflows flows/deploy.awf
}

@test "no delivery starts twice: not by its id, nor by its body; without a signature only by its id" {
	serve --workflows flows
	same "$(deliver one -H 'X-GitHub-Delivery: 1')" '202 started'
	id=$(curl -s -H "X-Hub-Signature-256: $(signature one)" -H 'X-GitHub-Delivery: 1' -d one "$URL/hooks/deploy" | jq -r .run_id)
	same "$(basename "$(transcript)" .jsonl)" "$id"
	same "$(deliver one -H 'X-GitHub-Delivery: 2')" '200 duplicate'
	same "$(deliver one)" '200 duplicate'
	same "$(deliver two -H 'X-GitHub-Delivery: 1')" '200 duplicate'
	same "$(deliver two -H 'X-GitHub-Delivery: 3')" '202 started'
	# Twenty at the same time.
	for i in $(seq 20); do
		deliver three -H "X-GitHub-Delivery: same" >"got.$i" 3>&- &
		deliverers+=($!)
	done
	wait "${deliverers[@]}"
	same "$(sort got.* | uniq -c | awk '{ print $1, $2, $3 }' | paste -sd' ')" '19 200 duplicate 1 202 started'
	eventually idle
	same "$(runs)" 3
	same "$(stat -c %a "$AWF_STORAGE"/serve/hooks/deploy/* | sort -u)" 600
	# With a token.
	token=$(awf-serve --new-token start)
	with_token() { curl -s -H "Authorization: Bearer $token" -d x "$@" "$URL/hooks/deploy" | jq -r .status; }
	same "$(with_token) $(with_token)" 'started started'
	same "$(with_token -H 'X-GitHub-Delivery: 9') $(with_token -H 'X-GitHub-Delivery: 9')" 'started duplicate'
	# The user whose server it is needs none.
	same "$(ask /hooks/deploy -d x | jq -r .status)" started
	same "$(ask /hooks/deploy -d x -H "X-Hub-Signature-256: $(signature y)" | jq -r .error.code)" unauthorized
	eventually idle
	same "$(runs)" 7
}

@test "a delivery whose start has failed can be sent again; the claim of a dead server is gone on from" {
	serve --workflows flows
	sed -i '1s/--timeout 1m/--nothing/' flows/deploy.awf
	same "$(deliver one -H 'X-GitHub-Delivery: 1')" '500 internal'
	grep -q 'awf-run: --nothing' "$BATS_TEST_TMPDIR/serve.err"
	same "$(ls -A "$AWF_STORAGE/serve/hooks/deploy")" swept
	sed -i '1s/.*/#!\/usr\/bin\/env -S X="a b" awf-run --/' flows/deploy.awf
	same "$(deliver one -H 'X-GitHub-Delivery: 1')" '500 internal'
	grep -q 'is started by programs without quotes' "$BATS_TEST_TMPDIR/serve.err"
	sed -i '1s/.*/#!\/usr\/bin\/env -S nice awf-run --/' flows/deploy.awf
	same "$(deliver one -H 'X-GitHub-Delivery: 1')" '500 internal'
	grep -q 'knows what nice is' "$BATS_TEST_TMPDIR/serve.err"
	sed -i '1s/.*/#!\/usr\/bin\/env -S COLOUR=red awf-run --name deploy.awf/' flows/deploy.awf
	same "$(deliver one -H 'X-GitHub-Delivery: 1')" '202 started'
	eventually idle
	grep -qx COLOUR=red flows/environment
	# One that was killed behind the claim, before the start; and one behind the start.
	id=0f1e2d3c-0000-4000-8000-00000000000e
	mark=$AWF_STORAGE/serve/hooks/deploy/$(printf 'delivery\0002' | sha256sum | cut -c 1-64)
	echo "$id" >"$mark"
	same "$(deliver two -H 'X-GitHub-Delivery: 2')" '202 started'
	same "$(cat "$mark")" "$id started"
	same "$(basename "$(transcript)" .jsonl)" "$id"
	eventually idle
	echo "$id" >"$mark"
	same "$(deliver two -H 'X-GitHub-Delivery: 2')" '200 duplicate'
	same "$(cat "$mark")" "$id started"
	echo broken >"$mark"
	same "$(deliver two -H 'X-GitHub-Delivery: 2')" '500 internal'
	eventually idle
	same "$(runs)" 2
}

@test "whenever it is killed, a delivery that is sent until it is answered starts once" {
	for round in 1 2 3 4 5 6; do
		serve --workflows flows
		deliver "body $round" -H "X-GitHub-Delivery: $round" >got 3>&- &
		sleep "0.0$((round * 2))"
		# With what it has begun for it.
		pkill -9 -P "$SERVE_PID" || true
		kill -9 "$SERVE_PID"
		wait 2>/dev/null || true
		SERVE_PID=
		: >"$BATS_TEST_TMPDIR/serve.out"
		serve --workflows flows
		[[ $(deliver "body $round" -H "X-GitHub-Delivery: $round") == 20[02]\ * ]]
		serve_end 2>/dev/null
		: >"$BATS_TEST_TMPDIR/serve.out"
	done
	serve
	eventually idle
	same "$(grep -o 'body [0-9]' flows/received | sort | uniq -c | awk '{ print $1, $3 }' | paste -sd,)" '1 1,1 2,1 3,1 4,1 5,1 6'
}

@test "a run outlives its server, is none of its session, and has nothing of its environment" {
	mkfifo go
	cat >flows/deploy.awf <<-END
		awf-step -q wait -- cat $PWD/go
		awf-step -n -q env -- sh -c 'env >environment'
	END
	export AWF_RUN_ID=00000000-0000-4000-8000-000000000000 AWF_INPUT_x=1 AWF_TASK=t AWF_TASK_TOKEN=t NOTIFY_SOCKET=/run/x LISTEN_FDNAMES=a WATCHDOG_USEC=1
	serve --workflows flows
	unset AWF_RUN_ID AWF_INPUT_x AWF_TASK AWF_TASK_TOKEN NOTIFY_SOCKET LISTEN_FDNAMES WATCHDOG_USEC
	same "$(deliver one)" '202 started'
	id=$(basename "$(transcript)" .jsonl)
	pid=$(cut -d' ' -f 1 "$AWF_STORAGE/runs/$id/lock")
	[ "$(ps -o sid= -p "$pid")" != "$(ps -o sid= -p "$SERVE_PID")" ]
	# Nothing of the server is open in it.
	run ! grep -E 'eventpoll|signalfd' < <(ls -l "/proc/$pid/fd")
	kill -9 "$SERVE_PID"
	wait "$SERVE_PID" 2>/dev/null || true
	SERVE_PID=
	kill -0 "$pid"
	echo >go
	gone() { ! kill -0 "$pid" 2>/dev/null; }
	eventually gone
	same "$(payloads run.completed .status)" '"success"'
	same "$(grep -c "^AWF_RUN_ID=$id" flows/environment)" 1
	run ! grep -E '^(AWF_INPUT_x|AWF_TASK|NOTIFY_SOCKET|LISTEN_|WATCHDOG_)' flows/environment
}

@test "runs that end are taken in, where nobody else does that" {
	# As the first process of a container is.
	cat >first <<-'END'
		import ctypes, os, sys
		ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
		os.execvp(sys.argv[1], sys.argv[1:])
	END
	awf-serve() { exec python3 first "$(command -v awf-serve)" "$@"; }
	serve --workflows flows
	unset -f awf-serve
	for i in 1 2 3; do same "$(deliver "$i")" '202 started'; done
	eventually idle
	# The resumer stays.
	none_left() { [ "$(pgrep -P "$SERVE_PID" | xargs -I{} cat /proc/{}/comm)" = awf-worker ]; }
	eventually none_left
	same "$(runs)" 3
}

@test "a hook waits for its turn, or is left out, as its workflow says" {
	mkfifo go
	for policy in buffer-one skip; do
		printf '#!/usr/bin/env -S awf-run --name %s --overlap %s --\nawf-step -q wait -- cat %s\n' "$policy" "$policy" "$PWD/go" >flows/deploy.awf
		[ -n "${SERVE_PID-}" ] || serve --workflows flows
		same "$(deliver "$policy 1")" '202 started'
		[ "$policy" = skip ] && want='200 skipped' || want='202 queued'
		same "$(deliver "$policy 2")" "$want"
		echo >go
		[ "$policy" = skip ] || { sleep 0.3; echo >go; }
		eventually idle
	done
	same "$(awf-tail --list --json | jq -r .name | sort | uniq -c | awk '{ print $1, $2 }' | paste -sd,)" '2 buffer-one,1 skip'
}

@test "which deliveries have come is forgotten after 90 days, but not by a clock that is wrong" {
	serve --workflows flows
	claims=$AWF_STORAGE/serve/hooks/deploy
	same "$(deliver one -H 'X-GitHub-Delivery: 1')" '202 started'
	same "$(ls "$claims" | wc -l)" 3
	# The last sweep: just now, in the future, longer ago than anything is kept; then yesterday.
	for last in now '1 day' '91 days ago' '25 hours ago'; do
		touch -d '91 days ago' "$claims"/[0-9a-f]*
		touch -d "$last" "$claims/swept"
		want='200 duplicate'
		[ "$last" != '25 hours ago' ] || want='202 started'
		same "$last: $(deliver one -H 'X-GitHub-Delivery: 1')" "$last: $want"
		[ -n "$(find "$claims/swept" -mmin -5 ! -newermt now)" ]
	done
	# What is younger stays.
	touch -d '89 days ago' "$claims"/[0-9a-f]*
	touch -d '25 hours ago' "$claims/swept"
	same "$(deliver one)" '200 duplicate'
	same "$(deliver two -H 'X-GitHub-Delivery: 1')" '200 duplicate'
	eventually idle
}

# Sends 23 of 24 MiB from each address, waits, and tells what status the last one got: "" is none yet.
flood() {
	cat >flood.py <<-'END'
		import socket, sys, time
		clients = []
		for address in sys.argv[2:]:
		    client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		    clients.append(client)
		    client.settimeout(20)
		    head = ["POST /hooks/deploy HTTP/1.1", "Host: 127.0.0.1:" + sys.argv[1], "X-Forwarded-For: " + address,
		            "X-Hub-Signature-256: sha256=00", f"Content-Length: {24 << 20}"]
		    try:
		        client.sendall("\r\n".join(head + ["", ""]).encode() + b" " * (23 << 20))
		    except OSError:
		        pass  # it was answered meanwhile
		client.settimeout(1)
		try:
		    print(clients[-1].recv(200)[9:12].decode(), flush=True)
		except TimeoutError:
		    print("", flush=True)
		time.sleep(60)
	END
	rm -f flooded
	python3 flood.py "$PORT" "$@" >flooded 3>&- &
	FLOOD=$!
	eventually [ -s flooded ]
}
flood_end() {
	kill "$FLOOD"
	wait "$FLOOD" || true
}

# bats test_tags=turn:2
@test "bodies that nobody has signed for fill neither the memory nor the room of others" {
	patient
	serve --workflows flows --trusted-proxy 127.0.0.1
	# Of one address, while another's are taken.
	flood 10.0.0.1
	same "$(cat flooded)" ''
	flood_end
	flood 10.0.0.1 10.0.0.1
	same "$(cat flooded)" 429
	same "$(deliver '{"ref":"main"}')" '202 started'
	flood_end
	# Of all.
	flood 10.0.0.{1..6}
	same "$(cat flooded)" 503
	flood_end
	same "$(deliver '{"ref":"other"}')" '202 started'
}
