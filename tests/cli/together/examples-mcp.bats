#!/usr/bin/env bats
# examples/mcp: each file is what its program reads, and what it says to start is an MCP server.
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	mkdir -p "$HOME/workflows"
	printf '#!/usr/bin/env awf-run\n# awf: description: Says it\nawf-step -n -r say -- echo it\n' >"$HOME/workflows/say.awf"
}

# FILE: the command in it and its arguments, a line each, with the variables of the program that reads it.
command_of() {
	python3 - "$1" <<-'END'
		import json, os, sys, tomllib
		with open(sys.argv[1], "rb") as file:
		    text = tomllib.load(file) if sys.argv[1].endswith(".toml") else json.load(file)
		(key, servers), = text.items()
		server, = servers.values()
		expected = {"codex.toml": "mcp_servers", "vscode.json": "servers"}
		assert key == expected.get(os.path.basename(sys.argv[1]), "mcpServers"), key
		assert server.get("type", "stdio") == "stdio"
		home = os.environ["HOME"]
		for word in [server["command"], *server["args"]]:
		    for said in ("/home/me", "${HOME}", "${userHome}"):
		        word = word.replace(said, home)
		    print(word)
	END
}
# Starts a server by these words, and asks for its tools.
tools_of() {
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' \
		'{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' |
		"$@" | jq -r 'select(.id == 2).result.tools[].name'
}

@test "each file is valid, and what it starts offers the workflows" {
	python3 -c 'import tomllib' 2>/dev/null || skip 'this Python reads no TOML'
	for file in "$ROOT"/examples/mcp/*.json "$ROOT"/examples/mcp/*.toml; do
		command_of "$file" | sed 's|^/usr/local/bin/||' >words
		mapfile -t words <words
		same "$(basename "$file") ${words[0]}" "$(basename "$file") awf-mcp"
		tools_of "${words[@]}" >tools
		grep -qx say tools && grep -qx start_workflow tools || { echo "$file"; cat tools; false; }
		grep -qF "$(basename "$file")" "$ROOT/examples/mcp/README" || { echo "not in README: $file"; false; }
	done
	same "$(find "$ROOT/examples/mcp" -name '*.json' -o -name '*.toml' | wc -l)" 5
}

@test "awf-mcp(1) has the same in short" {
	python3 -c 'import tomllib' 2>/dev/null || skip 'this Python reads no TOML'
	awk '/^\.Bd -literal/ { inside = 1; n++; next } /^\.Ed/ { inside = 0 } inside { print >("display" n) }' "$ROOT/man/awf-mcp.1"
	for name in $(grep -lE '"(mcpServers|servers)"|mcp_servers' display*); do
		file=claude-desktop.json
		! grep -q '"servers"' "$name" || file=vscode.json
		! grep -q '^\[mcp_servers' "$name" || file=codex.toml
		cp "$name" "$file"
		mapfile -t words < <(command_of "$file")
		tools_of "${words[@]}" | grep -qx say
		rm "$file"
	done
	same "$(grep -lE '"(mcpServers|servers)"|mcp_servers' display* | wc -l)" 3
}
