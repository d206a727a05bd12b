#!/usr/bin/env bats
# examples/receipts.awf: texts become data by a schema, and jq adds them up.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/resume
load ../../support/examples

prepare() { example receipts; }

@test "receipts are added up by kind; one answer had to be given again" {
	run -0 --separate-stderr ./receipts.awf <samples/receipts.txt
	same "$output" "$(printf 'food\t28.8\noffice\t31.45\ntravel\t83.3')"
	same "$(answers "$(transcript)")" ' 5 read '
	same "$(payloads message.user 'select(.turn == 1).blocks[0].text | split("\n")[0]' | jq -r .)" \
		'The answer does not keep to the JSON Schema: /kind: expected one of ["travel","food","office"], got "stationery"'
	deterministic
}

@test "a receipt that none can be made of fails, and nothing is summed" {
	sed -i '/"match":"Papeterie/s/office/stationery/' "$RECORDING"
	grep Papeterie "$RECORDING" | tail -n 1 >again
	cat again >>"$RECORDING"
	run -3 --separate-stderr ./receipts.awf <samples/receipts.txt
	same "$output" ''
	same "$(payloads step.completed 'select(.error and .name == "read") | .error.code')" '"schema"'
	deterministic
}
