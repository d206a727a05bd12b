# Sourced by the bats files about agent CLIs: programs in $PATH that play recorded runs.
# shellcheck shell=bash

CLIS="claude codex gemini copilot opencode"

# Puts the fakes in $PATH; provider NAME takes awf-provider-NAME from provider.bash.
fake_clis() {
	local name
	mkdir -p clis
	for name in $CLIS; do ln -sf "$ROOT/tests/support/fake-cli" "clis/$name"; done
	export PATH="$PWD/clis:$PATH"
	export FAKE_CLI_LOG="$PWD/started.jsonl"
}

# CLI RECORDING: what the provider answers to one request.
play() {
	FAKE_CLI="$2" provider "$1" <<<"$(request 1)" 2>play.stderr
}

# The answers as one object, in the CLI's own names: as cli-NAME.jq makes it of the
# recording. The blocks of a message and the lines before it tell the same.
amounts_to() {
	jq -cS -s '
		def uses: map(select(.type == "tool_use"));
		def outcomes: map(select(.type == "tool_result"));
		(map(select(.type == "tool_call"))) as $called
		| (map(select(.type == "tool_result"))) as $resulted
		| last as $whole | ($whole.blocks // []) as $blocks
		| (reduce $blocks[] as $b ("";
			if $b.type == "tool_result" then "" elif $b.type == "text" then . + $b.text else . end)) as $text
		| if ($called | map([.call_id, .name])) != ($blocks | uses | map([.tool_id, .tool_name])) or
		     ($resulted | map([.call_id, .output])) != ($blocks | outcomes | map([.tool_id, .tool_content])) or
		     any($blocks[] | select(.type | startswith("tool")); .fidelity != "agent_emitted")
		  then error("lines and blocks differ") else . end
		| { calls: [$blocks | uses[] | [.tool_id, .raw.name, .tool_input]],
		    results: [$blocks | outcomes[] | [.tool_id, .tool_content, .is_error // false]],
		    text: $text, usage: $whole.usage, session: $whole.session_id }' "$1"
}
