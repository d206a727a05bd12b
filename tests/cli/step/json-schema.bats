#!/usr/bin/env bats
# JSON Schema as published: the suite of json-schema-org, where AWF_SCHEMA_SUITE names a
# copy of it. make check-schema SUITE=PATH shows each file.
bats_require_minimum_version 1.5.0
load ../../support/helpers

@test "every required test of the JSON Schema Test Suite passes" {
	[ -n "${AWF_SCHEMA_SUITE:-}" ] || skip "AWF_SCHEMA_SUITE names no copy of the suite"
	run -0 schema-suite "$AWF_SCHEMA_SUITE"
	[[ $output == *"draft2020-12, required: "*"pass (100.0 %)"* ]]
	[[ $output == *"draft7, required: "*"pass (100.0 %)"* ]]
}

@test "a failing test of a suite fails the run, and is named" {
	mkdir -p suite/tests/draft7 suite/tests/draft2020-12
	printf '%s\n' '[{"description":"d","schema":{"type":"null"},"tests":[' \
		'{"description":"right","data":null,"valid":true},' \
		'{"description":"wrong","data":1,"valid":true}]}]' >suite/tests/draft7/a.json
	printf '%s\n' '[{"description":"far","schema":{"$ref":"http://localhost:1234/x.json"},"tests":[' \
		'{"description":"t","data":null,"valid":true}]},' \
		'{"description":"near","schema":true,"tests":[' \
		'{"description":"t","data":null,"valid":true}]}]' >suite/tests/draft2020-12/b.json
	run -1 schema-suite suite
	[[ $output == *"FAILED draft7/a.json: d: wrong: it is invalid"* ]]
	[[ $output == *"not run draft2020-12/b.json: far: 1 tests"* ]]
	[[ $output == *"draft2020-12, required: 1 of 1 pass (100.0 %), 1 not run"* ]]
	[[ $output == *"draft7, required: 1 of 2 pass (50.0 %), 0 not run"* ]]
	run -1 schema-suite nowhere
}
