#!/usr/bin/env bats
# What definitions of a project run outside of a sandbox, and that nobody but the user allows it.
# shellcheck shell=bash disable=SC2016
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/terminal

# A repository that somebody else has written, and an answer of a model that uses its tools.
prepare() {
	rm "$XDG_DATA_HOME/awf/trust"
	export CANARY="$BATS_TEST_TMPDIR/canary"
	mkdir clone && cd clone || return
	git init -q .
	mkdir agents tools
	printf -- '---\nmodel: replay/%s\nmcp_servers: [lint]\n---\nReview this.\n' "$PWD/answer.jsonl" >agents/reviewer.md
	printf -- '---\nmodel: replay/%s\ntools: [fmt]\n---\nFormat this.\n' "$PWD/answer.jsonl" >agents/formatter.md
	printf '{"mcpServers":{"lint":{"command":"sh","args":["./lint.sh","--stdio"]}}}' >.mcp.json
	printf 'echo ran >>"%s"\n' "$CANARY" | tee lint.sh >tools/fmt
	printf '{"input_schema":{"type":"object"}}' >tools/fmt.tool.json
	chmod +x tools/fmt
	jq -nc '{content:[{type:"text",text:"done"}],stop_reason:"end_turn"}' >answer.jsonl
}
cleanup() { [ -z "${SOCKET-}" ] || terminals_end; }
step() { run "-$1" --separate-stderr awf-step -r "${@:2}" ask <<<hello; }
digest() { grep -o '[0-9a-f]\{64\}' <<<"$stderr" | tail -n 1; }
nothing_ran() { [ ! -e "$CANARY" ]; }

@test "an MCP server of a cloned repository is not started before it is allowed" {
	step 2 -a reviewer
	[[ $stderr == "awf-step: .mcp.json: MCP server lint: sh ./lint.sh --stdio: runs in no sandbox, sends data away or has what is yours, and nobody has allowed that for $PWD: see awf trust, or say --trust "* ]]
	nothing_ran
	# Nor in a run, by an explicit path, or from elsewhere.
	run -2 awf-run -c 'echo x | awf-step -a reviewer ask'
	step 2 -a ./agents/reviewer.md
	cd ..
	step 2 -a clone/agents/formatter.md
	nothing_ran
	[ ! -e "$XDG_DATA_HOME/awf/trust" ]
}

@test "awf trust says where it has looked if it finds nothing, and a step what allows a file elsewhere" {
	rm -r agents tools .mcp.json
	printf -- '---\nmodel: replay/%s\nmcp_servers: {lint: {command: sh, args: [./lint.sh]}}\n---\nReview.\n' "$PWD/answer.jsonl" >reviewer.md
	run -0 awf trust --yes
	same "$output" 'no definition in agents, tools or .mcp.json here, or in the places of other programs, runs anything
outside of a sandbox; of a file elsewhere a step says the --trust that allows it'
	step 2 -a reviewer.md
	[[ $stderr == *', or say --trust '"$(digest)" ]]
	nothing_ran
}

@test "awf trust ends if what it would allow changes while it is shown" {
	cd ..
	mkdir plain && cd plain
	printf '{"mcpServers":{"m":{"command":"cat"}}}' >.mcp.json
	mkdir agents
	printf -- '---\nmodel: replay/x\nmcp_servers: [m]\n---\nhi\n' >agents/x.md
	rc=0
	timeout 20 awf trust --yes >log 2>../err </dev/null || rc=$?
	same "$rc $(cat ../err)" '2 awf trust: .mcp.json: a file that counts for it changed meanwhile, so it is not allowed: call awf trust again, and let nothing write here, such as its own output'
	run ! grep '^allowed' log
	same "$(grep -c ^allow "$XDG_DATA_HOME/awf/trust")" 0
	run -0 awf trust --yes
	same "$(grep -c '^allowed' <<<"$output")" 1
	same "$(awf trust --list | grep -c ^allow)" 1
	# What was allowed before stays so.
	printf -- '---\nmodel: replay/x\nheaders: {x-title: a}\n---\nhi\n' >agents/y.md
	run -2 sh -c 'awf trust --yes >log'
	same "$(awf trust --list | grep -c ^allow)" 1
	run -0 awf trust --yes
	run -0 awf trust --yes
	same "$(grep -c '^allowed' <<<"$output")" 0
}

@test "a tool that runs in no sandbox is not run, and neither is one that would say what it is" {
	step 2 -a formatter
	[[ $stderr == *'tools/fmt.tool.json: tool fmt: tools/fmt: runs in no sandbox'* ]]
	step 2 -t fmt
	# With a sandbox it harms nobody.
	printf '{"input_schema":{"type":"object"},"sandbox":"workspace"}' >tools/fmt.tool.json
	run -0 awf-step --dry-run -a formatter ask <<<hello
	rm tools/fmt.tool.json
	step 2 -a formatter
	[[ $stderr == *'tools/fmt: tool fmt: tools/fmt: runs in no sandbox'* ]]
	run -3 awf doctor -q
	nothing_ran
	# awf trust finds no program that no agent names: its digest alone is told, and does it.
	rm agents/*
	step 2 -t fmt
	[[ $stderr == *" and nobody has allowed that for $PWD: say --trust "* && $stderr != *'awf trust'* ]]
	step 2 --trust "$(digest)" -t fmt
	same "$stderr" 'awf-step: tools/fmt: no fmt.tool.json says what this tool is, and the program does not when it is run with --schema: it prints nothing'
}

@test "awf trust shows what would run, asks once, and asks again when that changes" {
	run -1 --separate-stderr awf trust </dev/null
	[[ $output == *$'MCP server lint: sh ./lint.sh --stdio\n  .mcp.json: '* ]]
	[[ $stderr == *'nobody can be asked'* ]]
	run -0 awf trust --yes
	[[ $output == *"allowed for $PWD" ]]
	same "$(stat -c %a "$XDG_DATA_HOME/awf/trust")" 600
	same "$(awf trust --list | wc -l)" 2
	allowed() { run -0 --separate-stderr awf-step --dry-run -a "$1" ask <<<hello; }
	refused() { run -2 --separate-stderr awf-step --dry-run -a "$1" ask <<<hello; }
	# Prompts, descriptions and models are none of it.
	sed -i 's/Review this/Please review this/' agents/reviewer.md
	printf '{"description":"Formats.","input_schema":{"type":"object"}}' >tools/fmt.tool.json
	allowed formatter
	# A worktree and another name of the directory are of the same repository.
	sed -i 's|^model:.*|model: replay/answer.jsonl|' agents/*.md
	git add -A && git -c user.name=x -c user.email=x@example.org commit -qm x
	git worktree add -q ../tree
	(cd ../tree && allowed formatter)
	# What it runs is exchanged behind its name.
	echo 'echo other' >>tools/fmt
	refused formatter
	git checkout -q tools/fmt
	allowed formatter
	echo 'echo other' >>lint.sh
	run -2 awf-step -r -a reviewer ask <<<hello
	git checkout -q lint.sh
	# So is an argument, a variable, or the server's URL.
	printf '{"mcpServers":{"lint":{"command":"sh","args":["./lint.sh","--stdio"],"env":{"A":"b"}}}}' >.mcp.json
	run -2 awf-step -r -a reviewer ask <<<hello
	run -0 awf trust --revoke .
	refused formatter
	run -1 awf trust --yes --list
	same "$output" 'awf trust: --list: not with --yes'
	run -1 awf trust --revoke .
}

@test "a person is asked on a terminal, and no is an answer" {
	terminals_begin
	prompt ask 120 30
	keys ask "awf trust" Enter
	says ask 'MCP server lint: sh ./lint.sh --stdio'
	says ask "Allow all 2 of these for $PWD, until something of it changes\? \[y/N\]"
	keys ask n Enter
	says ask '^ready>$'
	[ ! -e "$XDG_DATA_HOME/awf/trust" ]
	keys ask "clear; echo again; awf trust </dev/null" Enter
	says ask '^again$'
	says ask 'until something of it changes'
	keys ask y Enter
	says ask "^allowed for $PWD"
	grep -q "^allow .* $PWD$" "$XDG_DATA_HOME/awf/trust"
	nothing_ran
}

@test "a step asks on the terminal itself, shows what would run, and takes nothing but a yes for one" {
	local rounds=0
	terminals_begin
	printf '{"mcpServers":{"lint":{"command":"sh","args":["-c","./lint.sh $A","two words"],"env":{"A":"a b"}}}}' >.mcp.json
	chmod +x lint.sh
	prompt ask 160 40
	for answer in '' n nonsense yess C-d; do
		keys ask "clear; echo round-$((++rounds)); awf-step -n -p go -r -a reviewer ask; echo ended \$?" Enter
		says ask "^round-$rounds$"
		says ask "^awf-step: a definition of this project would run this in no sandbox, or send data to it:"
		says ask "MCP server lint: A='a b' sh -c './lint.sh \\\$A' 'two words'"
		says ask '  with all files of the project'
		says ask "Allow it for $PWD, until something of it changes\? \[y/N\]"
		case $answer in C-d) keys ask C-d ;; *) keys ask "$answer" Enter ;; esac
		says ask '^ended 2$'
		says ask 'was not allowed on the terminal'
		nothing_ran
		[ ! -e "$XDG_DATA_HOME/awf/trust" ]
	done
	keys ask "clear; echo round-$((++rounds)); awf-step -n -p go -r -a reviewer ask; echo ended \$?" Enter
	says ask "^round-$rounds$"
	says ask 'until something of it changes'
	keys ask yes Enter
	says ask '^ended [0-9]*$'
	[ -e "$CANARY" ]
	# It is not asked again, until the file is another.
	keys ask "clear; echo round-$((++rounds)); awf-step -n -p go -r -a reviewer ask; echo ended \$?" Enter
	says ask "^round-$rounds$"
	says ask '^ended 3$'
	echo 'echo other' >>lint.sh
	keys ask "clear; echo round-$((++rounds)); awf-step -n -p go -r -a reviewer ask; echo ended \$?" Enter
	says ask "^round-$rounds$"
	says ask 'until something of it changes'
	keys ask n Enter
	says ask '^ended 2$'
}

@test "steps of one run that want to know the same ask once" {
	terminals_begin
	prompt ask 120 40
	printf 'for i in 1 2 3; do echo "{}" | awf-step -i json -q -t fmt step$i & done; wait\n' >flow.awf
	keys ask "awf-run --no-view -n ./flow.awf; echo ended \$?" Enter
	says ask 'until something of it changes'
	keys ask y Enter
	says ask '^ended 0$'
	same "$(screen ask | grep -c 'until something of it changes')" 1
	same "$(wc -l <"$CANARY")" 3
	same "$(grep -c '^allow ' "$XDG_DATA_HOME/awf/trust")" 1
}

@test "where nobody can be asked, a step is refused with the line that allows it" {
	terminals_begin
	# No terminal of its own, as in cron; and stderr is none.
	step 2 -a reviewer
	[[ $stderr == *'see awf trust, or say --trust '* ]]
	run -2 --separate-stderr setsid awf-step -r -a reviewer ask <<<hello
	[[ $stderr == *'see awf trust, or say --trust '* ]]
	prompt ask 160 40
	keys ask "awf-step -n -p go -r -a reviewer ask 2>said; echo ended \$?" Enter
	says ask '^ended 2$'
	grep -q 'see awf trust, or say --trust ' said
	# In the background.
	keys ask "clear; awf-step -n -p go -r -a reviewer ask & wait \$!; echo ended \$?" Enter
	says ask '^ended 2$'
	says ask 'see awf trust'
	nothing_ran
}

@test "control and invisible characters are shown in what a person allows" {
	printf '{"mcpServers":{"lint":{"command":"sh","args":["\\u001b[2Kharmless\\u202e"]}}}' >.mcp.json
	run -1 --separate-stderr awf trust </dev/null
	same "$(LC_ALL=C grep -c $'[\x1b]' <<<"$output$stderr")" 0
	[[ $output$stderr != *$'\u202e'* ]]
}

@test "blanks that look like others, and many spaces, are shown as what they are" {
	jq -nc '{mcpServers: {"lint": {command: "sh", args: ["./a\u00a0b", "-c", "true" + 400 * " " + "; rm x",
		"x\u2003", "a\nb\t", " ", "", "a b"], cwd: "./in there"}}}' >.mcp.json
	run -1 --separate-stderr awf trust </dev/null
	grep -qxF "MCP server lint: (in '././in there') sh \$'./a\\u00a0b' -c 'true'<400 spaces>'; rm x' \$'x\\u2003' \$'a\\nb\\t' ' ' '' 'a b'" <<<"$output"
	jq -nc '{mcpServers: {"lint": {url: "https://example.org/\u2003x", headers: {X: "a) (b"}}}}' >.mcp.json
	step 2 -a reviewer
	[[ $stderr == *"MCP server lint: \$'https://example.org/\\u2003x' (X: 'a) (b'): runs in no sandbox"* ]]
	# Neither is a host what it looks like, nor what stands first in a URL.
	jq -nc '{mcpServers: {"lint": {url: "https://g\u0456thub.com/x"}}}' >.mcp.json
	step 2 -a reviewer
	[[ $stderr == *"MCP server lint: \$'https://g\\u0456thub.com/x': runs in no sandbox"* ]]
	jq -nc '{mcpServers: {"lint": {url: "https://github.com\\@other.example:8/x@y"}}}' >.mcp.json
	step 2 -a reviewer
	[[ $stderr == *"MCP server lint: 'https://github.com\\@other.example:8/x@y' (connects to other.example:8): runs in no sandbox"* ]]
	printf -- '---\nmodel: replay/x\nbefore_turn: echo a  b\n---\nHi.\n' >"agents/re$(printf '%200s' '')viewer.md"
	step 2 -a "./agents/re$(printf '%200s' '')viewer.md"
	[[ $stderr == *"before_turn of the agent 're'<200 spaces>'viewer': /bin/sh -c 'echo a  b': runs in no sandbox"* ]]
	nothing_ran
}

@test "of a very long command line the question shows both ends, says how much it leaves out, and shows it all when asked" {
	terminals_begin
	prompt ask 120 40
	jq -nc '{mcpServers: {lint: {command: "sh", args: ["-c", "true begins " + 20000 * "e" + " ends; rm x"]}}}' >.mcp.json
	keys ask "awf-step -n -p go -r -a reviewer ask; echo ended \$?" Enter
	says ask "Allow it for $PWD, until something of it changes\? \[y/N/s\]"
	screen ask -J >shown
	grep -q "MCP server lint: sh -c 'true begins ee*" shown
	grep -qE "e … 19148 characters are left out … e+ ends; rm x'$" shown
	grep -q '^Characters are left out above: answer s to see the whole\.$' shown
	nothing_ran
	keys ask s Enter
	says ask "Allow it for $PWD, until something of it changes\? \[y/N\]"
	screen ask -J -S - >shown
	same "$(grep -F begins shown | tail -n 1 | tr -cd e | wc -c)" 20005
	nothing_ran
	keys ask s Enter
	says ask '^ended 2$'
	[ ! -e "$XDG_DATA_HOME/awf/trust" ]
	# Where nobody is asked it is all there, but in a line of an error.
	awf trust </dev/null >whole 2>&1 || true
	same "$(grep -F begins whole | tr -cd e | wc -c)" 20005
	step 2 -a reviewer
	[[ $stderr == *"MCP server lint: sh -c 'true begins e"*" characters are left out … "*"ends; rm x': runs in no sandbox, "*"say --trust "* ]]
	nothing_ran
}

@test "another repository is not taken for one that is allowed" {
	awf trust --yes >trusted
	mkdir ../other && cp -r agents tools .mcp.json lint.sh answer.jsonl ../other
	cd ../other
	step 2 -a reviewer
	# A file in place of .git does not make a worktree of it.
	mkdir -p forged/worktrees/other
	echo "gitdir: $PWD/../clone/.git/worktrees/other" >.git
	step 2 -a reviewer
	mkdir -p ../elsewhere/worktrees/other
	printf '%s\n' "$PWD/.git" >../elsewhere/worktrees/other/gitdir
	printf '%s\n' "$PWD/../clone/.git" >../elsewhere/worktrees/other/commondir
	echo "gitdir: $PWD/../elsewhere/worktrees/other" >.git
	step 2 -a reviewer
	# Links do not lead there either.
	rm .git
	ln -sfn "$PWD/../clone/agents" agents
	ln -sf ../clone/lint.sh lint.sh
	step 2 -a reviewer
	nothing_ran
}

@test "a job of CI names digests: by an option, the environment or the config" {
	step 2 -a formatter
	d=$(digest)
	run -0 awf-step --dry-run --trust "$d" -a formatter ask <<<hello
	run -0 env AWF_TRUST="$d" awf-step --dry-run -a formatter ask <<<hello
	run -0 awf-run --trust "$d" -c 'echo x | awf-step --dry-run -a formatter ask'
	grep -q "$d" <<<"$(awf trust --digests)"
	run -0 awf-step --dry-run --trust "$(awf trust --digests)" -a formatter ask <<<hello
	echo "trust = $d" >"$XDG_CONFIG_HOME/awf/config"
	run -0 awf-step --dry-run -a formatter ask <<<hello
	echo 'echo other' >>tools/fmt
	step 2 -a formatter
	run -1 --separate-stderr awf-step --trust nonsense -a formatter ask <<<hello
	[[ $stderr == "awf-step: --trust: 'nonsense' is not a digest: awf trust --digests prints those of this project" ]]
	nothing_ran
}

@test "of a directory that only the user edits nothing is asked, others' directories are refused" {
	run -0 awf trust --edits .
	run -0 awf-step --dry-run -a formatter ask <<<hello
	echo 'echo other' >>tools/fmt
	run -0 awf-step --dry-run -a formatter ask <<<hello
	chmod o+w .
	step 2 -a formatter
	chmod o-w .
	mkdir ../open && chmod 777 ../open
	run -1 --separate-stderr awf trust --edits ../open
	[[ $stderr == *'is not yours alone to write'* ]]
	mkdir ../open/below
	run -1 awf trust --edits ../open/below
	run -1 awf trust --edits nowhere
	run -0 awf trust --revoke .
	step 2 -a formatter
}

@test "a key goes to a project's definition only if the user's config names it" {
	export OPENAI_API_KEY=secret-openai-key
	(umask 077 && echo OTHER_KEY=secret-other-key >"$XDG_CONFIG_HOME/awf/keys")
	for key in OPENAI_API_KEY OTHER_KEY; do
		printf '{"mcpServers":{"lint":{"command":"sh","args":["./lint.sh"],"env":{"A":"${%s}"}}}}' "$key" >.mcp.json
		awf trust --yes >../shown
		step 3 -a reviewer
		[[ $stderr == *"$key is a key or holds a secret, which a definition of a project gets only if ~/.config/awf/config says project_keys = $key"* ]]
		nothing_ran
	done
	printf '{"input_schema":{"type":"object"},"env":["OTHER_KEY"]}' >tools/fmt.tool.json
	step 2 -t fmt
	[[ $stderr == *'OTHER_KEY is a key or holds a secret'* ]]
	echo 'project_keys = OTHER_KEY,OPENAI_API_KEY' >"$XDG_CONFIG_HOME/awf/config"
	awf trust --yes >../shown
	awf-step -i json -r -t fmt ask <<<'{}'
	[ -e "$CANARY" ]
}

@test "what the user and the system define is run as before" {
	mkdir -p "$XDG_CONFIG_HOME/awf/agents" "$XDG_CONFIG_HOME/awf/tools"
	mv tools/fmt tools/fmt.tool.json "$XDG_CONFIG_HOME/awf/tools"
	mv agents/formatter.md "$XDG_CONFIG_HOME/awf/agents"
	run -0 awf-step --dry-run -a formatter ask <<<hello
	# A project's in its place is the project's.
	cp "$XDG_CONFIG_HOME"/awf/tools/* tools
	step 2 -a formatter
	cd ..
	awf init made >said
	(cd made && ./brief.awf >/dev/null)
	mkdir there && (cd there && awf init . >said && ./brief.awf >/dev/null)
	awf trust --list | grep -q "^edits $PWD/made$"
}

@test "an agent that takes its tools out of their sandbox, and the commands of its file, are asked about" {
	printf -- '---\nmodel: replay/%s\ntools: [bash]\nsandbox: none\n---\nHi.\n' "$PWD/answer.jsonl" >agents/open.md
	step 2 -a open
	[[ $stderr == *'agents/open.md: whatever the model of the agent open asks of bash, in no sandbox: '* ]]
	run -0 awf-step --dry-run --sandbox workspace -a open ask <<<hello
	printf -- '---\nmodel: replay/%s\nbefore_turn: touch canary\n---\nHi.\n' "$PWD/answer.jsonl" >agents/hook.md
	step 2 -a hook
	[[ $stderr == *'agents/hook.md: before_turn of the agent hook: '*"'touch canary': runs in no sandbox"* ]]
	printf -- '---\nmodel: claude/sonnet\n---\nHi.\n' >agents/cli.md
	step 2 -a cli
	[[ $stderr == *'agents/cli.md: whatever the model of the agent cli asks of claude, in no sandbox: '* ]]
}

@test "a file of what is allowed that others may write is refused" {
	awf trust --yes >../shown
	chmod 666 "$XDG_DATA_HOME/awf/trust"
	step 4 -a formatter
	nothing_ran
}
