load ../../support/helpers
bats_require_minimum_version 1.5.0
load ../../support/cli
load ../../support/scripted

# continue_from: the conversation of an earlier call goes on.

prepare() {
	fake_clis
	export FAKE_CLI="$ROOT/tests/fixtures/cli/claude/tool"
	mkdir agents
	printf -- '---\nprovider: claude\n---\n' >agents/first.md
	printf -- '---\nprovider: claude\ncontinue_from: one\n---\n' >agents/second.md
}

resumed() { jq -r '.arguments | index("--resume") as $at | if $at then .[$at + 1] else "new" end' started.jsonl | paste -sd' '; }

@test "the session of the call before goes on, and replays" {
	recorded 0 -c 'awf-step one -a first | awf-step two -a second' <<<x
	same "$(resumed)" 'new c-1'
}

@test "another conversation is another input" {
	awf-run -c 'awf-step one -a first | awf-step two -a second' <<<x >/dev/null
	awf-run -c 'awf-step one -a first | awf-step two -a first' <<<x >/dev/null
	same "$(for file in "$AWF_STORAGE"/transcripts/*; do payloads step.started 'select(.name == "two").input_sha256' "$file"; done | sort -u | wc -l)" 2
}

@test "the latest completed call counts, not one that failed or was skipped" {
	sed 's/"c-1"/"c-9"/g' "$FAKE_CLI.stdout.jsonl" >nine.stdout.jsonl
	echo 0 >nine.exit
	run -0 awf-run -c '
		awf-step one -a first -q <<<1
		FAKE_CLI=$PWD/nine awf-step one -a first -q <<<2
		FAKE_CLI=$PWD/nowhere awf-step one -a first -q --allow-failure <<<3 2>/dev/null
		awf-step one -a first -q --when false <<<4
		awf-step two -a second -q <<<5' --shell bash
	same "$(tail -n 1 started.jsonl | jq -r '.arguments | .[index("--resume") + 1]')" c-9
}

@test "a resumed run goes on with the session of the first attempt" {
	cp "$ROOT/tests/fixtures/cli/claude/error-401.stdout.jsonl" later.stdout.jsonl
	echo 1 >later.exit
	cat >flow <<-'END'
		awf-step one -a first | FAKE_CLI=$PWD/later awf-step two -a second -r
	END
	run -3 awf-run ./flow <<<x
	cp "$FAKE_CLI.stdout.jsonl" later.stdout.jsonl
	echo 0 >later.exit
	run -0 --separate-stderr awf-run --resume @ <<<x
	same "$output" 'It says hello.'
	same "$(resumed)" 'new c-1 c-1'
	awf-verify -q
}

@test "any other provider is sent the messages" {
	scripted_provider
	mkdir tools
	echo '{"description":"d","input_schema":{"type":"object"},"effects":"none"}' >tools/t.tool.json
	printf '#!/bin/sh\ncat; exit 0\n' >tools/t
	printf '#!/bin/sh\necho no >&2; exit 1\n' >tools/u
	cp tools/t.tool.json tools/u.tool.json
	chmod +x tools/t tools/u
	script "$(called c1 t '{"a":1.50}'),$(called c2 u '{}')" "$(said first)" "$(said second)"
	printf -- '---\nprovider: scripted\nmodel: m\ntools: [t, u]\n---\n' >agents/first.md
	printf -- '---\nprovider: scripted\nmodel: m\ncontinue_from: one\n---\n' >agents/second.md
	recorded 0 -c 'awf-step one -a first | awf-step two -a second -p "and {{data}}" -r' <<<x
	same "$output" second
	same "$(tail -n 1 requests.jsonl | jq -c '[.messages[].from]')" '[null,"scripted/m",null,"scripted/m",null]'
	same "$(tail -n 1 requests.jsonl | jq -c '.messages | map(del(.from, .moved))')" "$(jq -c '.[0]' <<-'END'
		[[{"role":"user","blocks":[{"type":"text","text":"x"}]},
		 {"role":"assistant","blocks":[{"type":"tool_use","tool_id":"c1","tool_name":"t","tool_input":{"a":1.50}},
		  {"type":"tool_use","tool_id":"c2","tool_name":"u","tool_input":{}}]},
		 {"role":"user","blocks":[{"type":"tool_result","tool_id":"c1","tool_content":{"a":1.50}},
		  {"type":"tool_result","tool_id":"c2","tool_content":"exit status 1\nno\n","is_error":true}]},
		 {"role":"assistant","blocks":[{"type":"text","text":"first"}]},
		 {"role":"user","blocks":[{"type":"text","text":"and first"}]}]]
	END
	)"
	same "$(tail -n 1 requests.jsonl | jq -c .session)" null
}

@test "what is long goes on whole" {
	scripted_provider
	script "$(said first)" "$(said second)"
	printf -- '---\nprovider: scripted\nmodel: m\n---\n' >agents/first.md
	printf -- '---\nprovider: scripted\nmodel: m\ncontinue_from: one\n---\n' >agents/second.md
	head -c 300000 /dev/zero | tr '\0' x >long
	awf-run -c 'awf-step one -a first <long | awf-step two -a second' >/dev/null
	same "$(tail -n 1 requests.jsonl | jq '.messages[0].blocks[0].text | length')" 300000
}

@test "a model that is asked in the place of the CLI gets the messages" {
	scripted_provider
	script '' "$(said second)"
	printf -- '---\nprovider: claude\ncontinue_from: one\nfallback: [scripted/m]\n---\n' >agents/second.md
	sed 's/401/529/; s/Invalid API key/Overloaded/' "$ROOT/tests/fixtures/cli/claude/error-401.stdout.jsonl" >busy.stdout.jsonl
	echo 1 >busy.exit
	recorded 0 -c 'awf-step one -a first | FAKE_CLI=$PWD/busy awf-step two -a second -r --retries 0 -p go' <<<x
	same "$output" second
	same "$(resumed)" 'new c-1'
	same "$(jq -c '[.session, (.messages | map(.role))]' requests.jsonl)" '[null,["user","assistant","user"]]'
	same "$(jq -c '.messages | [first, last] | map(.blocks[0].text)' requests.jsonl)" '["x","go"]'
}

@test "what was changed of the first turn leaves the prompt as it was" {
	scripted_provider
	script "$(said first)" "$(said second)"
	echo '{"params": {"top_p": 1}}' >change
	printf -- '---\nprovider: scripted\nmodel: m\nbefore_turn: [cat, change]\n---\n' >agents/first.md
	printf -- '---\nprovider: scripted\nmodel: m\ncontinue_from: one\n---\n' >agents/second.md
	recorded 0 -c 'awf-step one -a first | awf-step two -a second -p go' <<<x
	same "$(tail -n 1 requests.jsonl | jq -c '.messages | map(.blocks[0].text)')" '["x","first","go"]'
}

@test "another CLI is told the conversation" {
	export JQ=jq
	printf -- '---\nprovider: opencode\ncontinue_from: one\n---\n' >agents/second.md
	run -3 awf-run -c 'awf-step one -a first | awf-step two -a second' <<<x
	same "$(tail -n 1 started.jsonl | jq -c '[.prompt, index("--session")]')" \
		'["USER:\n\nx\n\nASSISTANT:\n\nI will look.\n\n[Called the tool read: {\"file_path\":\"/w/hello.txt\",\"limit\":1.50}]\n\n[Its result: 1\tHello\n]\n\nIt says hello.\n\nUSER:\n\nIt says hello.",null]'
}

@test "attachments go on, but not those of a masked run" {
	scripted_provider
	script "$(said first)" "$(said second)"
	printf '\211PNG\r\n\032\nx' >x.png
	printf -- '---\nprovider: scripted\nmodel: m\n---\n' >agents/first.md
	printf -- '---\nprovider: scripted\nmodel: m\ncontinue_from: one\n---\n' >agents/second.md
	flow='awf-step one -a first --attach x.png | awf-step two -a second'
	awf-run -c "$flow" <<<x >/dev/null
	same "$(tail -n 1 requests.jsonl | jq -r '.messages[0].blocks[0].data')" "$(base64 -w0 x.png)"
	run -3 --separate-stderr awf-run --mask cat -c "$flow" <<<x
	[[ $stderr == *"second: continue_from: 'one' had attachments, whose bytes a masked run does not keep"* ]]
}

@test "what cannot go on is said" {
	run -3 --separate-stderr awf-run -c 'awf-step two -a second' <<<x
	[[ $stderr == *"continue_from: no call of 'one' has completed in this run"* ]]
	run -3 --separate-stderr awf-run -c 'awf-step one -- cat | awf-step two -a second' <<<x
	[[ $stderr == *"second: continue_from: 'one' had no conversation in this run"* ]]
	[ ! -e started.jsonl ]
}

# Four steps, of which each goes on with the session of the first, and what the CLI counted by
# its end: FIRST SECOND THIRD FOURTH, files of fake-cli.
chain() {
	FAKE_CLI=$PWD/$1 awf-run --shell bash -c '
		awf-step one -a first -q <<<1
		FAKE_CLI=$PWD/'"$2"' awf-step two -a second -q <<<2
		FAKE_CLI=$PWD/'"$3"' awf-step three -a second -q <<<3
		FAKE_CLI=$PWD/'"$4"' awf-step four -a second -q <<<4'
	payloads message.assistant '.usage | [.input_tokens, .output_tokens, .cost_usd]' | paste -sd' '
}

# bats test_tags=turn:3
@test "what a CLI counts from the beginning of a session is counted once" {
	local n claude=$ROOT/tests/fixtures/cli/claude/tool codex=$ROOT/tests/fixtures/cli/codex/tool
	for n in 1 2 3 4; do
		jq -c --argjson n "$n" --arg version 2.1.299 'if .subtype == "init" then
			.claude_code_version = $version
			elif .type != "result" then . else .total_cost_usd = 0.00021 * $n
			| .modelUsage[] |= map_values(. * $n) end' "$claude.stdout.jsonl" >"claude$n.stdout.jsonl"
		jq -c 'if .subtype == "init" then .claude_code_version = "2.1.298"
			elif .type != "result" then . else .total_cost_usd = 0.00021 end' \
			"$claude.stdout.jsonl" >"old$n.stdout.jsonl"
		jq -c --argjson n "$n" 'if .usage then .usage |= map_values(. * $n) else . end' \
			"$codex.stdout.jsonl" >"codex$n.stdout.jsonl"
		echo 0 | tee claude$n.exit old$n.exit >codex$n.exit
	done
	same "$(chain claude1 claude2 claude3 claude4)" \
		'[27,6,0.00021] [27,6,0.00021] [27,6,0.00021] [27,6,0.00021]'
	same "$(awf-tail --list --json --cost | jq -c .cost)" 0.00084
	same "$(chain old1 old2 old3 old4)" '[27,6,0.00021] [27,6,0.00021] [27,6,0.00021] [27,6,0.00021]'
	# Where a later version goes on, only this turn's is known, without its cost.
	same "$(chain old1 claude2 claude3 claude3)" '[27,6,0.00021] [27,6,null] [27,6,0.00021] [0,0,0]'
	sed -i 's/claude/codex/' agents/*.md
	same "$(chain codex1 codex2 codex3 codex4)" '[27,6,null] [27,6,null] [27,6,null] [27,6,null]'
	awf-verify -q
	# A replay asks for the same, without what was counted.
	rm -r clis
	awf-verify --determinism --isolation copy
}
