#!/usr/bin/env bats
# awf-mcp and clients that others have written, from npm: those in $AWF_MCP_CLIENTS, or below
# build/test/mcp, where `make check-mcp` puts them.
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	MCP_MODULES=$(realpath -m "${AWF_MCP_CLIENTS:-$BUILD/mcp/node_modules}")
	export MCP_MODULES
	command -v node >/dev/null || skip "no node"
	for package in sdk client inspector; do
		[ -e "$MCP_MODULES/@modelcontextprotocol/$package" ] || skip "no clients in $MCP_MODULES (make check-mcp)"
	done
	mkdir flows
	echo '{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}' >answer.json
	flow two '# awf: description: Asks two things' \
		'awf-step --ask-grace 30 --ask "Is {{data}} right?" --output-schema '"$PWD"'/answer.json first |' \
		'	awf-step --ask-grace 30 --ask "And {{data.ok}}?" -r second'
	flow slow '# awf: description: Takes long' 'awf-step -n -q long -- sleep 60'
	flow steps '# awf: description: Takes steps' 'for i in 1 2 3 4; do awf-step -n -q "s$i" -- sleep 0.3; done'
	flow approved 'awf-step --approve check -q'
}
# flow NAME LINE…
flow() {
	local name=$1
	shift
	printf '%s\n' '#!/usr/bin/env awf-run' "$@" >"flows/$name.awf"
	chmod +x "flows/$name.awf"
}
leads() {
	run -0 timeout 120 node "$ROOT/tests/mcp/client.mjs" "$1"
	same "${lines[*]}" 'tools a run back resources progress cancelled decided'
	awf-verify
}

@test "the SDK of version 1" { leads 1; }

@test "the SDK of version 2" { leads 2; }

@test "the SDK of version 2 speaks the revision 2026-07-28" { leads 2-modern; }

@test "the inspector lists tools and calls them, an answer and an error" {
	inspect() { timeout 60 "$MCP_MODULES/.bin/mcp-inspector" --cli awf-mcp -w flows "$@"; }
	inspect --method tools/list | jq -e '.tools | length == 12 and all(.inputSchema.type == "object")'
	inspect --method tools/call --tool-name list_workflows |
		jq -e '[.structuredContent.workflows[].workflow] | length == 4'
	inspect --method tools/call --tool-name two --tool-arg input=cake |
		jq -e '.structuredContent | [.status, .prompt] == ["waiting", "Is cake right?"]'
	inspect --method tools/call --tool-name start_workflow --tool-arg workflow=none |
		jq -e '.isError and (.content[0].text | fromjson.error.code == "usage")'
	inspect --method resources/list | jq -e '.resources | type == "array"'
}
