#!/usr/bin/env bats
# bats file_tags=turn:3
# The sandbox of tools and commands (awf-sandbox(1)): who says what, what is recorded, what
# goes wrong. tests/fault/sandbox.bats tries to get out of it.
# shellcheck disable=SC2016,SC2154 # the shell of a step reads dollars; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	sandbox="$BUILD/libexec/awf/awf-sandbox"
	"$sandbox" -- true || skip "this system lacks what a sandbox takes"
	mkdir -p agents tools ../outside
	echo secret >../outside/secret
	tool look '"effects":"none"' 'echo "${AWF_SANDBOX-none}"; python3 -Sc "import socket; socket.socket()" 2>/dev/null && echo net; :'
}

# What the tool look says in a step with these options: its mode, and net.
look() { echo "{}" | awf-step -i json look -t look -r "$@" | tr '\n' ' '; }

looks() { echo '{"description":"looks","effects":"none"'"$1"'}' >tools/look.tool.json; }

# An agent that uses the tool look, once.
agent_looks() {
	stream tool_use "$(use t1 look '{}')" >first
	text finished >answer
	model_server --loop --answer-for tool_use_id answer --answer first
	agent scout "tools: [look]
$1"
	shift
	awf-step -p go -n -q -a scout ask "$@"
	payloads tool.result '.output // .error.message'
}

@test "a command: nothing but the workspace is changed, and AWF_SANDBOX says so" {
	same "$(awf-step -n x -r --sandbox workspace -- sh -c 'echo $AWF_SANDBOX; echo hi >made; cat made')" $'workspace\nhi'
	same "$(cat made)" hi
	same "$(payloads step.started '[.sandbox, .network]')" '["workspace",false]'
	run -3 --separate-stderr awf-step -n x --sandbox read-only -- sh -c 'echo $AWF_SANDBOX >&2; echo no >made'
	[[ $stderr == *"read-only"* ]]
	same "$(cat made)" hi
	same "$(payloads step.completed '[.error.code, .exit_code]')" '["exit_status",2]'
	# Without one nothing is recorded of it.
	awf-step -n x -q --sandbox none -- true
	same "$(payloads step.started '[.sandbox, .network]')" '[null,null]'
	# As many calls as there are items, each in its own.
	same "$(seq 3 | awf-step -i lines -r -j 3 --sandbox workspace x -- sh -c 'read -r n; : >"$TMPDIR/item$n"; ls "$TMPDIR" | grep ^item' | tr '\n' ' ')" 'item1 item2 item3 '
}

@test "the model reads once what was refused, and what a command printed before it failed" {
	stream tool_use "$(use t1 read '{"file_path":"/root/x"}')" \
		"$(use t2 bash '{"command":"echo out; exit 4"}')" >first
	text "done" >answer
	model_server --loop --answer-for tool_use_id answer --answer first
	agent scout 'tools: [read, bash]'
	same "$(awf-step -p go -n -r -a scout ask 2>/dev/null)" 'done'
	same "$(bodies | tail -n 1 | jq -c '.messages[-1].content[] | [.is_error, .content]')" \
		'[true,"read: /root/x: the sandbox (read-only) does not allow to see this: stay in the working directory"]
[true,"exit status 4\nout"]'
}

# bats test_tags=turn:2
@test "root sees of the configuration what every user may" {
	[ "$(id -u)" = 0 ] || skip 'not root'
	[ "$(stat -c %a /etc/shadow)" != 644 ] || skip 'no shadow'
	"$sandbox" -- cat /etc/passwd >/dev/null
	"$sandbox" -- ls /etc >/dev/null
	run -1 "$sandbox" -q -- cat /etc/shadow
	[[ $output == *'Permission denied' ]]
	find /etc -xdev -type f -perm -o=r >open 2>/dev/null
	find /etc -xdev -type f ! -perm -o=r >closed
	# Of the open ones some lie in directories that are closed.
	same "$("$sandbox" -- sh -c 'while read -r f; do [ ! -r "$f" ] || cat "$f"; done <closed 2>/dev/null')" ''
	setpriv --reuid 65534 --clear-groups --regid 65534 \
		sh -c 'while read -r f; do cat "$f" >/dev/null && echo "$f"; done' <open 2>/dev/null >of_all
	same "$("$sandbox" -- sh -c 'while read -r f; do cat "$f" >/dev/null && echo "$f"; done <open' 2>/dev/null)" "$(cat of_all)"
	# What was asked for by name is seen.
	"$sandbox" --readable /etc/shadow -- cat /etc/shadow >/dev/null
}

# Runs commands with a configuration of these files, a few of which are closed: as they are and
# were, in lines.
with_configuration() {
	[ "$(id -u)" = 0 ] || skip 'not root'
	unshare -m true || skip 'no mount namespaces'
	cat >configuration <<-'END'
		mount --make-rprivate / && mount -t tmpfs -o mode=755 none /etc && cd /etc || exit 9
		mkdir -p whole/sub part/sub/deep part/left secret/open entered
		for file in whole/a whole/sub/b part/a part/closed part/sub/b part/sub/deep/closed part/left/c secret/open/d entered/e entered/f top shut; do
			echo "$file" >$file
		done
		chmod 600 part/closed shut entered/f && chmod 640 part/sub/deep/closed && chmod 700 secret && chmod 711 entered
		ln -s part/closed link && ln -s top second
		cd "$OLDPWD" || exit 9
		see() {
			"$@" -- sh -c 'for f in $(find /etc -type f -o -type l 2>/dev/null | sort) /etc/part/a /etc/secret/open/d /etc/entered/e /etc/entered/f; do cat $f; done; ls -d /etc/*; ls /etc/secret /etc/entered /etc/part' 2>/dev/null | xargs
		}
	END
	cat >>configuration
	unshare -m sh configuration "$sandbox"
}

# The kernel says whose files are in a mount (Linux 6.3, for those in memory).
mounts_have_owners() {
	[ "$(id -u)" = 0 ] || skip 'not root'
	unshare -m true || skip 'no mount namespaces'
	[ "$(unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /etc && "$1" -- stat -c %u /etc' - "$sandbox")" = 65534 ] ||
		skip 'mounts have no owners of their own here'
}

@test "root sees of a directory of the configuration what is open in it, and nothing that is hidden" {
	mounts_have_owners
	listed='/etc/entered /etc/link /etc/part /etc/second /etc/secret /etc/shut /etc/top /etc/whole'
	same "$(with_configuration <<-'END'
		see "$1"
		chmod 600 /etc/whole/sub/b && chmod 644 /etc/shut
		see "$1"
		see "$1" --hide /etc/part --hide /etc/whole/a
		see "$1" --without landlock --prefer -q
		see "$1" --readable /etc/secret | cut -d' ' -f-3
	END
	)" "part/a part/left/c part/sub/b top top whole/a whole/sub/b part/a entered/e $listed /etc/part: a closed left sub
part/a part/left/c part/sub/b top shut top whole/a part/a entered/e $listed /etc/part: a closed left sub
top shut top entered/e $listed /etc/part:
part/a part/left/c part/sub/b top shut top whole/a part/a entered/e $listed /etc/part: a closed left sub
part/a part/left/c part/sub/b"
}

@test "root sees of the configuration what is open at the time" {
	mounts_have_owners
	same "$(with_configuration <<-'END'
		mkfifo go
		"$1" -- sh -c 'cat /etc/top /etc/part/closed; : >went; : <go; cat /etc/top /etc/part/closed /etc/new /etc/whole/new' >out 2>/dev/null &
		until [ -e went ]; do sleep 0.01; done
		chmod 600 /etc/top && chmod 644 /etc/part/closed
		for file in /etc/whole/new /etc/new; do echo later >$file; done
		: >go
		wait
		cat out
	END
	)" 'top
part/closed
later
later'
}

@test "root without namespaces sees of the configuration what was open at the start, and no names in closed directories" {
	same "$(with_configuration <<-'END'
		see "$1" --without namespaces
		rm -r /etc/secret /etc/entered
		see "$1" --without namespaces
	END
	)" 'part/a /etc/part: a closed left sub
part/a part/left/c part/sub/b top top whole/a whole/sub/b part/a /etc/link /etc/part /etc/second /etc/shut /etc/top /etc/whole /etc/part: a closed left sub'
	run -2 "$sandbox" --without namespaces -- ls /etc/ssl/private
	run -2 "$sandbox" -- ls /etc/ssl/private
}

@test "what is hidden is not seen, in whatever else is hidden" {
	shows() { "$sandbox" "${@:2}" -- sh -c "$1" 2>/dev/null; }
	same "$(shows 'cat /etc/resolv.conf; ls -A /etc' --hide /etc)" ''
	for more in '--hide /etc/passwd' '--hide /etc/ssl' '--hide /etc/resolv.conf' '--hide /etc/ssl --hide /etc/ssl/certs'; do
		# shellcheck disable=SC2086
		same "$(shows 'cat /etc/resolv.conf; ls -A /etc; echo done' --hide /etc $more)" 'done'
	done
	same "$(shows 'ls -A /etc; cat /etc/hosts' --hide /etc --hide /etc/passwd --readable /etc/hosts)" "hosts
$(cat /etc/hosts)"
	same "$(shows 'ls /sys/devices/system/cpu; : >/dev/zero; echo done' --hide /sys --hide /dev/zero)" ''
	same "$(shows ': >/dev/null; ls /dev; echo done' --hide /dev)" ''
	run -77 --separate-stderr "$sandbox" --hide /usr --hide /usr/lib --readable /usr/lib -- true
	same "$stderr" 'awf-sandbox: /usr/lib: is to be read, and to be hidden: it cannot be both'
	for all in / /usr/.. //; do
		run -1 --separate-stderr "$sandbox" --hide $all -- true
		same "$stderr" "awf-sandbox: --hide: '$all' is all there is, and nothing could run: name what is not to be seen"
	done
}

@test "what links in the configuration lead to is hidden as the configuration is, and definitions are kept" {
	"$BUILD/libexec/awf/awf-sandbox" --check | grep -q '"namespaces":true' || skip 'no namespaces'
	mkdir -p dot/endpoints dot/agents "$XDG_CONFIG_HOME/awf/endpoints" "$XDG_CONFIG_HOME/awf/agents"
	for file in keys config mcp.json endpoints/e.json endpoints/f.json agents/a.md AGENTS.md; do
		echo "# secret" >"dot/$file"
		[ "$file" = endpoints/f.json ] || ln -s "$PWD/dot/$file" "$XDG_CONFIG_HOME/awf/$file"
	done
	for _ in files directory; do
		cat >change <<-'X'
			for file in keys config mcp.json endpoints/e.json agents/a.md AGENTS.md; do
				echo evil >>dot/$file
				mv -f dot/$file dot/moved
				ln -sf ../evil dot/$file
			done
			mv dot other
			cat dot/keys dot/config dot/mcp.json dot/endpoints/e.json
		X
		run in_sandbox sh change
		[[ "$output" != *secret* ]]
		for file in keys config mcp.json endpoints/e.json agents/a.md AGENTS.md; do
			[ ! -L "dot/$file" ]
			[ "$(cat "dot/$file")" = "# secret" ]
		done
		[ "$(in_sandbox cat dot/agents/a.md dot/AGENTS.md)" = "$(printf "# secret\n# secret")" ]
		rm -r "$XDG_CONFIG_HOME/awf/endpoints"
		ln -s "$PWD/dot/endpoints" "$XDG_CONFIG_HOME/awf/endpoints"
	done
	run -1 in_sandbox cat dot/endpoints/f.json
	# A link in the workspace could be replaced, and what contains the workspace cannot be hidden.
	ln -s keys dot/link
	ln -sf "$PWD/dot/link" "$XDG_CONFIG_HOME/awf/keys"
	run -77 in_sandbox true
	[[ "$output" == *'by another link in the workspace'* ]]
	ln -sf "$PWD/dot/keys" "$XDG_CONFIG_HOME/awf/keys"
	ln -s "$PWD" "$XDG_CONFIG_HOME/awf/here"
	run -77 in_sandbox true
	[[ "$output" == *'can be no workspace'* ]]
}

in_sandbox() { "$BUILD/libexec/awf/awf-sandbox" -q -- "$@"; }

@test "the step's input and output, status and arguments pass" {
	same "$(printf 'a  b' | awf-step -r --sandbox workspace x -- cat)" 'a  b'
	same "$(printf '%s' "$("$sandbox" -- printf '[%s]' 'a b' '' '*')")" '[a b][][*]'
	run -7 "$sandbox" -- sh -c 'exit 7'
	run -143 "$sandbox" -- sh -c 'kill $$'
	run -127 --separate-stderr "$sandbox" -- no-such-command
	same "$stderr" 'awf-sandbox: no-such-command: unable to run: No such file or directory'
	echo x >data
	run -126 --separate-stderr "$sandbox" -- ./data
	same "$stderr" 'awf-sandbox: ./data: unable to run: Permission denied'
	mkdir sub
	same "$(cd sub && "$sandbox" -w .. -- pwd)" "$PWD/sub"
	same "$("$sandbox" -w sub -- pwd)" "$PWD/sub"
}

@test "status 77 is blocked, with what was said, and shows as safety.block" {
	run -3 --separate-stderr awf-step -n x --sandbox workspace -- sh -c 'echo "this is not allowed" >&2; exit 77'
	same "$(payloads step.completed .error)" '{"code":"blocked","message":"this is not allowed"}'
	same "$(awf-tail --as agent-event | jq -r 'select(.type == "safety.block").type')" safety.block
	run -3 awf-step -n x --sandbox workspace -- sh -c 'exit 77'
	same "$(payloads step.completed .error.message)" '"refused by the sandbox"'
	# Without a sandbox it is a status as any other.
	run -3 awf-step -n x -- sh -c 'exit 77'
	same "$(payloads step.completed .error.code)" '"exit_status"'
	# A tool's.
	looks ',"sandbox":"workspace"'
	printf '#!/bin/sh\necho refused >&2; exit 77\n' >tools/look
	run -3 awf-step -i json look -t look <<<'{}'
	same "$(payloads tool.result .error)" '{"code":"blocked","message":"refused"}'
	same "$(awf-tail --as agent-event | jq -r 'select(.type == "safety.block").type' | sort -u)" safety.block
	awf-verify -q
}

# bats test_tags=turn:2
@test "the strictest of step and tool holds" {
	same "$(look)" 'none net '
	same "$(look --sandbox workspace)" 'workspace '
	same "$(look --sandbox read-only --network)" 'read-only net '
	looks ',"sandbox":"workspace","network":true'
	same "$(look)" 'workspace net '
	same "$(payloads tool.call '[.sandbox, .network]')" '["workspace",true]'
	same "$(look --no-network)" 'workspace '
	same "$(look --sandbox read-only)" 'read-only net '
	same "$(look --sandbox none)" 'workspace net '
	looks ',"sandbox":"read-only"'
	same "$(look --sandbox workspace)" 'read-only '
	same "$(look --network)" 'read-only net '
	looks ',"sandbox":false'
	same "$(look)" 'none net '
}

# bats test_tags=turn:2
@test "the strictest of agent and tool holds" {
	same "$(agent_looks '')" '"none\nnet"'
	same "$(agent_looks 'sandbox: workspace')" '"workspace"'
	same "$(agent_looks 'sandbox: workspace
network: true')" '"workspace\nnet"'
	same "$(agent_looks 'sandbox: workspace
network: true' --no-network)" '"workspace"'
	same "$(agent_looks 'sandbox: none' --sandbox read-only)" '"read-only"'
	looks ',"sandbox":"read-only"'
	same "$(agent_looks 'sandbox: none')" '"read-only"'
}

@test "AWF's own tools have one unless somebody says otherwise" {
	step() { echo '{"command":"echo ${AWF_SANDBOX-none}"}' | awf-step -i json -t bash -r b "$@"; }
	same "$(step)" workspace
	same "$(step --sandbox none)" none
	same "$(step --sandbox read-only)" read-only
	# One of the user's with the same name is the user's.
	tool bash '"sandbox":"read-only"' 'echo "$AWF_SANDBOX"'
	same "$(AWF_TOOL_PATH=$PWD/tools step --sandbox none)" read-only
}

@test "what cannot be had is said before anything is read" {
	complains() {
		run -"$1" --separate-stderr awf-step "${@:3}" </dev/null
		same "$stderr" "awf-step: $2"
	}
	complains 1 "--sandbox: 'all' is none of none, workspace, read-only" x --sandbox all -- true
	complains 1 "--sandbox-mode: 'any' is none of require, prefer" x --sandbox-mode any -- true
	complains 1 '--no-network: to be without network takes a sandbox: workspace or read-only' x --no-network -- true
	complains 1 '--sandbox: not with a group: its steps are recorded outside, and say it themselves' x --sandbox workspace --each -- true
	complains 1 '--network: not with --no-network' x --network --no-network -- true
	complains 1 '--approve: not with --sandbox, which is about a sandbox: nothing is run' x --approve --sandbox none
	looks ',"network":false'
	complains 2 "tools/look.tool.json: network: to be without network takes a sandbox: workspace or read-only" x -t look
	looks ',"sandbox":"strict"'
	complains 2 "tools/look.tool.json: sandbox: expected workspace, read-only or none" x -t look
	looks ',"sandbox":"workspace","network":"no"'
	complains 2 "tools/look.tool.json: network: expected true or false, got text" x -t look
	looks ',"starts_run":true,"sandbox":"workspace"'
	complains 2 "tools/look.tool.json: sandbox: the tool 'look' starts runs, which are recorded outside: none is all that it can have" x -t look
	agent cli 'provider: claude
sandbox: workspace'
	sed -i '/^provider: anthropic/d' agents/cli.md
	complains 2 "agents/cli.md: sandbox: the agent CLI 'claude' runs its tools itself, and no sandbox can be put around them" x -a cli
	agent other 'fallback: [codex/gpt]
sandbox: workspace'
	complains 2 "agents/other.md: sandbox: the agent CLI 'codex' runs its tools itself, and no sandbox can be put around them" x -a other
	agent odd 'sandbox: 7'
	complains 2 'agents/odd.md:5: sandbox: expected workspace, read-only or none' x -a odd
}

@test "awf-sandbox: usage and refusals in a line" {
	complains() {
		run -"$1" --separate-stderr "$sandbox" "${@:3}"
		same "$stderr" "awf-sandbox: $2"
	}
	complains 1 'no command given: awf-sandbox [options] -- command (awf-sandbox --help)'
	complains 1 'no command given: awf-sandbox [options] -- command (awf-sandbox --help)' --
	complains 1 'true: a command goes after --' true
	complains 1 "--without: 'x' is none of landlock, namespaces, seccomp" --without seccomp,x -- true
	complains 77 'nowhere: unable to use it as the workspace: No such file or directory' -w nowhere -- true
	echo >file
	complains 77 "$PWD/file: is no directory, and no workspace" -w file -- true
	complains 77 'gone: unable to let it be read: No such file or directory' --readable gone -- true
	complains 77 "/: holds the home directory, which is not for all to read" --readable / -- true
	complains 77 'its parent is gone' --parent 1 -- true
	for bad in '--processes 0' '--parent x' '--disk much' '--file-size -1' '--temporary x'; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr "$sandbox" $bad -- true
		[[ $stderr == "awf-sandbox: ${bad% *}: "* ]]
	done
	run -0 "$sandbox" --help
	run -0 "$sandbox" --version
}

@test "what may be read: PATH with what belongs to it, the workflow, and what is named" {
	mkdir -p ../prefix/{bin,lib,share,etc} ../flow ../more "$HOME/.local/"{bin,lib,share}
	for file in ../prefix/{lib,share,etc}/f ../flow/f ../more/f "$HOME/.local/"{lib,share}/f "$HOME/f"; do echo x >"$file"; done
	reads() {
		PATH="$(realpath ../prefix/bin):$HOME/.local/bin:$HOME:$PATH" AWF_WORKFLOW_DIR=$(realpath ../flow) \
			AWF_SANDBOX_PATH=$(realpath ../more) "$sandbox" "${@:2}" -- cat "$1" >/dev/null 2>&1
	}
	for yes in ../prefix/lib/f ../prefix/share/f ../flow/f ../more/f "$HOME/.local/lib/f"; do
		reads "$yes" || { echo "$yes"; false; }
	done
	for no in ../prefix/etc/f "$HOME/.local/share/f" "$HOME/f" ../outside/secret; do
		if reads "$no"; then echo "$no"; false; fi
	done
	reads ../outside/secret --readable ../outside
	same "$("$sandbox" --readable ../outside --hide "$(realpath ../outside/secret)" -- cat ../outside/secret)" ''
	AWF_WORKFLOW_DIR=$HOME run -1 "$sandbox" -- cat "$HOME/f"
	# A tool reads what lies beside its file.
	mkdir -p ../kit
	echo beside >../kit/data
	tool look '"sandbox":"workspace"' 'cat "$(dirname "$0")/data"'
	mv tools/look* ../kit
	same "$(echo '{}' | AWF_TOOL_PATH=$(realpath ../kit) awf-step -i json x -r -t look)" beside
}

# awf-step with a sandbox that lacks parts, as on another system.
lacking() {
	mkdir -p ../lacking/bin ../lacking/libexec/awf
	cp "$BUILD/bin/awf-step" ../lacking/bin
	printf '#!/bin/sh\nexec "%s" --without %s "$@"\n' "$sandbox" "$1" >../lacking/libexec/awf/awf-sandbox
	chmod +x ../lacking/libexec/awf/awf-sandbox
	shift
	../lacking/bin/awf-step "$@"
}

@test "where a part is missing: refused, or told once" {
	# The parent that awf-sandbox is to have is the shell then, which becomes it.
	run -3 --separate-stderr lacking landlock -n x --sandbox workspace -- true
	same "$(payloads step.completed .error.code)" '"blocked"'
	[[ $stderr == *"this system lacks Landlock (files elsewhere can be read) (--sandbox-mode prefer goes on without, --sandbox none with no sandbox at all)"* ]]
	run -0 --separate-stderr bash -c "$(declare -f lacking); sandbox=$sandbox; seq 3 | lacking landlock,seccomp -i lines -r --sandbox workspace --sandbox-mode prefer x -- cat"
	same "$output" $'1\n2\n3'
	same "$stderr" 'awf-sandbox: this system lacks Landlock (files elsewhere can be read), seccomp (sockets and the kernel can be reached)'
	# As the user has said once, where nobody says it nearer to the work.
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo 'sandbox = prefer' >"$XDG_CONFIG_HOME/awf/config"
	run -0 --separate-stderr lacking landlock -n x -r --sandbox workspace -- echo done
	same "$output $stderr" 'done awf-sandbox: this system lacks Landlock (files elsewhere can be read)'
	run -3 --separate-stderr lacking landlock -n x --sandbox workspace --sandbox-mode require -- true
	[[ $stderr == *'this system lacks Landlock'*'--sandbox-mode prefer goes on'* ]]
	echo 'sandbox = perhaps' >"$XDG_CONFIG_HOME/awf/config"
	run -3 --separate-stderr lacking landlock -n x --sandbox workspace -- true
	[[ $stderr == *"$XDG_CONFIG_HOME/awf/config: sandbox: 'perhaps' is none of require, prefer"* ]]
	rm "$XDG_CONFIG_HOME/awf/config"
	# What can be had otherwise is not missing.
	run -0 --separate-stderr lacking namespaces -n x --sandbox workspace -- true
	same "$stderr" ''
}

@test "--check: whether there is one, and of what; nothing is run, nothing noted" {
	parts='[.ready, .landlock > 0, .namespaces, .seccomp, .message]'
	run -0 --separate-stderr "$sandbox" --read-only --check
	same "$(jq -c '[.ready, .message], (keys | length)' <<<"$output" | paste -sd' ')" '[true,null] 4'
	[ ! -e "$AWF_STORAGE" ]
	same "$("$sandbox" --prefer -q --without landlock,namespaces,seccomp --check | jq -c "$parts")" '[true,false,false,false,null]'
	run -77 --separate-stderr "$sandbox" --without landlock,namespaces --check
	same "$(jq -r .message <<<"$output")" "$("$sandbox" --without landlock,namespaces -- true 2>&1 | sed 's/^awf-sandbox: //')"
	same "$(jq -c .seccomp <<<"$output")" true
	cd "$HOME"
	run -77 "$sandbox" --check
	same "$(jq -c 'keys' <<<"$output")" '["message","ready"]'
	run -1 "$sandbox" --check -- true
	same "$output" 'awf-sandbox: --check: runs nothing, so no command can be given'
}

@test "without namespaces a storage in the workspace is refused, with them it is not seen" {
	export AWF_STORAGE="$PWD/storage"
	same "$(awf-step -n x -r --sandbox workspace -- ls storage)" ''
	run -3 --separate-stderr lacking namespaces -n x --sandbox workspace --sandbox-mode prefer -- true
	same "$(payloads step.completed .error.code)" '"blocked"'
	[[ $stderr == *"/storage: would be seen in the sandbox, and this system has no namespaces to hide it"* ]]
}

@test "keys are not in it" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	(umask 077 && echo OWN_KEY=own-secret >"$XDG_CONFIG_HOME/awf/keys")
	export OPENAI_API_KEY=open-secret
	out=$(awf-run -n -c 'awf-step -n x -r --sandbox workspace -- sh -c "env; cat /proc/1/environ; cat \"\$0\"/runs/*/key; :" "$AWF_STORAGE"' 2>&1)
	[[ $out != *secret* ]]
	[[ $out == *AWF_SANDBOX=workspace* ]]
}

# The names that a program in a sandbox sees of those that are asked for.
seen() { grep -oE "^($1)=" | sort | tr -d = | paste -sd' '; }

@test "a sandboxed program sees a list of variables, not all but the secrets that are known" {
	all='REDISCLI_AUTH|NPM_CONFIG__AUTH|TWILIO_AUTH|DB_PW|MY_CREDS|SLACK_WEBHOOK|PAYMENTS|HARMLESS|AWF_ANY|AWF_SERVE_TOKEN|GITHUB_TOKEN|SSH_AUTH_SOCK|DATABASE_URL|LANG|LC_NUMERIC|TZ|CUDA_HOME|GOPATH|PYTHONPATH|SSL_CERT_FILE|https_proxy|HTTPS_PROXY|TOKENIZERS_PARALLELISM'
	export REDISCLI_AUTH=x NPM_CONFIG__AUTH=x TWILIO_AUTH=x DB_PW=x MY_CREDS=x SLACK_WEBHOOK=x \
		PAYMENTS=sk_live_0123456789abcdef HARMLESS=x AWF_ANY=x AWF_SERVE_TOKEN=x GITHUB_TOKEN=x \
		SSH_AUTH_SOCK=/x DATABASE_URL=postgres://u:p@host LANG=C LC_NUMERIC=C TZ=UTC \
		CUDA_HOME=/c GOPATH=/g PYTHONPATH=/p SSL_CERT_FILE=/s https_proxy=http://u:p@proxy \
		HTTPS_PROXY=http://proxy TOKENIZERS_PARALLELISM=x
	some='CUDA_HOME GOPATH HTTPS_PROXY LANG LC_NUMERIC PYTHONPATH SSL_CERT_FILE TOKENIZERS_PARALLELISM TZ'
	same "$("$sandbox" -- env | seen "$all")" "$some"
	same "$(awf-step -n x -r --sandbox workspace -- env | seen "$all")" "$some"
	same "$(awf-run -n -c 'awf-step x -n -r --sandbox workspace -- env' | seen "$all")" "$some"
	same "$(awf-run -n --no-transcript -c 'awf-step x -n -r --sandbox workspace -- env' | seen "$all")" "$some"
	echo '{"command":"env"}' >bash
	same "$(awf-step -i json -t bash -r x <bash | seen "$all")" "$some"
	# Without one all is seen.
	same "$(awf-step -n x -r -- env | seen "$all" | wc -w)" 23
	# What is passed is seen, secrets too.
	same "$("$sandbox" --pass-env MY_CREDS --pass-env 'DATABASE_*' --pass-env NONE -- env | seen 'MY_CREDS|DB_PW|DATABASE_URL')" 'DATABASE_URL MY_CREDS'
	same "$(awf-step -n x -r --sandbox workspace --pass-env 'MY_*' -- env | seen 'MY_CREDS|DB_PW')" MY_CREDS
	same "$(awf-step -i json -t bash -r --pass-env HARMLESS x <bash | seen 'MY_CREDS|HARMLESS')" HARMLESS
}

@test "a sandboxed program sees what the workflow has set, but for secrets" {
	export BEFORE=1 CHANGED=1 PASSED=1
	echo nothing-of-it >patterns
	printf '%s\n' '#!/bin/sh' "exec '$BUILD/libexec/awf/awf-mask-patterns' '$PWD/patterns'" >filter
	chmod +x filter
	cat >flow.awf <<'END'
export MODE=fast CHANGED=2 DB_PW=x LINK=https://u:p@host
awf-step one -n -r --sandbox workspace --pass-env PASSED -- env >one
echo '{"command":"env"}' | awf-step two -i json -t bash -r >two
awf-run child.awf
END
	echo 'OWN=1 awf-step three -n -r --sandbox workspace -- env >three' >child.awf
	names='BEFORE|CHANGED|PASSED|MODE|DB_PW|LINK|OWN'
	for options in '' '--no-transcript' '--mask ./filter'; do
		# shellcheck disable=SC2086 # words
		awf-run -n $options flow.awf
		same "$(seen "$names" <one)" 'CHANGED MODE PASSED'
		same "$(seen "$names" <two)" 'CHANGED MODE'
		# A run that the workflow starts sees what it has set, too.
		same "$(seen "$names" <three)" 'CHANGED MODE OWN'
		rm one two three
	done
	# Of a run that goes on, what it was started with this time counts.
	echo 'awf-step x -n -q --sandbox workspace -- sh -c "test -e ok && env >four"' >later.awf
	run -3 env MODE=1 awf-run -n later.awf
	touch ok
	env MODE=2 awf-run --resume @later
	same "$(seen "$names" <four)" ''
}

@test "which variables were left out is told once in a run where a command fails" {
	clean() { env -i PATH="$PATH" HOME="$HOME" AWF_STORAGE="$PWD/../told" MY_CREDS=x OTHER=1 "$@"; }
	fails() { run -3 --separate-stderr clean awf-step -n x --sandbox workspace "$@"; }
	fails -- sh -c 'echo "KeyError: MY_CREDS" >&2; exit 1'
	[[ $stderr == *'awf-step: x: the sandbox left 1 variable out of its environment: MY_CREDS (--pass-env MY_CREDS passes it)'* ]]
	fails --pass-env MY_CREDS -- sh -c 'exit 1'
	[[ $stderr == *'awf-step: x: the sandbox left '*'OTHER'*'(--pass-env '* ]]
	# Nothing is said of what runs, or is not to be run, or is seen.
	run -0 --separate-stderr clean awf-step -n x -q --sandbox workspace -- true
	same "$stderr" ''
	fails -- no-such-command
	[[ $stderr != *'the sandbox left'* ]]
	run -3 --separate-stderr clean awf-step -n x -- false
	[[ $stderr != *'the sandbox left'* ]]
	fails --pass-env MY_CREDS --pass-env OTHER -- false
	[[ $stderr != *'the sandbox left'* ]]
	echo 'seq 3 | awf-step x -i lines --sandbox workspace -- false; false' >flow.awf
	run -1 --separate-stderr clean awf-run -n flow.awf
	same "$(grep -c 'the sandbox left' <<<"$stderr")" 1
	# A tool fails every now and then: it is told if it names one.
	echo '{"command":"exit 1"}' >bash
	run -3 --separate-stderr clean awf-step x -i json -t bash <bash
	[[ $stderr != *'the sandbox left'* ]]
	echo '{"command":"echo $OTHER; set -u; echo $MY_CREDS"}' >bash
	run -3 --separate-stderr clean awf-step x -i json -t bash <bash
	[[ $stderr == *'awf-step: bash: the sandbox left 1 variable out of its environment: MY_CREDS (--pass-env MY_CREDS passes it)'* ]]
	# An MCP server that ended, one of the run too, and the command of stop_when.
	hint="the sandbox left 1 variable out of its environment: MY_CREDS (--pass-env MY_CREDS passes it)"
	echo '{"blocks":[{"type":"text","text":"d"}]}' >answer.jsonl
	has() { printf -- '---\nmodel: replay/%s\nsandbox: workspace\n%s\n---\nHi.\n' "$PWD/answer.jsonl" "$1" >asked.md; }
	wanting='command: sh, args: [-c, "echo KeyError: MY_CREDS OTHER >&2; exit 1"], env: {OTHER: x}'
	has "mcp_servers: {db: {$wanting}}"
	run -3 --separate-stderr clean awf-step --try -n -p hi -a ./asked.md x
	[[ $stderr == *"the MCP server 'db': $hint"* ]]
	has "mcp_servers: {db: {keep: run, $wanting}}"
	run -3 --separate-stderr clean awf-run -n -c 'awf-step -n -p hi -a ./asked.md x'
	[[ $stderr == *"the MCP server 'db': $hint"* ]]
	echo '{"blocks":[{"type":"tool_use","id":"c1","name":"bash","input":{"command":"true"}}],"stop_reason":"tool_use"}' >answer.jsonl
	has $'tools: [bash]\nstop_when: {command: [sh, -c, "echo KeyError: MY_CREDS >&2; exit 4"]}'
	run -3 --separate-stderr clean awf-step --try -n -p hi -a ./asked.md x
	[[ $stderr == *"asked: stop_when: $hint"* ]]
	# By hand.
	run -1 --separate-stderr clean "$sandbox" -- false
	same "$stderr" 'awf-sandbox: the sandbox left 2 variables out of its environment: MY_CREDS, OTHER (--pass-env NAME passes one)'
	run -1 --separate-stderr clean "$sandbox" -q -- false
	same "$stderr" ''
}

@test "the start of a run that cannot be read is an error of the sandbox" {
	cat >flow.awf <<'END'
: >"$AWF_STORAGE/runs/$AWF_RUN_ID/start"
"$SANDBOX" -- true
END
	run -77 --separate-stderr env SANDBOX="$sandbox" awf-run -n flow.awf
	[[ $stderr == *'awf-sandbox: '*'/start: is damaged'* ]]
}

@test "keys of tools and of AWF are passed to what names them" {
	export GITHUB_TOKEN=hidden1 MISTRAL_API_KEY=hidden5 OTHER=seen
	has() { grep -oE 'hidden[0-9]|seen$' | sort -u | paste -sd' '; }
	# A tool's own, and those of the step for it.
	tool look '"sandbox":"workspace","env":["MISTRAL_API_KEY","OTHER"]' env
	same "$(echo '{}' | awf-step -i json -t look -r x | has)" 'hidden5 seen'
	same "$(echo '{}' | awf-step -i json -t look -r --pass-env GITHUB_TOKEN x | has)" 'hidden1 hidden5 seen'
	# Keys of AWF are passed as keys.
	export OPENAI_API_KEY=hidden6
	same "$(awf-step -n x -r --sandbox workspace --pass-key OPENAI_API_KEY -- env | has)" 'hidden6'
	same "$(awf-step -n x -r --sandbox workspace --pass-env OPENAI_API_KEY -- env | has)" ''
	# The token of a task is its command's alone.
	awf-step -n x -q --sandbox workspace --pending -- sh -c 'env >task; exit 75' || true
	grep -q ^AWF_TASK_TOKEN= task
}

# bats test_tags=turn:2
@test "what AWF and git take up of the workspace is not changed, unless it is opened" {
	unshare -Urmpnf true 2>/dev/null || skip 'no namespaces'
	mkdir -p .git/hooks skills
	for file in tools/a agents/a skills/a .mcp.json .git/config .git/hooks/a flow.awf; do echo x >"$file"; done
	export AWF_WORKFLOW_FILE=$PWD/flow.awf
	for file in tools/a agents/a skills/a .mcp.json .git/config .git/hooks/a flow.awf; do
		run -2 "$sandbox" -- sh -c 'echo y >"$1"' - "$file"
		run -0 "$sandbox" --open "$file" --open "${file%/a}" --keep other -- sh -c 'echo y >"$1"' - "$file"
		run -0 "$sandbox" -- grep y "$file"
		run -1 "$sandbox" --keep "$file" -- rm "$file"
	done
	for words in 'rm -r tools' 'mv tools new' 'mv .git new' 'rm .mcp.json' 'mv agents/a .mcp.json'; do
		# shellcheck disable=SC2086
		run -1 "$sandbox" -- $words
	done
	"$sandbox" -- sh -c 'echo x >.git/HEAD; echo x >new; mkdir -p sub/tools; echo x >sub/tools/a'
	# A work tree whose repository lies elsewhere.
	mkdir tree
	echo 'gitdir: /nowhere' >tree/.git
	for words in 'rm .git' 'mv .git new' 'cp /etc/passwd .git'; do
		# shellcheck disable=SC2086
		run -1 "$sandbox" -w tree -- $words
	done
	awf-step -n x -q --sandbox workspace --open tools -- sh -c 'echo z >tools/a'
	run -3 awf-step -n x -q --sandbox workspace --open agents -- sh -c 'echo z >tools/a'
}

# The names in awf-provider-cli(7), "Files of a project".
project_files() {
	sed -n '/^\.Ss Files of a project/,/^\.El/s/^\.Pa //p' "$ROOT/man/awf-provider-cli.7" | tr -d ' ' | tr , '\n' | grep . | sort -u
}

@test "what agent CLIs and their runtimes take for settings is not changed, unless it is opened" {
	unshare -Urmpnf true 2>/dev/null || skip 'no namespaces'
	same "$(project_files)" "$(sed -n 's/^\t{ "[^"]*", "\([^"]*\)", RUNS },$/\1/p' "$ROOT/lib/proc/project_files.c" | sort -u)"
	project_files >../names
	[ "$(wc -l <../names)" -gt 40 ]
	# Each is a file; then each is a directory with one.
	while read -r name; do
		mkdir -p "$(dirname "$name")"
		[ -d "$name" ] || echo x >"$name"
	done <../names
	# shellcheck disable=SC2016
	run -0 "$sandbox" -- sh -c 'while read -r name; do
		[ -d "$name" ] && name=$name/new
		echo y 2>/dev/null >"$name" && echo "changed: $name"
		rm -f "$name" 2>/dev/null && echo "removed: $name"
	done; true' <../names
	same "$output" ''
	run -0 "$sandbox" --open .mcp.json --open .claude -- sh -c 'echo y >.mcp.json; rm .claude; mkdir .claude; echo y >.claude/settings.json'
	grep -q y .mcp.json .claude/settings.json
}

# Where a step looks for its agent, tool, servers and skills below this directory, a line for each.
looked_for() {
	command -v strace >/dev/null || skip 'no strace'
	local name
	agent servers 'mcp_servers: [nobody]'
	agent skilled 'skills: [nobody]'
	for name in nobody servers skilled; do
		strace -qf -e trace=%file -o trace awf-step -n --dry-run -p x -a "$name" x || true
		cat trace
	done 2>/dev/null >traced
	strace -qf -e trace=%file -o trace awf-step --dry-run -i json -t nobody x <<<'{}' 2>/dev/null || true
	# What is known by a name alone is none, and of a repository it is asked whether there is one.
	cat traced trace | grep -oE '"[^"]+"' | tr -d '"' | sed "s|^$PWD/||; s|^\./||" |
		grep -vE '^/|^[^/.]*$|^\.git$|^agents/(servers|skilled)' | sort -u
	rm -f trace traced
}

# bats test_tags=turn:3
@test "whatever a step looks for in the workspace is kept there" {
	unshare -Urmpnf true 2>/dev/null || skip 'no namespaces'
	looked_for >../looked
	for name in tools/nobody.tool.json agents/nobody.md skills/nobody/SKILL.md .mcp.json .vscode/mcp.json .claude/agents; do
		grep -qx "$name" ../looked || { echo "not looked for: $name"; false; }
	done
	while read -r path; do
		rm -rf "${path%%/*}"
		mkdir -p "$(dirname "$path")"
		if [[ $path == *agents ]]; then mkdir "$path" && path=$path/a; fi
		echo x >"$path"
		run -2 "$sandbox" -- sh -c 'echo y >"$1"' - "$path"
		run -1 "$sandbox" -- sh -c 'mv "$1" elsewhere 2>/dev/null || rm -r "$1"' - "${path%%/*}"
	done <../looked
}

# Makes a file of stdin in a sandbox.
made_there() { awf-step m -q "${@:2}" --sandbox workspace -- sh -c 'mkdir -p "$(dirname "$1")" && cat >"$1" && chmod +x "$1"' - "$1"; }
# Later, as file systems tell the time, which may lag behind the clock.
later() {
	local now
	now=$(date +%s%N)
	until touch ../tick && [ "$(stat -c %.9Z ../tick | tr -d .)" -gt "$now" ]; do sleep 0.01; done
}
not_taken_up() {
	run -2 --separate-stderr awf-step "${@:2}" <<<'{}'
	[[ $stderr == *"$1: was made by a sandboxed program, where there was nothing (workspace $PWD): it is not taken up unseen. Read it, then touch it; --open lets sandboxed programs make such files" ]]
	same "${#stderr_lines[@]}" 1
}

@test "what a sandboxed program made where AWF would take it up is not, before somebody has seen it" {
	agent x
	mv agents/x.md .
	rm -r tools agents
	made_there agents/x.md <x.md
	not_taken_up agents/x.md ask -a x -p go
	not_taken_up ./agents/x.md ask -a ./agents/x.md -p go
	made_there tools/t.tool.json <<<'{"effects":"none"}'
	not_taken_up tools/t.tool.json x -t t
	made_there .mcp.json <<<'{"mcpServers":{"s":{"command":"true"}}}'
	printf -- '---\nname: s\ndescription: d\n---\nPwned.\n' | made_there .agents/skills/s/SKILL.md
	later
	agent y 'mcp_servers: [s]'
	agent z 'skills: [s]'
	not_taken_up .mcp.json ask -a y -p go
	not_taken_up .agents/skills/s/SKILL.md ask -a z -p go
	# What is said to be open may be made, and is taken up.
	rm -r tools
	made_there tools/t.tool.json --open tools <<<'{"effects":"none"}'
	made_there tools/t --open tools <<<'echo ran'
	rm -r "$AWF_STORAGE/sandboxed/made"
	# But it runs in no sandbox before somebody has seen it.
	run -2 --separate-stderr awf-step -i json -r x -t t <<<'{}'
	[[ $stderr == *'tool t: tools/t (a sandboxed program may have written '*': to touch it says that it was read): runs in no sandbox, '* ]]
	later
	touch tools/t
	run -2 --separate-stderr awf-step -i json -r x -t t <<<'{}'
	[[ $stderr == *'tool t: tools/t (a sandboxed program may have written '*'t.tool.json: to touch it says that it was read): '* ]]
	touch tools/t.tool.json
	same "$(awf-step -i json -r x -t t <<<'{}')" ran
}

@test "of what sandboxed programs made, what was touched is taken up, and what others made" {
	rm -r tools
	"$sandbox" -- true
	made_there tools/a.tool.json <<<'{"effects":"none"}'
	later
	tool b '"effects":"none"' 'echo ran'
	same "$(awf-step -i json -r x -t b <<<'{}')" ran
	tool a '"effects":"none"' 'echo ran'
	made_there other/x <<<x
	same "$(awf-step -i json -r x -t a <<<'{}')" ran
	rm -r tools "$AWF_STORAGE/sandboxed/made"
	# Where nothing was made, nothing is kept.
	made_there other/y <<<y
	[ ! -e "$AWF_STORAGE/sandboxed/made" ]
}

@test "what sandboxed programs made is doubted while they run, and when they were killed" {
	rm -r tools
	awf-step -n x -q -- true
	mkfifo began
	"$sandbox" -- sh -c 'mkdir tools; echo "{}" >tools/a.tool.json; echo >began; exec sleep 60' &
	read -r _ <began
	run -2 --separate-stderr awf-step x -t a <<<'{}'
	same "$stderr" "awf-step: tools/a.tool.json: appeared or changed while a sandboxed program ran that can have written it (workspace $PWD): it is not taken up unseen. Read it, then touch it when that has ended; --open lets sandboxed programs make such files"
	kill -9 $!
	eventually ended
	later
	touch tools/a.tool.json
	run -2 --separate-stderr awf-step x -t a <<<'{}'
	[[ $stderr == *"unable to run 'tools/a'"* ]]
}
ended() { awf-step x -t a <<<'{}' 2>&1 | grep -q 'was made'; }

@test "what is reached by a link that a sandboxed program made, or it changes later, stays in doubt" {
	rm -r tools
	awf-step -n x -q -- true
	mkdir other
	"$sandbox" -- ln -s other tools
	"$sandbox" -- sh -c 'echo "{}" >other/a.tool.json'
	not_taken_up tools/a.tool.json x -t a
	rm tools
	# Without namespaces nothing is kept.
	"$sandbox" --without namespaces -- mv other tools
	not_taken_up tools/a.tool.json x -t a
	later
	touch tools/a.tool.json
	"$sandbox" --without namespaces -- true
	later
	tool a '"effects":"none"' 'echo ran'
	same "$(awf-step -i json -r x -t a <<<'{}')" ran
	"$sandbox" --without namespaces -- sh -c 'echo "{}" >tools/a.tool.json'
	not_taken_up tools/a.tool.json x -t a
}

@test "what a sandboxed program made stays in doubt when the workspace or a directory in it is moved" {
	rm -r tools
	agent x
	mv agents/x.md .
	here=$PWD
	mkdir ../old && cd ../old
	made_there tools/t.tool.json <<<'{"effects":"none"}'
	made_there agents/x.md <"$here/x.md"
	printf -- '---\nname: a\ndescription: d\n---\nPwned.\n' | made_there skills/a/SKILL.md
	refused() { run -2 --separate-stderr awf-step "${@:2}" <<<'{}'; [[ $stderr == *"$1: was made by a sandboxed program"* ]]; }
	mv ../old ../new && cd ../new
	refused tools/t.tool.json x -t t
	refused agents/x.md ask -a x -p go
	mkdir ../own ../old ../own/skills && mv tools ../own && cp -a ../own/tools . && mv skills/a ../own/skills
	# What is made later where it lay says nothing of it.
	cd ../old
	made_there tools/t.tool.json <<<'{}'
	cd ../own
	refused tools/t.tool.json x -t t
	mkdir agents
	agent y 'skills: [a]'
	refused skills/a/SKILL.md ask -a y -p go
	later
	tool t '"effects":"none"' 'echo ran'
	same "$(awf-step -i json -r x -t t <<<'{}')" ran
}

@test "what a sandboxed program made is doubted though its workspace was moved before it was killed" {
	mkdir ../old && cd ../old
	awf-step -n x -q -- true
	mkfifo began
	"$sandbox" -- sh -c 'mkdir tools; echo "{}" >tools/a.tool.json; echo >began; exec sleep 60' &
	read -r _ <began
	mv ../old ../new && cd ../new
	run -2 --separate-stderr awf-step x -t a <<<'{}'
	[[ $stderr == *"while a sandboxed program ran"* ]]
	kill -9 $!
	eventually ended
}

@test "what a sandboxed program made is not taken up by a link of the user's that leads there" {
	rm -r tools agents
	mkdir real
	ln -s real tools
	ln -s dangling agents
	later
	made_there real/a.tool.json <<<'{"effects":"none"}'
	not_taken_up tools/a.tool.json x -t a
	later
	touch real/a.tool.json
	run -2 --separate-stderr awf-step x -t a <<<'{}'
	[[ $stderr == *"unable to run"* ]]
	made_there dangling/x.md <<<x
	not_taken_up agents/x.md ask -a x -p go
	# A link in the middle, given to what was made before.
	ln -s middle skills
	mkdir first && ln -s first middle
	printf -- '---\nname: a\ndescription: d\n---\nPwned.\n' | made_there other/a/SKILL.md
	rm agents
	mkdir agents
	agent y 'skills: [a]'
	later
	"$sandbox" -- ln -sfn other middle
	not_taken_up skills/a/SKILL.md ask -a y -p go
}

@test "a step that is killed has ended what it ran in a sandbox before its files are touched" {
	rm -r tools
	mkfifo began
	awf-step -n x -q --sandbox workspace -- sh -c 'mkdir tools; echo "{}" >tools/a.tool.json; echo >began; exec sleep 60' &
	read -r _ <began
	kill -9 $!
	no_calls() { ! ls "$AWF_STORAGE"/sandboxed/made/*.call >/dev/null 2>&1; }
	eventually no_calls
	later
	touch tools/a.tool.json
	run -2 --separate-stderr awf-step x -t a <<<'{}'
	[[ $stderr == *"unable to run 'tools/a'"* ]]
}

@test "a workflow that runs is not written by its steps" {
	unshare -Urmpnf true 2>/dev/null || skip 'no namespaces'
	printf '%s\n' '#!/bin/sh' 'awf-step -n x --allow-failure -q --sandbox workspace -- sh -c "echo touch pwned >>flow.awf"' : >flow.awf
	chmod +x flow.awf
	awf-run ./flow.awf
	[ ! -e pwned ]
	same "$(wc -l <flow.awf)" 3
}

@test "a script that a shell reads is not written by what it runs, however it was started" {
	unshare -Urmpnf true 2>/dev/null || skip 'no namespaces'
	printf '%s\n' '#!/bin/bash' 'awf-step -n x --allow-failure -q --sandbox workspace $OPEN -- sh -c "echo touch pwned >>flow.sh"' : >flow.sh
	chmod +x flow.sh
	cp flow.sh was
	for how in 'awf-run -- bash flow.sh' 'awf-run -- sh ./flow.sh' 'awf-run -c "bash flow.sh"' 'awf-run -c ". ./flow.sh"' './flow.sh' 'bash ./flow.sh' \
		'(cd / && sh "$OLDPWD/flow.sh")' 'sh -c "sh ./flow.sh; :"'; do
		OPEN= sh -c "$how"
		[ ! -e pwned ] || { echo "$how"; false; }
		cmp flow.sh was
	done
	OPEN='--open flow.sh' ./flow.sh
	[ -e pwned ]
}

@test "directories of PATH, and those in which AWF looks for tools and providers, are not written" {
	unshare -Urmpnf true 2>/dev/null || skip 'no namespaces'
	mkdir bin kit providers
	for variable in PATH=$PWD/bin:$PATH AWF_TOOL_PATH=$PWD/kit AWF_TOOL_PATH=kit AWF_PROVIDER_PATH=$PWD/providers; do
		directory=${variable#*=} && directory=${directory%%:*}
		run -1 env "$variable" "$sandbox" -- sh -c 'echo x >"$1/awf-step" || exit 1' - "$directory"
		run -1 env "$variable" "$sandbox" -- mv "$directory" other
		run -0 env "$variable" "$sandbox" --open "$directory" -- sh -c 'echo x >"$1/awf-step"' - "$directory"
	done
	# What of it is AWF's, and is not there yet, is not taken up unseen.
	rm -r kit
	export AWF_TOOL_PATH=$PWD/kit
	made_there kit/t.tool.json <<<'{"effects":"none"}'
	not_taken_up "$PWD/kit/t.tool.json" x -t t
}

@test "a tool without a sandbox that was overwritten is not run" {
	mkdir kit
	export AWF_TOOL_PATH=$PWD/kit
	echo '{"effects":"none"}' | tee kit/deploy.tool.json >kit/other.tool.json
	printf '#!/bin/sh\necho mine\n' | tee kit/deploy >kit/other
	chmod +x kit/*
	stream tool_use "$(use t1 other '{}')" "$(use t2 bash '{"command":"echo touch pwned | tee -a kit/deploy kit/deploy.tool.json"}')" \
		"$(use t3 deploy '{}')" "$(use t4 other '{}')" >first
	text finished >answer
	model_server --loop --answer-for tool_use_id answer --answer first
	agent scout 'tools: [bash, deploy, other]'
	awf-step --open kit -p go -n -q -a scout ask
	same "$(payloads tool.result '[.name, .error.code, .output]' | grep -v bash)" '["other",null,"mine"]
["deploy","blocked",null]
["other",null,"mine"]'
	payloads tool.result .error.message | grep 'kit/deploy.*was changed since the step began'
	[ ! -e pwned ]
}

# What becomes of the tool deploy, which has no sandbox, when a call of bash before it does this.
deployed_after() {
	stream tool_use "$(use t1 deploy '{}')" "$(use t2 bash "$(jq -cn --arg c "$1" '{command: $c}')")" "$(use t3 deploy '{}')" >first
	text finished >answer
	model_server --loop --answer-for tool_use_id answer --answer first
	agent scout 'tools: [bash, deploy]'
	PATH="$PWD/early:$PWD/bin:$PATH" awf-step --open early --open bin -p go -n -q -a scout ask
	payloads tool.result '[.name, .error.code, .output]' | grep -v bash | paste -sd' '
}

# bats test_tags=turn:2
@test "a tool without a sandbox is not run by a program in PATH that was overwritten or put before it" {
	mkdir bin early
	own() {
		cp "$(command -v sh)" bin/runner
		printf '#!/usr/bin/env -S runner -e\necho mine\n' | tee tools/deploy >bin/helper
		chmod +x tools/deploy bin/helper
		echo '{"effects":"none"'"$1"'}' >tools/deploy.tool.json
	}
	for command in '' ',"command":["helper"]' ',"command":["runner","./deploy"]'; do
		own "$command"
		same "$(deployed_after :)" '["deploy",null,"mine"] ["deploy",null,"mine"]'
		own "$command"
		same "$(deployed_after 'cat bin/runner >new; echo >>new; chmod +x new; mv new bin/runner')" '["deploy",null,"mine"] ["deploy","blocked",null]'
		payloads tool.result .error.message | grep 'bin/runner was changed since the step began'
		own "$command"
		same "$(deployed_after 'cp bin/runner early')" '["deploy",null,"mine"] ["deploy","blocked",null]'
		payloads tool.result .error.message | grep "early/runner is found in .PATH where $PWD/bin/runner was when the step began"
		rm early/runner
	done
	own ',"command":["helper"]'
	same "$(deployed_after 'echo touch pwned >>bin/helper')" '["deploy",null,"mine"] ["deploy","blocked",null]'
	[ ! -e pwned ]
}

@test "a tool without a sandbox is not run when its file holds something else in the same state" {
	mkdir kit
	export AWF_TOOL_PATH=$PWD/kit
	echo '{"effects":"none","command":["sh","./deploy"]}' >kit/deploy.tool.json
	printf 'echo mine\n' >kit/deploy
	mkfifo go gone
	# Another one that has it in memory since before the step.
	"$sandbox" --open kit -- python3 -Sc '
import mmap
file = open("kit/deploy", "r+b")
memory = mmap.mmap(file.fileno(), 0)
memory[0:1] = memory[0:1]
open("gone", "w").close()
open("go").read()
memory[5:9] = b"ours"
open("gone", "w").close()' 3>&- &
	: <gone
	same "$(deployed_after ': >go; : <gone')" '["deploy",null,"mine"] ["deploy","blocked",null]'
	payloads tool.result .error.message | grep 'kit/deploy was changed since the step began'
	wait $!
	same "$(cat kit/deploy)" 'echo ours'
}

@test "a stop command that may run what was written is in the sandbox of the tools" {
	stream tool_use "$(use t1 look '{}')" >answer
	tool look '"effects":"none"' :
	model_server --loop --answer answer
	stops() {
		agent scout "$1
stop_when: {command: \"echo \${AWF_SANDBOX-none} >\$TMPDIR/x; cat \$TMPDIR/x >>seen; exit 0\"}
$2"
		: >seen
		TMPDIR=$PWD awf-step -p go -n -q -a scout ask "${@:3}"
		cat seen
	}
	same "$(stops 'tools: [look, write]' '')" workspace
	same "$(stops 'tools: [look, read]' '')" none
	same "$(stops 'tools: [look, write]' '' --sandbox none)" none
	same "$(stops 'tools: [look, write]' 'sandbox: none')" none
}

@test "the program of before_turn that was overwritten is not run" {
	stream tool_use "$(use t1 bash '{"command":"echo touch pwned >>policy"}')" >first
	text finished >answer
	model_server --loop --answer-for tool_use_id answer --answer first
	for command in ./policy 'sh policy x'; do
		printf '#!/bin/sh\n:\n' >policy
		chmod +x policy
		agent scout "tools: [bash]
before_turn: $command"
		run -3 awf-step -p go -n -q -a scout ask
		[[ $output == *'policy was changed since the step began'* ]]
		[ ! -e pwned ]
	done
}

@test "it replays, in namespaces and in a copy; a step that is resumed with another is the same" {
	awf-run -n -c 'awf-step -n a --sandbox workspace -- sh -c "echo x >made; chmod 600 made; echo 1" | awf-step -r b --sandbox read-only -- cat made'
	awf-verify -q
	awf-verify --determinism --isolation copy
	unshare -Urmpnf true 2>/dev/null && awf-verify --determinism
	printf '%s\n' '#!/bin/sh' 'awf-step -n a $MODE -- sh -c "echo x >>count" || exit' '[ -e go ]' >flow
	chmod +x flow
	MODE='' run -1 awf-run ./flow
	touch go
	MODE='--sandbox workspace' awf-run --resume @
	same "$(cat count)" x
}

@test "a step that is cut off ends what is in its sandbox" {
	run -3 awf-step -n x --timeout 300ms --sandbox workspace -- sh -c 'sleep 287.5 & setsid sleep 287.5'
	same "$(payloads step.completed .error.code)" '"timeout"'
	eventually bash -c '! pgrep -f "sleep 287[.]5"'
	awf-step -n x --sandbox workspace -- sleep 286.5 &
	step=$!
	eventually pgrep -f 'sleep 286[.]5'
	kill -KILL "$step"
	eventually bash -c '! pgrep -f "sleep 286[.]5"'
}

@test "what a sandboxed program made with a second name is never taken for seen" {
	mkdir -p v/sub
	cd v
	awf-step -n --sandbox workspace s1 -q -- sh -c 'mkdir tools
		printf "{\"input_schema\":{\"type\":\"object\"},\"command\":[\"echo\",\"made\"]}" >tools/a.tool.json
		ln tools/a.tool.json sub/x'
	run -2 --separate-stderr awf-step -i json -t a use -r <<<'{}'
	[[ $stderr == *"with another name (a hard link)"* ]]
	(cd sub && awf-step -n --sandbox workspace s2 -q -- rm x)
	touch tools/a.tool.json
	run -2 awf-step -i json -t a use -r <<<'{}'
	cp tools/a.tool.json copy && mv copy tools/a.tool.json
	same "$(awf-step -i json -t a use -r <<<'{}')" made
}

# bats test_tags=turn:2
@test "a system or filter without clone3 or mount_setattr has a whole sandbox all the same" {
	unshare -Urmpnf true 2>/dev/null || skip 'no namespaces'
	mkdir -p "$PWD/agents"
	echo was >agents/a
	for call in clone3 mount_setattr; do
		for reason in ENOSYS EPERM; do
			refuse=(python3 "$BATS_TEST_DIRNAME/../../support/refuse.py" $call $reason)
			same "$("${refuse[@]}" "$sandbox" --check | jq -c '[.ready, .namespaces]')" '[true,true]'
			# What is not to be written is not by Landlock, nor by the mounts alone.
			for without in seccomp landlock; do
				same "$("${refuse[@]}" "$sandbox" --prefer -q --without $without --hide "$PWD/../outside" -- sh -c '
					echo is >agents/a; mv agents/a .; echo x >../outside/new; echo x >/usr/new; echo x >/proc/sys/kernel/hostname
					cat ../outside/secret; echo here >made; cat made agents/a' 2>/dev/null)" $'here\nwas'
			done
		done
	done
	[ ! -e ../outside/new ]
}

@test "without mount_setattr flags of mounts stay: what was not to be executed is not" {
	[ "$(id -u)" = 0 ] && unshare -m true || skip 'no mount namespaces'
	mkdir mounted
	# A file system with flags that a remount must give again, and one below it.
	same "$(unshare -m sh -c '
		mount --make-rprivate / && mount -t tmpfs -o nodev,noexec,noatime none mounted || exit 9
		mkdir mounted/below && mount -t tmpfs -o noexec none mounted/below || exit 9
		cd mounted && mkdir -p w && cd w && exec "$@"' - python3 "$BATS_TEST_DIRNAME/../../support/refuse.py" mount_setattr ENOSYS \
		"$sandbox" -- sh -c 'grep -c " $(realpath ..)[^ ]* ro[^ ]*nosuid[^ ]*noexec" /proc/self/mountinfo; printf "#!/bin/sh\necho ran" >x; chmod +x x; ./x 2>/dev/null; echo $?; touch ../x ../below/x 2>/dev/null || echo closed')" $'2\n126\nclosed'
}

@test "settings of agent CLIs that a sandboxed program makes are told of" {
	mkdir .gemini && echo {} >.gemini/settings.json
	for options in '' '--without namespaces'; do
		rm -rf .claude .env
		# shellcheck disable=SC2086
		run -0 --separate-stderr awf sandbox -q $options -- sh -c 'mkdir .claude skills; echo {} >.claude/settings.json; echo x >x'
		same "$stderr" "awf-sandbox: .claude: was made here: programs that are started here, such as agent CLIs, may run what it says: read it first"
		# What was there before is not told of again.
		# shellcheck disable=SC2086
		run -0 --separate-stderr awf sandbox -q $options -- sh -c 'echo x >.env; echo x >x'
		same "$stderr" "awf-sandbox: .env: was made here: programs that are started here, such as agent CLIs, may run what it says: read it first"
		rmdir skills
	done
}

@test "a terminal that a sandboxed program writes to is as it was when that has ended" {
	cat >spoil.pl <<-'END'
		use POSIX;
		my $t = POSIX::Termios->new;
		$t->getattr(2);
		$t->setlflag($t->getlflag & ~(ECHO | ISIG | ICANON));
		$t->setattr(2, TCSANOW);
		open(S, ">&", \*STDERR);
		my ($size, $number, $none) = (pack("S4", 3, 4, 0, 0), pack("i", 27), 0);
		ioctl(S, 0x5414, $size);                         # TIOCSWINSZ
		my $dumb = ioctl(S, 0x5423, $number) ? "set" : "refused";
		my $own = ioctl(S, 0x540c, $none) ? "set" : "refused";     # TIOCEXCL
		open(F, ">", "spoilt");
		print F "$dumb $own ", ($t->getlflag & ISIG) ? "" : "changed", "\n";
	END
	cat >user.sh <<-'END'
		stty cols 91 rows 33
		stty -a >before
		awf sandbox -q -- perl spoil.pl
		stty -a >after
		echo 'heard: the end'
	END
	script -qec 'sh user.sh' typescript </dev/null >seen
	same "$(cat spoilt)" 'refused refused changed'
	diff before after
	grep -q 'heard: the end' seen
	# Its output is not left stopped, and the flags of a descriptor are the user's, whatever it is.
	cat >spoil.pl <<-'END'
		use POSIX;
		use Fcntl;
		fcntl(STDIN, F_SETFL, O_NONBLOCK) or die;
		fcntl(STDERR, F_SETFL, fcntl(STDERR, F_GETFL, 0) | O_NONBLOCK) or die;
		tcflow(2, TCOOFF) or die;
	END
	cat >user.sh <<-'END'
		{
			grep flags /proc/self/fdinfo/0 /proc/self/fdinfo/2 >before
			awf sandbox -q -- perl spoil.pl
			grep flags /proc/self/fdinfo/0 /proc/self/fdinfo/2 >after
		} <pipe
		echo 'heard: the end'
	END
	mkfifo pipe
	sleep 20 >pipe &
	timeout 10 script -qec 'sh user.sh' typescript </dev/null >seen
	kill $!
	diff before after
	grep -q 'heard: the end' seen
}
