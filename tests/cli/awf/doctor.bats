#!/usr/bin/env bats
# bats file_tags=turn:3
# awf doctor: what is there and what is missing, as those see it who go by it.
# shellcheck shell=bash disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/manual
load ../../support/vendors

prepare() {
	umask 022
	unset AWF_MODEL AWF_PROVIDER AWF_PRICES AWF_REPLAY AWF_TOOL_PATH AWF_PROVIDER_PATH
	unset ANTHROPIC_BASE_URL OPENAI_BASE_URL GEMINI_BASE_URL
	"$BUILD/libexec/awf/awf-sandbox" --read-only --check >/dev/null || skip 'this system lacks what a sandbox takes'
	mkdir -p "$XDG_CONFIG_HOME/awf/endpoints" stubs
	keys=$XDG_CONFIG_HOME/awf/keys
	SECRET=sk-kepttoitself-0123456789
}

# STATUS [ARGUMENT...]: the findings, a line each: group, status, name, message, with tabs.
findings() {
	run "-$1" --separate-stderr awf doctor --json "${@:2}"
	same "$stderr" ''
	found=$(jq -r '[.group, .status, .name, .message] | @tsv' <<<"$output")
}

# One of these lines is there: GROUP STATUS NAME MESSAGE.
has() {
	grep -qxF -- "$(printf '%s\t%s\t%s\t%s' "$@")" <<<"$found" && return
	printf 'not found: %s\n%s\n' "$*" "$found" >&2
	return 1
}

# All that is wrong: GROUP NAME, a line each.
wrong() { cut -f 1-3 <<<"$found" | awk '$2 == "wrong" { print $1, $3 }'; }

# An installation of its own, first in PATH.
copied() {
	mkdir copy
	cp -r "$BUILD/bin" "$BUILD/libexec" copy
	mkdir -p copy/share/awf
	cp "$ROOT/share/prices" copy/share/awf
	PATH=$PWD/copy/bin:$PATH
}

# bats test_tags=turn:2
@test "a new user's machine: nothing is wrong, nothing is made, and all is told" {
	find "$HOME" "$XDG_CONFIG_HOME" . | sort >../before
	findings 0
	find "$HOME" "$XDG_CONFIG_HOME" . | sort | diff ../before -
	[ ! -e "$AWF_STORAGE" ]
	same "$(cut -f 1 <<<"$found" | uniq | paste -sd' ')" \
		'programs providers endpoints sandbox storage prices agents tools skills'
	bin=$(ls "$BUILD/bin" | grep -c .)
	has programs ok awf "$(awf --version | cut -d' ' -f2): $bin programs in $BUILD/bin"
	has programs ok parts "$(ls "$BUILD/libexec/awf" | grep -c '^awf-') in $BUILD/libexec/awf"
	has programs ok PATH 'leads to them'
	has providers ok keys "only those of the environment; lines NAME=VALUE of $keys (mode 600) would count too"
	has providers note AWF_MODEL 'is not set: an agent that names no model takes awf-step -m PROVIDER/MODEL'
	has providers note anthropic 'no API key: set ANTHROPIC_API_KEY'
	has providers ok replay 'needs no key'
	# Each provider that there is, and no other.
	same "$(awk -F'\t' '$1 == "providers" { print $3 }' <<<"$found" | grep -v '^keys$\|^AWF_' | sort)" \
		"$(ls "$BUILD/libexec/awf" | sed -n 's/^awf-provider-//p' | sort)"
	[[ $found == *$'storage\tok\truns\t'"$AWF_STORAGE: the first run makes it, "*' free'* ]]
	has prices ok table "$ROOT/share/prices: $(grep -c '^[^#]' "$ROOT/share/prices") prices, of $(sed -n 's/^# date: //p' "$ROOT/share/prices")"
	has agents note none "in agents, $XDG_CONFIG_HOME/awf/agents, $ROOT/share/agents; awf init makes some"
	has tools ok "$BUILD/libexec/awf" '7: bash, edit, glob, grep, read, run_workflow, write'
	# In words: a line for each, below its group, and one that sums up.
	run -0 --separate-stderr awf doctor
	same "$(grep -c '^  ' <<<"$output")" "$(grep -c . <<<"$found")"
	same "$(grep -v '^  ' <<<"$output" | paste -sd' ')" \
		'programs providers endpoints sandbox storage prices agents tools skills What a workflow needs is there.'
	grep -qx '  note   anthropic         no API key: set ANTHROPIC_API_KEY' <<<"$output"
	run -0 --separate-stderr awf doctor -q
	same "$output$stderr" ''
}

@test "what awf init makes is found, and loads" {
	awf init demo
	cd demo
	findings 0
	has agents ok agents '2: researcher, writer'
	has tools ok tools '1: notes'
}

# bats test_tags=turn:2
@test "a pipe has no escapes; a terminal has colours, unless NO_COLOR is set, and no others' controls" {
	mkdir agents
	printf -- '---\ntimeout: never\n---\n' >agents/$'\e]0;title\ax\ny.md'
	run -3 --separate-stderr awf doctor
	[[ $output == *'  wrong  \x1b]0;title\x07x\ny  agents/'* && $output == *'1 thing is wrong.' ]]
	same "$(awf doctor | tr -d '\n[:print:]')" "$(awf doctor | tr -cd '…')"
	run -3 awf doctor --json
	same "$(jq -r 'select(.status == "wrong").name' <<<"$output")" '\x1b]0;title\x07x\ny'
	script -qec 'awf doctor' /dev/null </dev/null >shown || true
	grep -q $'^  \e\\[31mwrong\e\\[0m  ' shown
	grep -q $'^\e\\[1mproviders\e\\[0m' shown
	run ! grep -q $'\e]' shown
	NO_COLOR=1 script -qec 'awf doctor' /dev/null </dev/null >shown || true
	run ! grep -q $'\e' shown
	grep -q '^  wrong  ' shown
}

@test "--json is an object in each line, of four texts" {
	awf-run -n --name x -c 'awf-step -n a -q -- true'
	run -0 --separate-stderr awf doctor --json
	same "$(jq -c '[keys, (map(type) | unique), (.message | length > 0)]' <<<"$output" | sort -u)" \
		'[["group","message","name","status"],["string"],true]'
	same "$(jq -r .status <<<"$output" | sort -u | paste -sd' ')" 'note ok'
	same "$(grep -c . <<<"$output")" "$(jq -c . <<<"$output" | grep -c .)"
	chmod o+w "$AWF_STORAGE"
	run -3 --separate-stderr awf doctor --json -q
	same "$(jq -c '[.group, .status]' <<<"$output")" '["storage","wrong"]'
}

# bats test_tags=turn:2
@test "keys: where each is from, and no part of one is printed" {
	printf '# mine\nGOOGLE_API_KEY=%s\nOTHER=x%s\n' "$SECRET" "$SECRET" >"$keys"
	chmod 600 "$keys"
	export ANTHROPIC_API_KEY=$SECRET OPENAI_BASE_URL=http://user:$SECRET@127.0.0.1:1/v1
	findings 0
	has providers ok keys "$keys has 2: GOOGLE_API_KEY, OTHER"
	has providers ok anthropic 'ANTHROPIC_API_KEY, from the environment'
	has providers ok google "GOOGLE_API_KEY, from $keys"
	has providers ok openai 'needs no key; the server is that of OPENAI_BASE_URL'
	GOOGLE_API_KEY=$SECRET findings 0
	has providers ok google 'GOOGLE_API_KEY, from the environment'
	mkdir agents
	agent taken "timeout: $SECRET"
	sed -i "s/^model: .*/model: x/" agents/taken.md
	printf 'anthropic/%s 1\n' "$SECRET" >prices
	export AWF_PRICES=$PWD/prices AWF_MODEL=$SECRET/x
	for option in '' --json -q; do
		# shellcheck disable=SC2086
		run -3 awf doctor $option
		[[ $output == *wrong* && $output != *kepttoitself* && $output != *0123456789* ]]
	done
}

# bats test_tags=turn:4
@test "a key that is missing is wrong where a provider is asked, a note elsewhere" {
	mkdir agents
	findings 0
	has providers note anthropic 'no API key: set ANTHROPIC_API_KEY'
	agent scout
	findings 3
	has providers wrong anthropic 'no API key: set ANTHROPIC_API_KEY (for agents/scout.md)'
	has agents ok agents '1: scout'
	same "$(wrong)" 'providers anthropic'
	run -3 awf doctor -q
	same "$output" 'providers
  wrong  anthropic         no API key: set ANTHROPIC_API_KEY (for agents/scout.md)'
	# What is asked in its place.
	AWF_PROVIDER=replay findings 0
	has providers note anthropic 'no API key: set ANTHROPIC_API_KEY'
	has providers note AWF_PROVIDER 'replay, whatever an agent says'
	ANTHROPIC_API_KEY=$SECRET findings 0
	# One that is handed over to asks, too; one that names no provider asks none.
	printf -- '---\nmodel: replay/x\nhandoffs: [scout]\n---\nx\n' >agents/first.md
	echo 'no model' >agents/any.md
	printf -- '---\nmodel: x\n---\n' >agents/half.md
	findings 3
	same "$(wrong)" 'providers anthropic'
	has agents ok agents '4: any, first, half, scout'
	rm agents/*
	AWF_MODEL=google/gemini findings 3
	has providers wrong google 'no API key: set GEMINI_API_KEY (for AWF_MODEL)'
	has providers ok AWF_MODEL google/gemini
	AWF_MODEL=gogle/gemini findings 0
	has providers note AWF_MODEL 'gogle/gemini has no provider that is known: it is for agents that name one'
	AWF_PROVIDER=gogle findings 3
	has providers wrong AWF_PROVIDER "unknown provider 'gogle' (did you mean 'google'?)"
	same "$(wrong)" 'providers AWF_PROVIDER'
}

@test "a keys file that is open to others, or none, is wrong" {
	echo "ANTHROPIC_API_KEY=$SECRET" >"$keys"
	chmod 640 "$keys"
	findings 3
	has providers wrong keys "$keys: holds keys and is open to others; run: chmod 600 $keys"
	has providers note anthropic 'no API key: set ANTHROPIC_API_KEY'
	chmod 600 "$keys"
	findings 0
	echo "$SECRET" >>"$keys"
	findings 3
	has providers wrong keys "$keys:2: is not NAME=VALUE; comments begin with #"
	[[ $found != *kepttoitself* ]]
}

@test "agent CLIs, and providers of others" {
	printf '#!/bin/sh\n: >%s/ran\n' "$PWD" >stubs/claude
	chmod +x stubs/claude
	mkdir mine
	printf '#!/bin/sh\necho "{\\"ready\\":true,\\"key\\":\\"MINE\\"}"\n' >mine/awf-provider-mine
	printf '#!/bin/sh\necho "{\\"ready\\":false,\\"message\\":\\"start it first\\"}"; exit 3\n' >mine/awf-provider-off
	printf '#!/bin/sh\nexec jq -c .\n' >stubs/awf-provider-old
	printf '#!/bin/sh\necho "unknown option" >&2; exit 1\n' >stubs/awf-provider-strict
	chmod +x mine/* stubs/*
	: >stubs/awf-provider-none
	MINE=$SECRET AWF_PROVIDER_PATH=$PWD/mine PATH=$PWD/stubs:$PATH findings 0
	has providers ok claude "$PWD/stubs/claude"
	has providers ok mine "$PWD/mine/awf-provider-mine: MINE, from the environment"
	has providers note off "$PWD/mine/awf-provider-off: start it first"
	has providers note old "$PWD/stubs/awf-provider-old: does not say what it needs (--check)"
	has providers note strict "$PWD/stubs/awf-provider-strict: does not say what it needs (--check)"
	[[ $found != *$'\tnone\t'*awf-provider* ]]
	[ ! -e ran ]
	AWF_MODEL=off/x AWF_PROVIDER_PATH=$PWD/mine findings 3
	has providers wrong off "$PWD/mine/awf-provider-off: start it first (for AWF_MODEL)"
}

@test "a provider that does not answer is not waited for without end" {
	[ "$(rounds few many)" = many ] || skip 'takes ten seconds'
	printf '#!/bin/sh\nexec sleep 60\n' >stubs/awf-provider-slow
	chmod +x stubs/*
	PATH=$PWD/stubs:$PATH findings 0
	has providers note slow "$PWD/stubs/awf-provider-slow: does not say what it needs (--check)"
}

# bats test_tags=turn:4
@test "storage: what would stop a run is wrong; runs are counted, not read" {
	awf-run -n --name one -c 'awf-step -n a -q -- true'
	awf-run -n --name two -c 'awf-step -n a -q -- true'
	echo torn >>"$(transcript)"
	findings 0
	[[ $found == *$'storage\tok\truns\t'"$AWF_STORAGE: 2 runs, "*' free'* ]]
	chmod o+w "$AWF_STORAGE"
	findings 3
	has storage wrong runs "$AWF_STORAGE: the storage may be written by everybody: chmod o-w $AWF_STORAGE"
	chmod o-w "$AWF_STORAGE"
	mkdir open && chmod 777 open
	AWF_STORAGE=$PWD/open/storage findings 3
	has storage wrong runs "$PWD/open/storage: the storage lies in $PWD/open, which may be written by everybody: chmod o-w $PWD/open"
	: >file
	AWF_STORAGE=$PWD/file/storage findings 3
	has storage wrong runs "$PWD/file: not a directory: move it away"
	AWF_SYNC=perhaps findings 3
	[[ $(wrong) == 'storage runs' && $found == *AWF_SYNC* ]]
	mkdir fixed
	if [ "$(id -u)" != 0 ]; then
		chmod 555 fixed
	else
		mount -t tmpfs -o ro none fixed 2>/dev/null || return 0
	fi
	AWF_STORAGE=$PWD/fixed/storage findings 3 || { umount fixed; false; }
	[ "$(id -u)" != 0 ] || umount fixed
	[[ $found == *$'storage\twrong\truns\t'"$PWD/fixed: unable to make the storage in it (AWF_STORAGE names another place): "* ]]
}

# bats test_tags=turn:2
@test "sandbox: of what it is made, here; what the system lacks is wrong" {
	findings 0
	[[ $found == *$'sandbox\tok\ttools\t'*seccomp* && $found != *$'sandbox\tnote\there'* ]]
	cd "$HOME"
	findings 0
	has sandbox note here "$HOME: can be no workspace: a sandbox opens no whole home directory or machine (start in a directory below it, or say --sandbox none)"
	cd - && copied
	mv copy/libexec/awf/awf-sandbox copy/libexec/awf/real
	printf '#!/bin/sh\nexec "${0%%/*}/real" --without landlock,namespaces "$@"\n' >copy/libexec/awf/awf-sandbox
	chmod +x copy/libexec/awf/awf-sandbox
	findings 3
	same "$(wrong)" 'sandbox tools'
	[[ $found == *$'sandbox\twrong\ttools\tthis system lacks Landlock '*'(--sandbox-mode prefer goes on without, '* ]]
	printf '#!/bin/sh\n[ "$1" != --version ] || exec "${0%%/*}/real" --version\n' >copy/libexec/awf/awf-sandbox
	findings 3
	has sandbox wrong tools 'awf-sandbox does not say whether it works'
}

@test "sandbox: without namespaces replays are not isolated, which is a note" {
	unshare -Ur true 2>/dev/null || skip 'no namespaces here'
	limit='echo 0 >/proc/sys/user/max_user_namespaces'
	unshare -Ur sh -c "$limit" 2>/dev/null || skip 'no limit of namespaces here'
	findings 0
	has sandbox ok replays 'namespaces and overlays'
	unshare -Ur sh -c "$limit; exec awf doctor --json" >out || true
	[[ $(jq -r 'select(.group == "sandbox" and .name == "replays") | [.status, .message] | @tsv' out) == \
		$'note\t'*': say awf-replay --isolation copy, or none' ]]
	same "$(jq 'select(.group == "sandbox" and .name == "tools") | .message | contains("namespaces, ")' out)" false
}

# bats test_tags=turn:2
@test "prices: the tables that count; one that does not parse is told with its line" {
	printf 'openai/x 1 2\n' >"$XDG_CONFIG_HOME/awf/prices"
	findings 0
	has prices ok table "$XDG_CONFIG_HOME/awf/prices: 1 price"
	has prices ok table "$ROOT/share/prices: $(grep -c '^[^#]' "$ROOT/share/prices") prices, of $(sed -n 's/^# date: //p' "$ROOT/share/prices")"
	printf '# date: 2026-01-02\nopenai/y 1 2\nopenai/x 1\n' >>"$XDG_CONFIG_HOME/awf/prices"
	findings 3
	has prices wrong table "$XDG_CONFIG_HOME/awf/prices:4: expected PROVIDER/MODEL and two to four prices: input output [cache_read [cache_write]]"
	same "$(wrong)" 'prices table'
	printf '# date: 2026-01-02\nopenai/y 1 2\n' >own
	AWF_PRICES=$PWD/own findings 0
	has prices ok table "$PWD/own: 1 price, of 2026-01-02"
	same "$(grep -c ^prices <<<"$found")" 1
	AWF_PRICES=/nowhere findings 3
	has prices wrong table '/nowhere: unable to open: No such file or directory'
	copied
	rm copy/share/awf/prices "$XDG_CONFIG_HOME/awf/prices"
	findings 0
	has prices note tables 'there is none, so nobody knows what a model costs: see awf-prices(5)'
}

@test "agents: those that load by directory, those that do not with what is wrong" {
	mkdir -p agents "$XDG_CONFIG_HOME/awf/agents" tools
	export ANTHROPIC_API_KEY=$SECRET
	agent good 'tools: [read]'
	agent odd 'temprature: 1'
	agent broken 'timeout: never'
	agent handless 'tools: [nothing]'
	agent skilled 'skills: [nothing]'
	agent served 'mcp_servers: [nothing]'
	echo '{"system": "x", "model": "replay/x"}' >agents/json.json
	: >agents/notes.txt
	echo x >"$XDG_CONFIG_HOME/awf/agents/mine.md"
	findings 3
	has agents ok agents '3: good, json.json, odd'
	has agents ok "$XDG_CONFIG_HOME/awf/agents" '1: mine'
	has agents wrong broken "agents/broken.md:5: timeout: expected a duration such as 30, 500ms or 20m"
	has agents note odd "agents/odd.md:5: warning: 'temprature' means nothing (did you mean 'temperature'?)"
	same "$(wrong | paste -sd,)" 'agents broken,agents handless,agents served,agents skilled'
	[[ $found == *$'agents\twrong\thandless\tagents/handless.md: tools: nothing.tool.json: not found in tools, '* ]]
	# As a step says it.
	for name in broken handless skilled served; do
		run -2 --separate-stderr awf-step -n -p go -a "$name" x
		has agents wrong "$name" "${stderr#awf-step: }"
	done
}

@test "tools and skills likewise; one that another hides is a note" {
	mkdir -p tools "$XDG_CONFIG_HOME/awf/tools" skills/good skills/bad skills/empty .claude/skills/good
	tool count '"effects":"none"' 'wc -w'
	cp tools/count* "$XDG_CONFIG_HOME/awf/tools"
	tool read '"effects":"none"' 'cat'
	echo '{"description":"x"}' >tools/gone.tool.json
	echo '{"description":1}' >tools/typed.tool.json
	printf -- '---\nname: good\ndescription: d\n---\nDo it.\n' | tee .claude/skills/good/SKILL.md >skills/good/SKILL.md
	printf -- '---\nname: other\ndescription: 1\n---\nDo it.\n' >skills/bad/SKILL.md
	findings 3
	has tools ok tools '1: count'
	has tools wrong typed 'tools/typed.tool.json: description: expected a text, got whole number'
	has tools wrong gone "tools/gone.tool.json: unable to run 'tools/gone': No such file or directory"
	has tools note read "tools/read.tool.json is hidden by $BUILD/libexec/awf/read.tool.json"
	has tools note count "$XDG_CONFIG_HOME/awf/tools/count.tool.json is hidden by tools/count.tool.json"
	has skills ok .claude/skills '1: good'
	has skills note good 'skills/good is hidden by .claude/skills/good/SKILL.md'
	has skills wrong bad "skills/bad/SKILL.md:3: description: expected a text, got whole number"
	same "$(wrong | paste -sd,)" 'tools gone,tools typed,skills bad'
	# Where a step is told to look.
	mkdir other
	mv tools/gone.tool.json other
	AWF_TOOL_PATH=$PWD/other findings 3
	has tools wrong gone "$PWD/other/gone.tool.json: unable to run '$PWD/other/gone': No such file or directory"
}

@test "tools of a file of several; programs that would say themselves what they are are not asked" {
	mkdir tools other agents
	for name in greet say impl gone typed; do
		printf '#!/bin/sh\ntouch %s/asked.%s\necho "{}"\n' "$PWD" "$name" >"tools/$name"
	done
	chmod +x tools/{greet,say,impl,typed}
	cp -p tools/say other
	: >tools/notes.txt
	echo '[{"name":"say"},{"function":{"name":"x","command":["./impl"]}},{"name":"x"}]' >tools/tools.json
	echo '[{"name":"gone"}]' >tools/a.tools.json
	echo '[{' >tools/torn.tools.json
	echo '{"tools":[7]}' >tools/empty.tools.json
	echo '{"description":1}' >tools/typed.tool.json
	findings 3
	has tools ok tools '2: say, x'
	has tools note tools 'without a tool file, so that a step asks what they are (--schema): greet'
	has tools wrong gone "tools/a.tools.json: unable to run 'tools/gone': Permission denied (chmod +x?)"
	has tools wrong torn.tools.json 'tools/torn.tools.json:2: no JSON: ends too early'
	has tools wrong empty.tools.json 'tools/empty.tools.json: expected an array of tools that have names, or an object whose "tools" is one'
	same "$(wrong | paste -sd,)" 'tools gone,tools empty.tools.json,tools torn.tools.json,tools typed'
	# One that is found before says itself what it is: it is not asked, either.
	AWF_TOOL_PATH=$PWD/other findings 3
	has tools note say "tools/tools.json is hidden by $PWD/other/say"
	same "$(echo asked.*)" 'asked.*'
	# But by an agent that names it.
	agent one 'tools: [greet]'
	findings 3
	same "$(echo asked.*)" asked.greet
}

# bats test_tags=turn:2
@test "what is shown of runs, and which sandbox is made, as the environment or the config says" {
	findings 0
	[[ $found != *$'\tview\t'* ]]
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo 'view = log' >"$XDG_CONFIG_HOME/awf/config"
	findings 0
	has programs ok view "log ($XDG_CONFIG_HOME/awf/config)"
	AWF_VIEW=off findings 0
	has programs ok view 'off (AWF_VIEW)'
	echo 'view = lgo' >"$XDG_CONFIG_HOME/awf/config"
	findings 3
	has programs wrong view "$XDG_CONFIG_HOME/awf/config: view: 'lgo' is none of live, log, off"
	echo 'sandbox = prefer' >"$XDG_CONFIG_HOME/awf/config"
	findings 0
	has sandbox ok config "prefer ($XDG_CONFIG_HOME/awf/config)"
	echo 'sandbox = no' >"$XDG_CONFIG_HOME/awf/config"
	findings 3
	has sandbox wrong config "$XDG_CONFIG_HOME/awf/config: sandbox: 'no' is none of require, prefer"
	echo 'view = lgo' >"$XDG_CONFIG_HOME/awf/config"
	run -2 --separate-stderr awf-tail @
	same "$stderr" "awf-tail: $XDG_CONFIG_HOME/awf/config: view: 'lgo' is none of live, log, off"
	AWF_VIEW=lgo run -1 --separate-stderr awf-tail @
	same "$stderr" "awf-tail: AWF_VIEW: 'lgo' is none of live, log, off"
}

@test "programs: what is missing, of another version, or of another installation" {
	copied
	findings 0
	has programs ok PATH 'leads to them'
	rm copy/bin/awf-ctl copy/libexec/awf/read.tool.json copy/libexec/awf/awf-tool-grep
	printf '#!/bin/sh\necho awf-verify 0.0.9\n' >copy/bin/awf-verify
	printf '#!/bin/sh\n' >copy/bin/awf-tail
	printf '#!/bin/sh\necho no library >&2; exit 127\n' >copy/libexec/awf/awf-provider-google
	findings 3
	has programs wrong awf-ctl "is not in $PWD/copy/bin: install AWF anew"
	has programs wrong awf-verify "$PWD/copy/bin/awf-verify is 'awf-verify 0.0.9', and not of $(awf --version | cut -d' ' -f2): install AWF anew"
	has programs wrong awf-tail "$PWD/copy/bin/awf-tail is '', and not of $(awf --version | cut -d' ' -f2): install AWF anew"
	has programs wrong awf-provider-google "$PWD/copy/libexec/awf/awf-provider-google cannot be run: no library"
	has programs wrong read.tool.json "is not in $PWD/copy/libexec/awf: install AWF anew"
	[[ $found == *$'programs\twrong\tawf-tool-grep\tis '*': install AWF anew'* ]]
	has programs note PATH "leads to another installation, in $BUILD/bin, for awf-ctl: let $PWD/copy/bin stand before it"
}

@test "programs: PATH that leads nowhere, or elsewhere first" {
	awf=$BUILD/bin/awf
	run -0 env PATH=/usr/bin:/bin "$awf" doctor --json
	same "$(jq -r 'select(.name == "PATH") | .status + " " + .message' <<<"$output")" \
		"note does not lead here: PATH=$BUILD/bin:\$PATH"
	mkdir first
	cp "$BUILD/bin/awf-step" "$BUILD/bin/awf-tail" first
	run -0 env PATH="$PWD/first:$PATH" "$awf" doctor --json
	same "$(jq -r 'select(.name == "PATH") | .status + " " + .message' <<<"$output")" \
		"note leads to another installation, in $PWD/first, for awf-step, awf-tail: let $BUILD/bin stand before it"
}

@test "mistakes, and an output that cannot be written" {
	while IFS='|' read -r words message; do
		# shellcheck disable=SC2086
		run -1 awf doctor $words
		same "$output" "awf: $message"
	done <<-'END'
		here|here: unexpected argument
		--jsn|--jsn: unknown option (did you mean --json?)
		--json=x|--json: takes no argument
	END
	run -0 awf doctor --help
	[[ $output == 'usage: awf doctor [options]'* ]]
	[ ! -e /dev/full ] || run -4 sh -c 'awf doctor >/dev/full'
	# Nobody reads: as other filters end.
	run -141 bash -c 'awf doctor | true; exit "${PIPESTATUS[0]}"'
}

@test "a tool of stop_when alone needs no program" {
	mkdir agents tools
	echo '{"description": "d", "input_schema": {"type": "object"}}' | tee tools/verdict.tool.json >tools/gone.tool.json
	printf -- '---\nmodel: replay/x\nstop_when: {tool: verdict}\n---\nJudge.\n' >agents/judge.md
	run -3 awf doctor -q
	[[ $output == *"wrong  gone "*"tools/gone.tool.json: unable to run 'tools/gone': No such file or directory"* ]]
	[[ $output != *verdict* ]]
	rm tools/gone.tool.json
	run -0 awf doctor -q
	cp -r "$ROOT/examples/." .
	run -0 awf doctor -q
}

# bats test_tags=turn:3
@test "the examples of the page" {
	export OPENAI_API_KEY=$SECRET
	printf '#!/bin/sh\ntr a-z A-Z\n' >digest.awf
	chmod +x digest.awf
	echo all >repositories
	same "$(sh -c "$(example awf.1 'digest.awf')")" ALL
	same "$(sh -c "$(example awf.1 'group ==')" | paste -sd' ')" 'openai openai-responses replay'
	sh -c "$(example awf.1 '!= "ok"')" | grep -q '^providers  *anthropic  *no API key: set ANTHROPIC_API_KEY$'
	mkdir agents
	echo '{' >agents/x.json
	run -3 sh -c "$(example awf.1 'digest.awf')"
	[[ $output == 'agents'*'wrong  x.json '* && $output != *ALL* ]]
}

@test "endpoints: those of this machine, with a key, or the user's; the others are counted" {
	findings 0
	count=$(ls "$ROOT/share/endpoints" | grep -c .)
	local="litellm llamacpp lmstudio ollama sglang vllm"
	same "$(awk -F'\t' '$1 == "endpoints" { print $3 }' <<<"$found" | paste -sd' ')" "$local others"
	has endpoints ok others "$((count - 6)) more come with AWF, see awf-endpoint(5); yours would be in $XDG_CONFIG_HOME/awf/endpoints"
	has endpoints ok ollama 'chat, http://127.0.0.1:11434/v1; no key'
	has endpoints ok vllm 'chat, http://127.0.0.1:8000/v1; without a key (VLLM_API_KEY is not set)'
	printf 'KIMI_API_KEY=%s\n' "$SECRET" >"$keys"
	chmod 600 "$keys"
	export GROQ_API_KEY=$SECRET AZURE_OPENAI_API_KEY=$SECRET
	endpoint mine '{"protocol": "messages", "base_url": "https://me:'"$SECRET"'@h.example/v1?k='"$SECRET"'", "key": {"optional": true}}'
	findings 0
	has endpoints ok groq 'chat, https://api.groq.com/openai/v1; GROQ_API_KEY, from the environment'
	has endpoints ok moonshot 'chat, https://api.moonshot.ai/v1; KIMI_API_KEY, from the keys file'
	has endpoints note azure 'responses, https://{resource}.openai.azure.com/openai/v1; AZURE_OPENAI_API_KEY, from the environment; AZURE_RESOURCE_NAME is not set, which its URL takes'
	has endpoints ok mine 'messages, https://h.example/v1; no key'
	has endpoints ok others "$((count - 10)) more come with AWF, see awf-endpoint(5); yours would be in $XDG_CONFIG_HOME/awf/endpoints"
	[[ $output != *"$SECRET"* ]]
}

@test "endpoints: what of the user's is wrong" {
	endpoint typo '{"protocol": "chat", "base_ulr": "https://h.example"}'
	endpoint no-json '{"protocol":'
	endpoint written '{"protocol": "chat", "base_url": "https://h.example", "key": {"env": "NO_KEY"}}'
	chmod 666 "$XDG_CONFIG_HOME/awf/endpoints/written.json"
	endpoint keyless '{"protocol": "chat", "base_url": "https://h.example", "key": {"env": ["NO_KEY", "NOR_THIS"]}}'
	endpoint command '{"protocol": "chat", "base_url": "https://h.example", "key": {"command": ["no-such-program", "x"]}}'
	endpoint file '{"protocol": "chat", "base_url": "https://h.example", "key": {"file": "'"$PWD"'/key"}}'
	endpoint aws '{"protocol": "messages", "base_url": "https://h.example", "key": {"sigv4": {"region": "r", "service": "s"}}}'
	endpoint tls '{"protocol": "chat", "base_url": "https://h.example", "key": {"optional": true}, "tls": {"cert": "/no/cert", "key": "'"$PWD"'/key"}}'
	echo secret >key
	chmod 644 key
	endpoint header '{"protocol": "chat", "base_url": "https://h.example", "key": {"optional": true}, "headers": {"X-Two": {"env": "NO_KEY"}}}'
	findings 3
	directory=$XDG_CONFIG_HOME/awf/endpoints
	has endpoints wrong typo "$directory/typo.json: unknown key 'base_ulr' (did you mean 'base_url'?)"
	[[ $found == *$'endpoints\twrong\tno-json\t'"$directory/no-json.json:"* ]]
	[[ $found == *$'endpoints\twrong\twritten\t'"$directory/written.json: others may write to it"* ]]
	has endpoints wrong keyless 'chat, https://h.example; no key: set NO_KEY or NOR_THIS'
	has endpoints wrong command 'chat, https://h.example; no-such-program, which prints the key, is not in PATH'
	has endpoints wrong file "chat, https://h.example; others may read the key's file $PWD/key: chmod 600"
	has endpoints wrong aws 'messages, https://h.example; no access key: set AWS_ACCESS_KEY_ID; no access key: set AWS_SECRET_ACCESS_KEY'
	has endpoints wrong tls "chat, https://h.example; no key; /no/cert cannot be read; others may read $PWD/key: chmod 600"
	has endpoints note header 'chat, https://h.example; no key; NO_KEY is not set: no header X-Two'
	chmod 600 key
	printf '#!/bin/sh\ntouch ran\n' >stubs/prints
	chmod +x stubs/prints
	PATH=$PWD/stubs:$PATH
	endpoint command '{"protocol": "chat", "base_url": "https://h.example", "key": {"command": ["prints"]}}'
	findings 3
	has endpoints ok file "chat, https://h.example; the key is in $PWD/key"
	has endpoints ok command "chat, https://h.example; $PWD/stubs/prints prints the key"
	[ ! -e ran ]
}

@test "an endpoint that an agent asks lacks its key" {
	mkdir agents
	printf -- '---\nmodel: groq/x\n---\n' >agents/a.md
	findings 3
	grep -q $'^endpoints\twrong\tgroq\tchat, https://api.groq.com/openai/v1; no key: set GROQ_API_KEY (for ' <<<"$found"
}

@test "--ask: the server is asked for its models, with the key, and nothing else is checked" {
	LOG=$PWD/vendor.log
	chat_text cold | vendor groq /v1
	url=$(cat server.url)
	GROQ_API_KEY=$SECRET run -0 --separate-stderr awf doctor --ask groq
	same "$output" "endpoints
  ok     groq              $url, with the key of GROQ_API_KEY: status 200, a list of models"
	same "$(jq -c '[.method, .path, .headers.authorization]' vendor.log)" "[\"GET\",\"/v1/models\",\"Bearer $SECRET\"]"
	# One that refuses it, and repeats it.
	refusal 401 "{\"error\":{\"message\":\"Incorrect key $SECRET\"}}" >replies
	GROQ_API_KEY=$SECRET run -3 --separate-stderr awf doctor --ask groq --json
	same "$(jq -r .status <<<"$output")" wrong
	[[ $output == *"HTTP 401: Incorrect key *"* && $output != *"$SECRET"* ]]
	# One without a list.
	refusal 404 '{"error":{"message":"no such path"}}' >replies
	GROQ_API_KEY=$SECRET run -0 --separate-stderr awf doctor --ask groq
	[[ $output == *'note   groq '*'status 404: it has no list of models'* ]]
	# Without a key nobody is asked; nor is who is not there, or no server.
	: >vendor.log
	run -3 awf doctor --ask groq
	[[ $output == *'no API key: set GROQ_API_KEY'* ]]
	run -3 awf doctor --ask no-such-endpoint
	run -3 awf doctor --ask replay
	[[ $output == *'is a program, and no endpoint'* ]]
	same "$(cat vendor.log)" ''
	# A signed one, a command that is asked once more, and the paths of other protocols.
	endpoint aws "{\"protocol\":\"messages\",\"base_url\":\"$url/anthropic\",\"key\":{\"sigv4\":{\"region\":\"r\",\"service\":\"s\"}}}"
	echo '{}' >replies
	AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=SECRET awf doctor --ask aws
	same "$(jq -c '[.method, .path, .sigv4]' vendor.log)" '["GET","/anthropic/v1/models",true]'
	endpoint google "{\"base_url\":\"$url\",\"query\":{\"a\":\"b\"}}"
	GEMINI_API_KEY=$SECRET awf doctor --ask google
	same "$(tail -n 1 vendor.log | jq -c '[.path, .headers["x-goog-api-key"]]')" "[\"/v1beta/models?a=b\",\"$SECRET\"]"
}
