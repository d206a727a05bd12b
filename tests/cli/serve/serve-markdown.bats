#!/usr/bin/env bats
# How the page of awf-serve reads Markdown; no browser is needed for that.
# shellcheck shell=bash
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() { command -v node >/dev/null || skip "no node"; }

@test "what each form of Markdown is, and where links may lead" {
	timeout 300 node "$ROOT/tests/page/markdown.mjs" forms
}

# bats test_tags=ci
@test "hostile Markdown takes time in proportion to its length, and makes no deep tree" {
	timeout 300 node "$ROOT/tests/page/markdown.mjs" hostile
}
