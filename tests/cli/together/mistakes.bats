#!/usr/bin/env bats
# Mistakes that people make, and what they are told: tests/fixtures/mistakes has a table of
# them, three lines for each: what is typed, the exit status, and what comes of it on stdout and
# stderr, with \n between lines.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers

# What the table types: `agent KEYS`, `tool JSON`, `program SCRIPT`, `servers JSON` and `config FILE TEXT` write a
# definition or a file of the user's, the first four use it.
prepare() {
	unset AWF_MODEL AWF_PROVIDER
	export PATH="$PWD/bin:$BUILD/libexec/awf:$PATH"
	mkdir -p bin agents tools directory "$XDG_CONFIG_HOME/awf"
	printf '#!/bin/sh\nprintf -- "---\\nmodel: replay/answers\\n%%b\\n---\\nYou.\\n" "$1" >agent.md
awf-step -q -n -p Why? -a agent.md a\n' >bin/agent
	printf '#!/bin/sh\nrm -f tools/mine; printf "%%s" "$1" >tools/mine.tool.json\nawf-step -q -n -t mine a\n' >bin/tool
	printf '#!/bin/sh\nrm -f tools/mine*; printf "#!/bin/sh\\n%%s\\n" "$1" >tools/mine; chmod +x tools/mine
awf-step -q -n -t mine a\n' >bin/program
	printf '#!/bin/sh\nprintf "%%s" "$1" >.mcp.json\nagent "mcp_servers: [files]"\n' >bin/servers
	printf '#!/bin/sh\nprintf "%%b\\n" "$2" >"$XDG_CONFIG_HOME/awf/$1" && chmod "${3:-600}" "$XDG_CONFIG_HOME/awf/$1"\n' >bin/config
	chmod +x bin/*
	echo 'You write.' >agents/writer.md
	echo '{"description": "d", "input_schema": {"type": "object"}, "command": ["true"]}' >tools/search.tool.json
	echo 'awf-step -n -q one -- true' >flow.awf
	echo 'plain text' >text.txt
	echo '{"x":1}' >object.json
	# A run that went well, one that failed, one that waits; and what is left of a torn one.
	awf-run -n --id 11111111-1111-4111-8111-111111111111 --name good -c 'awf-step -n -q one -- true'
	awf-run -n --id 11111111-2222-4222-8222-222222222222 --name bad -c 'awf-step -n -q two -- false' 2>/dev/null || true
	awf-run --id 33333333-3333-4333-8333-333333333333 --name waits.awf -c 'echo x | awf-step -q --approve check' 2>/dev/null || true
	{ head -n 1 "$AWF_STORAGE/transcripts/11111111-1111-4111-8111-111111111111.jsonl" && printf torn; } >torn.jsonl
}

# What is typed in each line, made to three.
typed() {
	local line out status
	while IFS= read -r line; do
		status=0
		out=$(sh -c "$line" 2>&1 </dev/null) || status=$?
		find "$XDG_CONFIG_HOME/awf" -type f ! -name trust -delete
		printf '%s\n%s\n%s\n' "$line" "$status" "${out//$'\n'/\\n}"
	done | sed "s|$AWF_STORAGE|STORAGE|g; s|$XDG_CONFIG_HOME|CONFIG|g; s|$HOME|HOME|g; s|$ROOT/share|SHARE|g
		s|$PWD|WORK|g; s|[^ ]*/libexec/awf|LIBEXEC|g; s|byte [0-9]\{3,\}|byte N|g"
}

# A group of the table: what is typed comes to what it says.
group() {
	sed -n "/^# $1\$/,/^\$/p" "$ROOT/tests/fixtures/mistakes/table" | sed '1d; /^$/d' >want
	[ -s want ]
	sed -n '1~3p' want | typed >have
	diff -u want have
}

@test "the groups below are those of the table" {
	same "$(sed -n 's/^# //p' "$ROOT/tests/fixtures/mistakes/table")" \
		"$(sed -n 's/^@test.*{ group "\(.*\)"; }$/\1/p' "$BATS_TEST_FILENAME")"
	awk '!/^#/ && NF { lines++ } END { exit lines % 3 != 0 || lines < 3 * 150 }' "$ROOT/tests/fixtures/mistakes/table"
}

# bats test_tags=turn:2
@test "options" { group "options"; }
@test "what does not go together" { group "what does not go together"; }
# bats test_tags=turn:2
@test "order, words and the shell" { group "order, words and the shell"; }
@test "files, places and permissions" { group "files, places and permissions"; }
# bats test_tags=turn:2
@test "agents, models and keys" { group "agents, models and keys"; }
@test "tools and servers" { group "tools and servers"; }
@test "data" { group "data"; }
@test "runs and records" { group "runs and records"; }
