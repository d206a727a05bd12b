#!/usr/bin/env bats
# Agent files of other programs, as they are.
# shellcheck shell=bash disable=SC2154,SC2016 # bats sets stderr; the shell of a step reads dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	mkdir agents
	git init -q .
	unset AWF_MODEL
}

# FILE [LINE...]: an agent file with these lines of front matter.
file() {
	local path=$1
	shift
	mkdir -p "$(dirname "$path")"
	{
		echo ---
		printf '%s\n' "$@"
		printf -- '---\nBe brief.\n'
	} >"$path"
}
# AGENT [OPTION...]: what its model would be asked.
asked() { awf-step -a "$1" ask --dry-run "${@:2}" <<<question 2>said; }
tools() { asked "$@" -m replay/none | jq -r '[.tools[]?.name] | sort | join(" ")'; }
model() { asked "$1" "${@:2}" | jq -r .model; }
# The error of an agent.
refused() {
	run -2 --separate-stderr awf-step -a "$1" ask --dry-run -m replay/none <<<question
	printf '%s\n' "${stderr#awf-step: }"
}

# bats test_tags=turn:2
@test "their tools are ours, and what is not here is left out with one warning" {
	while IFS='|' read -r path line expected left_out; do
		file "$path" 'name: x' "$line"
		same "$(tools "$path")" "$expected"
		if [ -n "$left_out" ]; then
			same "$(cat said)" "awf-step: $path:3: warning: left out, as it is not here: $left_out"
		else
			same "$(cat said)" ''
		fi
	done <<-'END'
		.claude/agents/a.md|tools: Read, Write, Edit, Bash, Glob, Grep|bash edit glob grep read write|
		agents/a.md|tools: Read, Grep, WebFetch, WebSearch, Task, TodoWrite|grep read|WebFetch, WebSearch, Task, TodoWrite
		agents/a.md|tools: [MultiEdit, LS, NotebookRead]|edit glob read|
		agents/a.md|tools: Bash(git add:*, git commit:*), Read(*), Bash(:*)|bash read|Bash(git add:*, git commit:*)
		agents/a.md|tools: Read, Bash(npm test)|read|Bash(npm test)
		.claude/agents/a.md|tools: "*"|bash edit glob grep read write|
		.claude/agents/a.md|tools: []||
		.claude/agents/a.md|color: red|bash edit glob grep read write|
		.claude/agents/a.md|disallowedTools: Write, Bash(rm *)|edit glob grep read|
		.claude/agents/a.md|permissionMode: plan|glob grep read|
		.claude/agents/a.md|tools: {Read: true, Bash: false}|read|
		.claude/agents/a.md|tools: Read, mcp__docs__search, some-gateway|read|mcp__docs__search, some-gateway
		.github/agents/a.agent.md|tools: ['search', 'edit/editFiles', 'runCommands', 'web/fetch', 'problems']|bash edit glob grep write|web/fetch, problems
		any.agent.md|tools: [READ, Execute, Agent, todo, github/*]|bash read|Agent, todo, github/*
		any.agent.md|description: x|bash edit glob grep read write|
		.opencode/agent/a.md|tools: {write: false, edit: false, webfetch: false}|bash glob grep read|
		.opencode/agent/a.md|tools: {"*": false, read: true, webfetch: true}|read|webfetch
		.opencode/agent/a.md|permission: {edit: deny, bash: {"*": ask, "git log*": allow}, webfetch: deny}|bash glob grep read|
		.opencode/agent/a.md|permission: {bash: {"*": ask, "git log*": allow, "git log -p*": deny}}|edit glob grep read write|bash (by pattern)
		.opencode/agent/a.md|permission: {edit: {"*": deny, "*.md": allow}}|bash glob grep read|edit (by pattern)
		.opencode/agent/a.md|permission: {"*": deny, bash: {"git *": allow}}||bash (by pattern)
		.opencode/agent/a.md|permission: {edit: deny, "*": allow, write: deny}|bash glob grep read|
		.opencode/agent/a.md|permission: {bash: {"rm *": deny, "*": ask}}|bash edit glob grep read write|
		.opencode/agent/a.md|permission: {bash: {}}|bash edit glob grep read write|
		.opencode/agent/a.md|permission: {bash: sometimes}|edit glob grep read write|
		.opencode/agent/a.md|permission: {"*": deny, read: allow}|read|
		.opencode/agent/a.md|permission: {bash: ask}|bash edit glob grep read write|
		.opencode/agent/a.md|permission: allow|bash edit glob grep read write|
		.opencode/agent/a.md|permission: deny||
		.opencode/agent/a.md|permission: ask|bash edit glob grep read write|
		.opencode/agent/a.md|tools: {write: false}|bash glob grep read|
		.opencode/agent/a.md|tools: {"*": false, patch: true, list: true}|edit glob write|
		.opencode/agent/a.md|tools: {"b*": false}|edit glob grep read write|
		.opencode/agent/a.md|permission: {"b*": deny, "?rep": ask}|edit glob grep read write|
		.opencode/agent/a.md|permission: {bash: allow, "*": deny}||
		.opencode/agent/a.md|permission: {bash: {"*": deny}, "ba*": allow}|bash edit glob grep read write|
		.opencode/agent/a.md|permission: {edit: deny, write: allow}|bash glob grep read|
		.opencode/agent/a.md|permission: {write: ask, list: deny}|bash edit grep read write|
		.gemini/agents/a.md|tools: [read_file, grep_search, run_shell_command, list_directory, replace, google_web_search]|bash edit glob grep read|google_web_search
		agents/a.md|tools: []||
		agents/a.md|description: ours||
		agents/a.md|color: red||
		agents/a.md|steps: 3||
		agents/a.md|model: sonnet|bash edit glob grep read write|
	END
}

@test "a file of ours stays one" {
	file agents/a.md 'provider: anthropic' 'model: sonnet' 'max_turns: 3'
	same "$(asked a | jq -r .model)" sonnet
	same "$(tools a)" ''
	file agents/a.md 'tools: [read, Bash]'
	[[ $(refused a) == *"tools: Bash.tool.json: not found in "* ]]
	file agents/a.md 'max_turn: 3'
	[[ $(refused a) == *"unknown key (did you mean 'max_turns'?)" ]]
}

@test "a tool and a server of the project are theirs too" {
	mkdir tools
	tool count '"effects":"none"' 'cat'
	echo '{"mcpServers": {"docs": {"command": "cat"}}}' >.mcp.json
	file .claude/agents/a.md 'tools: Read, count, mcp__docs__search, mcp__docs' 'model: replay/none'
	run -0 awf-step -a a -m replay/none --dry-run --allow-tools count,read ask <<<question
	same "$(jq -r '[.tools[].name] | sort | join(" ")' <<<"$output")" 'count read'
	file .claude/agents/a.md 'tools: mcp__docs__x, mcp__other__y' 'model: opus'
	run -0 --separate-stderr awf-step -a a -m replay/none --dry-run --allow-tools read ask <<<question
	same "$stderr" 'awf-step: .claude/agents/a.md:2: warning: left out, as it is not here: mcp__other__y'
	file .claude/agents/a.md 'tools: Read, count' 'disallowedTools: count'
	same "$(tools .claude/agents/a.md)" read
	# What one of ours is called forbids it, too; a plan has no more than what says that it only reads.
	tool change '"effects":"workspace"' 'cat'
	tool unsaid '"timeout":5' 'cat'
	while IFS='|' read -r path keys expected left_out; do
		file "$path" "${keys//; /$'\n'}"
		same "$(tools "$path")" "$expected"
		same "$(cat said)" "${left_out:+awf-step: $path:2: warning: left out, as it is not here: $left_out}"
	done <<-'END'
		.claude/agents/a.md|tools: Read, bash, count; disallowedTools: Bash|count read|
		.claude/agents/a.md|tools: Read, Bash, Write; disallowedTools: bash, write|read|
		.claude/agents/a.md|tools: Read, bash, edit, count, change, unsaid; permissionMode: plan|count read|change (in plan mode), unsaid (in plan mode)
		.opencode/agent/a.md|tools: {"*": false, count: true}; permission: {"*": deny}||
		.opencode/agent/a.md|tools: {"*": false, count: true, change: true}; permission: {"c*": ask, change: allow}|change count|
		.opencode/agent/a.md|tools: {count: true, "*": false}||
	END
	# One of the project's is not there beside those that the file has itself.
	for servers in 'mcp-servers: {own: {command: cat}}' 'mcpServers: [{own: {command: cat}}]'; do
		file any.agent.md "$servers" 'tools: [own/*, docs/x]' 'model: replay/none'
		run -0 --separate-stderr awf-step -a any.agent.md --dry-run --allow-tools read ask <<<question
		same "$stderr" 'awf-step: any.agent.md:3: warning: left out, as it is not here: docs/x'
	done
}

@test "models: those that have a version, an alias, or none" {
	while IFS='|' read -r path line expected; do
		file "$path" "$line"
		same "$(model "$path")" "$expected"
	done <<-'END'
		.claude/agents/a.md|model: claude-sonnet-4-5|claude-sonnet-4-5
		.github/agents/a.md|model: "Claude Sonnet 4.5 (copilot)"|claude-sonnet-4-5
		.github/agents/a.md|model: [GPT-4.1, "Claude Sonnet 4"]|gpt-4.1
		.github/agents/a.md|model: Gemini 2.5 Pro|gemini-2.5-pro
		.opencode/agent/a.md|model: anthropic/claude-sonnet-4-20250514|claude-sonnet-4-20250514
		.gemini/agents/a.md|model: gemini-3-flash|gemini-3-flash
	END
	grep -Eo '^(sonnet|opus|haiku) .*' "$ROOT/share/models" >table
	while read -r alias meant; do
		file agents/a.md "model: $alias"
		same "$(model a)" "${meant#*/}"
		same "$(AWF_MODEL=openai/x model a)" x
		same "$(model a -m replay/y)" y
	done <table
	same "$(wc -l <table)" 3
	rm agents/a.md
	for line in 'model: inherit' 'model: github-copilot/gpt-5'; do
		rm -rf .claude .github .gemini
		file .opencode/agent/a.md "$line"
		run -2 --separate-stderr awf-step -a a ask --dry-run <<<question
		[[ $stderr == *'no model: say -m PROVIDER/MODEL'* ]]
		same "$(AWF_MODEL=openai/x model a)" x
	done
	# One that nobody knows stands in the file.
	file .claude/agents/c.md 'model: fast'
	run -2 --separate-stderr awf-step -a c ask --dry-run <<<question
	[[ $stderr == 'awf-step: .claude/agents/c.md: no provider for the model fast: '* ]]
	# Whoever stands in for all providers knows his models himself.
	file agents/b.md 'model: opus'
	same "$(AWF_PROVIDER=replay model b)" opus
}

@test "the user's model, and the user's aliases" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	printf '# mine\n\n model = openai/mine \n' >"$XDG_CONFIG_HOME/awf/config"
	file agents/a.md 'model: inherit'
	same "$(model a)" mine
	same "$(AWF_MODEL=openai/x model a)" x
	# A prompt alone is for it as well.
	alone() { awf-step -n --dry-run -p hi ask | jq -r .model; }
	same "$(alone) $(AWF_MODEL=openai/x alone)" 'mine x'
	echo 'model = quick' >"$XDG_CONFIG_HOME/awf/config"
	echo 'quick   google/gemini-3-flash' >"$XDG_CONFIG_HOME/awf/models"
	same "$(model a)" gemini-3-flash
	same "$(model a -m quick)" gemini-3-flash
	echo 'sonnet anthropic/my-sonnet' >>"$XDG_CONFIG_HOME/awf/models"
	rm "$XDG_CONFIG_HOME/awf/config"
	file agents/a.md 'model: sonnet'
	same "$(model a)" my-sonnet
	while IFS='|' read -r name text message; do
		rm -f "$XDG_CONFIG_HOME/awf/config" "$XDG_CONFIG_HOME/awf/models"
		printf -- "$text" >"$XDG_CONFIG_HOME/awf/$name"
		run -2 --separate-stderr awf-step -a a ask --dry-run <<<question
		same "$stderr" "awf-step: $XDG_CONFIG_HOME/awf/$name:$message"
	done <<-'END'
		config|model = a/b\nmodle = c\n|2: 'modle' is no setting (did you mean 'model'?)
		config|modle = c\n|1: 'modle' is no setting (did you mean 'model'?)
		config|model: a/b\n|1: 'model: a/b' is no setting: expected NAME = VALUE (NAME: model, view, sandbox, project_settings, trust, project_keys, notify, notify_on)
		config|colour = never\n|1: 'colour' is no setting; there are model, view, sandbox, project_settings, trust, project_keys, notify, notify_on
		config|model\n|1: expected model = VALUE
		config|model =\n|1: expected model = VALUE
		models|x y\n|1: expected ALIAS PROVIDER/MODEL
		models|\n# x\nx a/b c\n|3: expected ALIAS PROVIDER/MODEL
	END
}

@test "they are looked for where those programs keep them, ours first" {
	file .opencode/agents/a.md 'description: opencode'
	for directory in .opencode/agent .gemini/agents .github/agents .claude/agents; do
		file "$directory/a.md" "description: $directory"
		asked a -m replay/none -v >/dev/null
	done
	file agents/a.md 'name: ours' 'tools: []'
	same "$(tools a)" ''
	rm agents/a.md
	same "$(tools a)" 'bash edit glob grep read write'
	rm -r .opencode .gemini .github .claude
	file .github/agents/b.agent.md 'description: x' 'tools: [read]'
	same "$(tools b)" read
	file "$HOME/.claude/agents/c.md" 'tools: Grep'
	same "$(tools c)" grep
	mkdir flows
	file flows/.claude/agents/d.md 'tools: Glob'
	same "$(AWF_WORKFLOW_DIR=$PWD/flows tools d)" glob
	[[ $(refused e) == *'not found in agents, .github/agents, '*"$HOME/.claude/agents"* ]]
}

@test "a description with a colon, and what it is not" {
	while IFS= read -r line; do
		file .claude/agents/a.md 'name: a' "description: $line" 'tools: Read'
		same "$(tools .claude/agents/a.md)" read
	done <<-'END'
		Use this agent when: the user asks # for it
		Examples: <example>Context: x\nuser: "y"\n<commentary>z: {a}</commentary></example>
		"Quoted" in part: yes
		[draft] looks: like a list
		'It''s' quoted: in part
	END
	file .claude/agents/a.md 'name: a' 'description: First: line' '  second: line' 'tools: Read'
	same "$(tools .claude/agents/a.md)" read
	# Lines of a dialogue are no keys within an example, but where it is not closed.
	file .claude/agents/a.md 'name: a' 'description: Use when: asked' '' '<example>' 'Context: x' 'user: "y"' \
		'tools: Write' '</example>' '<example>z</example>, <example>' 'user: "y"</example>' '' 'tools: Read'
	same "$(tools .claude/agents/a.md)" read
	file .claude/agents/a.md 'name: a' 'description: Use when: asked <example>' 'tools: Read'
	same "$(tools .claude/agents/a.md)" read
	# A star is a text, what may be an alias is refused.
	file .claude/agents/a.md 'name: a' 'tools: *'
	same "$(tools .claude/agents/a.md)" 'bash edit glob grep read write'
	file .claude/agents/a.md 'name: a' 'tools: *Read'
	[[ $(refused .claude/agents/a.md) == .claude/agents/a.md:3:* ]]
	# The other keys say what they say where every value is YAML.
	file .claude/agents/a.md 'description: Use when: asked' 'tools: Read # alone' 'skills: null' 'maxTurns: 3'
	same "$(asked .claude/agents/a.md -m replay/none -v | jq -c '[.tools[].name]') $(cat said)" '["read"] '
	file .opencode/agent/a.md 'description: Use when: asked' 'disable: true'
	same "$(refused .opencode/agent/a.md)" '.opencode/agent/a.md:3: disable: the agent is switched off'
	file agents/ours.md 'description: Use when: asked' 'max_turns: 3' 'temperature: 0.5' 'name: `ours`'
	same "$(asked ours -m replay/none | jq -c .params)" '{"temperature":0.5}'
	# The first complaint counts, at its line.
	file .claude/agents/a.md 'name: a' 'tools: [Read' 'description: x: y'
	[[ $(refused .claude/agents/a.md) == .claude/agents/a.md:[0-9]*:* ]]
	file agents/ours.md 'name: ours' 'description: Use when: asked' 'tools: [read]'
	same "$(tools ours)" read
}

@test "what else they say: turns, time, skills, servers, keys without meaning" {
	mkdir -p skills/tea
	printf -- '---\nname: tea\ndescription: Makes tea.\n---\nBoil water.\n' >skills/tea/SKILL.md
	file .claude/agents/a.md 'name: a' 'skills: tea, other:thing' 'tools: []' 'color: red' 'hooks: {x: 1}' \
		'maxTurns: 3' 'memory: project'
	run -0 --separate-stderr awf-step -a a ask --dry-run -m replay/none <<<question
	[[ $(jq -r .system <<<"$output") == *'<name>tea</name>'* ]]
	same "$stderr" 'awf-step: .claude/agents/a.md:4: warning: left out, as it is not here: skill other:thing'
	run -0 --separate-stderr awf-step -v -a a ask --dry-run -m replay/none <<<question
	[[ $stderr == *'awf-step: .claude/agents/a.md: a file of Claude Code; keys that mean nothing here: color, hooks, memory'* ]]
	file .gemini/agents/a.md 'kind: remote' 'agent_card_url: https://x'
	same "$(refused .gemini/agents/a.md)" '.gemini/agents/a.md:2: kind: the agent works elsewhere: agents are not reached over A2A'
	file .opencode/agent/a.md 'disable: true'
	same "$(refused .opencode/agent/a.md)" '.opencode/agent/a.md:2: disable: the agent is switched off'
	file .github/agents/a.agent.md 'mcp-servers: {docs: {command: cat}}' 'tools: [read, docs/*]' 'handoffs: [{label: x, agent: y}]'
	run -0 awf-step -a .github/agents/a.agent.md -m replay/none --dry-run --allow-tools read ask <<<question
}

@test "turns of theirs are a limit" {
	export OPENAI_API_KEY=k ANTHROPIC_API_KEY=k
	stream tool_use "$(use t1 glob '{"pattern":"*"}')" >answer
	model_server --loop --answer answer
	for line in 'maxTurns: 2' 'steps: 2' 'max_turns: 2'; do
		case $line in steps*) path=.opencode/agent/a.md ;; *) path=.claude/agents/a.md ;; esac
		rm -rf .claude .opencode
		file "$path" "$line" 'model: anthropic/test'
		: >"$MODEL_SERVER_LOG"
		run awf-step -a "$path" -m anthropic/test ask <<<question
		same "$(sent)" 2
	done
}

@test "awf doctor finds them" {
	file .claude/agents/a.md 'tools: Read, WebFetch' 'model: sonnet'
	file .github/agents/b.agent.md 'tools: [read]'
	run awf doctor --json
	[[ $output == *'.claude/agents'* && $output == *WebFetch* && $output == *'.github/agents'* ]]
}

@test "sandboxed tools do not write them" {
	mkdir .claude/agents -p
	file .claude/agents/a.md 'tools: Write' 'model: anthropic/test'
	export ANTHROPIC_API_KEY=k
	stream tool_use "$(use t1 write '{"path":".claude/agents/a.md","content":"x"}')" >call
	text done >done
	model_server --answer call --answer done
	cp .claude/agents/a.md before
	run -0 --separate-stderr awf-run awf-step -a a ask <<<question
	cmp before .claude/agents/a.md
}
