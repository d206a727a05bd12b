load ../../support/helpers
# bats file_tags=turn:2
bats_require_minimum_version 1.5.0
load ../../support/provider

# What model servers were reported to send that is in no reference: ends without their last line,
# errors in forms of their own, arguments of calls in pieces of every kind. What is right is said by
#   ends of a stream     https://html.spec.whatwg.org/multipage/server-sent-events.html (the last event
#                        would be dropped; here an end that was said counts)
#   Chat Completions     https://platform.openai.com/docs/api-reference/chat-streaming (tool_calls[].index;
#                        arguments are a text of JSON)
#   Messages             https://docs.claude.com/en/api/messages-streaming (usage of message_delta is a total)
#   OpenRouter           https://openrouter.ai/docs/api-reference/errors (choices[0].error, metadata.raw)
#   MiniMax              https://platform.minimax.io/docs/api-reference/errorcode (base_resp)
#   Groq                 https://console.groq.com/docs/tool-use (tool_use_failed, failed_generation)

# Serves the bytes on stdin as an answer with the status 200, and prints what the provider makes of them:
# what it says without what is the same in each.
served() {
	cat >answer
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl" --loop --fault "*:error:${2-200}:answer"
	request | provider "$1" | jq -c "${3-del(.id, .type, .request_id, .usage, .model)}"
	kill "$MODEL_SERVER_PID"
}

# Events of Chat Completions.
pieces() { for piece; do printf 'data: %s\n\n' "$piece"; done; }
delta() { printf '{"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}' "$1" "${2-null}"; }
call() { printf '{"tool_calls":[%s]}' "$1"; }
DONE='data: [DONE]

'
CALLS='[.blocks[]? | .tool_input] | if . == [] then "none" else . end'

@test "the last event counts without the blank line after it" {
	for end in '' $'\n' $'\r\n'; do
		same "$({ pieces "$(delta '{"content":"Cold."}')" && printf 'data: %s%s' "$(delta '{}' '"stop"')" "$end"; } |
			served openai 200 '.blocks[0].text, .stop_reason')" $'"Cold."\n"end_turn"'
	done
	# Cut off within it, it is none.
	same "$({ pieces "$(delta '{"content":"Cold."}')" && printf 'data: {"choices":[{"index":0,"del'; } |
		served openai 200 .category)" '"network"'
	# What it says after its end counts.
	same "$(pieces "$(delta '{"content":"Cold."}')" "$(delta '{}' '"stop"')" '{"error":{"message":"gone","code":502}}' |
		served openai 200 '.category, .message')" $'"provider"\n"gone"'
}

@test "an answer in JSON, though a stream was asked for, is read as that" {
	same "$(printf '%s\n' '{"object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Cold."}}]}' |
		served openai 200 '.blocks[0].text')" '"Cold."'
	same "$(printf '{\n "type": "message",\n "content": [{"type": "text", "text": "Cold."}],\n "stop_reason": "end_turn"}' |
		served anthropic 200 '.blocks[0].text')" '"Cold."'
	same "$(printf '[{"candidates":[{"content":{"parts":[{"text":"Co"}]}}]},\n{"candidates":[{"content":{"parts":[{"text":"ld."}]},"finishReason":"STOP"}]}]' |
		served google 200 '.blocks[0].text')" '"Cold."'
}

@test "an answer in JSON without a reason for its end is no answer" {
	same "$(printf '{"choices":[{"message":{"content":"Cold."}}]}' | served openai 200 '[.category, .message]')" \
		'["cut_off","the server answered without saying how the answer ended"]'
	same "$(printf '{"candidates":[{"content":{"parts":[{"text":"Cold."}]}}]}' | served google 200 .category)" '"cut_off"'
}

@test "errors in every form, in a stream that began well" {
	good=$(pieces "$(delta '{"content":"Co"}')")
	while IFS='|' read -r bytes want; do
		same "$bytes $({ echo "$good" && echo && printf '%b' "$bytes"; } |
			served openai 200 '.category + "|" + .message' | jq -r .)" "$bytes $want"
	done <<-'END'
		{"error":"CUDA error"}\n|provider|CUDA error
		error: {"code":400,"message":"request (9 tokens) exceeds the available context size","type":"exceed_context_size_error"}\n\n|context_length|request (9 tokens) exceeds the available context size
		data: {"object":"error","message":"too many requests","code":429}\n\n|rate_limit|too many requests
		data: {"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}\n\n|auth|insufficient balance
		data: {"detail":"model gone"}\n\n|provider|model gone
		data: {"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":502,"message":"Upstream gave up"}}]}\n\n|provider|Upstream gave up
		data: {"choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}\n\n|provider|the answer ended with 'abort'
		data: {"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"the prompt is too long"}}}\n\n|context_length|Provider returned error: the prompt is too long
	END
	# MiniMax's success, and texts of answers that look like errors, are none.
	same "$({ pieces "$(delta '{"content":"{\"error\":\"x\"}"}')" '{"base_resp":{"status_code":0},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}' && echo "$DONE"; } |
		served openai 200 .stop_reason)" '"end_turn"'
}

@test "what nobody understood is quoted where there is no answer" {
	same "$(printf 'event: quota\ndata: {"quota":"over"}\n\n' | served openai 200 .message)" \
		'"the stream ended before the answer did; it sent: {\"quota\":\"over\"}"'
	same "$(printf 'Service moved\n\n' | served openai 200 .message)" \
		'"the stream ended before the answer did; it sent: Service moved"'
	same "$({ printf 'data: {"x":"%0400d"}\n\n' 1 && echo "$DONE"; } | served openai 200 '.message | length < 400')" true
}

@test "a page for people, and an event named error, in the place of an answer" {
	same "$(printf '<!doctype html>\n<html><head><title>Sign in</title></head>%0400d</html>' 1 | served openai 200 '.category + " " + .message')" \
		'"provider the server sent a page for people, Sign in: is OPENAI_BASE_URL right?"'
	same "$(printf 'event: error\ndata: {"code":422,"details":"the model is gone"}\n\n' | served openai 200 '.category + " " + .message')" \
		'"invalid the model is gone"'
}

@test "JSON that is broken, in the place of a stream" {
	same "$(printf '{malformed json' | served openai 200 '.category + " " + .message')" \
		'"provider the server answered in JSON that is broken at byte 2"'
}

@test "statuses: a page for people, a wait in words, what a model wrote in the place of a call" {
	same "$(printf '<html>\r\n<head><title>502 Bad Gateway</title></head>' | served openai 502 .message)" '"HTTP 502 (request req_1): 502 Bad Gateway"'
	same "$(echo '{"error":{"message":"Rate limit reached, try again in 3.2s","code":"rate_limit_exceeded"}}' |
		served openai 429 '.category, .retry_after_ms' | xargs)" 'rate_limit 3200'
	same "$(echo '{"error":"Model x is currently loading","estimated_time":20.0}' |
		served openai 503 '.category, .retry_after_ms' | xargs)" 'overloaded 20000'
	same "$(echo '{"error":{"message":"Failed to call a function.","code":"tool_use_failed","failed_generation":"<function=look>"}}' |
		served openai 400 '.category + " " + .message')" \
		'"provider HTTP 400 (request req_1): Failed to call a function., it wrote: <function=look>"'
}

@test "thoughts alone are no answer, unless the agent may stay silent" {
	thoughts=$(pieces "$(delta '{"reasoning_content":"hm"}')" "$(delta '{}' '"stop"')")
	same "$(echo "$thoughts" | served openai 200 '.category + " " + .message')" '"provider the model thought, and said nothing"'
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl" --loop --fault "*:error:200:answer"
	same "$(request 1 '"empty":"accept"' | provider openai | jq -c '[.type, .stop_reason]')" '["message","end_turn"]'
	kill "$MODEL_SERVER_PID"
}

@test "calls in pieces: by id, by index, or by neither" {
	a='{"id":"a","function":{"name":"look","arguments":""}}' b='{"id":"b","function":{"name":"look","arguments":""}}'
	end=$(delta '{}' '"tool_calls"')
	# Two calls begin in one piece, without an index: the arguments follow by id.
	same "$(pieces "$(delta "$(call "$a,$b")")" "$(delta "$(call '{"id":"a","function":{"arguments":"{\"n\":1}"}}')")" \
		"$(delta "$(call '{"id":"b","function":{"arguments":"{\"n\":2}"}}')")" "$end" |
		served openai 200 "$CALLS")" '[{"n":1},{"n":2}]'
	# And by nothing: refused, not run with the other's arguments or with none.
	same "$(pieces "$(delta "$(call "$a,$b")")" "$(delta "$(call '{"function":{"arguments":"{\"n\":1}"}}')")" "$end" |
		served openai 200 '.category + " " + .message')" \
		'"provider the server sends the arguments of several calls and does not say of which"'
	# One after another, a call without arguments first.
	same "$(pieces "$(delta "$(call "$a")")" "$(delta "$(call "$b")")" "$(delta "$(call '{"function":{"arguments":"{\"n\":2}"}}')")" "$end" |
		served openai 200 "$CALLS")" '[{},{"n":2}]'
}

@test "arguments: an empty object before them, an object within a text, no object at all" {
	while IFS='|' read -r arguments want note; do
		same "$arguments $(pieces "$(delta "$(call '{"index":0,"id":"a","function":{"name":"look","arguments":'"$arguments"'}}')")" "$(delta '{}' '"tool_calls"')" |
			served openai 200 '.blocks[0] | "\(.tool_input | tojson)|\(.note != null)"' | jq -r .)" "$arguments $want|$note"
	done <<-'END'
		"{}{\"n\":1}"|{"n":1}|false
		"{} {\"n\":1}"|{"n":1}|false
		"\"{\\\"n\\\":1}\""|{"n":1}|true
		"\"n\""|"n"|false
		"{}{}{\"n\":1}"|"{}{}{\"n\":1}"|false
		"{\"n\":"|"{\"n\":"|false
		""|{}|false
	END
}

@test "a number that a gateway does not know does not replace one that was told" {
	cat >counts <<-'END'
		event: message_start
		data: {"type":"message_start","message":{"usage":{"input_tokens":500,"cache_read_input_tokens":1000,"output_tokens":1}}}

		event: content_block_start
		data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Cold."}}

		event: message_delta
		data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":9}}

	END
	same "$(served anthropic 200 '[.usage.input_tokens, .usage.cache_read_tokens, .usage.output_tokens]' <counts)" '[1500,1000,9]'
}

@test "an endpoint says what a word for an end means, and what an error is" {
	export AWF_ENDPOINT='{"name":"x","protocol":"chat","base_env":"OPENAI_BASE_URL","key":{"env":"OPENAI_API_KEY"},"ends":{"done":"stop","full":"max_tokens"},"errors":[{"status":413,"text":"per minute","is":"rate_limit"}],"models":[{"match":"test-*","ends":{"done":"stop"}}]}'
	same "$(pieces "$(delta '{"content":"Cold."}')" "$(delta '{}' '"done"')" | served openai 200 .stop_reason)" '"end_turn"'
	same "$(pieces "$(delta '{"content":"Cold."}')" "$(delta '{}' '"full"')" | served openai 200 .category)" '"cut_off"'
	same "$(echo '{"error":{"message":"tokens per minute"}}' | served openai 413 .category)" '"rate_limit"'
}

@test "the beginning of an answer that comes twice is one" {
	begin='data: {"type":"message_start","message":{"id":"%s","usage":{"input_tokens":1}}}\n\n'
	end='data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Cold."}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}

'
	# shellcheck disable=SC2059 # it is a format
	same "$({ printf "$begin$begin" a a && printf %s "$end"; } | served anthropic 200 '.blocks[0].text')" '"Cold."'
	# shellcheck disable=SC2059
	same "$({ printf "$begin$begin" a b && printf %s "$end"; } | served anthropic 200 .message)" \
		'"a second answer begins before the first has ended"'
}

@test "a call that is told twice is one; one whose pieces came and whose item lacks them is whole" {
	item() { printf '{"type":"function_call","id":"fc_1","call_id":"c","name":"%s","arguments":%s}' "$1" "$2"; }
	responses() {
		printf 'data: {"type":"response.output_item.added","output_index":0,"item":%s}\n\n' "$(item look '""')"
		printf 'data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\\"n\\":1}"}\n\n'
		printf 'data: {"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\\"n\\":1}"}\n\n'
		[ "$1" = none ] || printf 'data: {"type":"response.output_item.done","output_index":0,"item":%s}\n\n' "$1" "$1"
		printf 'data: {"type":"response.completed","response":{"status":"completed","output":[]}}\n\n'
	}
	for item in "$(item look '"{\"n\":1}"')" "$(item look '""')" "$(item look '"{}"')" "$(item look '{"n":1}')" "$(item '' '""')" none; do
		same "$item $(responses "$item" | served openai-responses 200 '[.blocks[] | [.tool_name, .tool_input]]')" "$item [[\"look\",{\"n\":1}]]"
	done
	# Begun, and no more: none, never {}.
	same "$(responses none | grep -v arguments | served openai-responses 200 .category)" '"provider"'
	twice='{"type":"tool_use","id":"t","name":"look","input":{"n":1}}'
	same "$(printf '{"type":"message","stop_reason":"tool_use","content":[%s,%s]}' "$twice" "$twice" |
		served anthropic 200 '[.blocks[].tool_input]')" '[{"n":1}]'
	same "$(printf '{"candidates":[{"content":{"parts":[%s,%s]},"finishReason":"STOP"}]}' '{"functionCall":{"id":"a","name":"look","args":{"n":1}}}' \
		'{"functionCall":{"id":"a","name":"look","args":{"n":1}},"thoughtSignature":"S"}' |
		served google 200 '[.blocks[] | [.tool_input, .signature]]')" '[[{"n":1},"S"]]'
}

@test "empty texts are no answer" {
	same "$(printf 'data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","id":"m","content":[{"type":"output_text","text":""}]}]}}\n\n' |
		served openai-responses 200 .category)" '"provider"'
	same "$(echo '{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"S"}]},"finishReason":"STOP"}]}' |
		served google 200 .category)" '"provider"'
	same "$(echo '{"type":"message","stop_reason":"end_turn","content":[{"type":"text","text":""}]}' | served anthropic 200 .category)" '"provider"'
}

@test "errors in the bodies of streams, behind byte order marks, in other encodings, of servers behind routers" {
	same "$(printf 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n' |
		served anthropic 400 '.category + " " + .message')" '"overloaded HTTP 400 (request req_1): Overloaded"'
	same "$(printf '\357\273\277{"error":{"code":"insufficient_quota","message":"no more"}}' | served openai 429 .category)" '"auth"'
	same "$(printf '\357\273\277{"choices":[{"message":{"content":"A"},"finish_reason":"stop"}]}' | served openai 200 '.blocks[0].text')" '"A"'
	same "$(printf '{"error":{"message":"cl\351 invalide"}}' | served openai 400 '.message | endswith("cl? invalide\"}}")')" true
	same "$(echo '{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 9 tokens\"}}"}}}' |
		served openai 400 '.category + " " + .message')" '"context_length HTTP 400 (request req_1): Provider returned error: prompt is too long: 9 tokens"'
	same "$(echo '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}}' |
		served google 429 '.category, .retry_after_ms' | xargs)" 'rate_limit 1000'
	same "$(printf 'data: [ERROR] upstream timeout\n\n' | served openai 200 .message)" '"event 1 of the stream is not JSON: [ERROR] upstream timeout"'
}

@test "usage: of Moonshot, as 100.0, thoughts in the total alone, more cached than asked" {
	usage() { printf '{"choices":[{"message":{"content":"A"},"finish_reason":"stop"}],"usage":%s}' "$1" | served openai 200 '.usage | [.input_tokens, .output_tokens, .cache_read_tokens, .reasoning_tokens]'; }
	same "$(usage '{"prompt_tokens":100,"completion_tokens":20,"cached_tokens":60}')" '[100,20,60,null]'
	same "$(usage '{"prompt_tokens":100.0,"completion_tokens":20.0}')" '[100,20,null,null]'
	same "$(usage '{"prompt_tokens":100,"completion_tokens":20,"total_tokens":170}')" '[100,70,null,50]'
	same "$(usage '{"prompt_tokens":10,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":60}}')" '[10,1,10,null]'
}

@test "of several answers the first counts, a whole message behind its pieces is no second text" {
	same "$(pieces '{"choices":[{"index":0,"delta":{"content":"A"}}]}' '{"choices":[{"index":1,"delta":{"content":"B"}}]}' \
		'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}' | served openai 200 '[.blocks[].text]')" '["A"]'
	same "$(pieces "$(delta '{"content":"AB"}')" '{"object":"chat.completion","choices":[{"index":0,"message":{"content":"AB"},"finish_reason":"stop"}]}' |
		served openai 200 '[.blocks[].text]')" '["AB"]'
}

# Events of the Responses and of the Messages API: EVENT… as JSON, their type in them.
events() { for event; do printf 'event: %s\ndata: %s\n\n' "$(echo "$event" | jq -r .type)" "$event"; done; }
answered() { printf '{"type":"response.completed","response":{"status":"completed","output":[%s]}}' "$1"; }
said() { printf '{"type":"response.output_item.done","output_index":%s,"item":{"type":"message","id":"m%s","content":[{"type":"output_text","text":"%s"}]}}' "$1" "$1" "$2"; }

@test "thoughts and text that share a number are no one block" {
	shared() {
		events '{"type":"message_start","message":{"id":"a"}}' "$@" \
			'{"type":"message_delta","delta":{"stop_reason":"end_turn"}}' '{"type":"message_stop"}' |
			served anthropic 200 '[.blocks[] | [.type, .text // .thinking, .signature]]'
	}
	begin() { printf '{"type":"content_block_start","index":0,"content_block":{"type":"%s","%s":""}}' "$1" "$1"; }
	piece() { printf '{"type":"content_block_delta","index":0,"delta":{"type":"%s_delta","%s":"%s"}}' "$1" "$1" "$2"; }
	same "$(shared "$(begin text)" "$(piece thinking 'A bus.')" "$(piece signature S)" "$(piece text 'By ')" "$(piece text 'bus.')")" \
		'[["text","By bus.",null],["thinking","A bus.","S"]]'
	same "$(shared "$(begin thinking)" "$(piece thinking 'A bus.')" "$(piece text 'By bus.')" "$(piece signature S)")" \
		'[["thinking","A bus.","S"],["text","By bus.",null]]'
	# A signature of nothing.
	same "$(shared "$(begin text)" "$(piece text 'By bus.')" "$(piece signature S)")" '[["text","By bus.",null]]'
}

# bats test_tags=turn:2
@test "a text that came at its end alone, or otherwise than in its pieces" {
	ended() { printf '{"type":"response.output_text.done","output_index":0,"content_index":%s,"text":"%s"}' "$1" "$2"; }
	piece() { printf '{"type":"response.output_text.delta","output_index":0,"content_index":%s,"delta":"%s"}' "$1" "$2"; }
	text() { events "$@" "$(answered)" | served openai-responses 200 '[.blocks[].text]'; }
	same "$(text "$(ended 0 'By bus.')")" '["By bus."]'
	same "$(text "$(ended 0 'By ')" "$(ended 1 'bus.')")" '["By bus."]'
	same "$(text "$(ended 2 'By bus.')")" '["By bus."]'
	same "$(text "$(piece 0 'By ')" "$(piece 0 'tram')" "$(ended 0 'By bus.')")" '["By bus."]'
	same "$(text "$(piece 0 'By ')" "$(ended 0 'By ')" "$(piece 1 'bus.')" "$(ended 1 'bus.')")" '["By bus."]'
	same "$(text "$(piece 0 'By bus.')" "$(ended 0 '')")" '["By bus."]'
	same "$(text "$(ended 0 'By tram.')" "$(ended 0 'By bus.')")" '["By bus."]'
	same "$(text "$(piece 0 'Bus.')" "$(ended 0 'Bus.')" "$(piece 1 'Go, bus.')" "$(ended 1 'Bus.')")" '["Bus.Bus."]'
	# The finished item, and what the last event has, count more.
	same "$(text "$(ended 0 'By tram.')" "$(said 0 'By bus.')")" '["By bus."]'
	same "$(events "$(ended 0 'By tram.')" "$(answered '{"type":"message","content":[{"type":"output_text","text":"By bus."}]}')" |
		served openai-responses 200 '[.blocks[].text]')" '["By bus."]'
	# It is displayed once.
	same "$(events "$(ended 0 'By bus.')" "$(answered)" >answer
		model_server --answer answer --fault '1:error:200:answer'
		request 1 '"stream":true' | provider openai-responses | jq -r 'select(.type == "delta").text'
		kill "$MODEL_SERVER_PID")" 'By bus.'
}

@test "parts of a thought of which only pieces came, or their ends, have empty lines between them" {
	part() { printf '{"type":"response.reasoning_summary_text.%s","output_index":0,"summary_index":%s,"%s":"%s"}' "$@"; }
	thought() { events "$@" '{"type":"response.output_text.done","output_index":1,"text":"Bus."}' "$(answered)" | served openai-responses 200 '.blocks[0].thinking'; }
	same "$(thought "$(part delta 0 delta 'A ')" "$(part delta 0 delta 'bus.')" "$(part delta 1 delta 'Or')" "$(part delta 1 delta ' tram.')")" \
		'"A bus.\n\nOr tram."'
	same "$(thought "$(part 'done' 0 text 'A bus.')" "$(part 'done' 1 text 'Or tram.')")" '"A bus.\n\nOr tram."'
	same "$(thought "$(part delta 1 delta 'A')" "$(part 'done' 1 text 'A bus.')" "$(part 'done' 2 text 'Or tram.')")" '"A bus.\n\nOr tram."'
}

@test "items without numbers are told apart by their ids" {
	begins() { printf '{"type":"response.output_item.added","item":{"type":"function_call","id":"%s","call_id":"c%s","name":"go"}}' "$1" "$1"; }
	piece() { printf '{"type":"response.function_call_arguments.delta","item_id":"%s","delta":"%s"}' "$1" "$2"; }
	whole() { printf '{"type":"response.function_call_arguments.done","item_id":"%s","arguments":"%s"}' "$1" "$2"; }
	ends() { printf '{"type":"response.output_item.done","item":{"type":"function_call","id":"%s","call_id":"c%s"}}' "$1" "$1"; }
	same "$(events "$(begins a)" "$(begins b)" "$(piece a '{\"by\":')" "$(piece b '{\"by\":')" "$(piece a '\"bus\"}')" \
		"$(whole b '{\"by\":\"tram\"}')" "$(ends a)" "$(ends b)" "$(answered)" |
		served openai-responses 200 '[.blocks[] | [.tool_id, .tool_input.by]]')" '[["ca","bus"],["cb","tram"]]'
	ended() { printf '{"type":"response.output_text.done","item_id":"%s","content_index":0,"text":"%s"}' "$1" "$2"; }
	same "$(events "$(ended a 'By ')" "$(ended b 'bus.')" "$(answered)" | served openai-responses 200 '[.blocks[].text]')" '["By ","bus."]'
}

@test "a text that no item ended, beside items that did" {
	call='{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"go","arguments":"{}"}}'
	piece() { printf '{"type":"response.output_text.delta","output_index":%s,"delta":"By bus."}' "$1"; }
	both() { events "$@" "$(answered)" | served openai-responses 200 '[.blocks[] | .text // .tool_name]'; }
	same "$(both "$(piece 0)" "$call")" '["By bus.","go"]'
	same "$(both '{"type":"response.output_text.done","output_index":2,"text":"By bus."}' "$call")" '["go","By bus."]'
	# What comes late, or under another index, is no other text.
	same "$(both "$(said 0 'By bus.')" "$(piece 0)" "$call")" '["By bus.","go"]'
	same "$(both "$(piece 5)" "$(said 0 'By bus.')" "$call")" '["By bus.","go"]'
}

@test "items that end in another order, thoughts and refusals that their items lack" {
	same "$(events "$(said 1 bus.)" "$(said 0 By)" "$(said 2 Now.)" "$(answered)" | served openai-responses 200 '[.blocks[].text]')" '["By","bus.","Now."]'
	lacking() { printf '{"type":"response.output_item.%s","item":{"type":"%s","id":"i"}}' "$@"; }
	same "$(events "$(lacking added reasoning)" '{"type":"response.reasoning_summary_text.delta","item_id":"i","delta":"A bus."}' \
		"$(lacking 'done' reasoning)" "$(said 1 Bus.)" "$(answered)" | served openai-responses 200 '[.blocks[] | .thinking // .text]')" '["A bus.","Bus."]'
	same "$(events "$(lacking added message)" '{"type":"response.refusal.delta","item_id":"i","delta":"No."}' \
		"$(lacking 'done' message)" "$(answered)" | served openai-responses 200 '.stop_reason, .blocks[0].text' | xargs)" 'refusal No.'
}

@test "usage of Gemini: thoughts beside what was said, or in it" {
	usage() { printf '{"candidates":[{"content":{"parts":[{"text":"A"}]},"finishReason":"STOP"}],"usageMetadata":%s}' "$1" | served google 200 '.usage | [.input_tokens, .output_tokens, .reasoning_tokens]'; }
	same "$(usage '{"promptTokenCount":8,"candidatesTokenCount":6,"thoughtsTokenCount":4,"totalTokenCount":18}')" '[8,10,4]'
	same "$(usage '{"promptTokenCount":8,"candidatesTokenCount":6,"thoughtsTokenCount":4,"totalTokenCount":14}')" '[8,6,4]'
	same "$(usage '{"promptTokenCount":8,"toolUsePromptTokenCount":5,"candidatesTokenCount":6,"thoughtsTokenCount":4,"totalTokenCount":19}')" '[13,6,4]'
	same "$(usage '{"promptTokenCount":8,"candidatesTokenCount":6,"thoughtsTokenCount":4}')" '[8,10,4]'
}

@test "events between which there is no empty line" {
	lines() { for line; do printf 'data: %s\n' "$line"; done; }
	same "$(lines "$(delta '{"content":"By "}')" "$(delta '{"content":"bus."}')" "$(delta '{}' '"stop"')" '[DONE]' | served openai 200 '.blocks[0].text')" '"By bus."'
	same "$(lines "$(delta '{"content":"By "}')" '{"error":{"code":429,"message":"later"}}' "$(delta '{}' '"stop"')" | served openai 200 .category)" '"rate_limit"'
	same "$({ events "$(said 0 'By bus.')" && events "$(answered)"; } | grep -v '^$' | served openai-responses 200 '.blocks[0].text')" '"By bus."'
	# One event on several lines is one; a line that is cut is none.
	same "$(delta '{"content":"By bus."}' '"stop"' | jq . | sed 's/^/data: /' | served openai 200 '.blocks[0].text')" '"By bus."'
	same "$(lines "$(delta '{"content":"By "}')" '{"choices":[{"del' | served openai 200 .category)" '"network"'
}

@test "thoughts as a summary among the parts, in pieces and whole, go back as they came" {
	part() { printf '{"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"%s"%s}]}]}' "$@"; }
	whole='{"type":"reasoning","summary":[{"type":"summary_text","text":"A \"bus\".","signature":"S"}]}'
	printf '{"choices":[{"message":{"content":[%s,{"type":"text","text":"By bus."}]},"finish_reason":"stop"}]}' "$whole" | served openai 200 .blocks >whole
	pieces "$(delta "$(part 'A \"b' '')")" "$(delta "$(part 'us\".' ',"signature":"S"')")" "$(delta '{"content":"By bus."}' '"stop"')" | served openai 200 .blocks >pieces
	same "$(cat pieces)" "$(cat whole)"
	same "$(jq -r '.[] | .thinking // .text' whole)" $'A "bus".\nBy bus.'
	model_server --answer "$ROOT/tests/fixtures/openai/text.jsonl"
	jq -c '{id: 1, model: "m", messages: [{role: "user", blocks: [{type: "text", text: "How?"}]}, {role: "assistant", blocks: .},
		{role: "user", blocks: [{type: "text", text: "Why?"}]}]}' whole | provider openai >/dev/null
	same "$(body 1 | jq -cS '.messages[1].content')" "$(jq -cS . <<<"[$whole,{\"type\":\"text\",\"text\":\"By bus.\"}]")"
}

@test "a prompt of too many tokens, and a policy, named in one word" {
	of() { printf '{"error":{"message":"%s"}}' "$1" | served openai 400 .category; }
	same "$(of '9002 tokens > 9000 maximum')" '"context_length"'
	same "$(of 'blocked: content_policy_violation')" '"refused"'
	same "$(of 'blocked by content_filter_policy')" '"refused"'
	same "$(of 'no policy for this content')" '"invalid"'
}
