#!/usr/bin/env bats
# examples/router.awf: a mail goes to the agent who knows its topic.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

prepare() { example router; }

@test "a mail about an invoice is answered by billing" {
	run -0 ./router.awf <samples/mail.txt
	same "${lines[0]}" 'Dear M. Okafor,'
	same "$(answers "$(transcript)")" ' 1 answer 1 route '
	same "$(jq -r 'select(.type == "step.started").payload.agent' "$(transcript)" | paste -sd' ')" 'router billing'
	deterministic
}

@test "what is about nothing that is known goes to the clerk" {
	sed -i 's/"topic":"invoice"/"topic":"other"/' "$RECORDING"
	echo '{"match":"belongs to nobody else","blocks":[{"type":"text","text":"Somebody will write to you."}]}' >>"$RECORDING"
	run -0 ./router.awf <samples/mail.txt
	same "$output" 'Somebody will write to you.'
	deterministic
}

@test "a topic that there is not goes back to the router" {
	line=$(head -n 1 "$RECORDING")
	{ echo "${line/invoice/weather}"; cat "$RECORDING"; } >more
	mv more "$RECORDING"
	run -0 ./router.awf <samples/mail.txt
	same "$(answers "$(transcript)")" ' 1 answer 2 route '
	deterministic
}

@test "a router that fails asks nobody else; the run goes on when it can answer" {
	forget 'You sort the mail'
	run -3 --separate-stderr ./router.awf <samples/mail.txt
	same "$output" ''
	same "$(answers "$(transcript)")" ''
	recall
	run -0 awf-run --resume @
	same "${lines[0]}" 'Dear M. Okafor,'
	deterministic
}

@test "killed while the answer is written, it goes on behind the router" {
	hold 'about invoices and payments'
	die ./router.awf <samples/mail.txt
	run -0 resume
	same "${lines[0]}" 'Dear M. Okafor,'
	same "$(answers "$(transcript)")" ' 1 answer 1 route '
	deterministic
}
