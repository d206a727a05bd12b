#!/usr/bin/env bats
# Skills and AGENTS.md files in the system prompts of agents.
# shellcheck shell=bash disable=SC2154,SC2016 # bats sets stderr; the shell of a step reads dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	# A leak sanitizer traces its process, which a sandbox does not allow.
	export ASAN_OPTIONS=detect_leaks=0
	mkdir agents tools
	git init -q . # the root of a repository: what lies above is nobody's
}

# DIRECTORY/NAME [BODY [DESCRIPTION]]
skill() {
	mkdir -p "$1"
	printf -- '---\nname: %s\ndescription: %s\nlicense: MIT\nallowed-tools: Read\nmetadata: {version: "1"}\n---\n\n%s\n\n' \
		"${1##*/}" "${3-For ${1##*/}.}" "${2-Do it as ${1##*/} does.}" >"$1/SKILL.md"
}
# AGENT [OPTION...]: the system prompt that its model gets.
system() { awf-step -a "$1" ask --dry-run "${@:2}" <<<question | jq -r .system; }
# AGENT: the error of it.
refused() {
	run -2 --separate-stderr awf-step -a "$1" ask --dry-run <<<question
	printf '%s\n' "${stderr#awf-step: }"
}

@test "all of a skill is in the prompt of an agent that cannot read files" {
	skill skills/pdf
	skill skills/tea-making 'Boil water.' 'Makes tea.'
	agent helper 'skills: [tea-making, pdf]'
	same "$(system helper)" 'Be brief.

Skills are instructions for certain kinds of work. Follow those that are for the work at hand. Paths in them are taken from their directories.

<available_skills>
<skill>
<name>tea-making</name>
<description>Makes tea.</description>
<directory>skills/tea-making</directory>
<instructions>
Boil water.
</instructions>
</skill>
<skill>
<name>pdf</name>
<description>For pdf.</description>
<directory>skills/pdf</directory>
<instructions>
Do it as pdf does.
</instructions>
</skill>
</available_skills>'
	# The same with CRLF, in a JSON file, in a text with commas.
	sed -i 's/$/\r/' skills/pdf/SKILL.md
	system helper >crlf
	echo '{"provider":"anthropic","model":"test","system":"Be brief.","skills":"tea-making, pdf"}' >agents/other.json
	system other.json >json
	cmp crlf json
	run -1 grep -q $'\r' crlf
}

@test "an agent that reads files is told where a skill lies" {
	skill .agents/skills/pdf
	agent helper 'tools: [read, glob]
skills: pdf'
	same "$(system helper)" 'Be brief.

Skills are instructions for certain kinds of work. When your work is of such a kind, first read the file of the skill with the tool `read`, and follow it. Paths in it are taken from the directory of that file.

<available_skills>
<skill>
<name>pdf</name>
<description>For pdf.</description>
<location>.agents/skills/pdf/SKILL.md</location>
</skill>
</available_skills>'
	# Not if the step or the run takes the tool away, or a phase is without.
	system helper --allow-tools glob | grep -q 'Do it as pdf does'
	awf-run --allow-tools glob -c 'awf-step -a helper ask --dry-run' <<<x | jq -r .system | grep -q 'Do it as pdf does'
	agent phased 'tools: [read]
skills: pdf
phases:
  - {name: look, instructions: Look., tools: [read, glob]}
  - {name: tell, instructions: Tell.}'
	system phased | grep -q '<location>.agents/skills/pdf/SKILL.md</location>'
	sed -i 's/instructions: Tell./instructions: Tell., tools: [glob]/' agents/phased.md
	system phased | grep -q 'Do it as pdf does'
	# An agent of nothing but skills.
	printf -- '---\nprovider: anthropic\nmodel: test\nskills: pdf\n---\n' >agents/bare.md
	[[ $(system bare) == 'Skills are instructions'* ]]
}

@test "the nearest skill of a name is taken" {
	agent helper 'skills: pdf'
	where() { system helper | sed -n 's|^<directory>\(.*\)</directory>|\1|p'; }
	skill "$HOME/.claude/skills/pdf"
	same "$(where)" "$HOME/.claude/skills/pdf"
	skill "$HOME/.agents/skills/pdf"
	same "$(where)" "$HOME/.agents/skills/pdf"
	skill "$XDG_CONFIG_HOME/awf/skills/pdf"
	same "$(where)" "$XDG_CONFIG_HOME/awf/skills/pdf"
	mkdir flows
	skill flows/skills/pdf
	same "$(where)" "$XDG_CONFIG_HOME/awf/skills/pdf"
	same "$(AWF_WORKFLOW_DIR=$PWD/flows where)" flows/skills/pdf
	for directory in skills .claude/skills .agents/skills .awf/skills; do
		skill "$directory/pdf"
		same "$(AWF_WORKFLOW_DIR=$PWD/flows where)" "$directory/pdf"
	done
}

@test "a skill with another name than its directory, with none, and with a colon in its description" {
	skill skills/pdf
	agent helper 'skills: pdf'
	sed -i 's/^name: pdf/name: PDF Forms/; s/^description: .*/description: Use when: a form is there # or not/' skills/pdf/SKILL.md
	[[ $(system helper) == *'<name>PDF Forms</name>
<description>Use when: a form is there # or not</description>'* ]]
	sed -i '/^name:/d' skills/pdf/SKILL.md
	[[ $(system helper) == *'<name>pdf</name>'* ]]
}

@test "skills that are missing, empty or not as they should be" {
	agent helper 'skills: pdf'
	same "$(refused helper)" "agents/helper.md:5: skills: pdf/SKILL.md: not found in .awf/skills, .agents/skills, .claude/skills, skills, $XDG_CONFIG_HOME/awf/skills, $HOME/.agents/skills, $HOME/.claude/skills, $ROOT/share/skills"
	mkdir -p skills/pdf skills/pfd
	[[ $(refused helper) == *"skills: pdf/SKILL.md: not found in "*"(did you mean 'pfd'?)" ]]
	while IFS='|' read -r text message; do
		printf -- "$text" >skills/pdf/SKILL.md
		same "$(refused helper)" "$message"
	done <<-'END'
		|skills/pdf/SKILL.md: the skill has no description in its front matter
		Do it.\n|skills/pdf/SKILL.md: the skill has no description in its front matter
		---\nname: pdf\n---\nDo it.\n|skills/pdf/SKILL.md: the skill has no description in its front matter
		---\nname: pdf\ndescription: ""\n---\nDo it.\n|skills/pdf/SKILL.md:3: description: must not be empty or hold NUL
		---\nname: 7\ndescription: D\n---\nDo it.\n|skills/pdf/SKILL.md:2: name: expected a text, got whole number
		---\nname: pdf\ndescription: D\n---\n \n|skills/pdf/SKILL.md: the skill has no instructions after its front matter
		---\nname: pdf\ndescription: D\nDo it.\n|skills/pdf/SKILL.md: the front matter has no closing '---'
		---\n- pdf\n---\nDo it.\n|skills/pdf/SKILL.md:2: the front matter has no keys: a line of it is KEY: VALUE, such as 'model: sonnet'
		---\nname: pdf\ndescription: \xff\n---\nDo it.\n|skills/pdf/SKILL.md: not UTF-8, or holds NUL
	END
	printf -- '---\nname: [\n---\nDo it.\n' >skills/pdf/SKILL.md
	[[ $(refused helper) == skills/pdf/SKILL.md:* ]]
	for name in Pdf pdf_x -pdf pdf- a--b ../pdf "$(printf 'a%.0s' $(seq 65))"; do
		agent helper "skills: [\"$name\"]"
		same "$(refused helper)" "agents/helper.md:5: skills: '$name' is no skill's name (1 to 64 of a-z 0-9 and single hyphens between them)"
	done
	agent helper 'skills: [pdf, pdf]'
	same "$(refused helper)" "agents/helper.md:5: skills: 'pdf' is there twice"
	agent helper 'skills: 7'
	same "$(refused helper)" "agents/helper.md:5: skills: expected a list of names, got whole number"
}

@test "AGENTS.md: from everywhere, the nearest last, before the skills" {
	mkdir -p deep/er "$XDG_CONFIG_HOME/awf"
	echo 'of the user' >"$XDG_CONFIG_HOME/awf/AGENTS.md"
	printf '\n# Project\n\nof the project\n\n' >AGENTS.md
	echo 'of nobody here' >../AGENTS.md
	echo 'of the part' >deep/er/AGENTS.md
	skill deep/er/skills/pdf
	mkdir deep/er/agents
	agent helper 'agents_md: true
skills: pdf'
	mv agents deep/er
	cd deep/er
	same "$(system helper | sed '/^Skills are/,$d')" "Be brief.

<instructions from=\"$XDG_CONFIG_HOME/awf/AGENTS.md\">
of the user
</instructions>

<instructions from=\"../../AGENTS.md\">
# Project

of the project
</instructions>

<instructions from=\"AGENTS.md\">
of the part
</instructions>"
	[[ $(system helper) == *'</available_skills>' ]]
	# Nothing sneaks in unasked.
	sed -i 's/agents_md: true/agents_md: false/' agents/helper.md
	run -1 grep -q 'of the' <<<"$(system helper)"
}

@test "AGENTS.md: none, or an empty one" {
	agent helper 'agents_md: true'
	same "$(refused helper)" "agents/helper.md:5: agents_md: there is no AGENTS.md in $ROOT/share, $XDG_CONFIG_HOME/awf, $PWD"
	printf ' \n' >AGENTS.md
	same "$(refused helper)" "AGENTS.md: is empty"
	printf '\xff' >AGENTS.md
	same "$(refused helper)" "AGENTS.md: not UTF-8, or holds NUL"
	agent helper 'agents_md: AGENTS.md'
	same "$(refused helper)" "agents/helper.md:5: agents_md: expected true or false, got text"
	# Outside of a repository it is looked for up to the root.
	rm -r .git AGENTS.md
	echo 'above' >../AGENTS.md
	agent helper 'agents_md: true'
	[[ $(system helper) == *'<instructions from="../AGENTS.md">'* ]]
}

@test "a changed skill is a changed agent; an unchanged one is resumed" {
	skill skills/pdf
	echo rules >AGENTS.md
	agent helper 'skills: pdf
agents_md: true'
	text one >answer
	model_server --loop --answer answer
	workflow='awf-step -a helper ask | awf-step check -q -- test -e go'
	again() { run --separate-stderr awf-run --id-file run.id "$@"; }
	again -c "$workflow" <<<question
	same "$(sent)" 1
	again --resume "$(cat run.id)"
	same "$(sent)" 1
	echo 'And well.' >>skills/pdf/SKILL.md
	again --resume "$(cat run.id)"
	same "$(sent)" 2
	echo 'More rules.' >>AGENTS.md
	again --resume "$(cat run.id)"
	same "$(sent)" 3
	: >go
	again --resume "$(cat run.id)"
	same "$status $(sent)" '0 3'
	bodies | tail -n 1 | jq -e '.system | tostring | contains("And well.") and contains("More rules.")' >/dev/null
}

@test "each agent of a team has its own" {
	skill skills/pdf
	skill skills/tea
	agent lead 'skills: pdf
handoffs: [second]'
	agent second 'skills: tea'
	stream tool_use "$(use t1 transfer_to_second '{}')" >first
	text 'done' >last
	model_server --loop --answer-for tool_use_id last --answer first
	same "$(echo work | awf-step -a lead work -r)" 'done'
	same "$(bodies | jq -c '.system | tostring | [contains("<name>pdf</name>"), contains("<name>tea</name>")]')" '[true,false]
[false,true]'
}

# bats test_tags=turn:2
@test "the files of a skill can be read in the sandbox, and a replay finds them" {
	"$BUILD/libexec/awf/awf-sandbox" -- true || skip "no sandbox here"
	for place in "$HOME/.claude/skills" "$HOME/.agents/skills" "$XDG_CONFIG_HOME/awf/skills"; do
		skill "$place/pdf" 'Read more.md.'
		echo 'the rest' >"$place/pdf/more.md"
		agent helper 'tools: [read, bash]
skills: pdf'
		stream tool_use "$(use t1 read "{\"file_path\":\"$place/pdf/SKILL.md\",\"offset\":9}")" \
			"$(use t2 bash "{\"command\":\"cat $place/pdf/more.md\"}")" >first
		text 'done' >last
		model_server --loop --answer-for tool_use_id last --answer first
		awf-run --env ASAN_OPTIONS -c 'awf-step -a helper ask -q' <<<question
		same "$(payloads tool.result '[.output, .error.code]')" '["     9\tRead more.md.\n    10\t",null]
["the rest",null]'
		awf-replay -q
		rm -r "$place"
		kill "$MODEL_SERVER_PID"
	done
}

@test "a link in a project brings no file from outside into a prompt" {
	mkdir -p "$XDG_CONFIG_HOME/awf" docs vendor
	(umask 077 && echo 'ANTHROPIC_API_KEY=secret' >"$XDG_CONFIG_HOME/awf/keys")
	agent helper 'agents_md: true'
	ln -s "$XDG_CONFIG_HOME/awf/keys" AGENTS.md
	same "$(refused helper)" "$PWD/AGENTS.md: a link that leads out of $PWD: it is not read; put a copy there"
	# Nor does one to a directory, nor by the name of another process's file.
	ln -s "$XDG_CONFIG_HOME/awf" out
	ln -sf out/keys AGENTS.md
	[[ $(refused helper) == *'leads out of'* ]]
	ln -sf "/proc/self/cwd/docs/rules.md" AGENTS.md
	echo 'rules of docs' >docs/rules.md
	[[ $(refused helper) == *'leads out of'* ]]
	# Those within are followed, from a directory of the repository to another.
	ln -sf docs/rules.md AGENTS.md
	system helper | grep -qx 'rules of docs'
	ln -s ../AGENTS.md docs/AGENTS.md
	mv agents docs
	(cd docs && same "$(system helper | grep -c '^rules of docs$')" 2)
	mv docs/agents .

	agent helper 'skills: pdf'
	mkdir -p skills/pdf
	ln -s "$XDG_CONFIG_HOME/awf/keys" skills/pdf/SKILL.md
	same "$(refused helper)" "$PWD/skills/pdf/SKILL.md: a link that leads out of $PWD: it is not read; put a copy there"
	rm -r skills
	skill vendor/pdf
	ln -s vendor skills
	system helper | grep -q 'Do it as pdf does'
	# The same beside the workflow, and the user's own may be where they like.
	rm skills
	mkdir -p "$HOME/dotfiles" "$HOME/.agents/skills" ../flows/skills/pdf
	ln -s "$XDG_CONFIG_HOME/awf/keys" ../flows/skills/pdf/SKILL.md
	AWF_WORKFLOW_DIR=$(realpath ../flows) run -2 awf-step -a helper ask --dry-run <<<question
	[[ $output == *'/flows/skills/pdf/SKILL.md: a link that leads out of '*/flows:* ]]
	skill "$HOME/dotfiles/pdf"
	ln -s "$HOME/dotfiles/pdf" "$HOME/.agents/skills/pdf"
	system helper | grep -q 'Do it as pdf does'
}

@test "AGENTS.md files of other users are not taken from above" {
	[ "$(id -u)" = 0 ] || skip "only root can make files of others"
	rm -r .git
	agent helper 'agents_md: true'
	echo own >AGENTS.md
	mkdir -p up/of/here
	mv agents AGENTS.md up/of/here
	echo 'from above' >up/of/AGENTS.md
	cd up/of/here
	system helper | grep -qx 'from above'
	chown 12345 ../AGENTS.md
	same "$(system helper | grep -c instructions)" 2
	chown 0 ../AGENTS.md
	echo 'from far above' >../../AGENTS.md
	chown 12345 ..
	same "$(system helper | grep -c instructions)" 2
	# Who owns this directory is taken at his word.
	chown 12345 .
	same "$(system helper | grep -c 'from .*above')" 2
}
