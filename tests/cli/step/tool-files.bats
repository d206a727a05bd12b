#!/usr/bin/env bats
# How a tool may be defined: in words of model APIs and MCP servers, several in a file, or by itself.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	mkdir tools
	printf '#!/bin/sh\ntr a-z A-Z\n' >tools/shout
	chmod +x tools/shout
}
# What the model would be offered, of these tools.
offered() {
	printf -- '---\ntools: [%s]\n---\nBe brief.\n' "$1" >a.md
	awf-step --dry-run -a a.md -m replay/none ask <<<x | jq -c '.tools[]? | [.name, .description, .input_schema]'
}
refused() {
	printf -- '---\ntools: [%s]\n---\nBe brief.\n' "$1" >a.md
	run -2 --separate-stderr awf-step --dry-run -a a.md -m replay/none ask <<<x
	printf '%s\n' "${stderr#awf-step: }"
}

@test "a definition as model APIs and MCP servers have it" {
	export JQ=jq # which keeps the order of keys
	while IFS= read -r text; do
		echo "$text" >tools/shout.tool.json
		same "$(offered shout)" '["shout","Shouts.",{"type":"object","properties":{"a":{"type":"string"}}}]'
	done <<-'END'
		{"description":"Shouts.","input_schema":{"type":"object","properties":{"a":{"type":"string"}}}}
		{"description":"Shouts.","parameters":{"type":"object","properties":{"a":{"type":"string"}}},"strict":true}
		{"type":"function","name":"shout","description":"Shouts.","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}
		{"type":"function","function":{"name":"shout","description":"Shouts.","parameters":{"type":"object","properties":{"a":{"type":"string"}}},"strict":false}}
		{"name":"shout","title":"Shout","description":"Shouts.","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}},"annotations":{"readOnlyHint":true},"_meta":{}}
	END
	while IFS='|' read -r text message; do
		echo "$text" >tools/shout.tool.json
		same "$(refused shout)" "tools/shout.tool.json: $message"
	done <<-'END'
		{"function":{"name":"other"}}|name: expected 'shout', as the file is called
		{"type":"retrieval"}|type: expected function
		{"parameters":{"type":"string"}}|parameters: expected a schema with "type": "object"
		{"annotations":[]}|annotations: expected an object, got list
		{"function":{"paramters":{}}}|paramters: unknown key (did you mean 'parameters'?)
	END
}

@test "what an MCP server says of effects counts where the file does not" {
	while IFS='|' read -r text expected; do
		echo "$text" >tools/shout.tool.json
		printf -- '---\ntools: [shout]\n---\nBe brief.\n' >a.md
		echo '{"blocks":[{"type":"tool_use","tool_id":"1","tool_name":"shout","tool_input":{}}]}
{"blocks":[{"type":"text","text":"done"}]}' >answers.jsonl
		same "$(awf-step -a a.md -m replay/answers.jsonl ask -r <<<x)" 'done'
		same "$(jq -c 'select(.type == "tool.call").payload | [.effects, .idempotent]' "$(transcript)")" "$expected"
	done <<-'END'
		{"annotations":{"readOnlyHint":true}}|["read",null]
		{"annotations":{"idempotentHint":true}}|["external",true]
		{"annotations":{"readOnlyHint":true},"effects":"workspace"}|["workspace",null]
	END
}

@test "several in a file" {
	printf '#!/bin/sh\necho two\n' >tools/two
	chmod +x tools/two
	while IFS='|' read -r file text; do
		rm -f tools/*.json
		echo "$text" >"tools/$file"
		same "$(offered shout,two)" '["shout","One.",{"type":"object"}]
["two","Two.",{"type":"object"}]'
		[[ $(refused third) == 'a.md: tools: third.tool.json: not found in tools, '* ]]
	done <<-'END'
		tools.json|[{"name":"shout","description":"One."},{"name":"two","description":"Two."}]
		more.tools.json|[{"type":"function","function":{"name":"shout","description":"One."}},{"name":"two","description":"Two."}]
		tools.json|{"tools":[{"name":"shout","description":"One.","inputSchema":{"type":"object"}},{"name":"two","description":"Two.","inputSchema":{"type":"object"}}]}
	END
	# A file of its own comes first; commands stand beside the file.
	echo '{"description":"Own."}' >tools/shout.tool.json
	same "$(offered shout)" '["shout","Own.",{"type":"object"}]'
	echo '[{"name":"say","description":"S.","command":["./two"]}, "x", 7]' >tools/a.tools.json
	same "$(offered say)" '["say","S.",{"type":"object"}]'
	echo '[{"name":"say","descripton":"S."}]' >tools/a.tools.json
	same "$(refused say)" "tools/a.tools.json: descripton: unknown key (did you mean 'description'?)"
	echo '[{"name":"say"' >tools/a.tools.json
	[[ $(refused say) == 'a.md: tools: say.tool.json: not found in tools, '* ]]
}

@test "a program that says itself what it is" {
	export JQ=jq # which keeps the order of keys
	cat >tools/greet <<-'END'
		#!/bin/sh
		[ "$1" != --schema ] || { echo '{"description":"Greets.","parameters":{"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}}'; exit; }
		jq -r '"hello " + .who'
	END
	chmod +x tools/greet
	same "$(offered greet)" '["greet","Greets.",{"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}]'
	printf -- '---\ntools: [greet]\n---\nBe brief.\n' >a.md
	echo '{"blocks":[{"type":"tool_use","tool_id":"1","tool_name":"greet","tool_input":{"who":"you"}},{"type":"tool_use","tool_id":"2","tool_name":"greet","tool_input":{}}]}
{"blocks":[{"type":"text","text":"done"}]}' >answers.jsonl
	same "$(awf-step -a a.md -m replay/answers.jsonl ask -r <<<x)" 'done'
	same "$(jq -c 'select(.type == "tool.result").payload | [.output, .error.code]' "$(transcript)")" '["hello you",null]
[null,"schema"]'
	while IFS='|' read -r body message; do
		printf '#!/bin/sh\n%s\n' "$body" >tools/greet
		same "$(refused greet)" "tools/greet: $message"
	done <<-'END'
		exit 1|no greet.tool.json says what this tool is, and the program does not when it is run with --schema: exit status 1
		true|no greet.tool.json says what this tool is, and the program does not when it is run with --schema: it prints nothing
		echo []|its answer to --schema: expected an object, got list
		echo '{"descripton":"x"}'|its answer to --schema: descripton: unknown key (did you mean 'description'?)
		yes|no greet.tool.json says what this tool is, and the program does not when it is run with --schema: ended because its output is larger than 4.0 MiB
	END
	printf 'no program' >tools/greet
	chmod -x tools/greet
	[[ $(refused greet) == 'a.md: tools: greet.tool.json: not found in tools, '* ]]
	chmod +x tools/greet
	[[ $(refused greet) == 'tools/greet: '* ]]
}

@test "one that does not end is not waited for, and nothing of it is left" {
	printf '#!/bin/sh\nexec >/dev/null 2>&1\nsleep 61 &\nsleep 61\n' >tools/greet
	chmod +x tools/greet
	SECONDS=0
	same "$(refused greet)" 'tools/greet: no greet.tool.json says what this tool is, and the program does not when it is run with --schema: timed out after 10.0s'
	[ "$SECONDS" -lt 30 ]
	left() { for pid in $(pgrep -x sleep); do readlink "/proc/$pid/cwd"; done | grep -x "$PWD"; }
	same "$(left)" ''
}
