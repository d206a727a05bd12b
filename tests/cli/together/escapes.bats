#!/usr/bin/env bats
# bats file_tags=turn:2
# What is data reaches no terminal as a control: nothing that a command, a tool or a model
# says sets titles, fills the clipboard, or turns text around.
# shellcheck disable=SC2016 # dollars of inner shells
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

# A title (OSC, C0 and C1), a clipboard, DEL, a bidirectional override, a bell, and what is
# invisible: a zero-width space, a tag, a selector of a variant; in octal, as printf has it.
ATTACK='t\033]0;title\007 \302\2330m \033]52;c;QQ==\033\\ \177 \342\200\256 \302\205 \342\200\213 \363\240\201\201 x\357\270\217 é\r'
# What no terminal gets, as bytes: controls but for LF and tab, U+0080 to U+009F, U+00AD, U+200B to
# U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FE00 to U+FE0F, U+FEFF, U+E0000 to U+E01FF.
HARM='[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f\xad]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xb8[\x80-\x8f]|\xef\xbb\xbf|\xf3\xa0[\x80-\x87]'

# Runs a command on a terminal; what that got is in the file seen.
shown() { script -qec "$1" typescript </dev/null >seen || true; tr -d '\r' <seen >said; }
# The same of awf-run, without what it draws its view with (bold and dim, up and down, erase).
shown_run() {
	shown "$1"
	LC_ALL=C sed -i 's/\x1b\[\([012]m\|3[0-9]m\|[0-9]*A\|B\|K\|J\)//g' said
}
clean() {
	if LC_ALL=C grep -nP "$HARM" said >found; then
		cat -v found
		return 1
	fi
}
# Nothing in it but what a terminal prints, and it has come.
harmless() {
	grep -q 't' said
	clean
	grep -q 'é' said
}

@test "stderr of commands and tools" {
	mkdir tools
	printf '{"description":"x","input_schema":{"type":"object"}}' >tools/talk.tool.json
	printf '#!/bin/sh\nprintf "%s" >&2\nexit 1\n' "${ATTACK//\\/\\\\}" >tools/talk
	printf '#!/bin/sh\nprintf "%s" >&2\n' "${ATTACK//\\/\\\\}" >say
	chmod +x tools/talk say
	shown 'awf-step -n -q a -- ./say'
	harmless
	shown 'awf-step -n -q --sandbox workspace a -- ./say'
	grep -q 'sandbox' said || harmless
	shown 'echo "{}" | awf-step -i json -q -t talk a'
	harmless
	shown_run 'awf-run -n -c "awf-step -n -q --each a -- awf-step -q b -- ./say"'
	harmless
	# Not on a terminal it is as it came; a character may come in two pieces there.
	awf-step -n -q a -- ./say 2>err
	printf "$ATTACK" | cmp - err
	shown 'awf-step -n -q a -- sh -c "printf \"\\303\" >&2; sleep 0.1; printf \"\\251 t\" >&2"'
	harmless
}

@test "data of -r, state lines, descriptions" {
	printf "$ATTACK" >attack
	shown 'awf-step -n -r a -- cat attack'
	harmless
	shown 'awf-step -n a -- cat attack'
	harmless
	shown_run 'awf-run -n -c "awf-step -n -r a -- cat attack"'
	harmless
	awf-step -n -r a -- cat attack | cmp - attack
	mkdir agents
	agent writer
	text 't\u001b]0;title\u0007 \u009b0m \u007f \u202e é\r' >answer
	model_server --answer answer --loop
	shown 'awf-step -n -p x -a writer -r a'
	harmless
	shown 'awf-step -a writer a --dry-run <attack'
	harmless
}

@test "questions to who sits at the terminal" {
	# What was typed before the question is dropped: it is answered until it is taken.
	asked() {
		while echo n && nap 0.2; do :; done 2>/dev/null | timeout 30 script -qec "$1" typescript >seen || true
		tr -d '\r' <seen >said
	}
	printf "$ATTACK" >attack
	asked 'awf-step --approve ok <attack'
	grep -q 'Approve ok:0:0' said
	harmless
	evil=$(printf "$ATTACK")
	mkdir "p$evil"
	cd "p$evil" || return 1
	mkdir agents
	jq -n --arg e "$evil" '{mcpServers: {x: {command: "sh", args: [$e]}}}' >.mcp.json
	printf -- '---\nmodel: replay/x\nmcp_servers: [x]\n---\nhello\n' >agents/a.md
	rm "$XDG_DATA_HOME/awf/trust"
	asked 'awf trust'
	grep -q 'until something of it changes' said
	harmless
}

@test "lines of transcripts, as they are, of projections, of displays" {
	printf "$ATTACK" >attack
	awf-run -n -c 'awf-step -n a -- cat attack | awf-step -q b -- cat'
	for as in interagent agent-event daemon-event langgraph runtime otlp agentloom; do
		shown "awf-tail --as $as"
		clean
	done
	for command in 'awf-tail --json' 'awf-replay --state a' 'awf-replay --canonical' \
		'awf-replay --order causal'; do
		shown "$command"
		harmless
		# It means the same.
		same "$($command | jq -c .)" "$(jq -c . said)"
	done
}

# ---- every program ----

# A directory, a storage, a workflow, an agent, a tool and a run that waits, all with such names.
hostile_place() {
	EVIL=$(printf 'e\033]0;x\007\302\233\177\342\200\256\342\200\213\363\240\201\201\357\270\217')
	export EVIL
	mkdir -p "d$EVIL/agents" "d$EVIL/tools"
	cd "d$EVIL" || return 1
	export AWF_STORAGE="$PWD/s$EVIL"
	printf '%s\n' '#!/usr/bin/env -S awf-run --' 'awf-step --approve "$1"' >"w$EVIL.awf"
	printf -- '---\nmodel: replay/%s\ntools: ["%s"]\n%s: 1\n---\n%s\n' "$EVIL" "$EVIL" "$EVIL" "$EVIL" >"agents/a$EVIL.md"
	jq -n --arg e "$EVIL" '{description: $e, ($e): 1, input_schema: {type: $e}}' >"tools/t$EVIL.tool.json"
	jq -n --arg e "$EVIL" '{mcpServers: {($e): {command: $e, args: [$e]}}}' >.mcp.json
	chmod +x "w$EVIL.awf"
	awf-run -n -c 'awf-step -n a -- sh -c "echo \"\$EVIL\" >&2; exit 3" "$EVIL"' >/dev/null 2>&1 || [ $? = 3 ]
	printf '%s' "$EVIL" | awf-run "w$EVIL.awf" ok >/dev/null 2>&1 || [ $? = 75 ]
	awf-ctl deny --reason "$EVIL" ok 2>/dev/null
	printf '%s' "$EVIL" | awf-run "w$EVIL.awf" ok >/dev/null 2>&1 || [ $? = 75 ]
	printf '%s\n' "$EVIL" "{\"a\":\"$EVIL\",\"$EVIL\":1}" '{' >text
	jq -nc --arg e "$EVIL" '{path: $e, pattern: $e, command: $e, workflow: $e, content: $e, old: $e, new: $e, ($e): $e}' >json
}

# PROGRAM: a shell script that runs it with each of its options, which get such words; not with those
# whose argument is a command for a shell, which says itself that there is none.
hostile_calls() {
	local name=${1##*/} call word option
	local -a calls=("$1")
	case $name in
	awf | awf-ctl)
		for word in $("$1" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do calls+=("$1 $word"); done
		;;
	esac
	echo 'run() { timeout 1 "$@"; }'
	for call in "${calls[@]}"; do
		for word in '"$EVIL"' '"--$EVIL"' '"@$EVIL"' '"./w$EVIL.awf"' '-- "$EVIL" "$EVIL"' ''; do
			case_is_chosen 2 || continue
			printf 'run %s %s <%s\n' "$call" "$word" text "$call" "$word" json
		done
		# shellcheck disable=SC2086 # a word may be two
		{ $call --help=all || $call --help; } 2>/dev/null </dev/null | LC_ALL=C grep -oE '^ +(-., )?--[a-z-]+(\[?=[^ ]*)?( [A-Z|@]+)?' |
			grep -vE -- '--(help|version|command|on-[a-z]+|when|until|via|follow|forever)\b' |
			sed -E 's/.*(--[a-z-]+)(\[?=| )?.*/\1 \2/' | while read -r option word; do
			case_is_chosen 10 || continue
			case ${word:- } in
			' ') printf 'run %s %s "@$EVIL" <text\nrun %s %s @latest <json\n' "$call" "$option" "$call" "$option" ;;
			*) printf 'run %s %s="$EVIL" "$EVIL" <text\n' "$call" "$option" ;;
			esac
		done
	done
}

@test "every program, with hostile words, options, input, files and records" {
	local failed=0
	hostile_place
	for program in "$BUILD"/bin/* "$BUILD"/libexec/awf/awf-*; do
		case_is_chosen 4 || continue
		hostile_calls "$program" >calls
		shown 'sh ./calls'
		# Colours, as AWF has them, aside.
		LC_ALL=C sed -i 's/\x1b\[[0-9;]*m//g' said
		clean || { echo "^ ${program##*/}"; failed=1; }
	done
	[ "$failed" = 0 ]
}

@test "messages go through one function, and its table is that of Unicode" {
	cd "$ROOT"
	# Texts of the program alone; what runs when AWF is built.
	run ! grep -rnE '\b(v?f?printf|fput[cs]|perror|dprintf)\(.*(stderr|STDERR)' cmd lib --include='*.[ch]' \
		--exclude=message.c --exclude=fatal.c --exclude=trust.c --exclude=seccomp_rules.c
	[ -r /usr/share/unicode/DerivedCoreProperties.txt ] || skip "unicode-data is not installed"
	python3 tests/support/unicode-characters.py >"$BATS_TEST_TMPDIR/characters.c"
	same "$(head -n 1 "$BATS_TEST_TMPDIR/characters.c")" "$(head -n 1 lib/base/characters.c)" || skip "another version of Unicode"
	cmp "$BATS_TEST_TMPDIR/characters.c" lib/base/characters.c
}
