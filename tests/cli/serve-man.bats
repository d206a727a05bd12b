#!/usr/bin/env bats
# The examples of awf-serve(1), run as they stand there, but for the port.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../support/helpers
load ../support/serve

# The displays of the page's EXAMPLES, in files display.N.
displays() {
	awk '/^\.Sh/ { examples = /EXAMPLES/ } !examples { next }
		/^\.Bd -literal/ { file = "display." ++count; next } /^\.Ed/ { file = ""; next }
		file != "" { gsub(/\\e/, "\\"); gsub(/\\&/, ""); print >file }' "$ROOT/man/awf-serve.1"
}

@test "each request in the examples of awf-serve(1) is answered" {
	displays
	awf-run --name flow -c 'awf-step --approve check' <<<draft || [ $? = 75 ]
	flow=$(transcript)
	mkdir flows
	echo 'awf-step -q take -- cat >/dev/null' >flows/deploy.awf
	echo '{"order":1}' >order.json
	mkdir build
	AWF_STORAGE=$PWD/build/.local/share/awf awf-run -n --name nightly -c 'awf-step -n a -q -- sh -c "head -c 300000 /dev/zero | tr \"\\0\" x"'
	export XDG_RUNTIME_DIR="$PWD"
	serve
	# What is asked succeeds, of a server that may be starting.
	cat >prelude <<-'END'
		set -eu -o pipefail
		trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
		# The other machine.
		ssh() { shift; (cd "$PWD/build" && HOME=$PWD && AWF_STORAGE=$HOME/.local/share/awf "$@"); }
		curl() { echo >>requests; command curl --fail --max-time 10 --retry 100 --retry-delay 0 --retry-all-errors "$@"; }
	END
	: >requests
	for display in display.*; do
		sed "s/127\.0\.0\.1:8741/127.0.0.1:$PORT/g" "$display" | cat prelude - >script
		run -0 timeout 30 bash script </dev/null 3>&-
	done
	# The loop over blobs has several.
	[ "$(wc -l <requests)" -ge "$(cat display.* | grep -c '\<curl\>')" ]
	[ "$(wc -l <requests)" -ge 4 ]
	# What they say is so.
	same "$(awf-tail --list --json --name deploy.awf | jq -r .run_id | wc -l)" 2
	same "$(payloads step.completed 'select(.approval.decision) | [.result, .approval.by]' "$flow")" '["a better draft","alice"]'
	same "$(awf-tail --list --json | jq -r 'select(.origin) | [.name, .status, (.origin | split(" ")[0])] | join(" ")' | sort)" 'nightly success build
release 7 success ci'
	awf-verify "$(awf-tail --list --json | jq -r 'select(.name == "nightly").run_id')"
}
