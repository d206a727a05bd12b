# Sourced by the bats files about MCP servers: a place for agents and a scripted provider, what the
# model calls on the server "test", and what comes of it.
# shellcheck shell=bash
# shellcheck source=tests/support/scripted.bash
. "${BASH_SOURCE[0]%/*}/scripted.bash"

# The agents' directory, the provider, and, unless a test has one of its own, the server of .mcp.json.
mcp_place() {
	mkdir agents
	scripted_provider
	SERVER="$ROOT/tests/support/mcp-server.py"
}
# .mcp.json has the server "test", with these options; $SERVER_KEYS: further members of its definition.
server() {
	JQ='' jq -n --arg server "$SERVER" --arg log "$PWD/server.log" --argjson keys "${SERVER_KEYS:-"{}"}" --args \
		'{mcpServers: {test: ({command: "python3", args: (["-S", $server, $log] + $ARGS.positional)} + $keys)}}' \
		"$@" >.mcp.json
}
# Members of its definition.
define() { jq -c ".mcpServers.test += $1" .mcp.json >changed && mv changed .mcp.json; }
ended() { ! pgrep -f "$PWD/server.log" >/dev/null; }

# The model calls these tools of the server, NAME INPUT…, one a turn, and then says "done".
calls() {
	local turns=()
	while [ $# -gt 0 ]; do
		turns+=("$(called "c${#turns[@]}" "mcp__test__$1" "$2")")
		shift 2
	done
	script "${turns[@]}" "$(said 'done')"
}
ask() { echo hello | awf-step -a worker ask -r; }
results() { payloads tool.result '[.output, .error.code, .error.message]'; }
# What the server has read.
log() { jq -c "$1" server.log; }
