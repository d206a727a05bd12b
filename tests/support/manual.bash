# Sourced by the bats files about the manual: its examples, to be run as they are shown.
# shellcheck shell=bash

# A program of this name and shell text, found first.
stub() {
	printf '#!/bin/sh\n%s\n' "$2" >"stubs/$1"
	chmod +x "stubs/$1"
}

# Answers of a model for replay: MATCH TEXT...
answers() {
	while [ $# -gt 0 ]; do
		jq -nc --arg match "$1" --arg text "$2" \
			'{match: $match, turn: 0, blocks: [{type: "text", text: $text}]}'
		shift 2
	done
}

# What stands in a page's source, as it is shown, without prompts.
shown() { sed "s/^[\$>] //; s/\\\\e/\\\\/g; s/\\\\&//g; s/\\\\(aq/'/g; s/\\\\(dq/\"/g"; }

# The example of a page that contains these words, as it is shown.
example() {
	awk -v words="$2" '
		/^\.Bd -literal/ { inside = 1; block = ""; next }
		/^\.Dl / { inside = 1; block = substr($0, 5) "\n" }
		/^\.Ed/ || /^\.Dl / { if (inside && index(block, words)) { printf "%s", block; exit }
			inside = 0; next }
		inside { block = block $0 "\n" }' "$ROOT/man/$1" |
		shown >"$BATS_TEST_TMPDIR/example"
	[ -s "$BATS_TEST_TMPDIR/example" ] || { echo "$1 has no example with: $2" >&2; return 1; }
	cat "$BATS_TEST_TMPDIR/example"
}

# The display of an idiom of awf(7), as it is shown.
idiom() {
	awk -v name=".It $1" '
		/^\.Sh / { section = $0 }
		section == ".Sh IDIOMS" && /^\.It / { found = $0 == name }
		!found { next }
		/^\.Dl / { print substr($0, 5) }
		/^\.Ed/ { display = 0 }
		display
		/^\.Bd / { display = 1 }' "$ROOT/man/awf.7" | shown >"$BATS_TEST_TMPDIR/idiom"
	[ -s "$BATS_TEST_TMPDIR/idiom" ] || { echo "no idiom: $1" >&2; return 1; }
	cat "$BATS_TEST_TMPDIR/idiom"
}
