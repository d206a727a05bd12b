#!/usr/bin/env bats
# awf-verify --against: lines of JSON and a schema, without a transcript.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	echo '{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"at":{"format":"date"}},"typ":1}' >schema.json
}

@test "lines that keep to the schema are silent, others are named" {
	printf '{"n":1}\n\n  {"n":2.0} \n{"n":3}' >good
	run -0 --separate-stderr awf-verify --against schema.json good - <<<'{"n":4}'
	same "$output$stderr" ''
	run -0 awf-verify --against schema.json <good
	printf '{"n":"x"}\n{"n":1}\n[]\n{"n":\n{"m":1}' >bad
	run -3 --separate-stderr awf-verify --against schema.json good bad
	same "$stderr" "awf-verify: bad:1: /n: expected integer, got string
awf-verify: bad:3: expected object, got array
awf-verify: bad:4: not JSON: ends too early
awf-verify: bad:5: 'n' is missing"
	run -3 --separate-stderr awf-verify --against schema.json <bad
	[[ $stderr == 'awf-verify: stdin:1: '* ]]
}

@test "formats are checked when asked" {
	echo '{"n":1,"at":"2026-02-29"}' >line
	run -0 awf-verify --against schema.json line
	run -3 --separate-stderr awf-verify --against schema.json --formats line
	same "$stderr" 'awf-verify: line:1: /at: expected a value of format "date", got "2026-02-29"'
}

@test "what it reads, and what it goes with" {
	run -2 --separate-stderr awf-verify --against nowhere.json </dev/null
	[[ $stderr == 'awf-verify: nowhere.json: '* ]]
	echo '{"type":5}' >wrong.json
	run -2 --separate-stderr awf-verify --against wrong.json </dev/null
	[[ $stderr == 'awf-verify: wrong.json: /type: expected null, boolean, '* ]]
	run -1 --separate-stderr awf-verify --against schema.json nowhere
	same "$stderr" 'awf-verify: nowhere: unable to open: No such file or directory'
	run -1 --separate-stderr awf-verify --against schema.json --repair
	same "$stderr" 'awf-verify: --repair: not with --against, which verifies no transcript'
	run -1 --separate-stderr awf-verify --against schema.json --schema
	same "$stderr" 'awf-verify: --schema: not with --against'
	run -1 --separate-stderr awf-verify --formats
	same "$stderr" 'awf-verify: --formats: only with --against'
}

@test "the schemas that it prints are of those that it reads" {
	awf-run -n -c 'awf-step one -n -- true'
	awf-verify --schema >line.json
	run -0 awf-verify --against line.json "$(transcript)"
	sed 's/"seq":1,/"seq":"1",/' "$(transcript)" >changed
	run -3 --separate-stderr awf-verify --against line.json changed
	[[ $stderr == 'awf-verify: changed:1: /seq: '* ]]
}
