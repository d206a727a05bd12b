#!/usr/bin/env bats
# Prices, awf-prices(5): what answers have cost, and --max-cost.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	mkdir agents tools
	agent writer
	# An answer is 10 tokens in, 5 out: 10 * 1000 + 5 * 2000 nano-dollars.
	echo 'anthropic/test* 1 2' >prices
	export AWF_PRICES=$PWD/prices
	text seen >answer
	tool add '"effects":"none"' 'echo 5'
	stream tool_use "$(use t1 add '{}')" >call
}

asked() { if [ -e "$MODEL_SERVER_LOG" ]; then sent; else echo 0; fi; }

@test "awf-tail --cost: of each answer, and of the run" {
	model_server --answer answer --loop
	printf '1\n2\n' | awf-run -c 'awf-step -i lines -q -a writer ask'
	run -0 --separate-stderr awf-tail --cost
	same "$(grep -c 'assistant (.*10 in, 5 out, \$0.000020)' <<<"$output")" 2
	[[ "${lines[-1]}" == *'20 in, 10 out, $0.000040)' ]]
	same "$stderr" ''
	[[ "$(awf-tail --cost -n 1)" == *'20 in, 10 out, $0.000040)' ]]
	run ! grep -F '$' <(awf-tail)
}

@test "awf-tail --cost: what has no price is said so once" {
	echo 'other/* 1 1' >prices
	model_server --answer answer --loop
	printf '1\n2\n' | awf-run -c 'awf-step -i lines -q -a writer ask'
	run -0 --separate-stderr awf-tail --cost
	same "$(grep -cF '5 out, $?)' <<<"$output")" 2
	same "$stderr" 'awf-tail: --cost: no price of anthropic/test is known (see awf-prices(5))'
	for with in --json '--as runtime' -; do
		# shellcheck disable=SC2086
		run -1 awf-tail --cost $with
	done
}

@test "awf-tail --list --cost: of each run, in all its attempts, without its child runs" {
	model_server --answer answer --loop
	run -7 awf-run -n --name outer --id-file id -c '
		awf-step -n -p hi -q -a writer one
		awf-run -n --name inner -c "awf-step -n -p hi -q -a writer two"
		[ -e go ] || exit 7
		awf-step -n -p hi -q -a writer three'
	touch go
	awf-run --resume "$(cat id)"
	awf-step -n -p hi -q -a writer alone
	awf-run -n --name idle true
	same "$(awf-tail --list --cost | awk '{ print $1, $NF }')" $'idle $0.0000\nalone $0.000020\nouter $0.000040'
	same "$(awf-tail --list --cost -R --name inner | awk '{ print $NF }')" '$0.000020'
	same "$(awf-tail --list --cost | sed 's/ *[^ ]*$//')" "$(awf-tail --list)"
	same "$(awf-tail --list --json --cost --name outer)" \
		"$(awf-tail --list --json --name outer | sed 's/}$/,"cost":0.00004}/')"
	same "$(awf-tail --list --cost -R | awk '{ sub("[$]", "", $NF); usd += $NF } END { printf "%.6f", usd }')" 0.000080
}

@test "awf-tail --list --cost: what has no price, and no table" {
	model_server --answer answer --loop
	awf-step -n -p hi -q -a writer alone
	awf-run -n --name idle true
	echo 'other/* 1 1' >prices
	run -0 --separate-stderr awf-tail --list --cost
	same "$(awk '{ print $NF }' <<<"$output" | paste -sd' ')" '$0.0000 ?'
	same "$stderr" ''
	same "$(awf-tail --list --json --cost | jq -c .cost | paste -sd' ')" '0 null'
	echo wrong >prices
	run -2 --separate-stderr awf-tail --list --cost
	[[ $stderr == "awf-tail: $PWD/prices:1: expected "* ]]
	run -0 --separate-stderr awf-tail --list
	same "$stderr" ''
}

@test "who is told of a run's end is told what it has cost" {
	model_server --answer answer --loop
	told() { awf-run -n --on-complete 'cat >summary' --on-failure 'cat >summary' "$@"; }
	cost() { grep -o '"cost":[^,]*' summary; }
	run -7 told --id-file id -c 'awf-step -n -p hi -q -a writer one; [ -e go ] || exit 7; awf-step -n -p hi -q -a writer two'
	same "$(cost)" '"cost":0.00002'
	touch go
	run -0 told --resume "$(cat id)"
	same "$(cost)" '"cost":0.00004'
	same "$(jq -c .usage summary)" '{"calls":2,"input_tokens":10,"output_tokens":5}'
	run ! grep -F '"cost"' "$(transcript)"
	awf-replay -q --isolation copy
	run -0 told --no-transcript -c 'awf-step -n -p hi -q -a writer one'
	same "$(cost)" '"cost":0.00002'
	run -0 told true
	same "$(cost)" '"cost":0'
}

@test "the end of a run that failed says what it has cost, with what its earlier attempts have" {
	model_server --answer answer --loop
	ends() { [[ ${stderr_lines[-1]} == "awf-run: x: failed after "*"s, 10 in, 5 out$1; to go on from there: awf-run --resume "* ]]; }
	run -7 --separate-stderr awf-run -n --name x -c 'awf-step -n -p hi -q -a writer one; [ -e go ] || exit 7; awf-step -n -p hi -q -a writer two; exit 7'
	ends ', $0.000020'
	touch go
	run -7 --separate-stderr awf-run --resume @
	ends ', $0.000040 in all'
	echo 'other/* 1 1' >prices
	run -7 --separate-stderr awf-run -n --name x -c 'awf-step -n -p hi -q -a writer one; exit 7'
	ends ''
}

@test "the command that goes on from there has the limit of the cost" {
	for limit in 1 0.50; do
		run -7 --separate-stderr awf-run -n --max-cost "$limit" -c 'awf-step -n one -- true; exit 7'
		[[ ${stderr_lines[-1]} == *"; to go on from there: awf-run --max-cost $limit --resume "* ]]
	done
	run -125 --separate-stderr awf-run --max-cost USD --resume @
	[[ $stderr == "awf-run: --max-cost: 'USD' is no amount of dollars"* ]]
}

@test "who is told of a run's end, without a price, a table, or one that is right" {
	model_server --answer answer --loop
	told() { awf-run -n --on-complete 'cat >summary' -c 'awf-step -n -p hi -q -a writer one'; }
	for table in 'other/* 1 1' ''; do
		echo "$table" >prices
		run -0 --separate-stderr told
		same "$stderr" ''
		same "$(jq 'has("cost")' summary)" false
	done
	echo wrong >prices
	run -0 --separate-stderr told
	same "$stderr" "awf-run: $PWD/prices:1: expected PROVIDER/MODEL and two to four prices: input output [cache_read [cache_write]]"
	same "$(jq -c '[.status, has("cost")]' summary)" '["success",false]'
	run -0 --separate-stderr awf-run -n true
	same "$stderr" ''
}

@test "an answer of a fallback costs what that one does" {
	agent writer 'fallback: [openai/other]'
	echo 'openai/o-1 100 100' >>prices
	echo '{"model":"o-1","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}' >other
	model_server --answer other --fault 1:529
	echo 1 | awf-step -q -a writer ask --retries 0
	awf-tail --cost | grep -F '4 out, $0.0007)'
}

@test "a table that is wrong, or missing" {
	printf 'a/b 1 1\nb 1 1\n' >prices
	echo hi | awf-step -q ask -- cat
	run -2 --separate-stderr awf-tail --cost
	same "$stderr" "awf-tail: $PWD/prices:2: expected PROVIDER/MODEL and two to four prices: input output [cache_read [cache_write]]"
	AWF_PRICES=none run -4 awf-tail --cost
}

@test "the user's table stands before the system's" {
	unset AWF_PRICES
	mkdir -p "$XDG_CONFIG_HOME/awf"
	echo 'anthropic/test 1000 0' >"$XDG_CONFIG_HOME/awf/prices"
	model_server --answer answer
	echo 1 | awf-step -q -a writer ask
	awf-tail --cost | grep -F '5 out, $0.0100)'
}

@test "awf-step --max-cost ends a call that has cost so much" {
	model_server --answer call --loop
	echo 'anthropic/test* 1 2 0.1' >prices
	run -3 --separate-stderr awf-step -q -a writer -m anthropic/test --allow-tools add --max-cost 0.00005 ask <<<go
	same "$stderr" 'awf-step: ask: writer: the call has reached --max-cost ($0.000060 of $0.000050)'
	same "$(payloads step.completed .error.code)" '"max_cost"'
	same "$(asked)" 3
	run -3 awf-step -q -a writer --max-cost 0 ask <<<go
	same "$(asked)" 3
}

@test "each call has a limit of its own" {
	model_server --answer answer --loop
	printf '1\n2\n3\n' | awf-step -i lines -q -a writer --max-cost 0.00002 ask
	same "$(asked)" 3
}

@test "a model without a price is refused before anything is asked" {
	model_server --answer answer
	run -2 --separate-stderr awf-step -q -a writer -m anthropic/best --max-cost 1 ask <<<go
	same "$stderr" 'awf-step: --max-cost: no price of anthropic/best is known (see awf-prices(5))'
	agent writer 'fallback: [openai/other]'
	run -2 --separate-stderr awf-step -q -a writer --max-cost 1 ask <<<go
	same "$stderr" 'awf-step: --max-cost: no price of openai/other is known (see awf-prices(5))'
	agent writer "before_turn: [jq, -nc, '{model: \"best\"}']"
	run -3 --separate-stderr awf-step -q -a writer --max-cost 1 ask <<<go
	same "$stderr" 'awf-step: ask: --max-cost: no price of anthropic/best is known (see awf-prices(5))'
	same "$(asked)" 0
}

@test "what is no amount, or has nothing to limit" {
	for amount in x -1 1e3 ''; do
		run -1 --separate-stderr awf-step -q -a writer --max-cost="$amount" ask <<<go
		same "$stderr" "awf-step: --max-cost: '$amount' is no amount of dollars, such as 0.50"
		run -125 awf-run --max-cost="$amount" -c true
	done
	run -1 awf-step --max-cost 1 x -- true
}

# An agent whose request has a thousand words, each a token at least.
long() {
	printf -- '---\nprovider: anthropic\nmodel: test\n---\n%s\n' "$(printf 'word%.0s ' $(seq 1000))" >agents/long.md
	sed -i 's/"input_tokens":10,/"input_tokens":1200,/' answer
}

@test "a request whose input alone costs more than what is left is not sent" {
	long
	model_server --answer answer --loop
	run -3 --separate-stderr awf-step -q -a long --max-cost 0.00001 ask <<<go
	[[ $stderr =~ ^'awf-step: ask: long: not asked: the input alone costs $0.0010'[0-9]*' or more, and $0.000010 of the call'\''s --max-cost $0.000010 is left'$ ]]
	same "$(payloads step.completed .error.code)" '"max_cost"'
	run -3 --separate-stderr awf-run --max-cost 0.0009 -c 'awf-step -q -a long ask' <<<go
	[[ $stderr == *"and \$0.0009 of the run's --max-cost \$0.0009 is left"* ]]
	same "$(asked)" 0
	awf-step -q -a long --max-cost 0.0012 ask <<<go
	same "$(asked)" 1
	# By the cheapest price that its input can have.
	echo 'anthropic/test* 1 2 0.0001' >prices
	awf-step -q -a long --max-cost 0.00001 ask <<<go
	same "$(asked)" 2
}

@test "requests side by side count for each other while they are answered" {
	long
	model_server --answer answer --loop
	run -3 --separate-stderr awf-run --max-cost 0.0055 -c 'awf-step -i lines -j 30 -q -a long ask' < <(seq 30)
	(( $(asked) == 4 || $(asked) == 5 ))
	[[ $stderr == *"of the run's --max-cost \$0.0055 is left"* ]]
	awf-verify
}

@test "a request that failed counts no longer" {
	long
	echo '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}' >busy
	model_server --answer answer --loop --fault 1:error:529:busy
	awf-run --max-cost 0.0015 -c 'awf-step -q --delay 1ms -a long ask' <<<go
	same "$(asked)" 2
}

@test "what a try used in vain is counted, and holds --max-cost of a call, of a run and of a resume" {
	stream end_turn >empty
	model_server --answer empty --loop
	run -3 --separate-stderr awf-run --max-cost 0.00004 -c 'awf-step -q -a writer ask -r' <<<go
	same "$(asked)" 2
	[[ ${stderr_lines[0]} == 'awf-step: ask: writer: the run has reached --max-cost ($0.000040 of $0.000040)' ]]
	[[ ${stderr_lines[-1]} == *', 20 in, 10 out, $0.000040; '* ]]
	[[ ${stderr_lines[-1]} == *'; to go on from there: awf-run --max-cost USD --resume '* ]]
	same "$(payloads message.assistant 'select(.retry == null) | [.blocks, .partial, .model, .usage]' | sort -u)" \
		'[[],true,"test-1",{"input_tokens":10,"output_tokens":5}]'
	same "$(awf-tail --cost | grep -c 'assistant (.*10 in, 5 out, \$0.000020, cut off)')" 2
	run -3 awf-run --resume @ --max-cost 0.00004
	same "$(asked)" 2
	awf-verify
	awf-replay -q --isolation copy
	run -3 awf-step -q -a writer --max-cost 0.00001 ask <<<go
	same "$(asked)" 3
}

@test "what tries used in vain counts in a replay as it did" {
	stream end_turn >empty
	model_server --answer empty --answer call --answer answer
	printf -- '---\nmodel: anthropic/test\ntools: [add]\nmax_tokens_total: 30\n---\n' >agents/little.md
	run -3 --separate-stderr awf-run -n -c 'awf-step -n -p hi -q -a little ask'
	same "$(asked)" 2
	[[ $stderr == *'reached max_tokens_total (30 of 30)'* ]]
	awf-replay -q --isolation copy
}

@test "awf-run --max-cost: all steps together, children and earlier attempts" {
	model_server --answer answer --loop
	run -3 --separate-stderr awf-run -n --id-file id --max-cost 0.00005 -c '
		printf "1\n2\n" | awf-step -i lines -q -a writer one
		awf-run -n -c "awf-step -n -p hi -q -a writer two"
		awf-step -n -p hi -q -a writer three'
	same "$(asked)" 3
	[[ $stderr == *'three: writer: the run has reached --max-cost ($0.000060 of $0.000050)'* ]]
	run -3 awf-run --resume "$(cat id)" --max-cost 0.00004
	same "$(asked)" 3
	awf-run --resume "$(cat id)" --max-cost 0.0001
	same "$(asked)" 4
	run -125 --separate-stderr awf-run -n --max-cost 1 -c 'awf-run -n --max-cost 2 -c true'
	[[ $stderr == *'--max-cost: not inside of a run that has it'* ]]
}

@test "a replay goes by the record, not by prices" {
	model_server --answer call --loop
	run -3 awf-run -c 'awf-step -q -a writer --allow-tools add --max-cost 0.00003 ask' <<<go
	rm prices
	unset AWF_PRICES
	awf-replay -q --isolation copy
	awf-verify --determinism --isolation copy
}
