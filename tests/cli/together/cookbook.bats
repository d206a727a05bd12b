#!/usr/bin/env bats
# bats file_tags=ci
# The recipes of doc/cookbook.md, each in an empty directory and with an empty home, as they are printed.
bats_require_minimum_version 1.5.0
load ../../support/helpers

# CHAPTER: its recipes.
chapter() {
	local titles
	mapfile -t titles < <(awk -v chapter="## $1" '/^## / { on = $0 == chapter } on && sub(/^### /, "")' "$ROOT/doc/cookbook.md")
	[ "${#titles[@]}" -gt 0 ]
	patient
	run python3 "$ROOT/tests/support/recipes.py" "$ROOT/doc/cookbook.md" "${titles[@]}"
	same "$output" "${#titles[@]} tried, 0 faults"
}

@test "Streams of items" { chapter 'Streams of items'; }
@test "Failures" { chapter 'Failures'; }
@test "People" { chapter 'People'; }
@test "Models" { chapter 'Models'; }
@test "Cost" { chapter 'Cost'; }
@test "The record" { chapter 'The record'; }
@test "The shell around it" { chapter 'The shell around it'; }
@test "Servers and machines" { chapter 'Servers and machines'; }

@test "no chapter is left out" {
	grep '^## ' "$ROOT/doc/cookbook.md" | sed 's/^## //' | while read -r name; do
		grep -qF "chapter '$name'" "$BATS_TEST_FILENAME" || { echo "$name"; exit 1; }
	done
}
