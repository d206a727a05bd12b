load ../support/helpers
bats_require_minimum_version 1.5.0
load ../support/cli

# continue_from: an agent CLI goes on with the session of an earlier call.

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

@test "what cannot go on is said" {
	run -3 --separate-stderr awf-run -c 'awf-step two -a second' <<<x
	[[ $stderr == *"continue_from: no call of 'one' has completed in this run"* ]]
	printf -- '---\nprovider: opencode\ncontinue_from: one\n---\n' >agents/other.md
	run -3 --separate-stderr awf-run -c 'awf-step one -a first | awf-step two -a other' <<<x
	[[ $stderr == *"other: continue_from: 'one' was answered by claude, which opencode cannot go on with"* ]]
	echo '{"blocks":[{"type":"text","text":"x"}]}' >answers.jsonl
	run -3 --separate-stderr awf-run -c "awf-step one -m replay/$PWD/answers.jsonl | awf-step two -a second" <<<x
	[[ $stderr == *"second: continue_from: the answer of 'one' tells no session (only those of agent CLIs do)"* ]]
	same "$(wc -l <started.jsonl)" 1
}
