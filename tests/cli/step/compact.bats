#!/usr/bin/env bats
# bats file_tags=turn:2
# compact of an agent: old messages are replaced by a summary.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	export ASAN_OPTIONS=detect_leaks=0
	mkdir agents tools
	tool look '"effects":"read","input_schema":{"type":"object"}' 'head -c 400 /dev/zero | tr "\0" x'
	for n in 1 2 3 4 5 6; do
		stream tool_use "$(use "t$n" look "{\"n\":$n}")" >"u$n"
	done
	# From the fourth answer on the API counts more than the limit.
	sed -i 's/"input_tokens":10/"input_tokens":900/' u4 u5
	text 'the gist' >gist
	text 'all right' >last
}
# The texts and types of the messages of request N.
asked() {
	bodies | sed -n "$1p" | jq -c '[.messages[]|[.role[:1], (.content|if type=="array" then map(.text // .type)|join("+") else . end)]]'
}

@test "above the limit the older messages become a summary; calls and results stay together" {
	agent scout $'tools: [look]\ncompact: {at: 700, keep: 3}'
	model_server --answer-for 'You summarise' gist --answer u1 --answer u2 --answer u3 --answer u4 --answer u5 --answer u6 --answer last --loop
	same "$(awf-run -c 'awf-step -a scout -r work' <<<"$(head -c 1200 /dev/zero | tr '\0' q)")" 'all right'
	same "$(payloads message.user 'select(.compact) | .turn' | paste -sd' ')" '4 5'
	for n in $(seq "$(sent)"); do
		bodies | sed -n "${n}p" | jq -e '
			[.messages[].content | select(type == "array")[]] as $b |
			([$b[] | select(.type == "tool_use").id]) == ([$b[] | select(.type == "tool_result").tool_use_id]) and
			.messages[0].role == "user"' >/dev/null
	done
	[[ $(asked "$(sent)") == '[["u","Summary of the conversation before this:\n\nthe gist"],["a","tool_use"]'* ]]
	awf-verify -q
	before=$(sent)
	awf-verify --determinism --isolation copy
	same "$(sent)" "$before"
}

@test "a resume takes the recorded summary over" {
	agent scout $'tools: [look]\ncompact: {at: 500, keep: 2}'
	model_server --answer-for 'You summarise' gist --answer u1 --answer u2 --answer u4 --loop --fault 5:401
	run ! awf-run -c 'awf-step -a scout -r work' <<<"$(head -c 1200 /dev/zero | tr '\0' q)"
	made=$(payloads message.user 'select(.compact)' | wc -l)
	[ "$made" -ge 1 ]
	model_server --answer-for 'You summarise' gist --answer last --loop
	same "$(awf-run --resume @)" 'all right'
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "a step that was killed when the summary had come and was not used yet: a resume does not ask for it again" {
	agent scout $'tools: [look]\ncompact: {at: 500, keep: 2, agent: clerk}'
	printf -- '---\nprovider: anthropic\nmodel: small\nfallback: [anthropic/spare]\n---\nYou are a clerk.\n' >agents/clerk.md
	printf '%s\n' 'anthropic/* 1000 1000' >prices
	export AWF_PRICES=$PWD/prices
	# The fourth request is the first for a summary, the fifth that of the other model.
	model_server --answer-for 'You are a clerk' gist --answer u1 --answer u2 --answer u4 --loop --fault 4:529 --fault 6:401
	run ! awf-run -c 'awf-step -a scout -r --retries 0 work' <<<"$(head -c 1200 /dev/zero | tr '\0' q)"
	whole=$(awf-tail --list --json --cost | jq .cost)
	# As if all had been killed after that answer.
	record=$(readlink -f "$AWF_STORAGE/latest")
	end=$(grep -n '"type":"message.assistant".*"compact":true' "$record" | head -n 1 | cut -d: -f1)
	head -n "$end" "$record" >before
	[[ $(sed -n "$((end + 1))p" "$record") == *'"compact":{"replaced"'* ]]
	cat before >"$record"
	model_server --answer-for 'You are a clerk' gist --answer last --loop
	same "$(awf-run --resume @)" 'all right'
	same "$(clerks | wc -l)" 0
	same "$(bodies | head -n 1 | jq -r '.messages[0].content | if type == "array" then .[0].text else . end')" \
		$'Summary of the conversation before this:\n\nthe gist'
	same "$(payloads message.assistant 'select(.compact) | .fallback' | wc -l)" 1
	same "$(payloads message.user 'select(.compact) | .turn' | wc -l)" 1
	jq -en --argjson whole "$whole" --argjson now "$(awf-tail --list --json --cost | jq .cost)" '$now > $whole' >/dev/null
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "hundreds of turns of a session stay under the limit" {
	agent chat $'compact: {at: 1k, keep: 6}'
	text "answer $(head -c 100 /dev/zero | tr '\0' y)" >long
	long=$(head -c 200 /dev/zero | tr '\0' z)
	model_server --answer-for 'You summarise' gist --answer long --loop
	turns=$(size_of_tier 60 400)
	for ((i = 0; i < turns; i++)); do
		awf-step --session s -a chat -r talk <<<"question $i $long"
	done >/dev/null
	# Requests that are no summaries: at most the limit, four bytes a token, and what is around it.
	bodies | jq -s '[.[] | select(.system | tostring | contains("You summarise") | not) | .messages | tostring | length] | max' >most
	[ "$(cat most)" -lt 7000 ]
	awf-verify -q
}

@test "a wrong value is refused" {
	for value in 100k '{keep: 3}' '{at: 0}' '{at: 100x}' '{at: 100k, keep: 0}' '{at: 1k, more: 2}' '{at: 1k, agent: 7}' '{at: 1k, agent: ""}'; do
		agent scout "compact: $value"
		run -2 --separate-stderr awf-step -a scout work <<<x
		[[ $stderr == *'compact: expected {at: TOKENS, keep: MESSAGES, agent: FILE}'* ]]
	done
}

@test "a server that checks what thoughts are bound to refuses none of it" {
	mkdir seen
	python3 -S "$ROOT/tests/support/prefix-server.py" 7 url seen 3>&- &
	echo $! >>"$BATS_TEST_TMPDIR/model-server.pids"
	eventually test -s url
	ANTHROPIC_BASE_URL=$(cat url)/talk/-
	export ANTHROPIC_BASE_URL ANTHROPIC_API_KEY=x
	agent thinker $'tools: [look]\nthinking: high\nempty: accept\nstuck_after: 0\ncompact: {at: 600, keep: 3}'
	sed -i 's/^model: .*/model: claude-opus-5-5/' agents/thinker.md
	for i in $(seq 12); do
		awf-step --session s -a thinker -r --allow-failure talk <<<"question $i $(head -c 300 /dev/zero | tr '\0' z)" >/dev/null 2>>err || true
	done
	same "$(jq -r .status seen/talk | sort | uniq -c | awk '{print $2}' | paste -sd' ')" 200 || { jq -r .why seen/talk | sort | uniq -c >&2; false; }
	[ "$(jq -r .thoughts seen/talk | sort -n | tail -n 1)" -gt 0 ]
	grep -l '"compact":{"replaced"' "$AWF_STORAGE"/transcripts/*.jsonl >/dev/null
}

# The summaries in the bodies of requests: those of the agent called clerk.
clerks() { bodies | jq -c 'select(.system | tostring | contains("You are a clerk"))'; }

@test "another agent makes the summary: its model, its prompt, its parameters; it costs and is recorded as its own" {
	agent scout $'tools: [look]\nhandoffs: []\ncompact: {at: 700, keep: 3, agent: clerk}'
	printf -- '---\nprovider: anthropic\nmodel: small\nmax_tokens: 77\nfallback: [anthropic/spare]\n---\nYou are a clerk.\n' >agents/clerk.md
	sed -i 's/"model":"test-1"/"model":"small"/' gist
	text '\"all right\"' >last
	printf '%s\n' 'anthropic/test* 1 1' 'anthropic/small 1000 1000' >prices
	export AWF_PRICES=$PWD/prices
	model_server --answer-for 'You are a clerk' gist --answer u1 --answer u2 --answer u3 --answer u4 --answer u5 --answer u6 --answer last --loop
	# What is said of the step's result is not said to the clerk.
	echo '{"type":"string","title":"the verdict"}' >schema.json
	same "$(awf-run -c 'awf-step -a scout -r --output-schema schema.json work' <<<"$(head -c 1200 /dev/zero | tr '\0' q)")" 'all right'
	[[ $(bodies | head -n 1 | jq -r '.system | tostring') == *'the verdict'* ]]
	[[ $(clerks) != *'the verdict'* ]]
	same "$(clerks | jq -c '[.model, .max_tokens, (.tools // [] | length), (.messages | length)]' | sort -u)" '["small",77,0,1]'
	same "$(clerks | wc -l)" "$(payloads message.user 'select(.compact)' | wc -l)"
	[[ $(clerks | jq -r .system | head -n 1) != *summarise* ]]
	same "$(payloads message.assistant 'select(.compact) | [.agent, .provider, .model, .fallback]' | sort -u)" '["clerk","anthropic","small",null]'
	# The answers of the call itself stay the scout's.
	same "$(payloads message.assistant 'select(.compact | not) | [.agent, .provider]' | sort -u)" '[null,null]'
	# 15 tokens for a summary at $1000 a million, and the rest at a thousandth.
	cost=$(awf-tail --list --json --cost | jq .cost)
	jq -en --argjson cost "$cost" --argjson made "$(clerks | wc -l)" '$cost > 0.015 * $made and $cost < 0.015 * $made + 0.01' ||
		{ echo "cost $cost" >&2; false; }
	awf-verify -q
	before=$(sent)
	awf-verify --determinism --isolation copy
	same "$(sent)" "$before"
}

@test "a summary by another model when the first does not answer; a resume asks for none again" {
	agent scout $'tools: [look]\ncompact: {at: 500, keep: 2, agent: clerk}'
	printf -- '---\nprovider: anthropic\nmodel: small\nfallback: [anthropic/spare]\n---\nYou are a clerk.\n' >agents/clerk.md
	# The fourth request is the first for a summary.
	model_server --answer-for 'You are a clerk' gist --answer u1 --answer u2 --answer u4 --loop --fault 4:529 --fault 6:401
	run ! awf-run -c 'awf-step -a scout -r --retries 0 work' <<<"$(head -c 1200 /dev/zero | tr '\0' q)"
	same "$(clerks | jq -r .model | head -n 2 | paste -sd' ')" 'small spare'
	same "$(payloads message.assistant 'select(.compact) | [.provider, .fallback]' | head -n 1)" '["anthropic",1]'
	made=$(clerks | wc -l)
	model_server --answer-for 'You are a clerk' gist --answer last --loop
	same "$(awf-run --resume @)" 'all right'
	same "$(clerks | wc -l)" 0
	[ "$made" -ge 1 ]
	awf-verify -q
	awf-verify --determinism --isolation copy
}

@test "a worker that is killed while it is asked for a summary: the summary is asked for once more, which is no retry" {
	agent scout $'tools: [look]\ncompact: {at: 500, keep: 2}'
	# The fourth request is the first for a summary.
	model_server --answer-for 'You summarise' gist --answer u1 --answer u2 --answer u4 --answer last --loop --fault 4:stall
	awf-run -c 'awf-step -a scout -r --retries 0 work' <<<"$(head -c 1200 /dev/zero | tr '\0' q)" >out 3>&- &
	run=$!
	asked() { [ "$(sent)" -ge 4 ]; }
	eventually asked
	# shellcheck disable=SC2046 # one or more
	kill -9 $(workers)
	wait "$run"
	same "$(cat out)" 'all right'
	same "$(payloads message.user 'select(.compact)' | wc -l)" "$(payloads message.assistant 'select(.compact)' | wc -l)"
	awf-verify -q
}

@test "a summary that takes another try, or another model, is no failure of the call" {
	agent scout $'tools: [look]\nfallback: [anthropic/spare]\ncompact: {at: 500, keep: 2}'
	for retries in 1 0; do
		model_server --answer-for 'You summarise' gist --answer u1 --answer u2 --answer u4 --answer last --loop --fault 4:529
		same "$(awf-run -c "awf-step -a scout -r --retries $retries --delay 1ms work" <<<"$(head -c 1200 /dev/zero | tr '\0' q)")" 'all right'
		same "$(payloads message.assistant 'select(.compact) | .model' | wc -l)" 1
	done
}

@test "an agent that cannot make summaries is refused, and so is one that is not there" {
	agent scout 'compact: {at: 1k, agent: clerk}'
	run -2 --separate-stderr awf-step -a scout work <<<x
	[[ $stderr == *"scout.md:5: compact: "*clerk* ]]
	for wrong in 'tools: [look]' $'handoffs: [scout]' 'compact: {at: 1k}' 'stop_when: {command: x}' 'continue_from: x'; do
		agent clerk "$wrong"
		run -2 --separate-stderr awf-step -a scout work <<<x
		[[ $stderr == *"is asked once for a summary, and cannot have ${wrong%%:*}"* ]] || { echo "$wrong: $stderr"; false; }
	done
	printf -- '---\nmodel: claude/default\n---\nYou are a clerk.\n' >agents/clerk.md
	run -2 --separate-stderr awf-step -a scout work <<<x
	[[ $stderr == *"which the agent CLI 'claude' cannot be"* ]]
	same "$(sent 2>/dev/null || echo 0)" 0
}
