# Sourced by ./one and ./hostile, which have $name, $version and $CLIS: a workspace, a home, and the
# test model server.
# shellcheck shell=bash
# shellcheck source=tests/support/agent.bash
. "$ROOT/tests/support/agent.bash"
# shellcheck source=tests/clis/streams.bash
. "$ROOT/tests/clis/streams.bash"

work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$work"' EXIT
export HOME=$work/home TMPDIR=$work/tmp AWF_STORAGE=$work/storage AWF_SYNC=none
export PATH=$BUILD/bin:$BUILD/tests/support:$CLIS/node_modules/.bin:$PATH
mkdir -p "$HOME" "$TMPDIR" "$work/workspace/tools"
cd "$work/workspace" || exit 1
# Agent files and tools of these tests are the user's own.
awf trust --edits "$work" || exit 1
ip link set lo up

# Serves these answers to all that asks for them; $url is where. What is no file is an option.
serve() {
	local word options=()
	if [ -n "$server" ]; then kill "$server"; fi
	for word; do
		if [ -f "$word" ]; then options+=(--answer "$word"); else options+=("$word"); fi
	done
	rm -f "$work/url"
	model-server "${options[@]}" >"$work/url" &
	server=$!
	until [ -s "$work/url" ]; do sleep 0.05; done
	url=$(cat "$work/url")
}

# The settings that lead each CLI to the server.
settle() {
	export ANTHROPIC_BASE_URL=$url ANTHROPIC_API_KEY=k OPENAI_BASE_URL=$url/v1 OPENAI_API_KEY=k \
		GEMINI_BASE_URL=$url/v1beta GEMINI_API_KEY=k GOOGLE_GEMINI_BASE_URL=$url
	export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 CODEX_HOME=$HOME/.codex \
		AWF_CODEX_SANDBOX=danger-full-access GEMINI_TELEMETRY_ENABLED=false \
		COPILOT_PROVIDER_BASE_URL=$url/v1 COPILOT_PROVIDER_TYPE=openai COPILOT_PROVIDER_API_KEY=k \
		COPILOT_OFFLINE=true OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1 \
		OPENCODE_DISABLE_DEFAULT_PLUGINS=1
	mkdir -p "$HOME/.codex" "$HOME/.gemini" "$HOME/.config/opencode"
	cat >"$HOME/.codex/config.toml" <<-END
		model_provider = "local"
		check_for_update_on_startup = false
		[analytics]
		enabled = false
		[feedback]
		enabled = false
		[model_providers.local]
		name = "local"
		base_url = "$url/v1"
		env_key = "OPENAI_API_KEY"
		wire_api = "responses"
		supports_websockets = false
	END
	cat >"$HOME/.gemini/settings.json" <<-END
		{"security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": false},
		 "privacy": {"usageStatisticsEnabled": false},
		 "general": {"maxAttempts": 1, "enableAutoUpdate": false}}
	END
	cat >"$HOME/.config/opencode/opencode.json" <<-END
		{"share": "disabled", "snapshot": false, "enabled_providers": ["local"],
		 "small_model": "local/model", "provider": {"local": {"npm": "@ai-sdk/openai-compatible",
		  "name": "local", "options": {"baseURL": "$url/v1", "apiKey": "k"},
		  "models": {"model": {"name": "model", "tool_call": true,
		   "limit": {"context": 200000, "output": 8192}}}}}}
	END
}

# API of the server, model, what its names of tools of ours begin with, and its names and arguments
# of two of its own.
case $name in
claude) api=anthropic model=claude-sonnet-4-5 served=mcp__awf__ read=Read bash=Bash
	path=$PWD/hello.txt in='{"file_path":$path}' run='{"command":$command}' ;;
codex) api=openai-responses model=gpt-5.5 served='' namespace=mcp__awf read=exec_command bash=exec_command
	path='cat hello.txt' in='{"cmd":$path}' run='{"cmd":$command}' ;;
gemini) api=google model=gemini-2.5-flash read=read_file bash=run_shell_command
	path=$PWD/hello.txt in='{"file_path":$path}' run='{"command":$command,"description":"d"}' ;;
copilot) api=openai model=gpt-4.1 served=awf- read=view bash=bash
	path=$PWD/hello.txt in='{"path":$path}' run='{"command":$command,"description":"d"}' ;;
opencode) api=openai model=local/model served=awf_ read=read bash=bash
	path=$PWD/hello.txt in='{"filePath":$path}' run='{"command":$command,"description":"d"}' ;;
*) echo "check-clis: no such CLI: $name" >&2; exit 1 ;;
esac
