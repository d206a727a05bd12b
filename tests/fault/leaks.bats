#!/usr/bin/env bats
# valgrind finds no leak and no error in awf-step and awf-run, on good and bad paths.
# bats file_tags=ci
bats_require_minimum_version 1.5.0
load ../support/helpers

prepare() {
	command -v valgrind >/dev/null || skip 'no valgrind here'
	! grep -qa __asan_init "$BUILD/bin/awf-step" || skip 'valgrind cannot run a sanitizer build'
}

# Runs a program under valgrind; leaks and errors make it exit 99. Descriptors
# inherited from bats are not its own.
checked() {
	valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect,possible \
		--errors-for-leak-kinds=definite,indirect,possible "$@"
}

# bats test_tags=torture
@test "awf-step with a command" {
	printf 'a\nb\n' | checked awf-step -i lines x -- cat | checked awf-step -s --into k -r y -- wc -c
}

# bats test_tags=torture
@test "awf-step with failures, retries and skips" {
	run -3 checked awf-step -n --retries 1 --delay 10ms x -- false
	awf-step -n x -- false >line 2>/dev/null || true
	run -3 checked awf-step y -- cat <line
	run -0 checked awf-step --rescue -q y -- cat <line
	run -1 checked awf-step z -- cat </dev/null
	run -1 checked awf-step --no-such-option
}

@test "awf-step with an agent and tools" {
	cat >answers.jsonl <<-'END'
	{"type":"message","blocks":[{"type":"tool_use","tool_id":"t1","tool_name":"look","tool_input":{"word":"x"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1},"model":"m"}
	{"type":"message","blocks":[{"type":"text","text":"done"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},"model":"m"}
	END
	export AWF_TOOL_PATH="$ROOT/tests/bench/agent/tools"
	same "$(echo go | checked awf-step -r --allow-tools look -m replay/answers.jsonl x)" done
	same "$(echo '{"word":"y"}' | checked awf-step -r -i json -t look x)" '{"word":"y"}'
	run -2 checked awf-step -n -t nosuchtool x
	run -2 checked awf-step -a nosuchagent x
}

# bats test_tags=torture
@test "awf-step with agents that hand over, and a program before each turn" {
	mkdir agents
	printf -- '---\nmodel: replay/%s\nhandoffs: [two]\nbefore_turn: %s\n---\n' "$PWD/one.jsonl" \
		"\"echo '{\\\"params\\\":{\\\"max_tokens\\\":9}}'\"" >agents/one.md
	printf -- '---\nmodel: replay/%s\nhandoffs: [one]\nstop_when: {tool: report}\n---\n' "$PWD/two.jsonl" >agents/two.md
	printf -- '---\nhandoffs: [tow]\n---\n' >agents/three.md
	used() { echo '{"type":"message","blocks":[{"type":"tool_use","tool_id":"t","tool_name":"'"$1"'","tool_input":{}}],"stop_reason":"tool_use","usage":{},"model":"m"}'; }
	{ used transfer_to_two; used nothing; } >one.jsonl
	used report >two.jsonl
	same "$(echo go | checked awf-step -r -a one x)" '{}'
	printf -- '---\nmodel: replay/%s\nbefore_turn: echo 5\n---\n' "$PWD/one.jsonl" >agents/four.md
	run -3 checked awf-step -q -a four x <<<go
	AWF_MODEL=replay/x run -2 checked awf-step -a three x <<<go
}

# bats test_tags=torture
@test "awf-step with MCP servers, good and bad" {
	used() { echo '{"type":"message","blocks":[{"type":"tool_use","tool_id":"t","tool_name":"mcp__a__'"$1"'","tool_input":{}}],"stop_reason":"tool_use","usage":{},"model":"m"}'; }
	{ used echo; used die; used grow; used garbage; used fail; } >some.jsonl
	echo '{"type":"message","blocks":[{"type":"text","text":"done"}],"stop_reason":"end_turn","usage":{},"model":"m"}' >>some.jsonl
	echo "{\"mcpServers\":{\"a\":{\"command\":\"$ROOT/tests/support/mcp-server.py\",\"args\":[\"log\"]},
		\"b\":{\"command\":\"$ROOT/tests/support/mcp-server.py\",\"args\":[\"log\",\"start=die\"]}}}" >.mcp.json
	printf -- '---\nmodel: replay/some.jsonl\nmcp_servers: [a]\n---\n' >one.md
	printf -- '---\nmodel: replay/some.jsonl\nmcp_servers: [a, b]\n---\n' >two.md
	printf -- '---\nmodel: replay/some.jsonl\nmcp_servers: [c]\n---\n' >three.md
	same "$(echo go | checked awf-step -r -a one.md x)" done
	run -3 checked awf-step -q -a two.md x <<<go
	run -2 checked awf-step -q -a three.md x <<<go
}

# bats test_tags=torture
@test "awf-run" {
	echo in | checked awf-run --input k=v -c 'cat >/dev/null; awf-step -n -q x -- true'
	run -3 checked awf-run -n -c 'awf-step -n -q x -- false >/dev/null; true'
	run -125 checked awf-run --no-such-option
	run -127 checked awf-run nosuchworkflow
	run -124 checked awf-run -n --timeout 300ms -c 'sleep 9'
}

# bats test_tags=torture
@test "awf-run --resume and --fork" {
	# valgrind empties LD_PRELOAD for what it does not look into
	printf '%s\n' '# awf: ignore-env: LD_PRELOAD' \
		'echo x | awf-step --effects external a -- cat | awf-step b -q -- cat' 'test -e fine' >flow
	echo in | run -1 awf-run --id-file id ./flow
	run -125 checked awf-run --resume "$(cat id)" --redo nosuch </dev/null
	run -1 checked awf-run --resume "$(cat id)" </dev/null
	run -1 checked awf-run --fork "$(cat id)" --at b </dev/null
	run -1 checked awf-run --resume @ </dev/null
	touch fine
	run -0 checked awf-run --resume "$(cat id)" --redo a </dev/null
	run -0 checked awf-run --resume "$(cat id)" </dev/null
	run -0 checked awf-run --continue ./flow </dev/null
}

# bats test_tags=torture
@test "gates and seals" {
	awf-verify --keygen key
	echo in | checked awf-run --seal=key -c 'awf-step a -- cat >line'
	run -3 checked awf-step --require a x -- cat <line
	run -3 checked awf-step -s --require a --require b x -- cat <line
	run -1 checked awf-step --require a --require b/ x -- cat
	run -0 checked awf-step --require a --help
	run -125 checked awf-run --seal=key.pub true
	checked awf-verify --key key.pub --print-head @pipeline >head
	checked awf-verify --key "$(cat key.pub)" --head head @pipeline
	run -1 checked awf-verify --head key @pipeline
	run -1 checked awf-verify --key key @pipeline
	run -4 checked awf-verify --keygen key
}

# bats test_tags=torture
@test "a masked run, and its filter" {
	printf 'secret\nre:k-[0-9]+\n' >patterns
	export PATH="$BUILD/libexec/awf:$PATH"
	printf 'a secret\nb\n' | AWF_MASK="cat" checked awf-step -i lines -j 2 x -- cat >lines
	printf 'a\377secret' | AWF_MASK='patterns patterns' checked awf-step -q x -- cat
	checked awf-run -n --mask 'patterns patterns' -c true
	run -4 env AWF_MASK='exit 3' valgrind -q --error-exitcode=99 awf-step -n x -- true
	run -125 checked awf-run -n --mask 'echo; cat' -c true
	readlink -f "$AWF_STORAGE/latest" | xargs cat | jq -c 'del(.refs)' | checked awf-mask-patterns patterns >masked
	run -4 checked awf-mask-patterns patterns <<<'{"path":"secret"}'
	run -1 checked awf-mask-patterns /dev/null
}

# bats test_tags=torture
@test "the model of a run, whatever it was fed, and what asks it" {
	checked "$BUILD/tests/unit/test_model" >tap
	checked "$BUILD/tests/unit/test_outcome" >>tap
	run ! grep '^not ok' tap
}
