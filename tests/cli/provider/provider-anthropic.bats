load ../../support/helpers
# bats file_tags=turn:2
bats_require_minimum_version 1.5.0
load ../../support/provider

fixtures() { echo "$ROOT/tests/fixtures/anthropic"; }

# The body sent for a request with these members beside the usual ones.
sent() {
	model_server --answer "$(fixtures)/text.jsonl"
	request 1 "$1" | provider anthropic >/dev/null
	body
}

# The inside of the blocks of an answer.
blocks() { sed 's/.*"blocks":\[\(.*\)\],"stop_reason".*/\1/' "$(fixtures)/$1.answer"; }

# The blocks sent for these blocks of the model.
sent_blocks() {
	model_server --answer "$(fixtures)/text.jsonl"
	echo '{"id":1,"model":"'"${MODEL-m}"'","params":{"thinking":"low"},"messages":[{"role":"assistant","blocks":['"$1"']}]}' |
		provider anthropic >/dev/null
	body | sed 's/.*"role":"assistant","content":\(.*\)}\]}$/\1/'
}

@test "streams give the right message however their bytes are split" {
	check_fixtures anthropic anthropic
}

@test "recorded streams give the right message however their bytes are split" {
	check_captures anthropic anthropic
}

# bats test_tags=turn:2
@test "a stream that is cut or ends at any byte is an error or the whole answer" {
	check_cuts anthropic
}

@test "stop reasons" {
	while read -r theirs ours; do
		sed "s/\"end_turn\"/\"$theirs\"/" "$(fixtures)/text.jsonl" >stream.jsonl
		model_server --answer stream.jsonl
		same "$theirs $(request | provider anthropic | jq -r .stop_reason)" "$theirs $ours"
		kill "$MODEL_SERVER_PID"
	done <<-END
		end_turn end_turn
		tool_use tool_use
		max_tokens max_tokens
		model_context_window_exceeded max_tokens
		stop_sequence stop_sequence
		refusal refusal
		pause_turn pause
		compaction pause
	END
}

@test "deltas come as the text does, if a stream is wanted" {
	model_server --answer "$(fixtures)/tools.jsonl"
	run -0 provider anthropic < <(request 5 '"stream":true')
	same "${lines[0]}" '{"id":5,"type":"delta","kind":"thinking","text":"Which files "}'
	same "${lines[1]}" '{"id":5,"type":"delta","kind":"thinking","text":"are there?"}'
	same "${lines[2]}" '{"id":5,"type":"delta","kind":"text","text":"I look."}'
	# What follows the first of a call comes together, or not at all.
	same "${lines[3]}" '{"id":5,"type":"delta","kind":"tool","text":"grep "}'
	same "$(echo "${lines[-1]}" | jq -r .type)" message
}

@test "the request: where to, headers, what the API needs" {
	export JQ=jq
	model_server --answer "$(fixtures)/text.jsonl"
	request | ANTHROPIC_BASE_URL="$MODEL_SERVER///" provider anthropic >/dev/null
	same "$(jq -c '[.path, .headers]' "$MODEL_SERVER_LOG")" \
		'["/v1/messages",{"content-type":"application/json","accept":"*/*","user-agent":"awf/'"$(awf --version | sed 's/^awf //')"'","anthropic-version":"2023-06-01","authorization":false,"x-api-key":true}]'
	same "$(body)" '{"model":"test-model","stream":true,"max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}'
}

@test "the request: system, tools and parameters" {
	run sent '"system":"Be brief.","params":{"cache":false,"max_tokens":5,"temperature":0.50,"top_p":1.0,"stop_sequences":["x"],"top_k":3},"tools":[{"name":"t","description":"d","input_schema":{"type":"object","maximum":1e400}}]'
	same "$output" '{"model":"test-model","stream":true,"max_tokens":5,"temperature":0.50,"top_p":1.0,"stop_sequences":["x"],"top_k":3,"system":"Be brief.","tools":[{"name":"t","description":"d","input_schema":{"type":"object","maximum":1e400,"properties":{}}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}'
}

@test "the request: thinking" {
	export JQ=jq
	while read -r given expected; do
		same "$given $(sent "\"params\":{\"thinking\":$given}" | jq -c '[.max_tokens, .thinking]')" \
			"$given $expected"
	done <<-'END'
		false [8192,null]
		true [16384,{"type":"enabled","budget_tokens":8192}]
		"low" [10240,{"type":"enabled","budget_tokens":2048}]
		"high" [32768,{"type":"enabled","budget_tokens":24576}]
		5000 [13192,{"type":"enabled","budget_tokens":5000}]
		{"type":"adaptive"} [8192,{"type":"adaptive"}]
		{"type":"enabled","budget_tokens":1024} [9216,{"type":"enabled","budget_tokens":1024}]
	END
}

# bats test_tags=turn:3
@test "the request: thinking of models that take an effort" {
	for model in claude-sonnet-4-6 claude-opus-5-5 anthropic/claude-sonnet-5; do
		while read -r given expected; do
			same "$model $given $(sent "\"model\":\"$model\",\"params\":{\"thinking\":$given}" | jq -c '[.thinking, .output_config]')" \
				"$model $given $expected"
		done <<-'END'
			false [null,null]
			true [{"type":"adaptive"},null]
			"minimal" [{"type":"adaptive"},{"effort":"low"}]
			"high" [{"type":"adaptive"},{"effort":"high"}]
			5000 [{"type":"adaptive"},{"effort":"medium"}]
			{"type":"disabled"} [{"type":"disabled"},null]
			"low","output_config":{"effort":"max","x":1} [{"type":"adaptive"},{"effort":"max","x":1}]
		END
	done
	same "$(sent '"model":"claude-opus-5","params":{"thinking":"high","output_config":{"x":1}},"output_schema":{"type":"object","properties":{},"additionalProperties":false}' |
		jq -c '.output_config | [.x, .effort, .format.type]')" '[1,"high","json_schema"]'
	for model in claude-sonnet-4-5 claude-opus-4-1-20250805 claude-opus-4-20250514 claude-3-7-sonnet-latest; do
		same "$(sent "\"model\":\"$model\",\"params\":{\"thinking\":\"low\"}" | jq -c .thinking)" '{"budget_tokens":2048,"type":"enabled"}'
	done
}

@test "what the API said goes back as it came" {
	# Of a model that does not check what its thoughts are bound to; see fidelity.bats.
	MODEL=claude-sonnet-4-5
	run sent_blocks "$(blocks tools)"
	same "$output" '[{"type":"thinking","thinking":"Which files are there?","signature":"c2lnbmF0dXJl/+=="},{"type":"redacted_thinking","data":"ZW5jcnlwdGVk"},{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"grep","input":{"pattern":"a\\.\u00e9","limit":1.00e2,"big":12345678901234567890}},{"type":"tool_use","id":"toolu_2","name":"now","input":{},"caller":{"type":"direct"}}]'
}

@test "what the API's own tools said goes back as it came" {
	run sent_blocks "$(blocks server-tools)"
	same "$(echo "$output" | jq -cS .)" "$(jq -csS '[
		{type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {query: "batteries"}},
		.[4].content_block,
		{type: "text", text: "Cells last.", citations: [.[7,9].delta.citation]},
		{type: "mcp_tool_use", id: "mcp_1", name: "ask", input: {}, server_name: "s"},
		.[14].content_block]' "$(fixtures)/server-tools.jsonl")"
}

@test "a block of a kind that is not known goes back as it came" {
	run sent_blocks "$(blocks unknown)"
	same "$output" '[{"type":"container_upload","file_id":"f1","n":1e2},{"type":"text","text":"ok"}]'
}

@test "what only another API understands, empty text and recorded extras stay here" {
	run sent_blocks '{"type":"thinking","thinking":"x","api":"openai","field":"reasoning_content"},{"type":"thinking","thinking":"no signature"},{"type":"text","text":""},{"type":"tool_use","tool_id":"i","tool_name":"n","tool_input":{},"api":"other","raw":{"type":"special"}},{"type":"text","text":"yes","fidelity":"agent_emitted","api":"other","raw":{"x":1}}'
	same "$output" '[{"type":"text","text":"yes"}]'
}

@test "a message of which nothing can be sent is left out" {
	model_server --answer "$(fixtures)/text.jsonl"
	echo '{"id":1,"model":"m","messages":[{"role":"user","blocks":[{"type":"text","text":"a"}]},{"role":"assistant","blocks":[{"type":"text","text":""}]},{"role":"user","blocks":[{"type":"text","text":"b"}]}]}' |
		provider anthropic >/dev/null
	same "$(body | jq -c '[.messages[] | [.role, .content[0].text]]')" '[["user","a"],["user","b"]]'
}

@test "tools that were called are told of, if there are none to call" {
	call='{"type":"tool_use","tool_id":"a","tool_name":"look","tool_input":{}}'
	messages='[{"role":"user","blocks":[{"type":"text","text":"x"}]},{"role":"assistant","blocks":['$call','$call',{"type":"tool_use","tool_id":"b","tool_name":"leap","tool_input":{}}]}]'
	model_server --answer "$(fixtures)/text.jsonl"
	for tools in '[]' null '[{"name":"other","input_schema":{"type":"object"}}]'; do
		echo '{"id":1,"model":"m","messages":'"$messages"',"tools":'"$tools"'}' | provider anthropic >/dev/null || true
	done
	same "$(jq -c '.body | [[.tools[].name], .tools[0].input_schema, .tool_choice.type]' "$MODEL_SERVER_LOG")" \
		'[["look","leap"],{"type":"object"},"none"]
[["look","leap"],{"type":"object"},"none"]
[["other"],{"properties":{},"type":"object"},null]'
}

@test "tool results: text as it is, JSON as its own bytes, errors marked" {
	export JQ=jq
	model_server --answer "$(fixtures)/text.jsonl"
	printf '%s\n' '{"id":1,"model":"m","messages":[{"role":"user","blocks":[{"type":"tool_result","tool_id":"a","tool_content":"t\n"},{"type":"tool_result","tool_id":"b","tool_content":{ "n": 1.00e2, "s":"\u00e9" }},{"type":"tool_result","tool_id":"c","tool_content":"no","is_error":true}]}]}' |
		provider anthropic >/dev/null
	same "$(body | jq -c '.messages[0].content')" \
		'[{"type":"tool_result","tool_use_id":"a","content":"t\n"},{"type":"tool_result","tool_use_id":"b","content":"{\"n\":1.00e2,\"s\":\"\\u00e9\"}"},{"type":"tool_result","tool_use_id":"c","content":"no","is_error":true}]'
}

@test "tool arguments go back with their own bytes; what is no object goes in one" {
	model_server --answer "$(fixtures)/text.jsonl"
	printf '%s\n' '{"id":1,"model":"m","messages":[{"role":"assistant","blocks":[{"type":"tool_use","tool_id":"a","tool_name":"n","tool_input":{"x":12345678901234567890,"y":1.50}},{"type":"tool_use","tool_id":"b","tool_name":"n","tool_input":"{\"half"}]}]}' |
		provider anthropic >/dev/null
	grep -F '"input":{"x":12345678901234567890,"y":1.50}' "$MODEL_SERVER_LOG"
	grep -F '"input":{"invalid_json":"{\"half"}' "$MODEL_SERVER_LOG"
}

@test "a text whose begin is left out counts, a call whose begin is left out is none" {
	grep -v content_block_start "$(fixtures)/text.jsonl" >stream.jsonl
	model_server --answer stream.jsonl
	same "$(request | provider anthropic | jq -c '[.blocks[].type, .stop_reason]')" '["text","end_turn"]'
	kill "$MODEL_SERVER_PID"
	grep -v content_block_start "$(fixtures)/tools.jsonl" | grep -v text_delta >stream.jsonl
	model_server --answer stream.jsonl
	run -0 provider anthropic < <(request)
	[[ $output == *'"category":"provider","message":"the '*'; it sent: '* ]]
}

# What is marked for the cache of the API, as jq finds it in a body.
marked() {
	sent "$1" | jq -c '[paths(objects | has("cache_control")) | map(tostring) | join("/")]'
}

@test "input is marked for the cache where an agent has tools, or asks for it" {
	export JQ=jq
	tools='"system":"s","tools":[{"name":"t","input_schema":{"type":"object"}}]'
	same "$(marked "$tools")" '["system/0","messages/0/content/0"]'
	same "$(marked "$tools,\"params\":{\"cache\":false}")" '[]'
	same "$(marked '"system":"s"')" '[]'
	same "$(marked '"system":"","params":{"cache":true}')" '["messages/0/content/0"]'
	# the last block that takes a mark: no thinking, and nothing that the API said itself
	same "$(marked '"params":{"cache":true},"messages":[{"role":"user","blocks":[{"type":"text","text":"q"}]},{"role":"assistant","blocks":[{"type":"text","text":"x"},{"type":"text","text":"y","api":"anthropic","raw":{"citations":[1]}},{"type":"thinking","thinking":"t","signature":"s","api":"anthropic"}]},{"role":"user","blocks":[{"type":"text","text":""}]}]')" \
		'["messages/1/content/0"]'
}

@test "attachments" {
	export JQ=jq
	same "$(sent '"messages":[{"role":"user","blocks":[{"type":"image","media_type":"image/png","name":"a.png","data":"QUJD"},{"type":"document","media_type":"application/pdf","name":"b.pdf","data":"REVG"},{"type":"document","media_type":"application/pdf","data":"REVG"},{"type":"text","text":"x"}]}]' | jq -c '.messages[0].content[]')" \
		'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}
{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"REVG"},"title":"b.pdf"}
{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"REVG"}}
{"type":"text","text":"x"}'
}

@test "an attachment that the API takes not is refused before it is sent" {
	model_server --answer "$(fixtures)/text.jsonl"
	same "$(request 1 '"messages":[{"role":"user","blocks":[{"type":"image","media_type":"image/bmp","name":"a.bmp","data":"QUJD"}]}]' | provider anthropic)" \
		'{"id":1,"type":"error","category":"invalid","message":"a.bmp: the API takes no attachments of the type image/bmp"}'
	same "$(request 1 '"messages":[{"role":"user","blocks":[{"type":"document"}]}]' | provider anthropic)" \
		'{"id":1,"type":"error","category":"invalid","message":"the API takes no attachments of the type (none)"}'
	[ ! -s "$MODEL_SERVER_LOG" ]
}

@test "params that AWF writes to as well stand once" {
	local schema='{"type":"object","additionalProperties":false}'
	model_server --answer "$(fixtures)/text.jsonl" --loop
	{
		request 1 '"params":{"output_config":{"effort":"low","format":{"type":"x"}}},"output_schema":'"$schema"
		request 2 '"params":{"output_config":{"effort":"low"}}'
		echo '{"id":3,"model":"m","params":{"tool_choice":{"type":"any"}},"messages":[{"role":"assistant","blocks":[{"type":"tool_use","tool_id":"t","tool_name":"n","tool_input":{}}]}]}'
	} | provider anthropic >/dev/null
	same "$(body 1 | grep -o '"output_config".*}}}')" \
		'"output_config":{"effort":"low","format":{"type":"json_schema","schema":'"$schema"'}}'
	same "$(body 1 | grep -o '"output_config"' | wc -l)" 1
	same "$(body 2 | jq -c .output_config)" '{"effort":"low"}'
	same "$(body 3 | grep -o '"tool_choice":{[^}]*}')" '"tool_choice":{"type":"any"}'
}

# bats test_tags=turn:2
@test "a schema of the output is sent where model and API take it" {
	while read -r model schema; do
		model_server --answer "$(fixtures)/text.jsonl"
		request 1 "\"model\":\"$model\",\"output_schema\":$schema" | provider anthropic >/dev/null
		expected=$(jq -nc --argjson s "$schema" '$s | del(.["$schema"]) | {format: {type: "json_schema", schema: .}}')
		same "$schema $(body | jq -c .output_config)" "$schema $expected"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		claude-sonnet-4-5 {"type":"object","properties":{"a":{"type":"string","format":"date"}},"required":["a"],"additionalProperties":false}
		claude-sonnet-4-5 {"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}
		other-model {"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/b"},"minimum":{"type":["string","null"]}},"$defs":{"b":{"anyOf":[{"type":"integer"},{"type":"array","items":{"const":1}}]}}}
	END
	while read -r model schema; do
		model_server --answer "$(fixtures)/text.jsonl"
		request 1 "\"model\":\"$model\",\"output_schema\":$schema" | provider anthropic >/dev/null
		same "$schema $(body | jq -c .output_config)" "$schema null"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		claude-3-7-sonnet-20250219 {"type":"object","additionalProperties":false}
		claude-sonnet-4-20250514 {"type":"object","additionalProperties":false}
		claude-sonnet-4-5 {"type":"object"}
		claude-sonnet-4-5 {"type":"array","items":{"type":"string"}}
		claude-sonnet-4-5 {"type":"object","additionalProperties":{"type":"string"}}
		claude-sonnet-4-5 {"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","minimum":1}}}
		claude-sonnet-4-5 {"type":"object","additionalProperties":false,"properties":{"a":{"properties":{}}}}
		claude-sonnet-4-5 {"type":"object","additionalProperties":false,"properties":{"a":{"type":["object","null"]}}}
		claude-sonnet-4-5 {"type":"object","additionalProperties":false,"properties":{"a":{"format":"regex"}}}
		claude-sonnet-4-5 {"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#"}}}
		claude-sonnet-4-5 {"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"https://example.com/x"}}}
		claude-sonnet-4-5 {"type":"object","additionalProperties":false,"$defs":{"a":{"$ref":"#/$defs/a"}}}
		claude-sonnet-4-5 {"type":"object","additionalProperties":false,"properties":{"a":true}}
	END
}

@test "two answers in one stream are none" {
	{ grep -v 'message_stop\|message_delta' "$(fixtures)/tools.jsonl"; cat "$(fixtures)/tools.jsonl"; } >stream.jsonl
	model_server --answer stream.jsonl
	same "$(request | provider anthropic | jq -r '.category + " " + .message')" \
		'provider a second answer begins before the first has ended'
}

@test "usage is that of all iterations; what a compaction said goes back" {
	export JQ=jq
	cat >stream.jsonl <<-'END'
		{"type":"message_start","message":{"model":"m","usage":{"input_tokens":23,"output_tokens":1}}}
		{"type":"content_block_start","index":0,"content_block":{"type":"compaction"}}
		{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"In short."}}
		{"type":"content_block_stop","index":0}
		{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"ok"}}
		{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":23,"output_tokens":10,"iterations":[{"type":"compaction","input_tokens":180,"output_tokens":35},{"type":"message","input_tokens":23,"output_tokens":10,"cache_read_input_tokens":2}]}}
		{"type":"message_stop"}
	END
	model_server --answer stream.jsonl
	run -0 provider anthropic < <(request)
	same "$(jq -c '[.usage, .blocks[0].raw]' <<<"$output")" \
		'[{"input_tokens":205,"output_tokens":45,"cache_read_tokens":2},{"type":"compaction","content":"In short."}]'
}

@test "older models: thinking is left out while an answer goes on that was given without" {
	model_server --answer "$(fixtures)/text.jsonl" --loop
	conversation() {
		printf '{"id":%s,"model":"%s","params":{%s},"messages":[{"role":"user","blocks":[{"type":"text","text":"q"}]},{"role":"assistant","from":"%s","blocks":[%s{"type":"tool_use","tool_id":"t","tool_name":"n","tool_input":{}}]},{"role":"user","blocks":[{"type":"tool_result","tool_id":"t","tool_content":"r"}%s]}]}\n' "$@"
	}
	thought='{"type":"thinking","thinking":"hm","signature":"s","api":"anthropic"},'
	# Another model's answer goes on: asked to think, the API refuses.
	conversation 1 claude-sonnet-4-5 '"thinking":"high"' other/m '' '' >requests
	# Its own, with its thought.
	conversation 2 claude-sonnet-4-5 '"thinking":"high"' anthropic/claude-sonnet-4-5 "$thought" '' >>requests
	# Not asked to think: no thought goes back.
	conversation 3 claude-sonnet-4-5 '' anthropic/claude-sonnet-4-5 "$thought" '' >>requests
	# Newer models decide themselves.
	conversation 4 claude-opus-4-7 '"thinking":"high"' other/m '' '' >>requests
	provider anthropic <requests >answers
	same "$(for n in 1 2 3 4; do body $n | jq -c '[.thinking.type, (.messages[1].content | map(.type))]'; done)" \
		'[null,["tool_use"]]
["enabled",["thinking","tool_use"]]
[null,["tool_use"]]
["adaptive",["tool_use"]]'
	same "$(jq -r '.params_note // "-"' answers | cut -c1-20 | paste -sd' ')" 'thinking is left out - - -'
}
