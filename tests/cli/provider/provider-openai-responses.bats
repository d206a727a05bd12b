load ../../support/helpers
# bats file_tags=turn:2
bats_require_minimum_version 1.5.0
load ../../support/provider

fixtures() { echo "$ROOT/tests/fixtures/openai-responses"; }

# The answer to a stream of these events, a line each on stdin.
answer_to() {
	cat >stream.jsonl
	model_server --answer stream.jsonl
	request 1 | provider openai-responses
	kill "$MODEL_SERVER_PID"
}

# The body sent for a request with these members beside the usual ones.
sent() {
	model_server --answer "$(fixtures)/text.jsonl"
	request 1 "${1-}" | provider openai-responses >/dev/null
	body
}

# The items sent for these messages.
sent_input() {
	model_server --answer "$(fixtures)/text.jsonl"
	printf '%s\n' '{"id":1,"model":"m","messages":['"$1"']}' | provider openai-responses >/dev/null
	body | sed 's/.*"input":\[\(.*\)}$/[\1/'
}

# The blocks of the answer to a stream, their own bytes.
blocks_of() { sed 's/.*"blocks":\(.*\),"stop_reason".*/\1/' "$(fixtures)/$1.answer"; }

# The items sent back for it.
sent_back() { sent_input '{"role":"assistant","blocks":'"$(blocks_of "$1")"'}'; }

@test "streams give the right message however their bytes are split" {
	check_fixtures openai-responses openai-responses
}

@test "recorded streams give the right message however their bytes are split" {
	check_captures openai-responses openai-responses
}

# bats test_tags=turn:3
@test "a stream that is cut or ends at any byte is an error or the whole answer" {
	check_cuts openai-responses
}

@test "deltas come as the text does, and say what the message says" {
	model_server --answer "$(fixtures)/calls.jsonl"
	run -0 provider openai-responses < <(request 5 '"stream":true')
	same "${lines[0]}" '{"id":5,"type":"delta","kind":"thinking","text":"**Two "}'
	same "$(jq -rs 'map(select(.kind == "thinking").text) | join("")' <<<"$output")" \
		"$(jq -r '.blocks[0].thinking' "$(fixtures)/calls.answer")"
	same "$(jq -rs 'map(select(.kind == "text").text) | join("")' <<<"$output")" 'One moment.'
	same "$(tail -n 1 <<<"$output" | jq -r .type)" message
	kill "$MODEL_SERVER_PID"
	model_server --answer "$(fixtures)/refusal.jsonl"
	run -0 provider openai-responses < <(request 5 '"stream":true')
	same "${lines[0]}" '{"id":5,"type":"delta","kind":"text","text":"No."}'
}

@test "why an answer is incomplete" {
	while read -r theirs ours; do
		same "$theirs $(sed "s/max_output_tokens/$theirs/" "$(fixtures)/incomplete.jsonl" | answer_to | jq -r .stop_reason)" \
			"$theirs $ours"
	done <<-END
		max_output_tokens max_tokens
		content_filter refusal
	END
}

@test "the request: where to, headers" {
	export JQ=jq
	model_server --answer "$(fixtures)/text.jsonl"
	request | OPENAI_BASE_URL="$MODEL_SERVER/v1/" provider openai-responses >/dev/null
	same "$(jq -c '[.path, .headers]' "$MODEL_SERVER_LOG")" \
		'["/v1/responses",{"content-type":"application/json","accept":"*/*","user-agent":"awf/'"$(awf --version | sed 's/^awf //')"'","authorization":true,"x-api-key":false}]'
	same "$(body)" '{"model":"test-model","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}'
}

@test "the request: system, tools and parameters" {
	run sent '"system":"Be brief.","params":{"max_tokens":5,"temperature":0.50,"top_p":1,"stop_sequences":[],"cache":true,"service_tier":"flex"},"tools":[{"name":"t","description":"d","input_schema":{"type":"object"}}]'
	same "$output" '{"model":"test-model","stream":true,"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":5,"temperature":0.50,"top_p":1,"service_tier":"flex","instructions":"Be brief.","tools":[{"type":"function","name":"t","description":"d","parameters":{"type":"object","properties":{}},"strict":false}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}'
}

@test "the request: models that do not think have no thoughts to encrypt" {
	while read -r model expected; do
		model_server --answer "$(fixtures)/text.jsonl"
		request | sed "s|test-model|$model|" | provider openai-responses >/dev/null
		same "$model $(body | jq -c .include)" "$model $expected"
		kill "$MODEL_SERVER_PID"
	done <<-END
		o3 ["reasoning.encrypted_content"]
		gpt-5.1-codex ["reasoning.encrypted_content"]
		openai/gpt-5 ["reasoning.encrypted_content"]
		gpt-4.1-mini null
		openai/gpt-4o null
		gpt-3.5-turbo null
		gpt-5-chat-latest null
	END
	same "$(sent '"params":{"include":["message.output_text.logprobs"]}' | jq -c .include)" \
		'["message.output_text.logprobs"]'
}

@test "the request: thinking" {
	while read -r given expected; do
		same "$given $(sent "\"params\":{\"thinking\":$given}" | jq -c .reasoning)" "$given $expected"
	done <<-'END'
		false null
		true {"effort":"medium","summary":"auto"}
		"minimal" {"effort":"minimal","summary":"auto"}
		1024 {"effort":"low","summary":"auto"}
		8000 {"effort":"medium","summary":"auto"}
		30000 {"effort":"high","summary":"auto"}
		{"effort":"none"} {"effort":"none"}
	END
}

@test "stop sequences are refused, for the API has none" {
	model_server --answer "$(fixtures)/text.jsonl"
	same "$(request 1 '"params":{"stop_sequences":["x"]}' | provider openai-responses)" \
		'{"id":1,"type":"error","category":"invalid","message":"stop_sequences: the Responses API has none: take the provider openai, or leave them out"}'
	[ ! -s "$MODEL_SERVER_LOG" ]
}

@test "a conversation that another provider began, bytes kept" {
	run sent_input '{"role":"user","blocks":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","blocks":[{"type":"thinking","thinking":"t","signature":"s","api":"anthropic"},{"type":"text","text":"x"},{"type":"text","text":"y","api":"anthropic","raw":{"citations":[]}},{"type":"tool_use","tool_id":"1","tool_name":"n","tool_input":{ "v": 1.50 }},{"type":"tool_use","tool_id":"2","tool_name":"n","tool_input":"{\"half"},{"type":"tool_use","tool_id":"3","tool_name":"web","tool_input":{},"api":"anthropic","raw":{"type":"server_tool_use"}},{"type":"text","text":""}]},{"role":"user","blocks":[{"type":"tool_result","tool_id":"1","tool_content":{ "r": 1e2 }},{"type":"tool_result","tool_id":"2","tool_content":"bad","is_error":true},{"type":"text","text":"go on"}]}'
	same "$output" '[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x","annotations":[]},{"type":"output_text","text":"y","annotations":[]}]},{"type":"function_call","call_id":"1","name":"n","arguments":"{\"v\":1.50}"},{"type":"function_call","call_id":"2","name":"n","arguments":"{\"invalid_json\":\"{\\\"half\"}"},{"type":"function_call_output","call_id":"1","output":"{\"r\":1e2}"},{"type":"function_call_output","call_id":"2","output":"bad"},{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}]'
}

@test "every item goes back as it came" {
	for name in text calls own-tools custom refusal incomplete; do
		same "$name $(sent_back "$name" | jq -cS .)" \
			"$name $(jq -c 'select(.type == "response.output_item.done").item
				| del(.[] | nulls) | del(.content?[]?.logprobs)
				| if .type == "function_call" and .arguments == "" then .arguments = "{}"
				  elif .type == "function_call" and (.arguments | try (fromjson | false) catch true)
				  then .arguments |= ({invalid_json: .} | tojson)
				  elif .id == "fc_1" and .call_id == "call_1" then .arguments |= (fromjson | tojson | sub("1}"; "1.0}"))
				  elif .type == "mcp_call" then .arguments |= (fromjson | tojson) else . end' \
				"$(fixtures)/$name.jsonl" | jq -csS .)"
	done
}

@test "thoughts that the API cannot read again do not go back" {
	same "$(sent_input '{"role":"assistant","blocks":[{"type":"thinking","thinking":"t","api":"openai-responses","raw":{"id":"rs_1","summary":[]}},{"type":"thinking","thinking":"u"}]}')" '[]'
	same "$(sent_back all-at-the-end)" '[{"type":"reasoning","content":[{"type":"reasoning_text","text":"Hm."}],"summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes.","annotations":[]}]}]'
}

@test "the result of a custom tool is of its own type" {
	export JQ=jq
	run sent_input '{"role":"assistant","blocks":'"$(blocks_of custom)"'},{"role":"user","blocks":[{"type":"tool_result","tool_id":"call_1","tool_content":"1"},{"type":"tool_result","tool_id":"call_2","tool_content":"2"}]}'
	same "$(jq -c '.[3:]' <<<"$output")" \
		'[{"type":"custom_tool_call_output","call_id":"call_1","output":"1"},{"type":"function_call_output","call_id":"call_2","output":"2"}]'
}

@test "a response that failed, errors in mid-stream" {
	while read -r category event; do
		same "$event $(answer_to <<<"$event" | jq -r '.category')" "$event $category"
	done <<-'END'
		provider {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"sorry"}}}
		rate_limit {"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}
		context_length {"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"too long"}}}
		invalid {"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"no"}}}
		refused {"type":"response.failed","response":{"error":{"code":"image_content_policy_violation","message":"no"}}}
		invalid {"type":"response.failed","response":{"error":{"code":"invalid_base64_image","message":"no"}}}
		overloaded {"type":"response.failed","response":{"error":{"code":"server_is_overloaded","message":"later"}}}
		provider {"type":"response.failed","response":{"error":null}}
		auth {"type":"error","code":"insufficient_quota","message":"no credit","param":null,"sequence_number":1}
		invalid {"type":"error","error":{"type":"invalid_request_error","code":null,"message":"no","param":"input"},"sequence_number":1}
		provider {"type":"error","code":null,"message":"sorry","param":null}
	END
	same "$(answer_to <<<'{"type":"response.failed","response":{"error":null}}' | jq -r .message)" \
		'the API failed and did not say why'
}

@test "an item that began and never ended is no answer" {
	same "$(grep -v 'output_item.done\|refusal.done' "$(fixtures)/refusal.jsonl" | answer_to)" \
		'{"id":1,"type":"error","category":"provider","message":"the answer ended, 1 of its items did not","request_id":"req_1","usage":{"input_tokens":5,"output_tokens":2},"model":"model-r"}'
}

@test "without its last event a stream is no answer, whatever else ends it" {
	for last in '' '[DONE]'; do
		same "$({ grep -v response.completed "$(fixtures)/text.jsonl"; echo "$last"; } | answer_to)" \
			'{"id":1,"type":"error","category":"network","message":"the stream ended before the answer did","request_id":"req_1"}'
	done
}

@test "another server needs no key, OpenAI's does" {
	model_server --answer "$(fixtures)/text.jsonl"
	unset OPENAI_API_KEY
	same "$(request | provider openai-responses | jq -r .type)" message
	unset OPENAI_BASE_URL
	same "$(request | provider openai-responses)" \
		'{"id":1,"type":"error","category":"auth","message":"no API key: set OPENAI_API_KEY"}'
}

@test "attachments" {
	run sent_input '{"role":"user","blocks":[{"type":"image","media_type":"image/png","name":"a.png","data":"QUJD"},{"type":"document","media_type":"application/pdf","name":"b.pdf","data":"REVG"},{"type":"document","media_type":"application/pdf","data":"REVG"},{"type":"text","text":"x"}]}'
	same "$output" '[{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,QUJD"},{"type":"input_file","filename":"b.pdf","file_data":"data:application/pdf;base64,REVG"},{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,REVG"},{"type":"input_text","text":"x"}]}]'
	same "$(request 1 '"messages":[{"role":"user","blocks":[{"type":"image","media_type":"image/bmp","data":"QUJD"}]}]' | provider openai-responses)" \
		'{"id":1,"type":"error","category":"invalid","message":"the API takes no attachments of the type image/bmp"}'
}

@test "a schema of the output is sent: strictly where that takes it, else not" {
	export JQ=jq
	while read -r strict schema; do
		same "$schema $(sent "\"output_schema\":$schema" | jq -c .text)" \
			"$schema {\"format\":{\"type\":\"json_schema\",\"name\":\"answer\",\"schema\":$schema,\"strict\":$strict}}"
	done <<-'END'
		true {"type":"object","properties":{"a":{"type":"integer","minimum":1}},"required":["a"],"additionalProperties":false}
		false {"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}
	END
	same "$(sent '"output_schema":{"type":"array"}' | jq -c .text)" null
	same "$(sent '"params":{"text":{"verbosity":"low"}}' | jq -c .text)" '{"verbosity":"low"}'
	same "$(sent '"params":{"text":{"verbosity":"low","format":{"type":"text"}}},"output_schema":{"type":"object"}' | jq -c .text)" \
		'{"verbosity":"low","format":{"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":false}}'
}

@test "an agent's turns: thoughts, calls and results go back, the request's id is recorded" {
	model_server --answer "$(fixtures)/calls.jsonl" --answer "$(fixtures)/text.jsonl"
	mkdir tools
	printf '#!/bin/sh\necho sunny\n' >tools/weather
	chmod +x tools/weather
	echo '{"name":"weather","description":"d","input_schema":{"type":"object"},"effects":"none"}' >tools/weather.tool.json
	printf '%s\n' --- 'provider: openai-responses' 'model: model-r' 'thinking: low' 'tools: [weather]' --- 'Be brief.' >a.md
	recorded 0 -c 'echo hi | awf-step -a a.md -r ask'
	same "$output" 'Grüße 😀'
	same "$(body 2 | jq -c '[.reasoning, (.input[] | [.type, .id // .call_id, .phase, .encrypted_content, .output])]')" \
		'[{"effort":"low","summary":"auto"},["message",null,null,null,null],["reasoning","rs_1",null,"Z0FBQUFBQm4=",null],["message","msg_1","commentary",null,null],["function_call","fc_1",null,null,null],["function_call","fc_2",null,null,null],["function_call_output","call_1",null,null,"sunny"],["function_call_output","call_2",null,null,"sunny"]]'
	same "$(payloads message.assistant '[.stop_reason, .request_id, .usage.reasoning_tokens]' | paste -sd' ')" \
		'["tool_use","req_1",32] ["end_turn","req_2",0]'
	same "$(jq -r .connection "$MODEL_SERVER_LOG" | paste -sd' ')" '1 1'
}

@test "text that came in pieces alone is the answer" {
	export JQ=jq
	same "$(answer_to <<-'END' | jq -c '[.blocks, .stop_reason]'
		{"type":"response.created","response":{"id":"r","status":"in_progress"}}
		{"type":"response.reasoning_text.delta","output_index":0,"delta":"Hm."}
		{"type":"response.output_text.delta","output_index":1,"delta":"Ye"}
		{"type":"response.output_text.delta","output_index":1,"delta":"s."}
		{"type":"response.completed","response":{"status":"completed","output":[]}}
	END
	)" '[[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Yes."}],"end_turn"]'
	# What an item says when it is done takes the place of its pieces.
	same "$(answer_to <<-'END' | jq -c '[.blocks[].text]'
		{"type":"response.output_text.delta","output_index":0,"delta":"Ye"}
		{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Yes."}]}}
		{"type":"response.completed","response":{"status":"completed"}}
	END
	)" '["Yes."]'
}

@test "a limit that cuts an item off is the limit's, not the API's fault" {
	same "$(answer_to <<-'END' | jq -c '[.stop_reason, [.blocks[].text]]'
		{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"One."}]}}
		{"type":"response.output_item.added","output_index":1,"item":{"type":"message","content":[]}}
		{"type":"response.output_text.delta","output_index":1,"delta":"Tw"}
		{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}
	END
	)" '["max_tokens",["One.","Tw"]]'
}

@test "two answers in one stream are none" {
	same "$({ cat "$(fixtures)/calls.jsonl" | grep -v completed; cat "$(fixtures)/calls.jsonl"; } | answer_to | jq -r '.category + " " + .message')" \
		'provider a second answer begins before the first has ended'
}

@test "what is written to the cache is counted" {
	export JQ=jq
	same "$(answer_to <<-'END' | jq -c .usage
		{"type":"response.output_text.delta","delta":"x"}
		{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":4},"output_tokens":2}}}
	END
	)" '{"input_tokens":9,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4}'
}

@test "an answer that waits for the client is an error that says for what" {
	while read -r expected item; do
		same "$item $({
			echo '{"type":"response.output_item.done","item":'"$item"'}'
			echo '{"type":"response.completed","response":{"status":"completed"}}'
		} | answer_to | jq -r '.category // .stop_reason')" "$item $expected"
	done <<-'END'
		invalid {"type":"local_shell_call","id":"l1","call_id":"c1","action":{"type":"exec","command":["ls"]},"status":"in_progress"}
		invalid {"type":"shell_call","id":"l1","call_id":"c1","action":{"commands":["ls"]}}
		invalid {"type":"apply_patch_call","id":"l1","call_id":"c1","operation":{"type":"delete_file","path":"x"}}
		invalid {"type":"computer_call","id":"l1","call_id":"c1","action":{"type":"screenshot"}}
		invalid {"type":"mcp_approval_request","id":"m1","name":"ask","server_label":"s","arguments":"{}"}
		invalid {"type":"tool_search_call","id":"t1","call_id":"c1","execution":"client","arguments":{"q":"x"}}
		end_turn {"type":"tool_search_call","id":"t1","execution":"server","arguments":{"q":"x"}}
	END
	same "$({
		echo '{"type":"response.output_item.done","item":{"type":"mcp_approval_request","id":"m1","name":"ask"}}'
		echo '{"type":"response.completed","response":{"status":"completed"}}'
	} | answer_to | jq -r .message)" \
		"the model waits for 'mcp_approval_request', which is the client's to do: leave that tool out"
}

@test "what a hosted search of tools was asked is its input" {
	same "$({
		echo '{"type":"response.output_item.done","item":{"type":"tool_search_call","id":"t1","execution":"server","arguments":{"q":"x"}}}'
		echo '{"type":"response.output_item.done","item":{"type":"tool_search_output","id":"t2","tools":[{"name":"n"}]}}'
		echo '{"type":"response.completed","response":{"status":"completed"}}'
	} | answer_to | jq -c '[.blocks[] | [.tool_name, .tool_input, .tool_content]]')" \
		'[["tool_search",{"q":"x"},null],[null,null,[{"name":"n"}]]]'
}
