#!/usr/bin/env bats
# How the page of awf-serve reads Markdown; no browser is needed for that.
# shellcheck shell=bash
bats_require_minimum_version 1.5.0
load ../../support/helpers

@test "Markdown: what each form is, and that hostile texts take little time and make no deep tree" {
	command -v node >/dev/null || skip "no node"
	timeout 300 node "$ROOT/tests/page/markdown.mjs" >&3
}
