#!/usr/bin/env bats
# bats file_tags=turn:2
# What one model gave goes back to it as it came, and to no other; nothing goes out that a server
# is known to refuse.
# shellcheck shell=bash disable=SC2154,SC2016 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/provider

prepare() {
	mkdir agents tools
	tool look '"input_schema":{"type":"object"},"effects":"none"' 'cat'
}

# The stream of a Chat Completions answer: the deltas of its choice, one after another.
chat() {
	local reason=$1 delta
	shift
	for delta; do echo '{"choices":[{"index":0,"delta":'"$delta"'}]}'; done
	echo '{"choices":[{"index":0,"delta":{},"finish_reason":"'"$reason"'"}],"model":"m"}'
}
chat_call() { echo '{"tool_calls":[{"index":0,"id":"'"$1"'","type":"function","function":{"name":"look","arguments":"{}"}'"${2+,$2}"'}]}'; }

chat_agent() { printf -- '---\nprovider: openai\nmodel: m\ntools: [look]\n---\nBe brief.\n' >agents/one.md; }

# Serves these files one after the other, and asks by the agent.
ask() {
	local name=$1 files=()
	shift
	for file; do files+=(--answer "$file"); done
	model_server "${files[@]}"
	echo go | awf-step -a "$name" -r step >out
}
# The assistant's messages of the last request.
given_back() { bodies | tail -n 1 | jq -c '[.messages[] | select(.role == "assistant")]'; }

@test "a signature of a call goes back with it" {
	export JQ=jq # which keeps the order of keys
	# ai.google.dev/gemini-api/docs/thought-signatures, "OpenAI compatibility"
	chat_agent
	chat tool_calls "$(chat_call c1 '"extra_content":{"google":{"thought_signature":"c2ln"}}')" >first
	chat stop '{"content":"It is cold."}' >last
	ask one first last
	same "$(cat out)" 'It is cold.'
	same "$(given_back)" '[{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}]'
}

@test "details of reasoning are joined, and go back under their names" {
	export JQ=jq # which keeps the order of keys
	# openrouter.ai/docs/use-cases/reasoning-tokens, "Preserving reasoning blocks"
	chat_agent
	chat tool_calls \
		'{"content":"","reasoning":"Need ","reasoning_details":[{"type":"reasoning.text","text":"Need ","index":0,"format":"f"}]}' \
		'{"content":"","reasoning":"it, it,","reasoning_details":[{"type":"reasoning.text","text":"it, ","index":0},{"type":"reasoning.text","text":"it, ","index":0,"signature":"c2ln"}]}' \
		'{"reasoning_details":[{"type":"reasoning.encrypted","data":"xx","id":"r1","index":0}],"own":7}' \
		"$(chat_call c1)" >first
	chat stop '{"content":"It is cold."}' >last
	ask one first last
	same "$(cat out)" 'It is cold.'
	same "$(given_back | jq -c '.[0] | [.reasoning, .reasoning_details, .own]')" \
		'["Need it, it,",[{"type":"reasoning.text","text":"Need it, it, ","index":0,"format":"f","signature":"c2ln"},{"type":"reasoning.encrypted","data":"xx","id":"r1","index":0}],7]'
	# They are in the record.
	jq -es 'map(select(.type == "message.assistant"))[0].payload.blocks[0].raw.reasoning_details[1].data == "xx"' "$(transcript)" >/dev/null
	awf-verify -q
}

@test "thinking blocks of LiteLLM that came in pieces go back whole, each with its signature" {
	# github.com/BerriAI/litellm: issue 29428 (the signature alone in the last piece), pull request 31185
	# (with the text again), 38809 (a signature alone)
	blocks() { printf '{"reasoning_content":"%s","thinking_blocks":[%s]}' "$1" "$2"; }
	chat_agent
	chat tool_calls \
		"$(blocks 'Need ' '{"type":"thinking","thinking":"Need ","signature":""}')" \
		"$(blocks 'it.' '{"type":"thinking","thinking":"it.","signature":null}')" \
		"$(blocks '' '{"type":"thinking","thinking":"","signature":"s1"}')" \
		"$(blocks '' '{"type":"redacted_thinking","data":"xx"}')" \
		"$(blocks 'So ' '{"type":"thinking","thinking":"So "}')" \
		"$(blocks 'look.' '{"type":"thinking","thinking":"look."}')" \
		"$(blocks '' '{"type":"thinking","thinking":"So look.","signature":"s2"}')" \
		"$(blocks '' '{"type":"thinking","thinking":"","signature":"s3"}')" \
		"$(chat_call c1)" >first
	chat stop '{"content":"It is cold."}' >last
	ask one first last
	same "$(cat out)" 'It is cold.'
	same "$(given_back | jq -cS '.[0] | .reasoning_content, .thinking_blocks[]')" \
		'"Need it.So look."
{"signature":"s1","thinking":"Need it.","type":"thinking"}
{"data":"xx","type":"redacted_thinking"}
{"signature":"s2","thinking":"So look.","type":"thinking"}
{"signature":"s3","thinking":"","type":"thinking"}'
}

@test "thoughts that were none go back where tools were called" {
	# api-docs.deepseek.com/guides/thinking_mode
	chat_agent
	chat tool_calls '{"reasoning_content":""}' "$(chat_call c1)" >first
	chat stop '{"content":"It is cold.","reasoning_content":""}' >last
	ask one first last
	same "$(cat out)" 'It is cold.'
	same "$(given_back | jq -c '.[0].reasoning_content')" '""'
	same "$(jq -c 'select(.type == "message.assistant").payload.blocks | map([.type, .raw])' "$(transcript)" | tail -n 1)" '[["text",null]]'
}

@test "thoughts that are parts of the content go back as parts" {
	export JQ=jq # which keeps the order of keys
	# docs.mistral.ai/capabilities/reasoning
	chat_agent
	chat tool_calls '{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Let "}]}]}' \
		'{"content":[{"type":"thinking","thinking":[{"type":"text","text":"me."}],"closed":true}]}' \
		'{"content":[{"type":"reference","reference_ids":[1]},{"type":"text","text":"Looking."}]}' "$(chat_call c1)" >first
	chat stop '{"content":"It is cold."}' >last
	ask one first last
	same "$(cat out)" 'It is cold.'
	same "$(given_back | jq -c '.[0].content')" \
		'[{"type":"thinking","thinking":[{"type":"text","text":"Let me."}],"closed":true},{"type":"reference","reference_ids":[1]},{"type":"text","text":"Looking."}]'
}

@test "a picture is an answer, described by a text, and goes back as it came" {
	export JQ=jq # which keeps the order of keys
	chat_agent
	chat stop '{"content":"","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}' >first
	ask one first
	same "$(cat out)" '[picture: image/png, 8 bytes]'
	blocks=$(jq -c 'select(.type == "message.assistant").payload.blocks' "$(transcript)")
	model_server --answer first
	for from in openai/m other/m; do
		echo '{"id":1,"provider":"openai","model":"m","messages":[{"role":"assistant","from":"'$from'","blocks":'"$blocks"'}]}'
	done | provider openai >/dev/null
	same "$(bodies | jq -c '.messages')" '[{"role":"assistant","content":"","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]
[{"role":"assistant","content":"[picture: image/png, 8 bytes]"}]'
}

@test "what is for readers, and what is about the answer, does not go back" {
	chat_agent
	{
		echo '{"citations":["u"],"choices":[{"index":0,"logprobs":{"content":[]},"delta":{"role":"assistant","content":"x","refusal":null,"annotations":[{"type":"url_citation"}],"audio":{"data":"AAAA"},"logprobs":[1]}}]}'
		chat tool_calls "$(chat_call c1)"
	} >first
	chat stop '{"content":"It is cold."}' >last
	ask one first last
	same "$(cat out)" 'It is cold.'
	same "$(given_back | jq -c '.[0] | keys')" '["content","role","tool_calls"]'
	jq -es 'map(select(.type == "message.assistant"))[0].payload.blocks[0].raw | .citations == ["u"] and .annotations[0].type == "url_citation"' "$(transcript)" >/dev/null
}

@test "what is its own goes to the giver alone" {
	chat_agent
	chat tool_calls '{"reasoning_content":"hm"}' "$(chat_call functions.look:0)" >first
	# To the giver: its own id and thoughts.
	chat stop '{"content":"fine"}' >chat.last
	ask one first chat.last
	same "$(cat out)" fine
	same "$(given_back | jq -c '.[0] | [.reasoning_content, .tool_calls[0].id]')" '["hm","functions.look:0"]'
	blocks=$(jq -c 'select(.type == "message.assistant").payload.blocks' "$(transcript)" | head -n 1)
	kill "$MODEL_SERVER_PID"
	# To others: an id that fits, the same for call and result.
	local name
	for name in anthropic openai-responses; do
		model_server --answer "$ROOT/tests/fixtures/same/$name.2.jsonl"
		echo '{"id":1,"model":"m","messages":[{"role":"user","blocks":[{"type":"text","text":"x"}]},{"role":"assistant","from":"openai/m","blocks":'"$blocks"'},{"role":"user","blocks":[{"type":"tool_result","tool_id":"functions.look:0","tool_content":"r"}]}]}' |
			provider "$name" >/dev/null
		bodies >"$name.body"
		run ! grep -q 'functions\|hm' "$name.body"
		same "$(grep -oE 'call_[0-9A-Za-z]{19}' "$name.body" | sort | uniq -c | awk '{ print $1, length($2) }')" '2 24'
		kill "$MODEL_SERVER_PID"
	done
}

# bats test_tags=turn:2
@test "ids: those that fit stay, two that meet are told apart, the giver gets its own" {
	local fitted
	model_server --answer "$ROOT/tests/fixtures/same/anthropic.2.jsonl" --loop
	ids() {
		for id; do printf '{"type":"tool_use","tool_id":"%s","tool_name":"n","tool_input":{}}' "$id"; done |
			jq -cs '{id: 1, provider: "anthropic", model: "m", messages: [{role: "assistant", from: $from, blocks: .}]}' --arg from "${FROM-other/m}" |
			provider anthropic >/dev/null
		bodies | tail -n 1 | jq -r '.messages[0].content[].id' | paste -sd' '
	}
	fitted=$(ids a:b)
	[[ $fitted =~ ^call_[0-9A-Za-z]{19}$ ]]
	same "$(ids a:b)" "$fitted"
	same "$(ids toolu_1 call-2 "$(printf 'x%.0s' {1..64})")" "toolu_1 call-2 $(printf 'x%.0s' {1..64})"
	# An id that is the fitted form of another.
	run ids "$fitted" a:b
	[[ $output == "$fitted call_"* ]]
	[ "${output#* }" != "$fitted" ]
	[[ $(ids "$(printf 'x%.0s' {1..65})" ä) =~ ^call_[0-9A-Za-z]{19}\ call_[0-9A-Za-z]{19}$ ]]
	FROM=anthropic/m
	same "$(ids a:b)" a:b
	# As an endpoint says.
	export AWF_ENDPOINT='{"protocol":"chat","base_url":"https://x.example/v1","ids":{"match":"[A-Za-z0-9]{9}"},"key":{"env":["OPENAI_API_KEY"],"header":"authorization: Bearer "},"base_env":"OPENAI_BASE_URL"}'
	kill "$MODEL_SERVER_PID"
	model_server --answer "$ROOT/tests/fixtures/same/openai.2.jsonl"
	echo '{"id":1,"model":"m","messages":[{"role":"assistant","blocks":[{"type":"tool_use","tool_id":"call_1","tool_name":"n","tool_input":{}},{"type":"tool_use","tool_id":"D681PevKs","tool_name":"n","tool_input":{}}]}]}' | provider openai >/dev/null
	[[ $(bodies | jq -r '.messages[0].tool_calls[].id' | paste -sd' ') =~ ^[A-Za-z0-9]{9}\ D681PevKs$ ]]
}

@test "the second of two calls with one id gets another" {
	chat_agent
	echo '{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}},{"id":"c","type":"function","function":{"name":"look","arguments":"{\"n\":2}"}}]},"finish_reason":"tool_calls"}]}' >first
	model_server --answer first
	run provider openai <<<'{"id":1,"model":"m","messages":[{"role":"user","blocks":[{"type":"text","text":"x"}]}]}'
	same "$(jq -c '[.blocks[].tool_id] | unique | length' <<<"$output")" "$(jq -c '.blocks | length' <<<"$output")"
}

@test "white space alone is not sent to Anthropic" {
	agent one 'tools: [look]'
	stream tool_use '{"type":"text","text":"\n\n"}' "$(use t1 look '{}')" >first
	stream end_turn '{"type":"text","text":" \n\u00a0"}' >last
	model_server --answer first --answer last --answer last
	printf -- '---\nprovider: anthropic\nmodel: test\ncontinue_from: one\n---\n' >agents/two.md
	run -0 awf-run -c 'awf-step -a one one | awf-step -a two -p "go on" two' <<<x
	same "$(bodies | sed -n 2p | jq -c '[.messages[1].content[].type]')" '["tool_use"]'
	same "$(bodies | sed -n 3p | jq -c '[.messages[].role]')" '["user","assistant","user","user"]'
}

@test "thoughts without a signature go back to who gave them so, but not to Anthropic itself" {
	local said='{"type":"thinking","thinking":"Let me look.","api":"anthropic"}'
	model_server --answer "$ROOT/tests/fixtures/same/anthropic.2.jsonl" --loop
	for from in anthropic/deepseek other/x; do
		echo '{"id":1,"provider":"anthropic","model":"deepseek","messages":[{"role":"assistant","from":"'$from'","blocks":['"$said"',{"type":"text","text":"x"}]}]}'
	done | provider anthropic >/dev/null
	same "$(bodies | jq -c '[.messages[0].content[].type]' | paste -sd' ')" '["thinking","text"] ["text"]'
}

# An answer with a thought, signed with whatever, before these blocks.
thought() {
	local reason=$1
	shift
	stream "$reason" '{"type":"text","text":"hm"}' "$@" |
		sed '0,/"content_block":{"type":"text","text":""}/s//"content_block":{"type":"thinking","thinking":""}/
			s/{"type":"text_delta","text":"hm"}/{"type":"signature_delta","signature":"c2ln"}/'
}
# The types of what the model said, in each request.
said_types() { bodies | jq -c '[.messages[] | select(.role == "assistant").content[].type]' | paste -sd' '; }

# bats test_tags=turn:2
@test "thoughts go back only under the same system prompt and tools, after the same messages" {
	export JQ=jq # which keeps the order of keys
	# platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
	thought tool_use "$(use t1 look '{}')" >one
	thought tool_use "$(use t2 look '{}')" >two
	text fine >last
	agent plain 'tools: [look]'
	model_server --answer one --answer two --answer last
	same "$(awf-step -a plain -r s <<<go)" fine
	same "$(said_types)" '[] ["thinking","tool_use"] ["thinking","tool_use","thinking","tool_use"]'
	kill "$MODEL_SERVER_PID"
	# The example of awf-agent(5), "frugal": the first message, and the last two.
	agent frugal 'tools: [look]
before_turn: "jq -c '"'if (.messages | length) > 3 then {messages: (.messages[:1] + .messages[-2:])} else {} end'"'"'
	model_server --answer one --answer two --answer last
	same "$(awf-step -a frugal -r s <<<go)" fine
	same "$(said_types)" '[] ["thinking","tool_use"] ["tool_use"]'
	kill "$MODEL_SERVER_PID"
	# Another agent, that is another system prompt.
	agent first 'tools: [look]
handoffs: [second]'
	agent second 'tools: [look]'
	thought tool_use "$(use t1 transfer_to_second '{}')" >hand
	model_server --answer hand --answer last
	same "$(awf-step -a first -r s <<<go)" fine
	same "$(said_types)" '[] ["tool_use"]'
	awf-verify -q
}

@test "models that have no such check, and endpoints that say so, get all their thoughts" {
	local bound blocks='[{"type":"thinking","thinking":"t","signature":"s","api":"anthropic","bound":"00"},{"type":"text","text":"x"}]'
	model_server --answer "$ROOT/tests/fixtures/same/anthropic.2.jsonl" --loop
	for model in claude-sonnet-4-5 claude-opus-5-5; do
		echo '{"id":1,"model":"'$model'","params":{"thinking":"low"},"messages":[{"role":"assistant","blocks":'"$blocks"'}]}'
	done | provider anthropic >/dev/null
	export AWF_ENDPOINT='{"protocol":"messages","base_url":"https://x.example","bound":false,"key":{"env":["ANTHROPIC_API_KEY"],"header":"x-api-key: "},"base_env":"ANTHROPIC_BASE_URL"}'
	echo '{"id":1,"model":"claude-opus-5-5","messages":[{"role":"assistant","blocks":'"$blocks"'}]}' | provider anthropic >/dev/null
	same "$(bodies | jq -c '[.messages[0].content[].type]' | paste -sd' ')" '["thinking","text"] ["text"] ["thinking","text"]'
}

@test "thoughts of older recordings go back if nothing can have changed" {
	local blocks='[{"type":"thinking","thinking":"t","signature":"s","api":"anthropic"},{"type":"text","text":"x"}]'
	model_server --answer "$ROOT/tests/fixtures/same/anthropic.2.jsonl" --loop
	for moved in false true; do
		echo '{"id":1,"provider":"anthropic","model":"m","messages":[{"role":"assistant","from":"anthropic/m","moved":'$moved',"blocks":'"$blocks"'}]}'
	done | provider anthropic >/dev/null
	same "$(bodies | jq -c '[.messages[0].content[].type]' | paste -sd' ')" '["thinking","text"] ["text"]'
}

# bats test_tags=turn:3
@test "random conversations with a server that checks what thoughts are bound to" {
	BUILD=${BUILD%/test} TORTURE_SEED=${SEED:-$RANDOM} CYCLES=$(rounds 6 50) "$ROOT/tests/torture/campaign-thoughts" >campaign || {
		cat campaign
		false
	}
}

@test "schemas of tools go out as APIs take them" {
	export JQ=jq # which keeps the order of keys
	local tools='[{"name":"t","description":"d","input_schema":{"$schema":"s","$id":"i","properties":{"type":{"enum":[{"$schema":1}],"default":{"a":null}}}}},{"name":"u","input_schema":{}}]'
	local want='[{"type":"object","properties":{"type":{"enum":[{"$schema":1}],"default":{"a":null}}}},{"type":"object","properties":{}}]' name
	for name in anthropic google openai openai-responses; do
		model_server --answer "$ROOT/tests/fixtures/same/$name.2.jsonl"
		echo '{"id":1,"model":"m","messages":[{"role":"user","blocks":[{"type":"text","text":"x"}]}],"tools":'"$tools"'}' | provider "$name" >/dev/null
		same "$name $(bodies | jq -c '[.tools[] | (.functionDeclarations[]?, .) | (.input_schema, .parameters, .parametersJsonSchema, .function.parameters) | values]')" "$name $want"
		kill "$MODEL_SERVER_PID"
	done
}

@test "alternatives at the root of a tool's schema are refused before anything is asked" {
	model_server --answer "$ROOT/tests/fixtures/same/anthropic.2.jsonl"
	for word in anyOf oneOf allOf; do
		run provider openai <<<'{"id":1,"model":"m","messages":[{"role":"user","blocks":[{"type":"text","text":"x"}]}],"tools":[{"name":"pick","input_schema":{"'$word'":[{"type":"object"}]}}]}'
		same "$(jq -r '[.category, .message] | join(": ")' <<<"$output")" "invalid: the tool 'pick': Chat Completions takes no $word at the root of input_schema; put it into a property"
	done
	[ ! -s "$MODEL_SERVER_LOG" ]
}

# bats test_tags=turn:2
@test "a schema of the answer is said as the endpoint takes it" {
	local word tools
	model_server --answer "$ROOT/tests/fixtures/same/openai.2.jsonl" --loop
	while read -r word tools want; do
		AWF_ENDPOINT='{"protocol":"chat","base_url":"https://x.example/v1","schema":"'$word'","key":{"env":["OPENAI_API_KEY"],"header":"authorization: Bearer "},"base_env":"OPENAI_BASE_URL"}' \
			provider openai <<<'{"id":1,"model":"deepseek-x","messages":[{"role":"user","blocks":[{"type":"text","text":"x"}]}],"tools":'"$tools"',"output_schema":{"type":"object","properties":{},"additionalProperties":false}}' >/dev/null
		same "$word $tools $(bodies | tail -n 1 | jq -r '.response_format.type')" "$word $tools $want"
	done <<-'END'
		with_tools [{"name":"t","input_schema":{}}] json_schema
		alone [{"name":"t","input_schema":{}}] null
		alone [] json_schema
		json_object [] json_object
		json_object [{"name":"t","input_schema":{}}] null
		none [] null
	END
}

# An endpoint of Chat Completions with these members.
endpoint() { export AWF_ENDPOINT='{"protocol":"chat","base_url":"https://x.example/v1",'"$1"',"key":{"env":["OPENAI_API_KEY"],"header":"authorization: Bearer "},"base_env":"OPENAI_BASE_URL"}'; }

@test "thoughts between tags are thoughts, and go back between tags" {
	chat stop '{"content":"\n<think>\nhm"}' '{"content":" so.\n</think>\n\nIt is "}' '{"content":"cold."}' >answer
	model_server --answer answer --loop
	endpoint '"think_tags":true'
	request | provider openai >said
	same "$(jq -c '.blocks | map([.type, .thinking, .text])' said)" '[["thinking","\nhm so.\n",null],["text",null,"\n\nIt is cold."]]'
	jq -c '{id: 2, model: "m", messages: [{role: "assistant", blocks}]}' said | provider openai >/dev/null
	same "$(bodies | tail -n 1 | jq -c '.messages[0].content')" '"<think>\nhm so.\n</think>\n\nIt is cold."'
	jq -c '{id: 2, model: "m", messages: [{role: "assistant", from: "other/m", blocks}]}' said | provider openai >/dev/null
	same "$(bodies | tail -n 1 | jq -c '.messages[0].content')" '"\n\nIt is cold."'
	# One that does not end is a thought.
	for end in length stop; do
		chat $end '{"content":"<think>hm"}' '{"content":" so. Is"}' >answer.$end
	done
	kill "$MODEL_SERVER_PID"
	model_server --answer answer.length --answer answer.stop --loop
	same "$(request | provider openai | jq -c '[.stop_reason, (.blocks | map([.type, .thinking, .text]))]')" \
		'["max_tokens",[["thinking","hm so. Is",null]]]'
	request | provider openai | grep -F '"message":"the model thought, and said nothing"'
	# Elsewhere they are text.
	endpoint '"think_tags":false'
	same "$(request | provider openai | jq -c '.blocks | map(.type)')" '["text"]'
}

@test "the role of the system prompt, the name of the limit, contents that are texts" {
	export JQ=jq # which keeps the order of keys
	chat stop '{"content":"x"}' >answer
	model_server --answer answer --loop
	endpoint '"system":"developer","max_tokens":"limit","content":"text","echo":"reasoning_content"'
	echo '{"id":1,"model":"m","system":"s","params":{"max_tokens":5},"messages":[{"role":"user","blocks":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","blocks":[{"type":"thinking","thinking":"t","api":"openai","field":"reasoning"},{"type":"text","text":"c"}]}]}' |
		provider openai >/dev/null
	same "$(bodies | jq -c '[.limit, .messages]')" '[5,[{"role":"developer","content":"s"},{"role":"user","content":"a\n\nb"},{"role":"assistant","content":"c","reasoning_content":"t"}]]'
	endpoint '"echo":false'
	echo '{"id":1,"model":"m","messages":[{"role":"assistant","blocks":[{"type":"thinking","thinking":"t","api":"openai","field":"reasoning"},{"type":"text","text":"c","api":"openai","raw":{"x":1}}]}]}' |
		provider openai >/dev/null
	same "$(bodies | tail -n 1 | jq -c .messages)" '[{"role":"assistant","content":"c"}]'
}

@test "a message of which nothing can be sent is left out of a chat" {
	chat stop '{"content":"x"}' >answer
	model_server --answer answer
	echo '{"id":1,"provider":"openai","model":"m","messages":[{"role":"user","blocks":[{"type":"text","text":"a"}]},{"role":"assistant","from":"other/m","blocks":[{"type":"thinking","thinking":"t","api":"openai","field":"reasoning"}]},{"role":"user","blocks":[{"type":"text","text":"b"}]}]}' |
		provider openai >/dev/null
	same "$(bodies | jq -c '[.messages[].role]')" '["user","user"]'
}

# bats test_tags=turn:2
@test "messages that a before_turn program chose keep what was given, as far as it is unchanged" {
	printf -- '---\nprovider: openai\nmodel: m\ntools: [look]\nbefore_turn: "jq -ac \x27{messages: (.messages[:1] + .messages[1:][-2:])}\x27"\n---\nx\n' >agents/one.md
	chat tool_calls '{"reasoning_content":"hm \u00e9"}' "$(chat_call c1 '"extra_content":{"s":"\u00e9"}')" >first
	chat tool_calls '{"reasoning_content":"so"}' "$(chat_call c2)" >second
	chat stop '{"content":"fine"}' >last
	ask one first second last
	same "$(cat out)" fine
	same "$(bodies | sed -n 2p | jq -c '.messages[2] | [.reasoning_content, .tool_calls[0].extra_content.s]')" '["hm é","é"]'
	same "$(given_back | jq -c 'map(.reasoning_content)')" '["so"]'
	# What the program says otherwise is nobody's.
	sed -i 's/-2:\])/-2:] | map(if .role == \\"assistant\\" then .blocks[0].thinking = \\"other\\" else . end))/' agents/one.md
	kill "$MODEL_SERVER_PID"
	ask one first last
	same "$(given_back | jq -c 'map([.reasoning_content, .tool_calls[0].extra_content])')" '[[null,null]]'
}

@test "another model of the same API gets neither signatures nor encrypted thoughts, nor ids of items" {
	local user='{"role":"user","blocks":[{"type":"text","text":"x"}]}' result='{"role":"user","blocks":[{"type":"tool_result","tool_id":"c1","tool_content":"r"}]}'
	local name call='"type":"tool_use","tool_id":"c1","tool_name":"n","tool_input":{}'
	for name in openai-responses google anthropic; do
		model_server --answer "$ROOT/tests/fixtures/same/$name.2.jsonl" --loop
		for from in gemini-3-pro other; do
			echo '{"id":1,"provider":"'$name'","model":"gemini-3-pro","messages":['"$user"',{"role":"assistant","from":"'$name/$from'","blocks":[
				{"type":"thinking","thinking":"t","signature":"c2ln","api":"'$name'","raw":{"id":"rs_1"}},
				{'"$call"',"signature":"c2ln","api":"'$name'","raw":{"id":"fc_1"}}]},'"$result"']}' | tr -d '\n\t'
			echo
		done | provider "$name" >/dev/null
		same "$name $(sed -n 1p "$MODEL_SERVER_LOG" | grep -c 'c2ln\|fc_1')" "$name 1"
		same "$name $(sed -n 2p "$MODEL_SERVER_LOG" | grep -c 'c2ln\|rs_1\|fc_1\|"t"')" "$name 0"
		kill "$MODEL_SERVER_PID"
	done
}
