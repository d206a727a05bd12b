# Sourced by the bats files about providers.
# shellcheck shell=bash

# awf-provider-NAME itself.
provider() {
	local name=$1
	shift
	"$BUILD/libexec/awf/awf-provider-$name" "$@"
}

# shellcheck disable=SC2120
# A request line: request [ID [MEMBERS]], MEMBERS as '"tools":[],"stream":true'.
request() {
	printf '{"id":%s,"model":"test-model","messages":[{"role":"user","blocks":[{"type":"text","text":"hi"}]}]%s}\n' \
		"${1-1}" "${2:+,$2}"
}

# The body of the N-th request that the model server got, its own bytes.
body() { sed -n "${1-1}"'s/.*"body":\(.*\)}$/\1/p' "$MODEL_SERVER_LOG"; }

# Serves a file to five requests, whole and in pieces of 1, 2, 3 and 7 bytes, and
# prints the answers, without the numbers that the server gave the requests.
ask_split() {
	model_server --answer "$2" --loop --fault 2:split:1 --fault 3:split:2 --fault 4:split:3 \
		--fault 5:split:7
	# shellcheck disable=SC2119
	for _ in 1 2 3 4 5; do request; done | provider "$1" |
		sed 's/,"request_id":"req_[1-5]"}$/}/'
	kill "$MODEL_SERVER_PID"
}

# Every file of a directory of fixtures gives the answer beside it, five times.
check_fixtures() {
	local file answers count=0
	for file in "$ROOT/tests/fixtures/$2"/*.jsonl; do
		count=$((count + 1))
		answers=$(ask_split "$1" "$file")
		[ "$(echo "$answers" | wc -l)" -eq 5 ]
		same "$(echo "$answers" | sort -u)" "$(cat "${file%.jsonl}.answer")" || {
			echo "$file" >&2
			return 1
		}
	done
	[ "$count" -gt 3 ]
}

# Recorded streams, where they are: what jq makes of the file is what came.
check_captures() {
	local directory="${AWF_CAPTURES:-$ROOT/../shared/captures}/http/$2" file answers
	[ -d "$directory" ] || skip "no recorded streams in $directory"
	for file in "$directory"/*.jsonl; do
		answers=$(ask_split "$1" "$file")
		[ "$(echo "$answers" | wc -l)" -eq 5 ]
		[ "$(echo "$answers" | sort -u | wc -l)" -eq 1 ]
		same "$(echo "$answers" | head -n 1 | jq -cS '[(.blocks[] | del(.api, .raw, .field, .fidelity)), .stop_reason, .usage, .model]')" \
			"$(jq -csS -f "$ROOT/tests/support/$2.jq" "$file")" || {
			echo "$file" >&2
			return 1
		}
	done
}
