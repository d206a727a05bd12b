#!/usr/bin/env bats
# cost-per-day of awf-limits(5): what may be spent in a day over all runs of a storage.
# shellcheck shell=bash disable=SC2154,SC2016
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

prepare() {
	mkdir -p agents "$XDG_CONFIG_HOME/awf"
	agent writer
	text seen >answer
	# An answer is 10 tokens in, 5 out: $0.09.
	echo 'anthropic/test* 1000 16000' >prices
	export AWF_PRICES=$PWD/prices
}

limits() { printf '%s\n' "$@" >"$XDG_CONFIG_HOME/awf/limits"; }
asked() { if [ -e "$MODEL_SERVER_LOG" ]; then sent; else echo 0; fi; }
used() { awf-tail --limits --json | jq -r --arg name "$1" 'select(.name == $name and .limit == "cost-per-day").used'; }
ask() { awf-run --name "${1:-x}" -c 'awf-step -q -a writer ask --retries 0' <<<go; }

@test "one run after another: no call begins when the limit is reached, and each says why" {
	limits 'anthropic cost-per-day=1'
	model_server --answer answer --loop
	local i
	for ((i = 0; i < 12; i++)); do
		ask
	done
	for ((i = 0; i < 3; i++)); do
		run -3 --separate-stderr ask
		[[ ${stderr_lines[0]} == 'awf-step: ask: writer: not asked: cost-per-day of anthropic is reached ($1.0800 of $1.0000 since 00:00 UTC)' ]]
		same "$(payloads step.completed .error.code)" '"max_cost"'
	done
	same "$(asked)" 12
	same "$(used anthropic)" 1.08
	awf-verify -q
	awf-replay -q --isolation copy
}

@test "twenty runs at once share a dollar: nothing is asked above it but what was under way" {
	limits '@ cost-per-day=1'
	model_server --answer answer --loop --fault '*:slow:20'
	local i pids=() codes='' before
	for ((i = 0; i < 20; i++)); do
		awf-run --name "r$i" -c 'awf-step -q -i lines --retries 0 -a writer ask' < <(seq 5) >"out$i" 2>&1 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" && codes+=0 || codes+=$?
	done
	# A call is begun below the limit only: all that were begun, but those under way at that moment,
	# one of each run, cost less than a dollar.
	(($(asked) >= 12 && $(asked) <= 11 + 20))
	same "$codes" "${codes//0/3}"
	grep -q 'cost-per-day of all runs is reached' out*
	same "$(used @)" "$(jq -n "$(asked) * 0.09 * 100 | round / 100")"
	before=$(asked)
	run -3 ask
	same "$(asked)" "$before"
}

@test "by model, by workflow and for all runs; patterns are for each that matches" {
	limits 'anthropic/tes* cost-per-day=0.10' '@night* cost-per-day=0.20' '@ cost-per-day=5'
	model_server --answer answer --loop
	ask
	ask
	run -3 --separate-stderr ask
	[[ $stderr == *'cost-per-day of anthropic/test is reached ($0.1800 of $0.1000 '* ]]
	limits '@night* cost-per-day=0.10' '@ cost-per-day=5'
	ask nightly
	ask nightly
	run -3 --separate-stderr ask nightly
	[[ $stderr == *'cost-per-day of @nightly is reached ($0.1800 of $0.1000 '* ]]
	ask nights
	ask other
	limits '@ cost-per-day=0.5'
	run -3 --separate-stderr ask other
	[[ $stderr == *'cost-per-day of all runs is reached ($0.5400 of $0.5000 '* ]]
	same "$(used @)" 0.54
}

@test "a run inside of another counts for the workflow of that" {
	limits '@outer cost-per-day=0.05'
	model_server --answer answer --loop
	awf-run -n --name outer -c 'awf-run --name inner -c "awf-step -q -a writer ask" <<-END
		go
		END'
	run -3 --separate-stderr awf-run -n --name outer -c 'awf-run --name inner -c "echo go | awf-step -q -a writer ask"'
	[[ $stderr == *'cost-per-day of @outer is reached'* ]]
	ask inner
	same "$(asked)" 2
}

@test "a request whose input alone costs more than what is left; one that failed counts no longer" {
	printf -- '---\nprovider: anthropic\nmodel: test\n---\n%s\n' "$(printf 'word%.0s ' $(seq 1000))" >agents/writer.md
	limits 'anthropic cost-per-day=0.5'
	model_server --answer answer --loop
	run -3 --separate-stderr ask
	[[ $stderr == *'not asked: the input alone costs $1.00'*' or more, and $0.5000 of cost-per-day $0.5000 of anthropic is left'* ]]
	same "$(asked)" 0
	limits 'anthropic cost-per-day=1.5'
	echo '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}' >busy
	model_server --answer answer --loop --fault 1:error:529:busy
	awf-run -c 'awf-step -q --delay 1ms -a writer ask' <<<go
	same "$(asked)" 2
	same "$(used anthropic)" 0.09
}

@test "with --max-cost of the run: the one that is reached first is told" {
	limits '@ cost-per-day=0.20'
	model_server --answer answer --loop
	run -3 --separate-stderr awf-run -n --max-cost 0.05 -c 'for i in 1 2; do echo x | awf-step -q -a writer a$i || exit 3; done'
	[[ $stderr == *'the run has reached --max-cost'* ]]
	same "$(used @)" 0.09
	ask
	ask
	run -3 --separate-stderr awf-run --max-cost 5 -c 'awf-step -q -a writer ask' <<<go
	[[ $stderr == *'cost-per-day of all runs is reached'* ]]
}

@test "a model without a price is refused where a limit is for it, and asked where none is" {
	limits 'openai cost-per-day=1'
	echo 'other/* 1 1' >prices
	model_server --answer answer --loop
	ask
	limits 'anthropic cost-per-day=1'
	run -2 --separate-stderr ask
	[[ ${stderr_lines[0]} == 'awf-step: cost-per-day: no price of anthropic/test is known (see awf-prices(5))' ]]
	same "$(asked)" 1
}

@test "what a program asks by --models counts, and is refused" {
	limits 'anthropic/m cost-per-day=0.2'
	echo 'anthropic/* 1000 16000' >prices
	cat >ask <<-'END'
		for i in 1 2 3 4; do
			curl -sS -H "x-api-key: $ANTHROPIC_API_KEY" -H content-type:application/json \
				-d "{\"model\":\"m\",\"max_tokens\":9,\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"$i\"}]}" \
				"$ANTHROPIC_BASE_URL/v1/messages"
		done
	END
	model_server --answer answer --loop
	run -3 --separate-stderr awf-run -n -c 'awf-step -n -r --models app -- bash ask'
	same "$(asked)" 3
	[[ $stderr == *'cost-per-day of anthropic/m is reached ($0.2700 of $0.2000 since 00:00 UTC)'* ]]
	same "$(used anthropic/m)" 0.27
}

@test "what was spent yesterday does not count" {
	limits 'anthropic cost-per-day=0.05'
	model_server --answer answer --loop
	ask
	run -3 ask
	# The first number of each record is its day.
	python3 - "$AWF_STORAGE/limits/.day" <<-'END'
		import struct, sys
		data = bytearray(open(sys.argv[1], 'rb').read())
		for at in range(0, len(data), 256):
		    day, = struct.unpack_from('<q', data, at)
		    struct.pack_into('<q', data, at, day - 1)
		open(sys.argv[1], 'wb').write(data)
	END
	same "$(used anthropic)" 0
	ask
	same "$(stat -c %s "$AWF_STORAGE/limits/.day")" $((4 * 256))
}

@test "lines that are wrong" {
	model_server --answer answer
	while IFS='|' read -r line message; do
		limits "$line"
		run -3 --separate-stderr ask
		[[ $stderr == *"/limits:1: $message"* ]] || { echo "$line: $stderr"; false; }
	done <<-'END'
		anthropic cost-per-day=x|expected cost-per-day=USD, an amount of dollars such as 2.50, not 'x'
		anthropic cost-per-dya=1|'cost-per-dya' is no limit (did you mean 'cost-per-day'?)
		@nightly at-once=1|@nightly can have cost-per-day alone, not 'at-once'
		a/b per-minute=3|a/b can have cost-per-day alone, not 'per-minute'
	END
	same "$(asked)" 0
}

@test "awf-tail --limits: what is used of all of them" {
	run -0 awf-tail --limits
	[[ $output == 'there are no limits: '*/awf/limits' says some' ]]
	limits 'anthropic at-once=4 per-minute=50 tokens-per-minute=1000 cost-per-day=1' '@ cost-per-day=5' '@x* cost-per-day=2' 'openai/o* cost-per-day=3'
	model_server --answer answer --loop
	ask
	run -0 awf-tail --limits
	same "$(sed 's/  */ /g' <<<"$output" | sort)" "$(sort <<-'END'
		anthropic at-once 0 of 4
		anthropic per-minute 1 of 50
		anthropic tokens-per-minute 15 of 1000
		anthropic cost-per-day $0.0900 of $1.0000
		@ cost-per-day $0.0900 of $5.0000
		@x cost-per-day $0.0900 of $2.0000
		openai/o* cost-per-day $0.0000 of $3.0000
	END
	)"
	same "$(awf-tail --limits --json | jq -c 'select(.name == "@") | [.limit, .used, .most]')" '["cost-per-day",0.09,5]'
	run -1 awf-tail --limits -f
	run -1 awf-tail --limits @
	awf doctor --json | jq -r 'select(.name == "limits").message' >said || :
	grep -Fx '@: $5.0000 a day' said
	limits '* at-once=3 cost-per-day=2'
	same "$(awf-tail --limits | sed 's/  */ /g')" $'anthropic at-once 0 of 3\nanthropic cost-per-day $0.0900 of $2.0000'
}
