load ../../support/helpers
bats_require_minimum_version 1.5.0
load ../../support/provider

# ask TEXT [SYSTEM [MESSAGES]]: a request's line; MESSAGES are further ones.
ask() {
	printf '{"id":1,"model":"answers.jsonl"%s,"messages":[{"role":"user","blocks":[{"type":"text","text":"%s"}]}%s]}\n' \
		"${2:+,\"system\":\"$2\"}" "$1" "${3:+,$3}"
}
answered='{"role":"assistant","blocks":[{"type":"text","text":"x"}]},{"role":"user","blocks":[{"type":"text","text":"and?"}]}'

texts() { jq -r '.blocks[0].text // .message' | paste -sd' '; }

# A transcript of two calls at once, each with a tool call, and a blob.
transcript_file() {
	local uuid=00000000-0000-4000-8000-0000000000 zeros
	zeros=$(printf '%064d' 0)
	mkdir -p store/transcripts "store/blobs/${uuid}00"
	local n=0 parent type payload extra
	while IFS='|' read -r n parent type payload extra; do
		printf '{"seq":%d,"timestamp":"2026-01-01T00:00:00.000000Z","event_id":"%s%02d","run_id":"%s00","parent_event_id":%s,"type":"%s","path":"p","iteration":0,"payload":%s%s,"prev":"%s"}\n' \
			"$n" "$uuid" "$n" "$uuid" "$([ "$parent" = - ] && echo null || printf '"%s%02d"' "$uuid" "$parent")" \
			"$type" "$payload" "$extra" "$zeros"
	done >"store/transcripts/${uuid}00.jsonl"
	echo "$PWD/store/transcripts/${uuid}00.jsonl"
}
calls='1|-|run.started|{}|
2|1|step.started|{"name":"a"}|
3|1|step.started|{"name":"b"}|
4|2|message.user|{"role":"user","blocks":[{"type":"text","fidelity":"router","text":"one"}],"system_prompt":"Be A."}|
5|3|message.user|{"role":"user","blocks":[{"type":"text","fidelity":"router","text":"one"}],"system_prompt":"Be B."}|
6|5|message.assistant|{"role":"assistant","blocks":[{"type":"text","fidelity":"agent_emitted","text":"B first"}],"model":"m","stop_reason":"end_turn","usage":{"input_tokens":1},"turn":0}|
7|4|message.assistant|{"role":"assistant","blocks":[{"type":"tool_use","fidelity":"agent_emitted","tool_id":"t","tool_name":"n","tool_input":{"x":1.50}}],"model":"m","stop_reason":"tool_use","usage":{}}|
8|7|tool.call|{"name":"n"}|
9|8|tool.result|{"name":"n"}|
10|9|message.assistant|{"role":"assistant","blocks":[{"type":"text","text":"A partly"}],"partial":true}|
11|9|message.assistant|{"role":"assistant","blocks":[{"type":"text","fidelity":"agent_emitted","text":"A second"}],"model":"m","stop_reason":"end_turn","usage":{}}|
12|2|step.completed|{}|'

@test "a file of answers in its order" {
	printf '%s\n' '{"type":"message","blocks":[{"type":"text","text":"1"}],"stop_reason":"end_turn","usage":{"input_tokens":3},"model":"m"}' \
		'' '{"blocks":[{"type":"text","text":"2"}]}' >answers.jsonl
	run -0 provider replay < <(ask a; ask b; ask c)
	same "${lines[0]}" '{"id":1,"type":"message","blocks":[{"type":"text","text":"1"}],"stop_reason":"end_turn","usage":{"input_tokens":3},"model":"m"}'
	same "${lines[1]}" '{"id":1,"type":"message","blocks":[{"type":"text","text":"2"}],"stop_reason":"end_turn","usage":{},"model":"answers.jsonl"}'
	same "${lines[2]}" '{"id":1,"type":"error","category":"invalid","message":"answers.jsonl: no recorded answer for this request (turn 0)"}'
}

@test "match decides, not the order of requests or processes" {
	printf '%s\n' '{"match":"analyst","blocks":[{"type":"text","text":"analysis"}]}' \
		'{"match":"writer","blocks":[{"type":"tool_use","tool_id":"1","tool_name":"t","tool_input":{}}]}' \
		'{"match":"writer","blocks":[{"type":"text","text":"text"}]}' \
		'{"blocks":[{"type":"text","text":"else"}]}' >answers.jsonl
	same "$( (ask x writer "$answered"; ask x analyst; ask x analyst; ask y) | provider replay | texts)" \
		'text analysis analysis else'
	same "$(ask x writer | provider replay | jq -r .stop_reason)" tool_use
	same "$(ask x writer "$answered,$answered" | sed 's/"x"/"y"/' | provider replay | texts)" else
}

@test "a match of several parts goes before one of fewer, and all of them must be there" {
	printf '%s\n' '{"match":"writer","blocks":[{"type":"text","text":"one"}]}' \
		'{"match":["writer","tea"],"blocks":[{"type":"text","text":"both"}]}' \
		'{"match":["writer","tea"],"blocks":[{"type":"text","text":"both again"}]}' >answers.jsonl
	same "$( (ask tea writer; ask coffee writer; ask tea writer "$answered") | provider replay | texts)" \
		'both one both again'
	same "$(ask tea analyst | provider replay | jq -r .type)" error
}

@test "a match that is none" {
	for match in 1 '[]' '["a",2]' null '{}'; do
		printf '\n{"match":%s,"blocks":[]}\n' "$match" >answers.jsonl
		run provider replay < <(ask a)
		[[ $output == *'answers.jsonl:2: match: expected a string or a list of strings'* ]]
	done
}

@test "turn says when" {
	printf '%s\n' '{"turn":1,"blocks":[{"type":"text","text":"then"}]}' \
		'{"turn":0,"blocks":[{"type":"text","text":"first"}]}' >answers.jsonl
	same "$( (ask a; ask a '' "$answered") | provider replay | texts)" 'first then'
}

@test "errors can be recorded too" {
	echo '{"type":"error","category":"rate_limit","status":429,"retry_after_ms":20,"message":"slow down"}' >answers.jsonl
	same "$(ask a | provider replay)" '{"id":1,"type":"error","category":"rate_limit","status":429,"retry_after_ms":20,"message":"slow down"}'
}

@test "deltas, if a stream is wanted; bytes kept" {
	echo '{"blocks":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"é"},{"type":"tool_use","tool_id":"1","tool_name":"t","tool_input":{ "n": 1.50e2 }}]}' >answers.jsonl
	run -0 provider replay < <(ask a | sed 's/"id":1/"id":4,"stream":true/')
	same "${lines[0]}" '{"id":4,"type":"delta","kind":"thinking","text":"hm"}'
	same "${lines[1]}" '{"id":4,"type":"delta","kind":"text","text":"é"}'
	[[ ${lines[2]} == *'"tool_input":{"n":1.50e2}'* ]]
	# What comes at once is written at once: a first read has it all.
	same "$(ask a | sed 's/"id":1/"id":4,"stream":true/' | provider replay | dd bs=65536 count=1 2>dd.log)" "$output"
}

@test "a transcript answers by call and turn, whatever the order" {
	file=$(transcript_file <<<"$calls")
	export AWF_REPLAY=$file
	same "$( (ask one 'Be B.'; ask one 'Be A.' "$answered") | provider replay | texts)" 'B first A second'
	same "$(ask one 'Be A.' | provider replay)" \
		'{"id":1,"type":"message","blocks":[{"type":"tool_use","tool_id":"t","tool_name":"n","tool_input":{"x":1.50}}],"stop_reason":"tool_use","usage":{},"model":"m"}'
	run -0 provider replay < <(ask one 'Be C.'; ask two 'Be A.'; ask one 'Be B.' "$answered")
	same "$(echo "$output" | jq -r .category | paste -sd' ')" 'invalid invalid invalid'
}

@test "a transcript answers by the digest of the request first" {
	sha256=$(ask seven | sed 's/"id":1,//' | tr -d '\n' | sha256sum | cut -d' ' -f1)
	file=$(transcript_file <<<"${calls//\"turn\":0/\"request_sha256\":\"$sha256\"}")
	same "$(ask seven | AWF_REPLAY=$file provider replay | texts)" 'B first'
}

@test "texts in blobs are put back" {
	text=$(printf '"from a blob"' | sha256sum | cut -d' ' -f1)
	file=$(transcript_file <<<"1|-|step.started|{}|
2|1|message.user|{\"blocks\":[{\"type\":\"text\",\"text\":\"q\"}]}|
3|2|message.assistant|{\"blocks\":[{\"type\":\"text\",\"text\":null}],\"model\":\"m\",\"stop_reason\":\"end_turn\",\"usage\":{}}|,\"refs\":[{\"at\":\"/payload/blocks/0/text\",\"sha256\":\"$text\",\"bytes\":13,\"encoding\":\"json\"}]")
	export AWF_REPLAY=$file
	run -0 provider replay < <(ask q)
	same "$(echo "$output" | jq -r .category)" invalid
	[[ $output == *"$file:3: "* ]]
	printf '"from a blob"' >"store/blobs/00000000-0000-4000-8000-000000000000/$text"
	same "$(ask q | provider replay | texts)" 'from a blob'
}

@test "files that are none, and lines that are no answers" {
	same "$(ask a | provider replay | jq -r .message)" 'answers.jsonl: unable to open: No such file or directory'
	while read -r line; do
		read -r expected
		printf '{"blocks":[]}\n%s\n' "$line" >answers.jsonl
		same "$line $(ask a | provider replay | jq -r .message)" "$line answers.jsonl:2: $expected"
	done <<-'END'
		{"blocks":[}
		byte 12: expected a value
		[]
		expected an object
		{"type":"delta"}
		type: expected "message" or "error"
		{"type":"error"}
		category: expected a string
		{"blocks":{}}
		blocks: expected an array
	END
}

@test "no network: libcurl is not even loaded" {
	! ldd "$BUILD/libexec/awf/awf-provider-replay" | grep curl
}

@test "a link is not followed, and the message says so" {
	echo '{"blocks":[{"type":"text","text":"ok"}]}' >answers.jsonl
	ln -s answers.jsonl link.jsonl
	run -3 --separate-stderr awf-step -n -p hi -m replay/link.jsonl ask
	[[ $stderr == *'link.jsonl: a symbolic link, which is not followed: name the file that it leads to'* ]]
	same "$(awf-step -n -p hi -m "replay/$(readlink link.jsonl)" -r ask)" ok
}
