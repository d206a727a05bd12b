load ../../support/helpers
bats_require_minimum_version 1.5.0
load ../../support/provider

fixtures() { echo "$ROOT/tests/fixtures/openai"; }

# The body sent for a request with these members beside the usual ones.
sent() {
	model_server --answer "$(fixtures)/text.jsonl"
	request 1 "$1" | provider openai >/dev/null
	body
}

# The messages sent for these messages.
sent_messages() {
	model_server --answer "$(fixtures)/text.jsonl"
	printf '%s\n' '{"id":1,"model":"m","messages":['"$1"']}' | provider openai >/dev/null
	body | sed 's/.*"messages":\(.*\)}$/\1/'
}

# bats test_tags=turn:2
@test "streams give the right message however their bytes are split" {
	check_fixtures openai openai
}

@test "recorded streams give the right message however their bytes are split" {
	check_captures openai openai-chat
}

# bats test_tags=turn:3
@test "a stream that is cut or ends at any byte is an error or the whole answer" {
	check_cuts openai
}

# bats test_tags=turn:2
@test "finish reasons" {
	while read -r theirs ours; do
		sed "s/\"stop\"/\"$theirs\"/" "$(fixtures)/text.jsonl" >stream.jsonl
		model_server --answer stream.jsonl
		same "$theirs $(request | provider openai | jq -r .stop_reason)" "$theirs $ours"
		kill "$MODEL_SERVER_PID"
	done <<-END
		stop end_turn
		eos end_turn
		length max_tokens
		tool_calls tool_use
		content_filter refusal
		eos_token end_turn
		stop_sequence stop_sequence
		model_length max_tokens
		sensitive refusal
		refusal refusal
		content_filtered refusal
		guardrail_intervened refusal
		STOP end_turn
		SAFETY refusal
		RECITATION refusal
	END
}

@test "deltas come as the text does, if a stream is wanted" {
	model_server --answer "$(fixtures)/reasoning.jsonl"
	run -0 provider openai < <(request 5 '"stream":true')
	same "${lines[0]}" '{"id":5,"type":"delta","kind":"thinking","text":"Hm."}'
	same "${lines[1]}" '{"id":5,"type":"delta","kind":"text","text":"No."}'
	same "$(echo "${lines[2]}" | jq -r .type)" message
	[ "${#lines[@]}" -eq 3 ]
}

@test "the request: where to, headers" {
	export JQ=jq
	model_server --answer "$(fixtures)/text.jsonl"
	request | OPENAI_BASE_URL="$MODEL_SERVER/v1/" provider openai >/dev/null
	same "$(jq -c '[.path, .headers]' "$MODEL_SERVER_LOG")" \
		'["/v1/chat/completions",{"content-type":"application/json","accept":"*/*","user-agent":"awf/'"$(awf --version | sed 's/^awf //')"'","authorization":true,"x-api-key":false}]'
	same "$(body)" '{"model":"test-model","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}'
}

@test "the request: system, tools and parameters" {
	run sent '"system":"Be brief.","params":{"cache":true,"max_tokens":5,"temperature":0.5,"top_p":1,"stop_sequences":["x"],"seed":3},"tools":[{"name":"t","description":"d","input_schema":{"type":"object"}}]'
	same "$output" '{"model":"test-model","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"temperature":0.5,"top_p":1,"stop":["x"],"seed":3,"tools":[{"type":"function","function":{"name":"t","description":"d","parameters":{"type":"object","properties":{}}}}],"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]}'
}

@test "the request: newer models know max_tokens by another name" {
	while read -r model name; do
		model_server --answer "$(fixtures)/text.jsonl"
		request 1 '"params":{"max_tokens":5}' | sed "s|test-model|$model|" | provider openai >/dev/null
		same "$model $(body | jq -r "keys[] | select(startswith(\"max\"))")" "$model $name"
		kill "$MODEL_SERVER_PID"
	done <<-END
		gpt-4.1 max_tokens
		ollama-3 max_tokens
		o3-mini max_completion_tokens
		gpt-5-nano max_completion_tokens
		openai/gpt-5 max_completion_tokens
		o1/llama max_tokens
	END
}

@test "the request: thinking" {
	while read -r given expected; do
		same "$given $(sent "\"params\":{\"thinking\":$given}" | jq -c '[.reasoning_effort, .thinking]')" \
			"$given $expected"
	done <<-'END'
		false [null,null]
		true ["medium",null]
		"minimal" ["minimal",null]
		1024 ["low",null]
		8000 ["medium",null]
		30000 ["high",null]
		{"type":"enabled"} [null,{"type":"enabled"}]
	END
}

@test "a conversation with tool calls, bytes kept" {
	run sent_messages '{"role":"user","blocks":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","blocks":[{"type":"thinking","thinking":"t","api":"openai","field":"reasoning_content"},{"type":"text","text":"x"},{"type":"tool_use","tool_id":"1","tool_name":"n","tool_input":{ "v": 1.50 }},{"type":"tool_use","tool_id":"2","tool_name":"n","tool_input":"{\"half"}]},{"role":"user","blocks":[{"type":"tool_result","tool_id":"1","tool_content":{ "r": 1e2 }},{"type":"tool_result","tool_id":"2","tool_content":"bad","is_error":true},{"type":"text","text":"go on"}]}'
	same "$output" '[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":"x","reasoning_content":"t","tool_calls":[{"id":"1","type":"function","function":{"name":"n","arguments":"{\"v\":1.50}"}},{"id":"2","type":"function","function":{"name":"n","arguments":"{\"invalid_json\":\"{\\\"half\"}"}}]},{"role":"tool","tool_call_id":"1","content":"{\"r\":1e2}"},{"role":"tool","tool_call_id":"2","content":"bad"},{"role":"user","content":"go on"}]'
}

@test "a call without an id gets one that no other call of the conversation has" {
	model_server --answer "$(fixtures)/calls-without-ids.jsonl"
	run -0 provider openai <<<'{"id":1,"model":"m","messages":[{"role":"assistant","blocks":[{"type":"tool_use","tool_id":"call_2","tool_name":"n","tool_input":{}},{"type":"tool_use","tool_id":"call_1","tool_name":"n","tool_input":{}}]}]}'
	same "$(jq -c '[.blocks[] | select(.type == "tool_use").tool_id]' <<<"$output")" '["call_3","call_4"]'
}

@test "what only another API understands stays here" {
	run sent_messages '{"role":"assistant","blocks":[{"type":"thinking","thinking":"t","api":"openai"},{"type":"thinking","thinking":"t","signature":"s","api":"anthropic"},{"type":"tool_use","tool_id":"1","tool_name":"n","tool_input":{},"api":"anthropic","raw":{"type":"server_tool_use"}},{"type":"text","text":"","api":"anthropic","raw":{"type":"new"}},{"type":"text","text":"x","api":"anthropic","raw":{"citations":[]}}]}'
	same "$output" '[{"role":"assistant","content":"x"}]'
}

@test "another server needs no key, OpenAI's does" {
	model_server --answer "$(fixtures)/text.jsonl"
	unset OPENAI_API_KEY
	same "$(request | provider openai | jq -r .type)" message
	same "$(jq -r .headers.authorization "$MODEL_SERVER_LOG")" false
	unset OPENAI_BASE_URL
	same "$(request | provider openai)" \
		'{"id":1,"type":"error","category":"auth","message":"no API key: set OPENAI_API_KEY"}'
}

@test "attachments" {
	run sent_messages '{"role":"user","blocks":[{"type":"image","media_type":"image/png","name":"a.png","data":"QUJD"},{"type":"document","media_type":"application/pdf","name":"b.pdf","data":"REVG"},{"type":"document","media_type":"application/pdf","data":"REVG"},{"type":"text","text":"x"}]},{"role":"user","blocks":[{"type":"image","media_type":"image/webp","data":"QUJD"}]}'
	same "$output" '[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}},{"type":"file","file":{"filename":"b.pdf","file_data":"data:application/pdf;base64,REVG"}},{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,REVG"}},{"type":"text","text":"x"}]},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/webp;base64,QUJD"}}]}]'
}

@test "an attachment that the API takes not is refused" {
	same "$(request 1 '"messages":[{"role":"user","blocks":[{"type":"image","media_type":"image/bmp","data":"QUJD"}]}]' | provider openai)" \
		'{"id":1,"type":"error","category":"invalid","message":"the API takes no attachments of the type image/bmp"}'
}

@test "a schema of the output is sent: strictly where that takes it, else not" {
	export JQ=jq
	while read -r strict schema; do
		same "$schema $(sent "\"output_schema\":$schema" | jq -c .response_format)" \
			"$schema {\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\",\"schema\":$schema,\"strict\":$strict}}"
	done <<-'END'
		true {"type":"object","properties":{"a":{"type":"integer","minimum":1}},"required":["a"],"additionalProperties":false}
		true {"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}
		false {"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}
		false {"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}
	END
	same "$(sent '"output_schema":{"type":"array"}' | jq -c .response_format)" null
	same "$(sent '"output_schema":{"type":"object"},"params":{"response_format":{"type":"text"}}' |
		grep -o '"response_format":{[^}]*}')" '"response_format":{"type":"text"}'
	# A server of the user's own may be any that imitates the API: no schema beside tools.
	same "$(sent '"output_schema":{"type":"object"},"tools":[{"name":"t","input_schema":{}}]' | jq -c '[.response_format, (.tools | length)]')" '[null,1]'
}

@test "a schema is not sent to models before it" {
	while read -r model expected; do
		model_server --answer "$(fixtures)/text.jsonl"
		request 1 '"model":"'"$model"'","output_schema":{"type":"object"}' | provider openai >/dev/null
		same "$model $(body | jq -c '.response_format.type')" "$model $expected"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		gpt-4 null
		gpt-4-turbo null
		openai/gpt-4-turbo null
		gpt-3.5-turbo null
		deepseek-chat null
		gpt-4o "json_schema"
		gpt-4.1-mini "json_schema"
		llama3.2 "json_schema"
	END
}

@test "calls with one number and no ids are told apart, and one without a name is none" {
	calls() {
		for call; do echo '{"choices":[{"delta":{"tool_calls":['"$call"']},"finish_reason":null}]}'; done >stream.jsonl
		echo '{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}' >>stream.jsonl
		model_server --answer stream.jsonl
		request | provider openai | jq -c 'if .type == "error" then [.category, .message] else [.blocks[] | [.tool_name, .tool_input]] end'
		kill "$MODEL_SERVER_PID"
	}
	same "$(calls '{"index":0,"function":{"name":"a","arguments":"{\"x\":1}"}}' '{"index":0,"function":{"name":"a","arguments":"{\"x\":2}"}}')" \
		'[["a",{"x":1}],["a",{"x":2}]]'
	same "$(calls '{"index":0,"function":{"name":"a","arguments":""}}' '{"index":0,"function":{"name":"b","arguments":"{}"}}')" \
		'[["a",{}],["b",{}]]'
	same "$(calls '{"index":0,"function":{"name":"a","arguments":"{\"x\""}}' '{"index":0,"function":{"name":"a","arguments":":1}"}}')" \
		'[["a",{"x":1}]]'
	same "$(calls '{"index":0,"id":"c1","function":{"arguments":"{}"}}')" \
		'["provider","the answer calls a tool without saying which"]'
}

@test "a function call of the older form is a call" {
	printf '%s\n' '{"choices":[{"delta":{"function_call":{"name":"a","arguments":"{\"x\""}}}]}' \
		'{"choices":[{"delta":{"function_call":{"arguments":":1}"}}}]}' \
		'{"choices":[{"delta":{},"finish_reason":"function_call"}]}' >stream.jsonl
	model_server --answer stream.jsonl
	same "$(request | provider openai | jq -c '[.stop_reason, (.blocks[] | [.tool_id, .tool_name, .tool_input])]')" \
		'["tool_use",["call_1","a",{"x":1}]]'
}

@test "usage: what is written to the cache" {
	while read -r theirs; do
		printf '%s\n' '{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,'"$theirs"'}}' >stream.jsonl
		model_server --answer stream.jsonl
		same "$theirs $(request | provider openai | jq .usage.cache_write_tokens)" "$theirs 4"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		"prompt_tokens_details":{"cached_tokens":2,"cache_write_tokens":4}
		"prompt_tokens_details":{"cache_creation_tokens":4}
		"cache_creation_input_tokens":4
	END
}
