#!/usr/bin/env bats
# bats file_tags=turn:2
# What an endpoint says of requests, awf-endpoint(5): body, thinking, key, headers, URL; and what of it is
# recorded.
# shellcheck disable=SC2154,SC2016 # bats sets stderr; programs of jq
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/vendors

prepare() { vendors_prepare; }

# A server of Chat Completions that gives the replies of stdin, called mine: these members.
mine() { vendor mine /v1 "\"protocol\":\"chat\"${1:+,$1}"; }
url() { cat server.url; }
started() { jq -c "select(.type == \"step.started\").payload | $1" "$(transcript)"; }

@test "a body is changed by the endpoint, its models in order, the agent; null takes a member away" {
	chat_text cold | mine '"body":{"a":1,"b":{"x":1,"y":1},"stream_options":null,"c":1},"models":[
		{"match":"m*","body":{"b":{"x":2},"c":2}},{"match":"n","body":{"a":"no"}},{"match":["k","m"],"body":{"c":3}}]'
	ask 0 mine/m 'body: {c: 4, d: 4, b: {y: null}}'
	same "$(request 1 '.body | [.a, .b, .c, .d, has("stream_options"), .model]')" '[1,{"x":2},4,4,false,"m"]'
	same "$(request 1 '.body.messages | length')" 2
	ask 2 mine/m 'body: {messages: []}'
	[[ $stderr == *'messages is written by AWF itself'* ]]
	same "$(requests)" 1
}

@test "a program that is asked before a turn adds to the body" {
	chat_text cold | mine
	echo '{"params":{"body":{"b":{"y":2}}}}' >change
	ask 0 mine/m 'body: {a: 1, b: {x: 1}}
before_turn: cat change'
	same "$(request 1 '.body | [.a, .b]')" '[1,{"x":1,"y":2}]'
	echo '{"params":{"headers":{"X-A":"b"}}}' >change
	ask 3 mine/m 'before_turn: cat change'
	same "$(requests)" 1
}

@test "thinking is said in the server's words; what it has no word for is an error before it is asked" {
	chat_text cold | mine '"thinking":{"none":{"think":false},"tokens":{"think":{"budget":"$tokens"}},"xhigh":{"as":"high"},
		"max":null,"*":{"effort":"$effort"}},"models":[{"match":"big","thinking":{"none":{"as":"low"},"max":{"as":"xhigh"}}}]'
	count=0
	while IFS='|' read -r model said body note; do
		count=$((count + 1))
		ask 0 "mine/$model" "thinking: $said"
		same "$said $(request $count '.body | [.think, .effort, .reasoning_effort]')" "$said $body"
		same "$said $(jq -r 'select(.type == "message.assistant").payload.params_note' "$(transcript)")" "$said $note"
	done <<-'END'
		m|none|[false,null,null]|null
		m|false|[false,null,null]|null
		m|low|[null,"low",null]|null
		m|true|[null,"medium",null]|null
		m|5000|[{"budget":5000},null,null]|null
		m|xhigh|[null,"high",null]|thinking: xhigh is high at mine
		big|none|[null,"low",null]|thinking: none is low at mine
		big|max|[null,"high",null]|thinking: max is high at mine
	END
	ask 3 mine/m 'thinking: max'
	[[ $stderr == *'mine takes no thinking: max for m'* ]]
	same "$(code)" invalid
	same "$(requests)" $count
	ask 2 mine/m 'thinking: hihg'
}

@test "what Claude models of today take: efforts, no sampling, thinking that cannot be turned off" {
	message_text cold | vendor anthropic ''
	export ANTHROPIC_API_KEY=key-of-anthropic
	count=0
	while IFS='|' read -r model said want; do
		count=$((count + 1))
		ask 0 "anthropic/$model" "thinking: $said"
		same "$model $said $(request $count '.body | [.max_tokens, .thinking.type, .output_config.effort]')" "$model $said $want"
	done <<-'END'
		claude-opus-5-5|max|[32000,"adaptive","max"]
		claude-opus-5-5|minimal|[32000,"adaptive","low"]
		claude-sonnet-5-5|none|[32000,"between_tools",null]
		claude-opus-4-6|none|[32000,"disabled",null]
		claude-opus-4-6|false|[32000,null,null]
		claude-haiku-4-5|xhigh|[40192,"enabled",null]
		us.anthropic.claude-opus-5-5-v1:0|xhigh|[32000,"adaptive","xhigh"]
	END
	for front in 'temperature: 0' 'top_p: 0.5' 'thinking: none'; do
		ask 3 anthropic/claude-opus-5-5 "$front"
		same "$front $(code)" "$front invalid"
	done
	same "$(requests)" $count
	ask 0 anthropic/claude-opus-5-5 'temperature: 1'
	ask 0 anthropic/claude-haiku-4-5 'temperature: 0'
}

@test "what Gemini models take: xhigh and max are high, which is noted; none is an error where they always think" {
	gemini '{"text":"cold"}' | vendor google ''
	export GEMINI_API_KEY=key-of-google
	count=0
	while IFS='|' read -r model said want note; do
		count=$((count + 1))
		ask 0 "google/$model" "thinking: $said"
		same "$model $said $(request $count '.body.generationConfig.thinkingConfig | [.thinkingLevel, .thinkingBudget]')" "$model $said $want"
		same "$said $(jq -r 'select(.type == "message.assistant").payload.params_note' "$(transcript)")" "$said $note"
	done <<-'END'
		gemini-3-pro|low|["LOW",null]|null
		gemini-3-pro|max|["HIGH",null]|thinking: max is high at google
		gemini-2.5-pro|xhigh|[null,24576]|thinking: xhigh is high at google
		gemini-2.5-flash|none|[null,0]|null
		gemini-3-pro|false|[null,null]|null
	END
	ask 3 google/gemini-3-pro 'thinking: none'
	same "$(code) $(requests)" "invalid $count"
}

@test "words for thinking that lead around are an error before anything is sent" {
	chat_text cold | mine '"thinking":{"low":{"as":"high"},"*":{"as":"true"}},"models":[{"match":"m","thinking":{"high":{"as":"low"}}}]'
	for thinking in low medium true; do
		ask 2 mine/m "thinking: $thinking" || ask 3 mine/m "thinking: $thinking"
		[[ $stderr == *"mine has no word of its own for $thinking"*'lead around' ]]
	done
	same "$(requests)" 0
}

@test "a key in a file: its first line, and nobody else may read it" {
	chat_text cold | mine "\"key\":{\"file\":\"$PWD/key\"}"
	printf 'key-of-the-file\nmore\n' >key
	chmod 644 key
	ask 3 mine/m
	same "$(code)" auth
	[[ $stderr == *'chmod 600'* ]]
	chmod 600 key
	ask 0 mine/m
	same "$(request 1 .headers.authorization)" '"Bearer key-of-the-file"'
	nowhere key-of-the-file
}

@test "a command that prints the key is asked once more if the server refuses it, and then no more" {
	{ refusal 401 '{"error":{"message":"expired"}}' && refusal 401 '{"error":{"message":"still expired"}}' && chat_text cold; } |
		mine '"key":{"command":["sh","-c","echo x >>$HOME/asked; echo key-$(wc -l <$HOME/asked)-of-command"]}'
	ask 3 mine/m
	same "$(code)" auth
	same "$(requests)" 2
	same "$(request 1 .headers.authorization) $(request 2 .headers.authorization)" '"Bearer key-1-of-command" "Bearer key-2-of-command"'
	ask 0 mine/m
}

@test "a key does not leave this machine without encryption unless the user says so" {
	endpoint mine '{"protocol":"chat","base_url":"http://models.example/v1","key":{"env":"MINE_KEY"}}'
	MINE_KEY=key-of-mine ask 3 mine/m
	same "$(code)" invalid
	[[ $stderr == *'without encryption'* ]]
	chat_text cold | serve
	export http_proxy=$(url) no_proxy=
	MINE_KEY=key-of-mine ask 3 mine/m
	same "$(requests)" 0
	endpoint mine '{"protocol":"chat","base_url":"http://models.example/v1","insecure":true,"key":{"env":"MINE_KEY"}}'
	MINE_KEY=key-of-mine ask 0 mine/m
	endpoint mine '{"protocol":"chat","base_url":"http://models.example/v1","key":{"env":"MINE_KEY","optional":true}}'
	ask 0 mine/m
	same "$(request 1 .headers.authorization) $(request 2 .headers.authorization)" '"Bearer key-of-mine" null'
}

@test "headers: added, replaced, taken away; secrets of them are nowhere; agents cannot say who asks" {
	{ refusal 400 '{"error":{"message":"no: key-of-the-gate"}}' && chat_text cold; } |
		mine '"key":{"env":"MINE_KEY","header":"x-mine: "},"headers":{"X-A":"a","user-agent":null,
			"X-Gate":{"env":"GATE_KEY","prefix":"Bearer "},"X-Absent":{"env":"NOBODY_SET_THIS"}}'
	export MINE_KEY=key-of-mine GATE_KEY=key-of-the-gate
	ask 3 mine/m 'headers: {X-Title: c, OpenAI-Beta: d}'
	[[ $stderr == *'no: ***'* ]]
	same "$(request 1 '.headers | with_entries(.key |= ascii_downcase) | [."x-mine", ."x-a", ."x-title", ."openai-beta", ."x-gate", ."x-absent", ."user-agent", .authorization]')" \
		'["key-of-mine","a","c","d","Bearer key-of-the-gate",null,null,null]'
	nowhere key-of-mine key-of-the-gate
	for name in Authorization cookie Host X-Gate x-mine X-A; do
		ask 2 mine/m "headers: {$name: mine}"
	done
	for member in 'base_url: https://x.example' 'key: {env: X}' 'command: [x]' 'tls: {}'; do
		ask 2 mine/m "$member"
		[[ $stderr == *'is no key of agents'* ]]
	done
	same "$(requests)" 1
}

@test "the URL: variables, the model in it, and queries of the base and of the endpoint" {
	chat_text cold | serve
	endpoint mine "{\"protocol\":\"chat\",\"base_url\":\"$(url)/{account}/v1?a=1\",\"variables\":{\"account\":{\"env\":\"MINE_ACCOUNT\"}},
		\"path\":\"/x/{model}:ask?b=2\",\"query\":{\"c\":\"3 4\"}}"
	MINE_ACCOUNT=me ask 0 mine/org/m@1
	same "$(request 1 .path)" '"/me/v1/x/org%2Fm%401:ask?b=2&a=1&c=3%204"'
	ask 3 mine/m
	[[ $stderr == *'set MINE_ACCOUNT'* ]]
	for bad in 'evil.example/x' 'a@evil.example' 'a?b'; do
		MINE_ACCOUNT=$bad ask 3 mine/m
		[[ $stderr == *'MINE_ACCOUNT: expected a part of'* ]]
	done
	same "$(requests)" 1
}

@test "keys that endpoints name are kept from tools" {
	chat_look | mine '"key":{"env":"MINE_KEY"}'
	tool look '"effects":"none","input_schema":{"type":"object"}' "cat >/dev/null; env >$PWD/seen; echo cold"
	export MINE_KEY=key-of-mine GROQ_API_KEY=key-of-groq OTHER=shown
	ask 0 mine/m 'tools: [look]'
	grep -q OTHER=shown seen
	run ! grep -e key-of -e AWF_ENDPOINT seen
}

@test "models of one endpoint may speak different protocols" {
	message_text cold | mine '"models":[{"match":"claude*","protocol":"messages"}]'
	ask 0 mine/claude-x
	same "$(request 1 .path)" '"/v1/v1/messages"'
	chat_text cold >replies
	ask 0 mine/gpt
	same "$(request 2 .path)" '"/v1/chat/completions"'
}

@test "an alias, an agent's file and a fallback may name an endpoint" {
	chat_text cold | mine
	echo 'fast mine/m' >"$XDG_CONFIG_HOME/awf/models"
	ask 0 fast
	printf -- '---\nprovider: mine\nmodel: a/b\n---\nBe brief.\n' >agents/b.md
	same "$(echo x | awf-step -a b -r ask)" cold
	same "$(request 2 .body.model)" '"a/b"'
	endpoint other '{"protocol":"chat","base_url":"http://127.0.0.1:9/v1"}'
	ask 0 other/m 'fallback: [mine/c]'
	same "$(jq -c 'select(.type == "message.assistant").payload | [.provider, .origin]' "$(transcript)" | tail -n 1)" "[\"mine\",\"$(url)\"]"
	same "$(started '.endpoints // [] | map(.name + "/" + .model)' | tail -n 1)" '["mine/c"]'
	run -2 --separate-stderr awf-step -m mnie/m ask <<<x
	[[ $stderr == *"unknown provider 'mnie': "* ]]
	endpoint mine '{"protocol":"chat","base_url":"http://x","bodi":{}}'
	ask 2 mine/m
	[[ $stderr == *"mine.json: unknown key 'bodi' (did you mean 'body'?)"* ]]
}

@test "the record has the server without secrets; a call that goes on elsewhere says so" {
	chat_look | mine '"base_env":"MINE_URL","body":{"a":1}'
	first=$(url)
	export MINE_URL="http://me:password@$(url | sed s,http://,,)/v1?key=secret-of-query"
	printf -- '---\nname: a\ntools: [look]\n---\nBe brief.\n' >agents/a.md
	tool look '"effects":"none","input_schema":{"type":"object"}' 'cat >/dev/null; [ -e ready ] || kill -KILL $PPID; echo cold'
	run ! awf-run -n -- sh -c 'echo x | awf-step -a a -m mine/m ask -r'
	same "$(started '.endpoint | [.name, .protocol, .origin, (.sha256 | length)]')" "[\"mine\",\"chat\",\"$first\",64]"
	nowhere password secret-of-query
	touch ready
	chat_text cold | serve
	export MINE_URL=$(url)/v1
	run -0 --separate-stderr awf-run --resume @
	[[ $stderr == *"ask: goes on at $(url), though it was begun at $first"* ]]
}

@test "a key, a server and a time limit that change lose no work; a body that changes does" {
	chat_text cold | mine '"body":{"a":1}'
	printf -- '---\nname: a\n---\nBe brief.\n' >agents/a.md
	run -3 awf-run -n -- sh -c 'echo x | awf-step -a a -m mine/m ask -r; exit 3'
	endpoint mine "{\"protocol\":\"chat\",\"base_url\":\"$(url)/v2\",\"body\":{\"a\":1},\"timeouts\":{\"idle\":9},\"headers\":{\"X-A\":\"b\"}}"
	run -3 awf-run --resume @
	same "$(requests)" 1
	endpoint mine "{\"protocol\":\"chat\",\"base_url\":\"$(url)/v2\",\"body\":{\"a\":2}}"
	run -3 awf-run --resume @
	same "$(requests)" 2
}

@test "a replay reads no endpoint" {
	chat_text cold | mine '"body":{"a":1},"thinking":{"xhigh":{"as":"high"},"*":{"e":"$effort"}}'
	printf -- '---\nname: a\nthinking: xhigh\n---\nBe brief.\n' >agents/a.md
	run -0 awf-run -n -- sh -c 'echo x | awf-step -a a -m mine/m ask -r'
	rm "$XDG_CONFIG_HOME/awf/endpoints/mine.json"
	run -0 --separate-stderr awf-replay @
	same "$output" cold
	awf-verify --determinism
	same "$(requests)" 1
}

@test "steps of a run share a worker for an endpoint, and so the key that a command printed; not another's" {
	chat_text cold | mine '"key":{"command":["sh","-c","echo x >>$HOME/asked; echo key-of-mine"]}'
	endpoint other "{\"protocol\":\"chat\",\"base_url\":\"$(url)/other\",\"key\":{\"env\":\"OTHER_KEY\"}}"
	export OTHER_KEY=key-of-other
	run -0 --separate-stderr awf-run -n -- sh -c 'echo x | awf-step -m mine/m a | awf-step -m other/m b | awf-step -m mine/m c |
		awf-step -r -m mine/m d; echo "$AWF_RUN_DIRECTORY" >directory'
	same "$output" cold
	same "$(jq -r '[.path, .headers.authorization] | join(" ")' "$LOG")" '/v1/chat/completions Bearer key-of-mine
/other/chat/completions Bearer key-of-other
/v1/chat/completions Bearer key-of-mine
/v1/chat/completions Bearer key-of-mine'
	# One may still be ending when the next begins.
	[ "$(wc -l <"$HOME/asked")" -lt 3 ]
	run ! grep -rl key-of- "$AWF_STORAGE"
}

@test "a fallback behind an endpoint that gives no answer; its limits are of its name" {
	chat_text cold | mine
	endpoint down '{"protocol":"chat","base_url":"http://127.0.0.1:9/v1"}'
	echo 'mine at-once=1 per-minute=2' >"$XDG_CONFIG_HOME/awf/limits"
	ask 0 down/m 'fallback: [mine/m]'
	[ -e "$AWF_STORAGE/limits/mine" ]
	run ! test -e "$AWF_STORAGE/limits/openai"
}
