#!/usr/bin/env bats
# bats file_tags=turn:2
# Endpoints that come with AWF, awf-endpoint(5): each is asked by its name, where the user's file has
# the URL of a server here and nothing else. What the vendors' pages say of paths, keys, thinking,
# errors and cost is in share/endpoints.
# shellcheck disable=SC2154,SC2016 # bats sets stderr; programs of jq
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent
load ../../support/vendors

prepare() { vendors_prepare; }

# The answer of a protocol.
answer_of() {
	case $1 in
	chat) chat_text cold ;;
	responses) response_text cold ;;
	messages) message_text cold ;;
	gemini) gemini '{"text":"cold"}' ;;
	esac
}

# PROTOCOL: the path of a request about the model m.
path_of() {
	case $1 in
	chat) echo /chat/completions ;;
	responses) echo /responses ;;
	messages) echo /v1/messages ;;
	gemini) echo '/v1beta/models/m:streamGenerateContent?alt=sse' ;;
	esac
}

@test "each: the key goes into its header and nowhere else, the path is the protocol's" {
	printf '#!/bin/sh\necho secret-of-gcloud\n' >stubs/gcloud
	chmod +x stubs/gcloud
	answer_of chat | serve
	count=0
	for file in "$ROOT"/share/endpoints/*.json; do
		count=$((count + 1))
		case_is_chosen 5 || continue
		name=$(basename "$file" .json)
		protocol=$(jq -r .protocol "$file")
		answer_of "$protocol" >replies
		: >"$LOG"
		endpoint "$name" "{\"base_url\":\"$(cat server.url)\"}"
		variable=$(jq -r '.key.env[0] // empty' "$file")
		secret=
		[ -z "$variable" ] || secret=secret-of-$name
		[ -z "$(jq -r '.key.command // empty' "$file")" ] || secret=secret-of-gcloud
		printf -- '---\n---\nBe brief.\n' >agents/a.md
		run -0 --separate-stderr env ${variable:+"$variable=$secret"} sh -c 'echo hi | awf-step -a a -m "$1/m" ask -r' sh "$name"
		same "$output" cold || { echo "$name: $stderr" >&2; false; }
		path=$(jq -r '.path // empty' "$file" | sed 's/{model}/m/')
		query=$(jq -r '.query // {} | to_entries | map("?\(.key)=\(.value)") | join("")' "$file")
		same "$name $(request 1 .path)" "$name \"${path:-$(path_of "$protocol")}$query\""
		header=$(jq -r --arg protocol "$protocol" '.key.header // {chat: "authorization: Bearer ", responses: "authorization: Bearer ",
			messages: "x-api-key: ", gemini: "x-goog-api-key: "}[$protocol] | ascii_downcase' "$file")
		have=$(request 1 '[.headers | to_entries[] | select((.value | contains("secret-of-")) or
			(.key | IN("authorization", "api-key", "x-api-key", "x-goog-api-key"))) | "\(.key): \(.value)" ] | join(", ")' | tr -d '"')
		same "$name $(tr 'A-Z' 'a-z' <<<"$have")" "$name $([ -z "$secret" ] || printf '%s%s' "$header" "$secret")"
		! grep -qF secret-of- <<<"$(request 1 '[.path, .body]')"
		nowhere secret-of-
	done
	[ "$count" -ge 40 ]
}

@test "each without its key: an error that names the variable, and nothing is sent" {
	answer_of chat | serve
	printf -- '---\n---\nBe brief.\n' >agents/a.md
	for file in "$ROOT"/share/endpoints/*.json; do
		case_is_chosen 5 || continue
		name=$(basename "$file" .json)
		variable=$(jq -r 'select(.key.optional | not) | .key.env[0] // empty' "$file")
		[ -n "$variable" ] || continue
		endpoint "$name" "{\"base_url\":\"$(cat server.url)\"}"
		run -3 --separate-stderr sh -c 'echo hi | awf-step -a a -m "$1/m" ask -r' sh "$name"
		[[ $stderr == *"$variable"* ]] || { echo "$name: $stderr" >&2; false; }
	done
	same "$(requests)" 0
}

@test "each is a line of awf-endpoint(5), with its protocol and its keys" {
	jq -r '.key as $key | (input_filename | split("/")[-1] | rtrimstr(".json")) as $name |
		".It Cm \($name) : No \(.protocol) , " + if $key.command then "Li gcloud auth print-access-token"
		elif $key.env then "Ev " + ($key.env | join(" , ")) else "No no key" end' "$ROOT"/share/endpoints/*.json >lines
	same "$(wc -l <lines)" "$(printf '%s\n' "$ROOT"/share/endpoints/*.json | wc -l)"
	while IFS= read -r line; do
		grep -qxF -- "$line" "$ROOT/man/awf-endpoint.5" || { echo "no line: $line" >&2; false; }
	done <lines
}

@test "azure: the resource is a variable of the URL" {
	export AZURE_OPENAI_API_KEY=K
	ask 3 azure/my-dep
	[[ $stderr == *AZURE_RESOURCE_NAME* ]]
}

@test "azure: a token of Entra by a command; a 401 makes it new, once" {
	{ refusal 401 '{"error":{"message":"expired"}}'; response_text cold; } | vendor azure /openai/v1 '"key":{"command":["tok"],"header":"authorization: Bearer "}'
	printf '#!/bin/sh\necho x >>"%s/n"\necho "{\\"accessToken\\":\\"token-$(wc -l <"%s/n")\\"}"\n' "$PWD" "$PWD" >stubs/tok
	chmod +x stubs/tok
	ask 0 azure/my-dep
	same "$output" cold
	same "$(jq -c '[.path, .headers.authorization, .headers["api-key"]]' "$LOG")" \
		$'["/openai/v1/responses","Bearer token-1",null]\n["/openai/v1/responses","Bearer token-2",null]'
	nowhere token-1 token-2
	refusal 401 '{"error":{"message":"no"}}' >replies
	ask 3 azure/my-dep
	same "$(code)" auth
	same "$(requests)" 4
	# It says no other one.
	printf '#!/bin/sh\n[ ! -e said ] || exit 1\n>said\necho token-9\n' | sed "s,said,$PWD/said,g" >stubs/tok
	ask 3 azure/my-dep
	same "$(code)" auth
	[[ $stderr == *'command for the key failed'* ]]
	same "$(requests)" 5
}

@test "azure-old: deployments by api-version" {
	export AZURE_OPENAI_API_KEY=K
	chat_text cold | vendor azure-old '/openai/deployments/{model}'
	ask 0 azure-old/my-dep
	same "$(request 1 '[.path, .headers["api-key"]]')" '["/openai/deployments/my-dep/chat/completions?api-version=2024-10-21","K"]'
}

@test "vertex, vertex-claude: the paths of Vertex; model and version of Claude's API move into the body" {
	printf '#!/bin/sh\necho tok\n' >stubs/gcloud
	chmod +x stubs/gcloud
	gemini '{"text":"cold"}' | vendor vertex /v1/projects/p/locations/global/publishers/google
	ask 0 vertex/gemini-3-flash
	same "$output" cold
	same "$(request 1 '[.path, .headers.authorization, .headers["x-goog-api-key"]]')" \
		'["/v1/projects/p/locations/global/publishers/google/models/gemini-3-flash:streamGenerateContent?alt=sse","Bearer tok",null]'
	message_text cold >replies
	endpoint vertex-claude "{\"base_url\":\"$(cat server.url)/v1/projects/p/locations/global/publishers/anthropic\"}"
	ask 0 vertex-claude/claude-sonnet-5-5
	same "$(request 2 '[.path, .headers["anthropic-version"], (.body | has("model")), .body.anthropic_version]')" \
		'["/v1/projects/p/locations/global/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict",null,false,"vertex-2023-10-16"]'
}

@test "bedrock-claude: signed with an access key of AWS, and with one of a command" {
	message_text cold | vendor bedrock-claude /anthropic '"key":{"sigv4":{"region":"eu-west-1","service":"bedrock"}}'
	export AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=SECRET AWS_SESSION_TOKEN=SESSION-TOKEN
	ask 0 bedrock-claude/anthropic.claude-sonnet-5-5-v1:0
	same "$output" cold
	same "$(request 1 '[.path, .sigv4, .headers["x-amz-security-token"], .headers["x-api-key"]]')" '["/anthropic/v1/messages",true,"SESSION-TOKEN",null]'
	[[ $(request 1 .headers.authorization) == *'Credential=AKID/'*'/eu-west-1/bedrock/aws4_request'* ]]
	nowhere SECRET SESSION-TOKEN
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
	ask 3 bedrock-claude/x
	same "$(code)" auth
	[[ $stderr == *AWS_ACCESS_KEY_ID* ]]
	printf '#!/bin/sh\necho "{\\"Version\\":1,\\"AccessKeyId\\":\\"ID2\\",\\"SecretAccessKey\\":\\"SECRET\\"}"\n' >stubs/export-key
	chmod +x stubs/export-key
	# A colon in the path is escaped once in the URL, and once more in what is signed.
	endpoint bedrock-claude "{\"base_url\":\"$(cat server.url)/a%3Ab\",\"query\":{\"z\":\"1\",\"a\":\"b c\"},\"headers\":{\"anthropic-version\":null},\"key\":{\"sigv4\":{\"region\":\"r\",\"service\":\"s\",\"command\":[\"export-key\"]}}}"
	ask 0 bedrock-claude/x
	same "$(request 2 '[.sigv4, .headers["anthropic-version"]]')" '[true,null]'
	[[ $(request 2 .headers.authorization) == *'Credential=ID2/'* ]]
}

@test "openrouter: the reasoning object, and the cost" {
	export OPENROUTER_API_KEY=K
	{ USAGE='{"prompt_tokens":10,"completion_tokens":5,"cost":0.25}' chat_look; } | vendor openrouter /api/v1
	USAGE='{"prompt_tokens":10,"completion_tokens":5,"cost":0.5}' chat_text cold >last
	sed -i '$d' replies && cat last >>replies
	ask 0 openrouter/anthropic/claude-sonnet-5 $'tools: [look]\nthinking: high\nbody: {provider: {order: [x]}}'
	same "$output" cold
	same "$(request 1 '[.path, .body.model, .body.reasoning, .body.provider, .body.reasoning_effort]')" \
		'["/api/v1/chat/completions","anthropic/claude-sonnet-5",{"effort":"high"},{"order":["x"]},null]'
	same "$(cost)" 0.75
	same "$(awf-tail --cost -n 1 | grep -o '\$[0-9.]*')" '$0.7500'
	ask 0 openrouter/x 'thinking: 3000'
	same "$(request 3 .body.reasoning)" '{"max_tokens":3000}'
	ask 0 openrouter/x 'thinking: none'
	same "$(request 4 .body.reasoning)" '{"enabled":false}'
}

@test "--max-cost with a server that tells its cost, and no price" {
	export OPENROUTER_API_KEY=K
	{ USAGE='{"prompt_tokens":10,"completion_tokens":5,"cost":0.25}' chat_look; } | vendor openrouter /api/v1
	printf -- '---\ntools: [look]\n---\n' >agents/a.md
	run -3 --separate-stderr sh -c 'echo x | awf-step -a a -m openrouter/x --max-cost 0.2 ask -r'
	same "$(code)" max_cost
	same "$(requests)" 1
	# Of a run: what one step's answers have cost counts for the next.
	: >"$LOG"
	USAGE='{"prompt_tokens":10,"completion_tokens":5,"cost":0.25}' chat_text cold >replies
	printf -- '---\n---\nx\n' >agents/b.md
	run -3 --separate-stderr awf-run -n --max-cost 0.4 -c 'for n in 1 2 3; do echo x | awf-step -a b -m openrouter/x "s$n" -q; done'
	same "$(requests)" 2
	[[ $stderr == *max-cost* ]]
	# One that does not tell it.
	chat_text cold >replies
	run -3 --separate-stderr sh -c 'echo x | awf-step -a a -m openrouter/x --max-cost 0.2 ask -r'
	same "$(code)" definition
	[[ $stderr == *'openrouter has not told what its answer cost'* ]]
	# One that neither tells nor has a price is not asked.
	chat_text cold | vendor together /v1
	TOGETHER_API_KEY=K run -2 --separate-stderr sh -c 'echo x | awf-step -a a -m together/x --max-cost 0.2 ask -r'
	[[ $stderr == *'no price of together/x is known'* ]]
	same "$(requests)" 0
	# Prices of the user's file.
	endpoint together "{\"base_url\":\"$(cat server.url)/v1\",\"prices\":{\"*\":[1000,2000],\"y*\":[0,0]}}"
	export TOGETHER_API_KEY=K
	run -0 --separate-stderr sh -c 'echo x | awf-step -a a -m together/x --max-cost 2 ask -r'
	same "$(cost)" 0.02
}

@test "groq: no schema beside tools; a request that can never fit" {
	export GROQ_API_KEY=K
	{ REASON=tool_calls chat "$(look)"; chat_text '{"t":"cold"}'; } | vendor groq /openai/v1
	schema='output_schema: {type: object, properties: {t: {type: string}}, required: [t], additionalProperties: false}'
	ask 0 groq/openai/gpt-oss-120b $'tools: [look]\n'"$schema"
	same "$(request 1 '[.path, (.body | has("response_format"))]')" '["/openai/v1/chat/completions",false]'
	ask 0 groq/openai/gpt-oss-120b "$schema"
	same "$(request 3 '.body | has("response_format")')" true
	refusal 413 '{"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9123","type":"tokens","code":"rate_limit_exceeded"}}' >replies
	: >"$LOG"
	ask 3 groq/x
	same "$(code) $(requests)" 'context_length 1'
	chat_text cold >replies
	ask 0 groq/qwen/qwen3-32b 'thinking: none'
	same "$(request 2 .body.reasoning_effort)" '"none"'
	ask 0 groq/qwen/qwen3-32b 'thinking: high'
	same "$(request 3 .body.reasoning_effort)" '"default"'
}

@test "cerebras: none is refused there for gpt-oss: the lowest, and a word about it" {
	export CEREBRAS_API_KEY=K
	chat_text cold | vendor cerebras /v1
	ask 0 cerebras/gpt-oss-120b 'thinking: none'
	same "$(request 1 .body.reasoning_effort)" '"low"'
	[[ $(jq -r 'select(.type == "message.assistant").payload.params_note' "$(transcript)") == *'none is low'* ]]
	ask 0 cerebras/zai-glm-4.7 'thinking: none'
	same "$(request 2 .body.reasoning_effort)" '"none"'
}

@test "together, fireworks" {
	export TOGETHER_API_KEY=K FIREWORKS_API_KEY=K
	chat_text cold | vendor together /v1
	ask 0 together/x 'thinking: none'
	ask 0 together/x 'thinking: true'
	ask 0 together/x 'thinking: high'
	same "$(jq -c '[.body.reasoning, .body.reasoning_effort]' "$LOG" | paste -sd' ')" \
		'[{"enabled":false},null] [{"enabled":true},null] [null,"high"]'
	chat_look '{"reasoning_content":"hm"}' | vendor fireworks /inference/v1
	ask 0 fireworks/accounts/fireworks/models/glm-5p1 $'tools: [look]\nthinking: max'
	same "$(request 1 '[.body.model, .body.reasoning_effort]')" '["accounts/fireworks/models/glm-5p1","xhigh"]'
	same "$(request 2 '.body.messages[-2].reasoning_content')" '"hm"'
}

@test "deepseek: thinking and its levels; empty reasoning_content comes back" {
	export DEEPSEEK_API_KEY=K
	chat_look '{"reasoning_content":""}' | vendor deepseek ''
	ask 0 deepseek/deepseek-v4-pro $'tools: [look]\nthinking: max'
	same "$(request 1 '[.path, .body.thinking, .body.reasoning_effort]')" '["/chat/completions",{"type":"enabled"},"max"]'
	same "$(request 2 '.body.messages[-2].reasoning_content')" '""'
	ask 0 deepseek/deepseek-v4-pro 'thinking: none'
	same "$(request 3 '[.body.thinking, .body.reasoning_effort]')" '[{"type":"disabled"},null]'
	ask 0 deepseek/deepseek-v4-pro 'thinking: medium'
	same "$(request 4 '[.body.thinking, .body.reasoning_effort]')" '[{"type":"enabled"},"high"]'
}

# bats test_tags=turn:2
@test "deepseek, moonshot: calls of another model go with the reasoning_content that is demanded while they think" {
	local thinking name blank
	export DEEPSEEK_API_KEY=K KIMI_API_KEY=K
	while IFS='|' read -r thinking name blank; do
		{ REASON=tool_calls chat '{"reasoning":"theirs"}' "$(look call_1)"; refusal 503 '{}'; chat_text cold; } | vendor "${name%%/*}" ''
		endpoint other "{\"protocol\":\"chat\",\"base_url\":\"$(cat server.url)/v1\",\"key\":{\"optional\":true}}"
		printf -- '---\nname: a\ntools: [look]\nthinking: %s\nfallback: [%s]\n---\nx\n' "$thinking" "$name" >agents/a.md
		same "$(awf-step -a a -m other/m -r --retries 0 ask <<<'Oslo?')" cold
		same "$name $(request 3 '.body.messages[-2] | [.tool_calls[0].id, .reasoning_content, .reasoning]')" "$name $blank"
	done <<-'END'
		high|deepseek/deepseek-v4-pro|["call_1","",null]
		high|moonshot/kimi-k3|["call_1"," ",null]
		none|deepseek/deepseek-v4-pro|["call_1",null,null]
		false|moonshot/kimi-k2.6|["call_1",null,null]
	END
	# What a server gave itself goes back once; the name is the endpoint's.
	chat_look '{"reasoning_content":"hm"}' | vendor deepseek '' '"echo":{"as":"reasoning","required":" "}'
	ask 0 deepseek/deepseek-v4-pro 'tools: [look]'
	same "$(request 2 '.body.messages[-2] | [.reasoning, .reasoning_content]')" '["hm",null]'
	chat_look | vendor deepseek '' '"echo":{"as":"reasoning","required":" "}'
	ask 0 deepseek/deepseek-v4-pro 'tools: [look]'
	same "$(request 2 '.body.messages[-2] | [.reasoning, .reasoning_content]')" '[" ",null]'
}

@test "mistral: ids of others become nine letters, its own go back as they came" {
	export MISTRAL_API_KEY=K
	{ REASON=tool_calls chat '{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}' "$(look call_too_long_for_mistral)"; chat_text cold; } | vendor mistral /v1
	ask 0 mistral/mistral-medium-3-5 'tools: [look]'
	same "$(request 2 '[.body.messages[-2].content[0].type, .body.messages[-2].tool_calls[0].id, .body.messages[-1].tool_call_id]')" \
		'["thinking","call_too_long_for_mistral","call_too_long_for_mistral"]'
}

@test "xai: Responses; grok-4 cannot be told not to think" {
	export XAI_API_KEY=K
	{ responses '{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"ENC"}' '{"type":"function_call","id":"fc1","call_id":"call_1","name":"look","arguments":"{\"city\":\"Oslo\"}","status":"completed"}'; response_text cold; } | vendor xai /v1
	ask 0 xai/grok-4.7 $'tools: [look]\nthinking: xhigh'
	same "$output" cold
	same "$(request 1 '[.path, .body.reasoning.effort]')" '["/v1/responses","xhigh"]'
	same "$(request 2 '[.body.input[].encrypted_content // empty]')" '["ENC"]'
	ask 3 xai/grok-4.7 'thinking: none'
	same "$(code) $(requests)" 'invalid 2'
	[[ $stderr == *'xai takes no thinking: none for grok-4.7'* ]]
}

@test "cohere: what it does not know is left out" {
	export COHERE_API_KEY=K
	chat_text cold | vendor cohere /compatibility/v1
	ask 3 cohere/command-a-reasoning 'output_schema: {type: object, properties: {}, additionalProperties: false}'
	same "$(request 1 '[.headers.authorization, (.body | has("stream_options")), (.body | has("response_format"))]')" '["Bearer K",false,false]'
}

@test "perplexity: the cost is a member of usage.cost" {
	export PERPLEXITY_API_KEY=K
	RESPONSE_USAGE='{"input_tokens":10,"output_tokens":5,"cost":{"currency":"USD","total_cost":0.25}}' response_text cold | vendor perplexity /v1
	ask 0 perplexity/sonar-pro
	same "$(request 1 .path) $(cost)" '"/v1/responses" 0.25'
}

@test "moonshot: its ids and thoughts go back; k3 always thinks; an account without money" {
	export KIMI_API_KEY=K
	{ REASON=tool_calls chat '{"reasoning_content":"hm"}' "$(look functions.look:0)"; chat_text cold; } | vendor moonshot /v1
	ask 0 moonshot/kimi-k3 $'tools: [look]\nthinking: medium'
	same "$(request 1 '[.headers.authorization, .body.reasoning_effort]')" '["Bearer K","high"]'
	same "$(request 2 '.body.messages[-2] | [.tool_calls[0].id, .reasoning_content]')" '["functions.look:0","hm"]'
	ask 0 moonshot/kimi-k2.6 'thinking: none'
	same "$(request 3 .body.thinking)" '{"type":"disabled"}'
	ask 3 moonshot/kimi-k3 'thinking: none'
	same "$(code)" invalid
	refusal 429 '{"error":{"message":"Your account org-x is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}' >replies
	: >"$LOG"
	ask 3 moonshot/x
	same "$(code) $(requests)" 'auth 1'
}

@test "zai: arguments of tools are streamed; its numbers of errors" {
	export ZAI_API_KEY=K
	chat_text cold | vendor zai /api/paas/v4
	ask 0 zai/glm-5.2 $'tools: [look]\nthinking: max'
	same "$(request 1 '[.path, .body.tool_stream, .body.thinking, .body.reasoning_effort]' | jq -cS .)" \
		'["/api/paas/v4/chat/completions",true,{"clear_thinking":false,"type":"enabled"},"max"]'
	ask 0 zai/glm-4.7 'thinking: none'
	same "$(request 2 .body.thinking)" '{"type":"disabled"}'
	for line in '1113 auth' '1261 context_length'; do
		refusal 429 "{\"error\":{\"code\":\"${line% *}\",\"message\":\"x\"}}" >replies
		: >"$LOG"
		ask 3 zai/x
		same "$(code) $(requests)" "${line#* } 1"
	done
}

@test "minimax: thinking without a signature goes back; money gone, told with status 200" {
	export MINIMAX_API_KEY=K
	{
		REASON=tool_use messages '{"start":{"type":"thinking","thinking":"","signature":""},"delta":{"type":"thinking_delta","thinking":"hm"}}' "$MESSAGE_LOOK"
		message_text cold
	} | vendor minimax /anthropic
	ask 0 minimax/MiniMax-M3 $'tools: [look]\nthinking: none'
	same "$output" cold
	same "$(request 1 '[.path, .headers.authorization, .headers["x-api-key"], .body.thinking]')" '["/anthropic/v1/messages","Bearer K",null,{"type":"disabled"}]'
	same "$(request 2 '.body.messages[1].content[0] | [.type, .thinking]')" '["thinking","hm"]'
	ask 3 minimax/MiniMax-M2.5 'thinking: none'
	same "$(code)" invalid
	echo '{"body":{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}}' >replies
	: >"$LOG"
	ask 3 minimax/MiniMax-M3
	same "$(code) $(requests)" 'auth 1'
	[[ $stderr == *'insufficient balance'* ]]
}

@test "dashscope: thinking on, off, or a number of tokens; an account in arrears" {
	export DASHSCOPE_API_KEY=K
	chat_text cold | vendor dashscope /compatible-mode/v1
	ask 0 dashscope/qwen3.8-max 'thinking: false'
	ask 0 dashscope/qwen3.8-max 'thinking: high'
	ask 0 dashscope/qwen3.8-max 'thinking: 4000'
	same "$(jq -c '.body | [.enable_thinking, .thinking_budget, .reasoning_effort]' "$LOG" | paste -sd' ')" \
		'[false,null,null] [true,null,null] [true,4000,null]'
	refusal 400 '{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}' >replies
	ask 3 dashscope/x
	same "$(code)" auth
}

@test "nvidia, vllm, sglang, llamacpp: thinking is a matter of the chat template" {
	export NVIDIA_API_KEY=K
	chat_text cold | serve
	for line in 'nvidia null' 'vllm thinking_token_budget' 'sglang thinking_budget' 'llamacpp thinking_budget_tokens'; do
		name=${line% *}
		: >"$LOG"
		endpoint "$name" "{\"base_url\":\"$(cat server.url)/v1\"}"
		ask 0 "$name/qwen3" 'thinking: none'
		ask 0 "$name/qwen3" 'thinking: high'
		ask 0 "$name/qwen3" 'thinking: 2000'
		same "$name $(jq -c '.body.chat_template_kwargs.enable_thinking' "$LOG" | head -2 | paste -sd' ')" "$name false true"
		[ "${line#* }" = null ] || same "$(request 3 ".body.${line#* }")" 2000
	done
}

@test "github: its version is a header" {
	export GITHUB_TOKEN=K
	chat_text cold | vendor github /inference
	ask 0 github/openai/gpt-5
	same "$(request 1 '[.path, .headers["x-github-api-version"], .headers.accept]')" \
		'["/inference/chat/completions","2022-11-28","application/vnd.github+json"]'
}

@test "databricks, cloudflare: the URL has variables" {
	chat_text cold | serve
	export DATABRICKS_TOKEN=K CLOUDFLARE_API_TOKEN=K CLOUDFLARE_ACCOUNT_ID=acc1
	ask 3 databricks/x
	[[ $stderr == *DATABRICKS_HOST* ]]
	endpoint cloudflare "{\"base_url\":\"$(cat server.url)/accounts/{account}/ai/v1\"}"
	ask 0 cloudflare/@cf/meta/llama
	CLOUDFLARE_ACCOUNT_ID=acc/../x ask 3 cloudflare/x
	same "$(request 1 '[.path, .body.model]')" '["/accounts/acc1/ai/v1/chat/completions","@cf/meta/llama"]'
}

@test "ollama: no key; thinking off; the member reasoning goes back; costs nothing" {
	chat_look '{"reasoning":"hm"}' | vendor ollama /v1
	OLLAMA_API_KEY=K ask 0 ollama/qwen3:8b $'tools: [look]\nthinking: false'
	same "$output" cold
	same "$(request 1 '[.headers.authorization, .body.reasoning_effort]')" '[null,"none"]'
	same "$(request 2 '.body.messages[-2].reasoning')" '"hm"'
	same "$(cost)" 0
	run -0 --separate-stderr sh -c 'echo x | awf-step -a a -m ollama/x --max-cost 0.01 ask -r'
}

@test "lmstudio, llamacpp: errors in events and in the field error:" {
	jq -cn '{events: ["event: error\ndata: {\"error\":{\"message\":\"The model is loaded with context length of only 4096 tokens, which is not enough.\"}}\n\n"]}' | vendor lmstudio /v1
	ask 3 lmstudio/ibm/granite
	same "$(code) $(requests)" 'context_length 1'
	jq -cn '{events: ["error: {\"code\":400,\"message\":\"request (19185 tokens) exceeds the available context size (16384 tokens)\",\"type\":\"exceed_context_size_error\"}\n\n", "data: [DONE]\n\n"]}' | vendor llamacpp /v1
	ask 3 llamacpp/m
	same "$(code) $(requests)" 'context_length 1'
	[[ $stderr == *'context size'* ]]
}

@test "vllm: arguments that are no JSON never go back as they are" {
	{ REASON=tool_calls chat '{"reasoning":"hm"}' "$(look call_1 '{"city":')"; chat_text cold; } | vendor vllm /v1
	ask 0 vllm/Qwen/Qwen3 'tools: [look]'
	same "$(request 2 '.body.messages[-2] | [(.tool_calls[0].function.arguments | fromjson | type), .reasoning]')" '["object","hm"]'
}

@test "litellm, portkey, helicone: gateways" {
	export PORTKEY_API_KEY=P HELICONE_API_KEY=helicone-secret OPENAI_API_KEY=K
	USAGE='{"prompt_tokens":10,"completion_tokens":5,"cost":0.125}' chat_text cold | serve
	endpoint litellm "{\"base_url\":\"$(cat server.url)/v1\"}"
	ask 0 litellm/x
	same "$(request 1 .headers.authorization) $(cost)" 'null 0.125'
	jq -c '.headers = {"x-litellm-response-cost": "7.5e-2"} | .events[-2].usage |= del(.cost)' replies >with-header
	cp with-header replies
	ask 0 litellm/x
	same "$(cost)" 0.075
	: >"$LOG"
	ask 0 litellm/x
	endpoint portkey "{\"base_url\":\"$(cat server.url)/v1\",\"headers\":{\"x-portkey-config\":\"pc-1\"}}"
	ask 0 portkey/@openai-prod/gpt-5
	same "$(request 2 '.headers | [.["x-portkey-api-key"], .["x-portkey-config"], .authorization]')" '["P","pc-1",null]'
	# A second secret, in a header of its own.
	endpoint helicone "{\"base_url\":\"$(cat server.url)/v1\",\"key\":{\"env\":\"OPENAI_API_KEY\"},\"headers\":{\"Helicone-Auth\":{\"env\":\"HELICONE_API_KEY\",\"prefix\":\"Bearer \"}}}"
	ask 0 helicone/gpt-5
	same "$(request 3 '.headers | [.["helicone-auth"], .authorization]')" '["Bearer helicone-secret","Bearer K"]'
	nowhere helicone-secret
}

@test "openai, anthropic: words for thinking of today, and room for it" {
	export OPENAI_API_KEY=K ANTHROPIC_API_KEY=K
	chat_text cold | vendor openai /v1
	ask 0 openai/gpt-5.6-terra 'thinking: none'
	same "$(request 1 .body.reasoning_effort)" '"none"'
	message_text cold | vendor anthropic ''
	ask 0 anthropic/claude-opus-5-5 'thinking: xhigh'
	same "$(request 1 '[.body.output_config.effort, .body.max_tokens > 8192, (.body | has("temperature"))]')" '["xhigh",true,false]'
}

# A CA, and certificates of it for the server and for a client.
certificates() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca
	for who in server client; do
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$who.key" -out "$who.csr" -subj "/CN=$who"
		printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' >"$who.ext"
		openssl x509 -req -in "$who.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out "$who.pem" -extfile "$who.ext"
	done
} 2>/dev/null

@test "a server that wants a certificate of the client" {
	certificates
	chat_text cold | serve --tls server.pem server.key --client-ca ca.pem
	url=$(cat server.url)
	tls="\"ca\":\"$PWD/ca.pem\",\"cert\":\"$PWD/client.pem\",\"key\":\"$PWD/client.key\""
	endpoint work "{\"protocol\":\"chat\",\"base_url\":\"$url/v1\",\"key\":{\"optional\":true},\"tls\":{$tls}}"
	ask 0 work/m
	same "$output" cold
	run -0 --separate-stderr awf doctor --ask work
	[[ $output == *"$url: status 200"* ]]
	# Without the certificate, and where the server's is not trusted.
	: >"$LOG"
	endpoint work "{\"protocol\":\"chat\",\"base_url\":\"$url/v1\",\"key\":{\"optional\":true},\"tls\":{\"ca\":\"$PWD/ca.pem\"}}"
	printf -- '---\n---\nx\n' >agents/a.md
	run -3 --separate-stderr sh -c 'echo hi | awf-step --retries 0 -a a -m work/m ask -r'
	same "$(code)" network
	endpoint work "{\"protocol\":\"chat\",\"base_url\":\"$url/v1\",\"key\":{\"optional\":true},\"tls\":{${tls#*,}}}"
	run -3 --separate-stderr sh -c 'echo hi | awf-step --retries 0 -a a -m work/m ask -r'
	same "$(code) $(requests)" 'network 0'
	endpoint work "{\"protocol\":\"chat\",\"base_url\":\"$url/v1\",\"key\":{\"optional\":true},\"tls\":{\"ca\":\"/no/such.pem\"}}"
	run -3 --separate-stderr sh -c 'echo hi | awf-step --retries 0 -a a -m work/m ask -r'
	[[ $stderr == *no/such.pem* ]]
}

@test "a server behind a socket, and by a proxy" {
	chat_text cold | serve --unix "$PWD/socket"
	endpoint work "{\"protocol\":\"chat\",\"base_url\":\"http://localhost/v1\",\"unix\":\"$PWD/socket\",\"key\":{\"env\":\"WORK_KEY\"}}"
	export WORK_KEY=key-of-work
	ask 0 work/m
	same "$output" cold
	same "$(request 1 '[.path, .headers.host, .headers.authorization]')" '["/v1/chat/completions","localhost","Bearer key-of-work"]'
	# What a proxy gets of a request by http is its whole URL.
	chat_text cold | serve
	endpoint work "{\"protocol\":\"chat\",\"base_url\":\"http://llm.example/v1\",\"insecure\":true,\"key\":{\"env\":\"WORK_KEY\"}}"
	http_proxy=$(cat server.url) ask 0 work/m
	same "$(request 1 .path)" '"http://llm.example/v1/chat/completions"'
}

@test "a list of models that does not end has a limit of size and of time" {
	cat >endless.py <<-'END'
		import socket, sys, threading, time
		listener = socket.create_server(("127.0.0.1", 0))
		print("http://127.0.0.1:%d" % listener.getsockname()[1], flush=True)
		def answer(client):
		    path = client.recv(9999).split()[1]
		    status = b"500 x" if path.startswith(b"/fails") else b"200 OK"
		    client.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Type: application/json\r\n\r\n[")
		    try:
		        while True:
		            client.sendall(b" " if b"slow" in path else b" " * 1000000)
		            if b"slow" in path: time.sleep(0.1)
		    except OSError: pass
		while True: threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
	END
	python3 -S endless.py >endless.url 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s endless.url
	for way in 'fast:is larger than any that is expected' 'slow:had not ended after' 'fails-slow:had not ended after'; do
		endpoint work "{\"protocol\":\"chat\",\"base_url\":\"$(cat endless.url)/${way%%:*}\",\"key\":{\"optional\":true},\"timeouts\":{\"first\":1,\"idle\":1}}"
		run -3 --separate-stderr timeout 30 awf doctor --ask work
		[[ $output == *"${way#*:}"* ]] || { echo "$way: $output" >&2; false; }
	done
}

@test "timeouts of an endpoint: a server that is silent" {
	python3 -c '
import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True)
kept = []
while True: kept.append(s.accept())' >port 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s port
	endpoint work "{\"protocol\":\"chat\",\"base_url\":\"http://127.0.0.1:$(cat port)\",\"key\":{\"optional\":true},\"timeouts\":{\"first\":1}}"
	printf -- '---\n---\nx\n' >agents/a.md
	begun=$SECONDS
	run -3 --separate-stderr sh -c 'echo hi | awf-step --retries 0 -a a -m work/m ask -r'
	same "$(code)" network
	[ $((SECONDS - begun)) -lt 20 ]
}

@test "key.file: the first line, of a file that nobody else can read" {
	printf 'key-of-file\nmore\n' >secret
	chmod 600 secret
	chat_text cold | vendor work /v1 "\"protocol\":\"chat\",\"key\":{\"file\":\"$PWD/secret\"}"
	ask 0 work/m
	same "$(request 1 .headers.authorization)" '"Bearer key-of-file"'
	nowhere key-of-file
	chmod 640 secret
	ask 3 work/m
	same "$(code) $(requests)" 'auth 1'
	[[ $stderr == *secret* ]]
}

@test "key.command: how it fails" {
	chat_text cold | serve
	for line in 'echo "not logged in" >&2; exit 1|not logged in' 'printf "a\nb\n"|more than one line' 'true|printed nothing'; do
		printf '#!/bin/sh\n%s\n' "${line%%|*}" >stubs/tok
		chmod +x stubs/tok
		endpoint work "{\"protocol\":\"chat\",\"base_url\":\"$(cat server.url)\",\"key\":{\"command\":[\"tok\"]}}"
		ask 3 work/m
		same "$(code)" auth
		[[ $stderr == *"${line#*|}"* ]]
	done
	endpoint work "{\"protocol\":\"chat\",\"base_url\":\"$(cat server.url)\",\"key\":{\"command\":[\"no-such-command\"]}}"
	ask 3 work/m
	[[ $stderr == *no-such-command*'not found'* ]]
	same "$(requests)" 0
	# In a run, where workers begin with few variables, it is found as well.
	printf '#!/bin/sh\necho "tok-$HOME"\n' >stubs/tok
	endpoint work "{\"protocol\":\"chat\",\"base_url\":\"$(cat server.url)\",\"key\":{\"command\":[\"tok\"]}}"
	printf -- '---\n---\nx\n' >agents/a.md
	same "$(awf-run -n -c 'echo hi | awf-step -a a -m work/m ask -r')" cold
	same "$(request 1 .headers.authorization)" "\"Bearer tok-$HOME\""
}

@test "errors of gateways and routers, in their forms" {
	chat_text cold | serve
	export HF_TOKEN=K DATABRICKS_TOKEN=K COHERE_API_KEY=K OPENROUTER_API_KEY=K LITELLM_API_KEY=K
	while IFS='|' read -r name status body category; do
		endpoint "$name" "{\"base_url\":\"$(cat server.url)/v1\"}"
		refusal "$status" "$body" >replies
		printf -- '---\n---\nx\n' >agents/a.md
		run -3 --separate-stderr sh -c 'echo hi | awf-step --retries 0 -a a -m "$1/m" ask -r' sh "$name"
		same "$name $(code)" "$name $category" || { echo "$stderr" >&2; false; }
	done <<'END'
huggingface|503|{"error":"Model x is currently loading","estimated_time":20}|overloaded
databricks|400|{"error_code":"BAD_REQUEST","message":"Input length 40000 exceeds the maximum context length of 32000 tokens"}|context_length
databricks|403|{"error_code":"PERMISSION_DENIED","message":"Invalid access token"}|auth
cohere|400|{"message":"invalid request: model 'x' not found"}|invalid
openrouter|402|{"error":{"code":402,"message":"Insufficient credits"}}|auth
litellm|400|{"error":{"message":"Budget has been exceeded! Current cost: 1.2, Max budget: 1.0","type":"budget_exceeded","param":null,"code":"400"}}|auth
litellm|429|{"error":{"message":"Your allowance has been reached.","type":"budget_exceeded","param":null,"code":"429"}}|auth
END
}
