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
	for file in $(printf '%s\n' "$directory"/*.jsonl | sed -n "1~$(rounds 3 1)p"); do
		answers=$(ask_split "$1" "$file")
		[ "$(echo "$answers" | wc -l)" -eq 5 ]
		[ "$(echo "$answers" | sort -u | wc -l)" -eq 1 ]
		same "$(echo "$answers" | head -n 1 | jq -cS '[(.blocks[] | del(.api, .raw, .field, .fidelity, .bound)), .stop_reason, .usage, .model]')" \
			"$(jq -csS -f "$ROOT/tests/support/$2.jq" "$file")" || {
			echo "$file" >&2
			return 1
		}
	done
}

# The number of bytes that the model server makes of a file.
stream_bytes() {
	model_server --answer "$1"
	curl -s -d '{}' "$MODEL_SERVER" | wc -c
	kill "$MODEL_SERVER_PID"
}

# check_cut NAME FILE FAULT CATEGORIES: a stream is broken off after each number of its
# bytes, from none to all. That is an error, of these categories in their order, until
# enough came; from then on it is the whole answer, but for what was used.
check_cut() {
	local whole bytes
	whole=$(jq -c '[.blocks, .stop_reason]' "${2%.jsonl}.answer")
	bytes=$(stream_bytes "$2")
	model_server --answer "$2" --fault "*:$3"
	seq 0 $((bytes + 1)) | sed 's/.*/{"id":&,"model":"m","messages":[]}/' |
		provider "$1" >cut.answers
	kill "$MODEL_SERVER_PID"
	same "$(wc -l <cut.answers)" "$((bytes + 2))"
	same "$(jq -c 'if .type == "message" then [.blocks, .stop_reason] else .category end' cut.answers |
		uniq | paste -sd' ')" "$4 $whole"
}

# Every fixture of a provider (in make check the first), broken off with an error and as if
# it was whole.
check_cuts() {
	local file
	for file in "$ROOT/tests/fixtures/$1"/*.jsonl; do
		check_cut "$1" "$file" cut-each '"network"'
		check_cut "$1" "$file" end-each '"provider" "network"'
		[ "$(rounds 1 all)" = all ] || break
	done
}
