#!/usr/bin/env bats
# What was run is in the record: scripts, agents, tools; what was printed; and what has
# changed since.
bats_require_minimum_version 1.5.0

load ../../support/helpers

setup() {
	export HOME="$BATS_TEST_TMPDIR/home" AWF_STORAGE="$BATS_TEST_TMPDIR/storage"
	mkdir -p "$HOME/.config/awf/tools" "$BATS_TEST_TMPDIR/work/tools"
	cd "$BATS_TEST_TMPDIR/work" || return 1
	awf trust --edits .
	unshare -Urmn true 2>/dev/null && ISOLATION=namespaces || ISOLATION=copy
}

# A workflow of a script, a tool of its own, one of the user's, and a file outside.
workflow() {
	for place in tools "$HOME/.config/awf/tools"; do
		name=$(basename "${place%/tools}")
		[ "$place" = tools ] && name=own
		printf '{"description": "d", "input_schema": {"type": "object"}, "effects": "none"}\n' >"$place/$name.tool.json"
		printf '#!/bin/sh\necho {\\"%s\\": 1}\n' "$name" >"$place/$name"
		chmod +x "$place/$name"
	done
	printf '#!/bin/sh\necho "{}" | awf-step -i json -t own a | awf-step -t awf b -r\n' >flow.awf
}

transcript() {
	echo "$AWF_STORAGE/transcripts/$(readlink "$AWF_STORAGE/latest" | sed 's|.*/||')"
}

same() {
	[ "$1" = "$2" ] || { printf 'got:  %s\nwant: %s\n' "$1" "$2"; return 1; }
}

@test "the files of a run are in its record once, before it needs them, and verified" {
	workflow
	awf-run -n ./flow.awf | cat >out
	same "$(jq -r '.payload.files[]?.path' "$(transcript)" | sed "s|$BATS_TEST_TMPDIR/||")" \
"work/flow.awf
work/tools/own.tool.json
work/tools/own
home/.config/awf/tools/awf.tool.json
home/.config/awf/tools/awf"
	same "$(jq -r '.payload.files[]?.config // empty' "$(transcript)")" "$(printf 'tools/awf.tool.json\ntools/awf')"
	for file in flow.awf tools/own; do
		[ -f "$AWF_STORAGE/blobs"/*/"$(sha256sum <$file | cut -d' ' -f1)" ]
	done
	run -0 awf-verify
	blob=$(ls "$AWF_STORAGE"/blobs/*/"$(sha256sum <tools/own | cut -d' ' -f1)")
	mv "$blob" "$blob.away"
	run -3 --separate-stderr awf-verify
	[[ $stderr == *"blob $(basename "$blob") is missing"* ]]
	mv "$blob.away" "$blob"
	echo more >>"$blob"
	run -3 --separate-stderr awf-verify
}

@test "a recording whose directory is gone replays, and shows its script" {
	workflow
	awf-run -n ./flow.awf >"$BATS_TEST_TMPDIR/recorded"
	script=$(cat flow.awf)
	cd ..
	rm -r work home/.config
	run -0 --separate-stderr awf-replay --isolation "$ISOLATION"
	same "$output" "$(cat recorded)"
	same "$stderr" "awf-replay: $PWD/work is not there, and no snapshot of it: only the files of steps are in it"
	run -0 awf-replay --isolation copy -q
	run -0 awf-verify --determinism --isolation "$ISOLATION"
	same "$(awf-replay --show flow.awf)" "$script"
	same "$(awf-replay --show "$PWD/work/flow.awf")" "$script"
	run -0 awf-replay -q --export exported
	mv storage gone
	run -0 --separate-stderr awf-replay -q --isolation "$ISOLATION" exported
	same "$output" "$(cat recorded)"
}

@test "what has changed since is taken from the recording, or from today on demand" {
	workflow
	awf-run -n ./flow.awf >../recorded
	printf '#!/bin/sh\necho {}\n' >tools/own
	printf '#!/bin/sh\necho {}\n' >"$HOME/.config/awf/tools/awf"
	printf 'false\n' >flow.awf
	for kind in "$ISOLATION" copy; do
		run -0 --separate-stderr awf-replay -q --isolation "$kind"
		same "$output" "$(cat ../recorded)"
	done
	run -3 --separate-stderr awf-replay -q --current --isolation "$ISOLATION"
	[[ $stderr == *"the workflow's script has changed or does not exist any more"* ]]
	same "$(cat flow.awf tools/own)" "$(printf 'false\n#!/bin/sh\necho {}')"
}

@test "links in a workspace do not lead what is restored out of its copy" {
	mkdir ../outside
	workflow
	awf-run -n ./flow.awf >../recorded
	rm -r tools
	ln -s ../outside tools
	awf-replay -q --isolation copy || true
	same "$(ls ../outside)" ''
}

@test "what is shown: by its last parts, stdin, stdout; what is not there is told" {
	workflow
	printf '#!/bin/sh\ncat >/dev/null; echo said; printf "no end"\n' >say.awf
	echo given | awf-run ./say.awf | cat >out
	same "$(awf-replay --show stdout; echo .)" "$(cat out; echo .)"
	same "$(awf-replay --show stdin)" given
	awf-run -n ./say.awf >file
	same "$(awf-replay --show stdout)" "$(cat file)"
	same "$(jq -c 'select(.type == "run.completed").payload.stdout.bytes' "$(transcript)")" 11
	awf-run -n ./flow.awf >/dev/null
	same "$(awf-replay --show tools/own)" "$(cat tools/own)"
	run -1 --separate-stderr awf-replay --show tools/none
	[[ $stderr == "awf-replay: tools/none: no file of this run; it has: "*"/work/flow.awf, "* ]]
	run -1 --separate-stderr awf-replay --show stdin
	same "$stderr" 'awf-replay: stdin: the recording does not have it'
	run -0 awf-verify "$AWF_STORAGE"
}

@test "a large executable is recorded by its digest, a masked run keeps nothing" {
	workflow
	{ printf '#!/bin/sh\necho {}\nexit\n'; head -c 1100000 /dev/zero; } >tools/own
	awf-run -n ./flow.awf | cat >out
	same "$(jq -c '.payload.files[]? | select(.path | endswith("/own")) | [.bytes, .kept]' "$(transcript)")" '[1100023,false]'
	[ ! -e "$AWF_STORAGE/blobs"/*/"$(sha256sum <tools/own | cut -d' ' -f1)" ]
	run -1 --separate-stderr awf-replay --show own
	[[ $stderr == *"the recording has its digest alone: it is a large program" ]]
	rm -r "$AWF_STORAGE"
	awf-run --mask cat -n ./flow.awf | cat >out
	[ ! -e "$AWF_STORAGE/blobs" ] || same "$(ls "$AWF_STORAGE/blobs")" ''
	same "$(jq -c '.payload | .files[]?.sha256, .stdout | select(. != null)' "$(transcript)")" ''
}

@test "a resume and a fork say what has changed, as a diff" {
	printf '#!/bin/sh\n# one\n# two\nawf-step -n a -r -- test -e ok\n# end\n' >flow.awf
	run ! awf-run -n ./flow.awf
	run ! --separate-stderr awf-run --resume @
	[[ $stderr != *changed* ]]
	sed -i 's/# two/# three/' flow.awf
	touch ok
	run -0 --separate-stderr awf-run --resume @
	same "$stderr" "awf-run: $PWD/flow.awf: has changed since it was recorded
@@ -1,5 +1,5 @@
 #!/bin/sh
 # one
-# two
+# three
 awf-step -n a -r -- test -e ok
 # end"
	run -0 --separate-stderr awf-run --fork @ --at a
	same "$stderr" ''
}
