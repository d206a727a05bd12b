#!/usr/bin/env bats
# What leads an agent through gates is killed at random, and so is what asks: nothing that was
# answered is asked again, nothing is done twice.
# shellcheck shell=bash
load ../support/helpers
bats_require_minimum_version 1.5.0

prepare() {
	mkdir flows
	{
		echo '#!/usr/bin/env awf-run'
		echo "awf-step --ask-grace 20 --ask 'gate 1 of {{data}}' g1 |"
		for n in 2 3 4 5 6 7 8 9 10; do
			echo "awf-step --ask-grace 20 --ask 'gate $n after {{data}}' g$n |"
		done
		echo "awf-step --effects external -r end -- sh -c 'cat; echo x >>effects'"
	} >flows/ten.awf
	chmod +x flows/ten.awf
}

@test "ten gates, with awf-mcp, a step or awf-run killed at random" {
	seed=${SEED:-$RANDOM}
	echo "seed $seed"
	python3 "$ROOT/tests/fault/gates.py" "$seed" "$(rounds 2 60)"
	[ -z "$(ls "$AWF_STORAGE/runs")" ]
}
