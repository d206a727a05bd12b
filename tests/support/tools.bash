# Sourced by the bats files about AWF's own tools.
# shellcheck shell=bash

LIBEXEC="${BUILD:-$BATS_TEST_DIRNAME/../../build/test}/libexec/awf"

# TOOL ARGUMENTS: the text that the tool answers.
tool() { "$LIBEXEC/awf-tool-$1" <<<"$2" | jq -r .; }

# TOOL, on stdin cases of arguments (a line), the answer (lines), and =.
answers() {
	local arguments answer line
	while IFS= read -r arguments; do
		answer=
		while IFS= read -r line && [ "$line" != = ]; do
			answer+=${answer:+$'\n'}$line
		done
		same "$(tool "$1" "$arguments")" "$answer" || { echo "$1 $arguments" >&2; return 1; }
	done
}

# TOOL, on stdin lines of arguments, a space, and what the tool says of them when it fails.
refuses() {
	local line arguments said status
	while IFS= read -r line; do
		arguments=${line%% *}
		[ "${line:0:1}" != '{' ] || arguments="${line%%\} *}}"
		status=0
		said=$("$LIBEXEC/awf-tool-$1" <<<"$arguments" 2>&1) || status=$?
		same "$said" "$1: ${line:${#arguments}+1}" || { echo "$1 $arguments" >&2; return 1; }
		[ "$status" -ne 0 ] || { echo "$1 $arguments: succeeded" >&2; return 1; }
	done
}
