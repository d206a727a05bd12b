#!/usr/bin/env bats
# The files that calls change: in the record, for people, in projections, in replays.
# shellcheck shell=bash disable=SC2154,SC2016 # bats sets stderr; the shell of a step reads dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	export ASAN_OPTIONS=detect_leaks=0
	mkdir src
	printf 'one\ntwo\nthree\n' >src/a.c
}

step() { awf-step -i json -t "$1" call -r "${@:3}" <<<"$2"; }
digest() { sha256sum "$1" | cut -d' ' -f1; }
changed() { payloads "${1:-tool.result}" .changed; }

# FILTER: what jq makes of the agent-events of a type, which have the form of their schema.
projected() {
	awf-tail --as agent-event >"$BATS_TEST_TMPDIR/projected"
	awf-verify --schema agent-event >"$BATS_TEST_TMPDIR/schema"
	python3 -c 'import json, jsonschema, sys
schema, lines = (open(name).read() for name in sys.argv[1:])
for line in lines.splitlines(): jsonschema.validate(json.loads(line), json.loads(schema))' "$BATS_TEST_TMPDIR/schema" "$BATS_TEST_TMPDIR/projected"
	jq -r "select(.type == \"$1\").payload | $2" "$BATS_TEST_TMPDIR/projected"
}

@test "write and edit: path, digest, lines that came and went" {
	export JQ=jq
	step edit '{"file_path":"src/a.c","old_string":"two\n","new_string":"2\n2b\n2c\n"}' >/dev/null
	same "$(changed)" "[{\"path\":\"src/a.c\",\"sha256\":\"$(digest src/a.c)\",\"added\":3,\"removed\":1}]"
	awf-tail | grep -q 'edit src/a.c +3 -1 ('
	step write "{\"file_path\":\"$PWD/new\",\"content\":\"x\n\"}" >/dev/null
	same "$(changed)" "[{\"path\":\"new\",\"sha256\":\"$(digest new)\",\"change\":\"created\",\"added\":1,\"removed\":0}]"
	awf-verify -q
	# The same bytes again are no change, nor is a call that fails.
	step write '{"file_path":"new","content":"x\n"}' >/dev/null
	same "$(changed)" null
	run -3 step edit '{"file_path":"src/a.c","old_string":"nowhere","new_string":"x"}'
	same "$(changed)" null
}

@test "a path with .. in it is that of the file" {
	ln -s src/sub link && mkdir src/sub
	cd src
	step write '{"file_path":"../src/b.c","content":"x\n"}' >/dev/null
	same "$(changed | jq -c '.[0].path')" '"b.c"'
	step write '{"file_path":"../../elsewhere","content":"x\n"}' >/dev/null || true
	same "$(changed)" null
	cd ..
	step edit '{"file_path":"./src/../src/a.c","old_string":"two\n","new_string":"2\n"}' >/dev/null
	same "$(changed | jq -c '.[0].path')" '"src/a.c"'
	step edit '{"file_path":"link/../a.c","old_string":"one\n","new_string":"1\n"}' >/dev/null
	same "$(changed | jq -c '.[0].path')" '"src/a.c"'
}

# bats test_tags=turn:2
@test "bash: what is created, changed and deleted, as observed" {
	export JQ=jq
	printf 'x\n' >gone
	step bash '{"command":"rm gone; echo >>src/a.c; mkdir d; echo 1 >d/new; cat src/a.c >/dev/null"}' >/dev/null
	same "$(changed)" "[{\"path\":\"d/new\",\"sha256\":\"$(digest d/new)\",\"change\":\"created\",\"observed\":true},{\"path\":\"gone\",\"sha256\":null,\"change\":\"deleted\",\"observed\":true},{\"path\":\"src/a.c\",\"sha256\":\"$(digest src/a.c)\",\"observed\":true}]"
	awf-tail | grep -q 'bash d/new, gone deleted, src/a.c ('
	same "$(projected file.changed .message)" 'd/new changed
gone changed
src/a.c changed'
	awf-verify -q
	step bash '{"command":"cat src/a.c"}' >/dev/null
	same "$(changed)" null
}

@test "a command that declares that it changes the workspace, over all its tries" {
	export JQ=jq
	run -0 awf-step -n --effects workspace,idempotent --retries 1 --delay 0 make -q -- \
		sh -c 'echo x >>tried; [ "$(wc -l <tried)" = 2 ] && echo built >out'
	same "$(changed step.completed)" "[{\"path\":\"out\",\"sha256\":\"$(digest out)\",\"change\":\"created\",\"observed\":true},{\"path\":\"tried\",\"sha256\":\"$(digest tried)\",\"change\":\"created\",\"observed\":true}]"
	awf-tail | grep -q 'done, changed out, tried ('
	same "$(projected file.changed '.step + " " + .file' | paste -sd,)" 'make:0:0 out,make:0:0 tried'
	# One that does not is not watched.
	awf-step -n none -q -- sh -c 'echo y >other'
	same "$(changed step.completed)" null
}

@test "links are not followed, nor is what lies elsewhere told" {
	printf 'secret\n' >"$HOME/secret"
	ln -s "$HOME/secret" link
	awf-step -n --effects workspace look -q -- sh -c "echo more >>'$HOME/secret'; ln -s '$HOME' dir"
	same "$(changed step.completed)" null
}

@test "at most 200 files are named, and a workspace of very many is not looked at" {
	awf-step -n --effects workspace many -q -- sh -c 'seq -f f%g 203 | xargs touch'
	same "$(payloads step.completed '[(.changed | length), .changed_more]')" '[200,3]'
	awf-tail | grep -q 'changed f1, f10, f100, f101, f102, 198 more'
	mkdir crowd && (cd crowd && seq 20001 | xargs touch)
	awf-step -n --effects workspace many -q -- touch one
	same "$(changed step.completed)" null
}

@test "calls that overlap share what they see" {
	awf-run -n -c 'awf-step -n --effects workspace slow -q -- sh -c ": >began; until [ -e other ]; do sleep 0.01; done; sleep 0.05" &
		until [ -e began ]; do sleep 0.01; done
		awf-step -n --effects workspace quick -q -- touch other; wait
		awf-step -n --effects workspace alone -q -- touch last'
	same "$(payloads step.completed 'select(.name == "slow") | [.changed[] | [.path, .shared]]')" '[["began",true],["other",true]]'
	same "$(payloads step.completed 'select(.name == "quick") | [.changed[] | [.path, .shared]]')" '[["other",true]]'
	same "$(payloads step.completed 'select(.name == "alone") | [.changed[] | [.path, .shared]]')" '[["last",null]]'
}

@test "a commit in the workspace, and a checkout that is none" {
	git init -q -b main . && git config user.name a && git config user.email a@example.org
	git add . && git commit -q -m one
	awf-step -n --effects workspace save -q -- git commit -q --allow-empty -m two
	same "$(payloads step.completed .commit)" "\"$(git rev-parse HEAD)\""
	same "$(projected git.commit '.path + " " + .commit')" "save $(git rev-parse HEAD)"
	git pack-refs --all
	awf-step -n --effects workspace pack -q -- git checkout -q -b side
	same "$(payloads step.completed .commit)" null
	awf-step -n --effects workspace save -q -- git commit -q --allow-empty -m three
	same "$(payloads step.completed .commit)" "\"$(git rev-parse HEAD)\""
}

@test "what a call changed is no part of what a replay is compared by" {
	recorded 0 -n -c 'awf-step -n --effects workspace,idempotent stamp -q -- sh -c "date +%N >stamp"
		awf-step -n -r text -- echo "{\"file_path\":\"src/a.c\",\"content\":\"new\"}" | awf-step -i json -t write write -q'
	same "$(payloads tool.result '.changed | length')" 1
}

@test "a resume that takes over a result keeps what it changed" {
	run -3 awf-run -n -c 'awf-step -n --effects workspace save -r -- sh -c "echo >saved; echo done" |
		awf-step -r last -- sh -c "test -e ok"'
	touch ok
	awf-run --resume @
	same "$(payloads step.completed 'select(.name == "save") | .changed[0].path' | sort -u)" '"saved"'
}
