#!/usr/bin/env bats
# bats file_tags=turn:2
# AWF's own tools as steps and in agents: what is recorded, what the model reads, replay.
# shellcheck shell=bash disable=SC2154,SC2016 # bats sets stderr; the shell of a step reads dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	# A leak sanitizer traces its process, which a sandbox does not allow.
	export ASAN_OPTIONS=detect_leaks=0
	mkdir agents tools src
	printf 'alpha\nbeta\n' >src/a.c
	agent coder 'tools: [read, write, edit, bash, glob, grep]'
}

# TOOL ARGUMENTS [OPTION...]
step() { awf-step -i json -t "$1" call -r "${@:3}" <<<"$2"; }

@test "each as a step" {
	same "$(step read '{"file_path":"src/a.c","limit":1}')" '     1	alpha
[there are more lines; go on with offset 2]'
	same "$(step write '{"file_path":"src/b.c","content":"one\n"}')" 'created src/b.c (4 bytes)'
	same "$(step edit '{"file_path":"src/b.c","old_string":"one","new_string":"two"}')" 'replaced 1 occurrence in src/b.c (line 1)'
	same "$(step bash '{"command":"cat src/b.c"}')" two
	same "$(step glob '{"pattern":"src/*.c"}')" 'src/a.c
src/b.c'
	same "$(step grep '{"pattern":"^t\\w","path":"src","output_mode":"content"}')" src/b.c:1:two
	# A text that looks like JSON stays a text.
	echo '{ "a":  1 }' >src/j.json
	same "$(awf-step -i json -t bash call <<<'{"command":"cat src/j.json"}' | jq -c .data)" '"{ \"a\":  1 }"'
}

@test "effects, as they are declared" {
	for name in read:none glob:none grep:none write:workspace edit:workspace bash:workspace; do
		same "$(jq -r '.effects + " " + (.concurrent // false | tostring)' "$BUILD/libexec/awf/${name%:*}.tool.json")" \
			"${name#*:} $([ "${name#*:}" = none ] && echo true || echo false)"
	done
	# Resuming does not ask whether a file was read.
	step read '{"file_path":"src/a.c"}' >/dev/null
	same "$(payloads tool.call .effects)" '"none"'
}

@test "arguments are checked before a tool is run" {
	for wrong in 'read {}' 'read {"file_path":1}' 'read {"file_path":"x","lines":2}' 'bash {"command":"true","timeout":600001}' \
		'write {"file_path":"x"}' 'edit {"file_path":"x","old_string":"a"}' 'grep {"pattern":"x","output_mode":"all"}' 'glob {"pattern":""}'; do
		run -3 --separate-stderr step "${wrong%% *}" "${wrong#* }"
		same "$(payloads tool.result .error.code)" '"schema"'
	done
}

@test "what a tool requires and has a default for is filled in: it gets it, and the model's words stay" {
	export JQ=jq
	export AWF_TOOL_PATH="$PWD/tools"
	tool weather '"effects":"none","input_schema":{"type":"object","required":["city","unit","at"],"properties":{"city":{"type":"string"},
		"unit":{"type":"string","default":"C"},"days":{"default":3},"at":{"$ref":"#/$defs/at"}},
		"$defs":{"at":{"required":["hour"],"default":{"hour":1},"properties":{"hour":{"type":"integer","default":12}}}}}' cat
	same "$(step weather '{"city":"Rome","at":{}}')" '{"city":"Rome","at":{"hour":12},"unit":"C"}'
	same "$(step weather '{"city":"Rome","unit":"F"}')" '{"city":"Rome","unit":"F","at":{"hour":1}}'
	same "$(payloads tool.call .input)" '{"city":"Rome","unit":"F","at":{"hour":1}}'
	# What is refused is recorded as it came.
	run -3 --separate-stderr step weather '{"unit":"F"}'
	same "$(payloads tool.call .input)" '{"unit":"F"}'
	agent coder 'tools: [weather]'
	stream tool_use "$(use t1 weather '{"city":"Rome"}')" >first
	text 'sunny' >answer
	model_server --loop --answer-for tool_use_id answer --answer first
	same "$(echo hi | awf-run -c 'awf-step -a coder ask -r')" sunny
	same "$(bodies | tail -n 1 | jq -c '[.messages[].content[] | .input? // empty, (.content? // empty)]')" \
		'[{"city":"Rome"},"{\"city\":\"Rome\",\"unit\":\"C\",\"at\":{\"hour\":1}}"]'
	same "$(payloads message.assistant '.blocks[].tool_input // empty')" '{"city":"Rome"}'
	same "$(payloads tool.call .input)" '{"city":"Rome","unit":"C","at":{"hour":1}}'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "a tool that fails says why; what it printed is recorded" {
	run -3 --separate-stderr step read '{"file_path":"nowhere"}'
	same "$(payloads tool.result '[.error.code, .exit_code, .stderr]')" \
		'["exit_status",4,"read: nowhere: unable to read: No such file or directory\n"]'
	run -3 --separate-stderr step bash '{"command":"echo so far; exit 3"}'
	same "$(payloads tool.result '[.error.message, .exit_code, .output, .stderr]')" '["exit status 3: so far",3,"so far",null]'
	run -3 --separate-stderr step bash '{"command":"echo so far; sleep 60","timeout":200}'
	same "$(payloads tool.result '[.output, .stderr]')" '["so far","bash: timed out after 200ms\n"]'
	# The step's own limit.
	run -3 --separate-stderr step bash '{"command":"echo so far; sleep 66.5"}' --timeout 300ms
	same "$(payloads step.completed .error.code)" '"timeout"'
	run -1 pgrep -f 'sleep 66.5'
}

@test "an agent works with all six, and replays" {
	stream tool_use "$(use t1 glob '{"pattern":"**/*.c"}')" "$(use t2 grep '{"pattern":"beta","path":"src"}')" "$(use t3 read '{"file_path":"src/a.c"}')" \
		"$(use t4 edit '{"file_path":"src/a.c","old_string":"beta","new_string":"gamma"}')" \
		"$(use t5 write '{"file_path":"src/new/b.c","content":"new\n"}')" \
		"$(use t6 bash '{"command":"cat src/a.c src/new/b.c; exit 3"}')" \
		"$(use t7 read '{"file_path":"gone"}')" >first
	text 'all done' >last
	model_server --loop --answer-for tool_use_id last --answer first
	recorded 0 --env ASAN_OPTIONS --snapshot -c 'echo work | awf-step -r -a coder code'
	same "$output" 'all done'
	same "$(payloads tool.call '[.name, .effects]' | paste -sd' ')" \
		'["glob","none"] ["grep","none"] ["read","none"] ["edit","workspace"] ["write","workspace"] ["bash","workspace"] ["read","none"]'
	same "$(bodies | head -n 2 | tail -n 1 | jq -c '.messages[-1].content[] | [(.content | if type == "array" then .[0].text else . end), (.is_error // false)]')" \
'["src/a.c",false]
["src/a.c",false]
["     1\talpha\n     2\tbeta",false]
["replaced 1 occurrence in src/a.c (line 2)",false]
["created src/new/b.c (4 bytes)",false]
["exit status 3\nalpha\ngamma\nnew",true]
["exit status 4\nread: gone: unable to read: No such file or directory\n",true]'
	same "$(bodies | head -n 1 | jq -c '[.tools[] | [.name, (.description | length > 40), .input_schema.required[0]]]')" \
		'[["read",true,"file_path"],["write",true,"file_path"],["edit",true,"file_path"],["bash",true,"command"],["glob",true,"pattern"],["grep",true,"pattern"]]'
}

@test "what a command writes to TMPDIR or HOME is gone after the call, and the model is told" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip "no sandbox here"
	step bash '{"command":"echo x >$TMPDIR/left && echo x >~/left && ls $TMPDIR/left ~/left"}'
	run -3 step bash '{"command":"ls $TMPDIR/left || ls ~/left || exit 3"}'
	[[ $(jq -r .description "$BUILD/libexec/awf/bash.tool.json") == *"files in /tmp and in the home directory are gone"* ]]
}

@test "in their sandbox they reach nothing but the workspace" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip "no sandbox here"
	mkdir ../outside
	echo secret >../outside/file
	ln -s ../outside out
	for call in 'read {"file_path":"out/file"}' 'read {"file_path":"/root/.profile"}' 'write {"file_path":"out/new","content":"x"}' \
		"write {\"file_path\":\"$(dirname "$PWD")/outside/new\",\"content\":\"x\"}" 'write {"file_path":"/etc/none","content":"x"}' \
		'write {"file_path":"/tmp/none","content":"x"}' 'edit {"file_path":"out/file","old_string":"secret","new_string":"x"}' \
		'glob {"pattern":"out/*"}' 'grep {"pattern":"secret","path":"out/file"}'; do
		run -3 --separate-stderr step "${call%% *}" "${call#* }"
		same "$(payloads tool.result .error.code)" '"blocked"'
		[[ $(payloads tool.result .error.message) == *"the sandbox ("*") does not allow to "*": stay in the working directory"* ]]
	done
	step bash '{"command":"cat out/file; echo x >out/new; echo here >there; cat there"}' >said
	same "$(tail -n 1 said)" here
	run -1 grep secret said
	same "$(cat ../outside/* there)" 'secret
here'
	same "$(awf-tail --json --type tool.call | jq -c '.payload | [.sandbox, .network]')" '["workspace",false]'
	# Unless somebody says otherwise.
	same "$(step read '{"file_path":"out/file"}' --sandbox none)" '     1	secret'
	agent coder 'tools: [bash]
sandbox: read-only'
	stream tool_use "$(use t1 bash '{"command":"echo x >new"}')" >first
	text 'done' >last
	model_server --loop --answer-for tool_use_id last --answer first
	echo work | awf-step -q -a coder code
	[[ $(payloads tool.result .error.message) == '"exit status 1: '*': new: Read-only file system"' ]]
	[ ! -e new ]
}

@test "a tool of one's own with the same name comes first, but not from the current directory" {
	tool read '"effects":"none"' 'echo mine'
	echo there >file
	sleep 0.05 # what is as old as a sandboxed program's start may be that program's
	same "$(step read '{"file_path":"file"}' | cut -f2)" there
	same "$(AWF_WORKFLOW_DIR=$PWD step read '{"file_path":"file"}' | cut -f2)" there
	same "$(AWF_TOOL_PATH=$PWD/tools step read '{}')" mine
	mkdir ../flow && mv tools ../flow
	same "$(AWF_WORKFLOW_DIR=$(realpath ../flow) step read '{}')" mine
}

# What steps were made of, in a line each.
definitions() { payloads step.started .definition_sha256; }

@test "AWF's own tools are known by version, and what lies beside them by what it is" {
	mkdir -p ../awf/bin ../awf/libexec/awf
	cp "$BUILD/bin/awf-step" ../awf/bin
	cp "$BUILD"/libexec/awf/{awf-tool-glob,glob.tool.json,awf-sandbox} ../awf/libexec/awf
	own=$(realpath ../awf/libexec/awf)
	printf '#!/bin/sh\necho {}\n' >"$own/local"
	chmod +x "$own/local"
	echo '{"effects":"none"}' >"$own/local.tool.json"
	made_of() { PATH="$(realpath ../awf/bin):$PATH" step "$1" '{"pattern":"*"}' >/dev/null && definitions; }
	glob=$(made_of glob)
	local=$(made_of local)
	echo >>"$own/awf-tool-glob"
	echo '# changed' >>"$own/local"
	same "$(made_of glob)" "$glob"
	[ "$(made_of local)" != "$local" ]
	sed -i 's/Lists the/Lists all/' "$own/glob.tool.json"
	[ "$(made_of glob)" != "$glob" ]
}

@test "a tool that is exchanged while a run goes on is another one" {
	tool own '"effects":"none"' 'echo 1'
	cat >flow.awf <<-'END'
		#!/bin/sh
		step() { echo '{}' | awf-step -i json -t own "$1"; }
		step a && step b
		# As large, and with the times that can be set.
		sed 's/echo 1/echo 2/' tools/own >other && chmod +x other && touch -r tools/own other && mv other tools/own
		step c
	END
	awf-run -n ./flow.awf >out
	same "$(jq -c .data out)" '"1"
"1"
"2"'
	definitions >made
	same "$(sed -n 2p made)" "$(sed -n 1p made)"
	[ "$(sed -n 3p made)" != "$(sed -n 1p made)" ]
	same "$(payloads step.started '.files[1].sha256' | uniq -c | awk '{ print $1 }' | xargs)" '2 1'
}

@test "a tool that is exchanged, and its state put back, is another one" {
	# What is executed itself nobody may have open for writing.
	tool own '"effects":"none","command":["sh","./own"]' 'echo 1'
	mkfifo go gone
	# Who has a file in memory changes it, and none of its times.
	python3 -c '
import mmap
file = open("tools/own", "r+b")
memory = mmap.mmap(file.fileno(), 0)
memory[0:1] = memory[0:1]
open("go").read()
at = memory.find(b"echo 1") + 5
memory[at:at + 1] = b"2"
open("gone", "w").close()
open("go").read()' 3>&- &
	cat >flow.awf <<-'END'
		#!/bin/sh
		step() { echo '{}' | awf-step -i json -t own "$1"; }
		step a && : >go && : <gone && step b
	END
	# A program that changed just now is read in any case.
	sleep 2.6
	awf-run -n ./flow.awf >out
	: >go
	wait
	same "$(jq -c .data out)" '"1"
"2"'
	definitions >made
	[ "$(sed -n 2p made)" != "$(sed -n 1p made)" ]
	same "$(payloads step.started '.files[1].sha256' | sort -u | wc -l)" 2
}

# Of steps a, b and c of a run, where what is kept after b is a digest of nothing: a line "kept
# DIGEST" for each, and how many definitions there were.
kept_of() {
	cat >flow.awf <<-'END'
		#!/bin/sh
		step() { echo '{"text":"one two"}' | awf-step -i json -t word_count "$1" >/dev/null; }
		step a && step b
		for link in "$AWF_STORAGE/runs/$AWF_RUN_ID"/files.*; do
			[ -L "$link" ] || continue
			echo "kept $(readlink "$link")"
			ln -sfn "$(printf '%064d' 0)" "$link"
		done
		step c
	END
	AWF_TRUST=$(awf trust --digests) awf-run -n ./flow.awf
	payloads step.started .definition_sha256 | uniq -c | awk '{ print $1 }' | xargs
}

@test "the digest of a tool that this user may write is not kept, however long it has been the same" {
	same "$(AWF_TOOL_PATH=$ROOT/examples/tools kept_of)" 3
}

@test "the digest of a tool that root alone can write is kept for the steps of a run" {
	[ "$(id -u)" = 0 ] || skip 'not root'
	unshare -m true || skip 'no mount namespaces'
	same "$(ROOT=$ROOT unshare -m bash -c "$(declare -f kept_of payloads transcript)"'
		mount --make-rprivate / && mount -t tmpfs -o mode=755 none /usr/local/share &&
		cp "$ROOT"/examples/tools/word_count* /usr/local/share && sleep 2.6 &&
		export AWF_TOOL_PATH=/usr/local/share && kept_of &&
		chmod 1777 /usr/local/share && kept_of')" \
		"kept $(cat "$ROOT"/examples/tools/word_count{.tool.json,} | sha256sum | cut -d' ' -f1)
2 1
3"
}
