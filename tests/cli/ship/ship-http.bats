#!/usr/bin/env bats
# awf-ship to an awf-serve: the same transcripts there, what is refused, and what is waited for.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/serve
load ../../support/ship

# The server's storage is the usual one; runs are recorded in another.
prepare() { mkdir -p "$AWF_STORAGE" "$XDG_CONFIG_HOME/awf"; }
there() { AWF_STORAGE=$PWD/there "$@"; }
key() {
	printf 'AWF_INGEST_TOKEN=%s %s\n' "$1" "${2-$(awf-serve --new-token ingest --label laptop)}" >>"$XDG_CONFIG_HOME/awf/keys"
	chmod 600 "$XDG_CONFIG_HOME/awf/keys"
}
start() {
	serve "$@"
	key "$URL"
	TO=$URL/api/ingest
}
same_files() {
	local file
	for file in there/transcripts/*.jsonl; do cmp "$file" "$AWF_STORAGE/transcripts/$(basename "$file")" || return 1; done
}

@test "the same transcripts and blobs are there, and what comes later" {
	start
	there runs
	run -0 --separate-stderr there awf-ship --to "$TO" --blobs 1G
	same "$output$stderr" ''
	same_files
	diff -r there/blobs "$AWF_STORAGE/blobs"
	awf-verify "$AWF_STORAGE"
	same "$(awf-tail --list --json -R | jq -r '.origin | split(" ")[0]' | sort -u)" laptop
	there awf-ctl approve check @waits
	there awf-run --resume @waits >/dev/null
	there awf-run -n --name later true
	there awf-ship --to "$URL"
	same_files
	# Asked anew, nothing but questions is sent.
	there strace -f -qq -o trace -s 60000 -e trace=sendto awf-ship --to "$TO"
	same "$(grep -c 'POST /api/ingest' trace)" "$(ls there/transcripts/*.jsonl | wc -l)"
}

@test "-f: a run appears there while it goes on, and a server that is gone is waited for" {
	start
	there awf-run -n --name flow -c 'awf-step -n one -q -- true; until [ -e go ]; do sleep 0.02; done; awf-step -n two -q -- true' 3>&- &
	flow=$!
	eventually test -e there/latest
	there awf-ship -f --to "$TO" @ 2>errors 3>&- &
	SHIP_PID=$!
	listed() { [ "$(awf-tail --list --json | jq -r .status)" = "$1" ]; }
	eventually listed running
	kill -9 "$SERVE_PID"
	wait "$SERVE_PID" || true
	: >go
	wait $flow
	awf-serve --listen "127.0.0.1:$PORT" >"$BATS_TEST_TMPDIR/serve.out" 2>"$BATS_TEST_TMPDIR/serve.err" 3>&- &
	SERVE_PID=$!
	wait "$SHIP_PID"
	same_files
	listed success
}

# bats test_tags=turn:2
@test "what is refused: no token, another's run, another line, a rate that is waited for" {
	serve --ingest-rate 20
	there runs
	TO=$URL/api/ingest
	run -1 --separate-stderr there awf-ship --to "$TO"
	same "$stderr" "awf-ship-http: $URL: a token is needed, and the keys file has none: AWF_INGEST_TOKEN=$URL TOKEN, see awf-ship(1)"
	key "$URL" "$(awf-serve --new-token read)"
	run -3 --separate-stderr there awf-ship --to "$TO" @fails
	[[ $stderr == "awf-ship: "*": HTTP 403: "* ]]
	rm "$XDG_CONFIG_HOME/awf/keys"
	key "$URL" awf_none
	run -1 --separate-stderr there awf-ship --to "$TO"
	same "$stderr" "awf-ship-http: $URL: its token in the keys file is not valid (any more)"
	rm "$XDG_CONFIG_HOME/awf/keys"
	key "$URL" "$(awf-serve --new-token ingest --label other)"
	there awf-ship --to "$TO" @fails
	rm "$XDG_CONFIG_HOME/awf/keys"
	key "$URL"
	# Events beyond the rate come, if later: 20 a second, after 200.
	there awf-run -n --name many -c 'seq 105 | awf-step -i lines -q a -- true'
	run -3 --separate-stderr there awf-ship --to "$TO"
	[[ $stderr =~ ^"awf-ship: "[0-9a-f-]+": HTTP 403: "[^$'\n']+$ ]]
	same_files
	# Another line.
	file=$(readlink -f there/latest)
	sed '$d' "$file" >kept
	tail -n 1 "$file" | sed 's/"exit_code":0/"exit_code":7/' >>kept
	cp kept "$file"
	run -3 --separate-stderr there awf-ship --to "$TO" @many
	[[ $stderr == "awf-ship: $(basename "$file" .jsonl): HTTP 409: "* ]]
	while IFS='|' read -r status to message; do
		# shellcheck disable=SC2086
		run "-$status" --separate-stderr there awf-ship --to $to
		[[ $stderr == "awf-ship-http: ${message%\*}"* ]] || { echo "$stderr"; false; }
	done <<-END
		1|http://x/?a=b|http://x/?a=b: is no URL of an awf-serve (https://HOST[:PORT]/api/ingest)
		1|$TO --keep 90d|--keep: unknown option (see --help)
		4|http://127.0.0.1:1|http://127.0.0.1:1: *
	END
}
