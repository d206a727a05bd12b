load ../../support/helpers
# bats file_tags=turn:2
bats_require_minimum_version 1.5.0
load ../../support/provider

fixtures() { echo "$ROOT/tests/fixtures/google"; }

# The body sent for a request with these members beside the usual ones, to a model.
sent() {
	model_server --answer "$(fixtures)/text.jsonl"
	request 1 "$1" | sed "s|test-model|${2-test-model}|" | provider google >/dev/null
	body
	kill "$MODEL_SERVER_PID"
}

# The contents sent for these messages, to a model.
sent_contents() {
	model_server --answer "$(fixtures)/text.jsonl"
	printf '%s\n' '{"id":1,"model":"'"${2-gemini-3-flash}"'","messages":['"$1"']}' | provider google >/dev/null
	body | sed 's/.*"contents":\(.*\)}$/\1/p;d'
	kill "$MODEL_SERVER_PID"
}

# The blocks of the answer to a stream, as the assistant's message of a request.
said() {
	model_server --answer "$(fixtures)/$1.jsonl"
	request | provider google | sed 's/.*\("blocks":\[.*\]\),"stop_reason".*/{"role":"assistant",\1}/'
	kill "$MODEL_SERVER_PID"
}

# What comes of a stream with one event.
answer_to() {
	echo "$1" >stream.jsonl
	model_server --answer stream.jsonl
	request | provider google
	kill "$MODEL_SERVER_PID"
}

@test "streams give the right message however their bytes are split" {
	check_fixtures google google
}

@test "recorded streams give the right message however their bytes are split" {
	check_captures google google
}

# bats test_tags=turn:2
@test "a stream that is cut or ends at any byte is an error or the whole answer" {
	check_cuts google
}

@test "finish reasons" {
	while read -r theirs ours; do
		same "$theirs $(answer_to '{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"'"$theirs"'","finishMessage":"as it is"}]}' |
			jq -r '.stop_reason // (.category + " " + .message)')" "$theirs $ours"
	done <<-END
		STOP end_turn
		MAX_TOKENS max_tokens
		SAFETY refusal
		RECITATION refusal
		LANGUAGE refusal
		BLOCKLIST refusal
		PROHIBITED_CONTENT refusal
		SPII refusal
		MODEL_ARMOR refusal
		IMAGE_SAFETY refusal
		OTHER cut_off the answer ended with 'OTHER': as it is
		IMAGE_OTHER cut_off the answer ended with 'IMAGE_OTHER': as it is
		MALFORMED_FUNCTION_CALL provider the answer ended with 'MALFORMED_FUNCTION_CALL': as it is
		UNEXPECTED_TOOL_CALL provider the answer ended with 'UNEXPECTED_TOOL_CALL': as it is
		MISSING_THOUGHT_SIGNATURE invalid MISSING_THOUGHT_SIGNATURE: as it is
	END
}

@test "a prompt that is blocked is refused" {
	export JQ=jq
	same "$(answer_to '{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"modelVersion":"m"}' | jq -c 'del(.id, .request_id)')" \
		'{"type":"error","category":"refused","message":"PROHIBITED_CONTENT"}'
	same "$(answer_to '{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"not this"}}' | jq -r .message)" 'SAFETY: not this'
	same "$(answer_to '{"promptFeedback":{"safetyRatings":[]},"candidates":[{"content":{"parts":[{"text":"Yes"}]},"finishReason":"STOP"}]}' | jq -r .type)" message
}

@test "usage: thoughts are output, results of the API's tools input" {
	export JQ=jq
	while read -r theirs ours; do
		same "$theirs $(answer_to '{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":'"$theirs"'}' | jq -c .usage)" "$theirs $ours"
	done <<-'END'
		{"promptTokenCount":5,"candidatesTokenCount":2} {"input_tokens":5,"output_tokens":2}
		{"promptTokenCount":5,"candidatesTokenCount":2,"thoughtsTokenCount":3,"cachedContentTokenCount":4} {"input_tokens":5,"output_tokens":5,"cache_read_tokens":4,"reasoning_tokens":3}
		{"promptTokenCount":5,"thoughtsTokenCount":3} {"input_tokens":5,"output_tokens":3,"reasoning_tokens":3}
		{"promptTokenCount":5,"toolUsePromptTokenCount":7} {"input_tokens":12}
		{} {}
	END
}

@test "deltas come as the text does, if a stream is wanted" {
	model_server --answer "$(fixtures)/thinking.jsonl"
	run -0 provider google < <(request 5 '"stream":true')
	same "${lines[0]}" '{"id":5,"type":"delta","kind":"thinking","text":"**Colours**\n\nOne "}'
	same "${lines[1]}" '{"id":5,"type":"delta","kind":"thinking","text":"is enough."}'
	same "${lines[2]}" '{"id":5,"type":"delta","kind":"text","text":"Bl"}'
	same "${lines[3]}" '{"id":5,"type":"delta","kind":"text","text":"ue."}'
	same "$(echo "${lines[4]}" | jq -r .type)" message
	[ "${#lines[@]}" -eq 5 ]
}

@test "the request: where to, headers, the key in none but its own" {
	export JQ=jq
	model_server --answer "$(fixtures)/text.jsonl"
	request | GEMINI_BASE_URL="$MODEL_SERVER/" provider google >/dev/null
	same "$(jq -c '[.path, .query, .headers]' "$MODEL_SERVER_LOG")" \
		'["/v1beta/models/test-model:streamGenerateContent",{"alt":"sse"},{"content-type":"application/json","accept":"*/*","user-agent":"awf/'"$(awf --version | sed 's/^awf //')"'","authorization":false,"x-api-key":false,"x-goog-api-key":true}]'
	same "$(body)" '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}'
}

@test "the request: names of models" {
	while read -r model path; do
		model_server --answer "$(fixtures)/text.jsonl"
		request | sed "s|test-model|$model|" | provider google >/dev/null
		same "$model $(jq -r .path "$MODEL_SERVER_LOG")" "$model /v1beta/$path:streamGenerateContent"
		kill "$MODEL_SERVER_PID"
	done <<-'END'
		gemini-3.1-pro models/gemini-3.1-pro
		models/gemini-3 models/gemini-3
		tunedModels/mine-1 tunedModels/mine-1
		a?key=b models/a?key=b
	END
}

@test "the request: system, tools and parameters" {
	run sent '"system":"Be brief.","params":{"max_tokens":5,"temperature":0.50,"top_p":1,"stop_sequences":["x"],"seed":3,"cache":true,"safetySettings":[]},"tools":[{"name":"t","description":"d","input_schema":{"type":"object"}},{"name":"u","input_schema":{}}]'
	same "$output" '{"systemInstruction":{"parts":[{"text":"Be brief."}]},"safetySettings":[],"generationConfig":{"maxOutputTokens":5,"temperature":0.50,"topP":1,"stopSequences":["x"],"seed":3},"tools":[{"functionDeclarations":[{"name":"t","description":"d","parametersJsonSchema":{"type":"object","properties":{}}},{"name":"u","parametersJsonSchema":{"type":"object","properties":{}}}]}],"contents":[{"role":"user","parts":[{"text":"hi"}]}]}'
	same "$(sent '"system":"","tools":[],"params":{}')" '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}'
}

# bats test_tags=turn:2
@test "the request: thinking, in levels or tokens as the model has it" {
	while read -r given newer older; do
		same "$given $(sent "\"params\":{\"thinking\":$given}" | jq -c .generationConfig.thinkingConfig)" "$given $newer"
		same "$given $(sent "\"params\":{\"thinking\":$given}" models/gemini-2.5-pro | jq -c .generationConfig.thinkingConfig)" "$given $older"
	done <<-'END'
		false null null
		0 null null
		true {"includeThoughts":true} {"includeThoughts":true,"thinkingBudget":-1}
		"minimal" {"includeThoughts":true,"thinkingLevel":"MINIMAL"} {"includeThoughts":true,"thinkingBudget":1024}
		"high" {"includeThoughts":true,"thinkingLevel":"HIGH"} {"includeThoughts":true,"thinkingBudget":24576}
		3000 {"includeThoughts":true,"thinkingBudget":3000} {"includeThoughts":true,"thinkingBudget":3000}
		{"thinkingBudget":7} {"thinkingBudget":7} {"thinkingBudget":7}
	END
	same "$(sent '"params":{"thinking":false}' gemini-2.5-flash | jq -c .generationConfig)" '{"thinkingConfig":{"thinkingBudget":0}}'
}

@test "the request: a schema for the answer" {
	export JQ=jq
	local tools='"tools":[{"name":"t","input_schema":{}}]'
	config='{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}'
	same "$(sent '"output_schema":{ "type": "object" }' gemini-2.5-pro | jq -c .generationConfig)" "$config"
	same "$(sent '"output_schema":{"type":"object"},'"$tools" gemini-3-pro | jq -c .generationConfig)" "$config"
	same "$(sent '"output_schema":{"type":"object"},'"$tools" gemini-2.5-pro | jq -c .generationConfig)" null
	same "$(sent '"output_schema":{"type":"object"},"params":{"responseMimeType":"text/plain"}' gemini-3-pro |
		grep -o '"generationConfig":{[^}]*}')" '"generationConfig":{"responseMimeType":"text/plain"}'
}

@test "attachments, and those that the API does not take" {
	same "$(sent_contents '{"role":"user","blocks":[{"type":"image","media_type":"image/png","name":"x.png","data":"iVBORw0="},{"type":"document","media_type":"application/pdf","data":"JVBERg=="},{"type":"text","text":"Compare"}]}')" \
		'[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0="}},{"inlineData":{"mimeType":"application/pdf","data":"JVBERg=="}},{"text":"Compare"}]}]'
	model_server --answer "$(fixtures)/text.jsonl"
	run -0 provider google <<<'{"id":1,"model":"m","messages":[{"role":"user","blocks":[{"type":"image","media_type":"image/tiff","name":"x.tiff","data":""}]}]}'
	same "$output" '{"id":1,"type":"error","category":"invalid","message":"x.tiff: the API takes no attachments of the type image/tiff"}'
}

@test "answers go back as they came, signatures on their own parts" {
	while read -r name expected; do
		same "$name $(sent_contents "$(said "$name")")" "$name [{\"role\":\"model\",\"parts\":$expected}]"
	done <<-'END'
		text [{"text":"Grüße, \"Welt\" 🌍\n"}]
		thinking [{"text":"**Colours**\n\nOne is enough.","thought":true},{"text":"Blue.","thoughtSignature":"c2lnLUE="}]
		tools [{"text":"Looking."},{"functionCall":{"name":"grep","args":{"pattern":"a\"b","n":1.50,"deep":[{"x":null}]}},"thoughtSignature":"c2lnLUI="},{"functionCall":{"name":"now","args":{}}},{"functionCall":{"name":"now","args":{}}}]
		tools-with-ids [{"functionCall":{"id":"fc-1","name":"grep","args":{"pattern":"x"}},"thoughtSignature":"c2lnLUM="},{"functionCall":{"name":"now","args":{}}}]
		code [{"text":"Let me count."},{"executableCode":{"language":"PYTHON","code":"print(\"strawberry\".count(\"r\"))\n"},"thoughtSignature":"c2lnLUQ="},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"3\n"}},{"executableCode":{"id":"run-2","language":"PYTHON","code":"1/0"}},{"codeExecutionResult":{"id":"run-2","outcome":"OUTCOME_FAILED","output":"ZeroDivisionError"}},{"text":"Three, says the web."}]
		unknown [{"text":"Here:"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0="},"thoughtSignature":"c2lnLUU="},{"sculpture":{"clay":[1,2]},"thought":true},{"text":" done"}]
		signatures [{"text":"One two","thoughtSignature":"QQ=="},{"text":" three","thoughtSignature":"Qg=="},{"functionCall":{"name":"now","args":{}},"thoughtSignature":"Qw=="},{"text":"","thoughtSignature":"RA=="}]
	END
}

@test "results name the tool of their call" {
	local results='{"role":"user","blocks":[{"type":"tool_result","tool_id":"call_2","tool_content":{ "r": 1e2 }},{"type":"tool_result","tool_id":"fc-1","tool_content":"bad","is_error":true},{"type":"tool_result","tool_id":"lost","tool_content":"x"},{"type":"text","text":"go on"}]}'
	local calls='{"role":"assistant","blocks":[{"type":"tool_use","tool_id":"fc-1","tool_name":"grep","tool_input":{},"signature":"s","api":"google","raw":{"id":"fc-1"}},{"type":"tool_use","tool_id":"call_2","tool_name":"now","tool_input":"{\"half"}]}'
	same "$(sent_contents "$calls,$results")" \
		'[{"role":"model","parts":[{"functionCall":{"id":"fc-1","name":"grep","args":{}},"thoughtSignature":"s"},{"functionCall":{"name":"now","args":{"invalid_json":"{\"half"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"now","response":{"output":{"r":1e2}}}},{"functionResponse":{"id":"fc-1","name":"grep","response":{"error":"bad"}}},{"functionResponse":{"name":"lost","response":{"output":"x"}}},{"text":"go on"}]}]'
}

@test "calls have ids that no other call of the conversation has" {
	local before
	before=$(said tools)
	model_server --answer "$(fixtures)/tools-with-ids.jsonl"
	run -0 provider google <<<'{"id":1,"model":"m","messages":['"$before"',{"role":"assistant","blocks":[{"type":"tool_use","tool_id":"fc-1","tool_name":"n","tool_input":{}}]}]}'
	same "$(jq -c '[.blocks[] | [.tool_id, .raw.id]]' <<<"$output")" '[["call_4","fc-1"],["call_5",null]]'
}

@test "what another model said: its calls pass without a signature, its thoughts stay here" {
	local others='{"role":"assistant","blocks":[{"type":"thinking","thinking":"t","signature":"s","api":"anthropic"},{"type":"text","text":"x","api":"anthropic","raw":{"citations":[]}},{"type":"text","text":""},{"type":"tool_use","tool_id":"1","tool_name":"n","tool_input":{}},{"type":"tool_use","tool_id":"2","tool_name":"n","tool_input":{}},{"type":"tool_use","tool_id":"3","tool_name":"n","tool_input":{},"api":"anthropic","raw":{"type":"server_tool_use"}},{"type":"text","text":"","api":"anthropic","raw":{"type":"new"}}]}'
	same "$(sent_contents "$others")" \
		'[{"role":"model","parts":[{"text":"x"},{"functionCall":{"name":"n","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"n","args":{}}}]}]'
	same "$(sent_contents "$others" gemini-2.5-flash)" \
		'[{"role":"model","parts":[{"text":"x"},{"functionCall":{"name":"n","args":{}}},{"functionCall":{"name":"n","args":{}}}]}]'
	same "$(sent_contents '{"role":"assistant","blocks":[{"type":"thinking","thinking":"t"}]},{"role":"user","blocks":[]}')" '[]'
}

@test "the key: GEMINI_API_KEY, else GOOGLE_API_KEY" {
	model_server --answer "$(fixtures)/text.jsonl" --loop
	unset GEMINI_API_KEY
	same "$(request | provider google)" \
		'{"id":1,"type":"error","category":"auth","message":"no API key: set GEMINI_API_KEY"}'
	same "$(request | GOOGLE_API_KEY=k provider google | jq -r .type)" message
}

@test "the id of the answer is the request's" {
	model_server --answer "$(fixtures)/text.jsonl"
	same "$(request | provider google | jq -r .request_id)" resp-1
}

@test "arguments in pieces are an error that says how to have them whole" {
	same "$(answer_to '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","willContinue":true}},{"functionCall":{"partialArgs":[{"jsonPath":"$.x","stringValue":"1"}],"willContinue":true}},{"functionCall":{}}]},"finishReason":"STOP"}]}' | jq -r '.category + " " + .message')" \
		'invalid the API sends the arguments of calls in pieces (partialArgs): leave out streamFunctionCallArguments'
	same "$(answer_to '{"candidates":[{"content":{"parts":[{"functionCall":{"args":{}}}]},"finishReason":"STOP"}]}' | jq -r .message)" \
		'the answer calls a tool without saying which'
}
