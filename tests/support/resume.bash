# Sourced by the bats files about resume: workflows that die where they are held.
# shellcheck shell=bash

# ledger NAME: an effect; its input is entered into the file NAME.ledger.
# hold: waits as long as there is a file named held, and says that it does by ready.
resume_tools() {
	mkdir -p bin
	cat >bin/ledger <<-'END'
		#!/bin/sh
		# shellcheck disable=SC2188
		input=$(cat)
		printf '%s %s\n' "$AWF_CALL" "$input" >>"$LEDGERS/$1.ledger"
		printf 'done %s\n' "$input"
	END
	cat >bin/hold <<-'END'
		#!/bin/sh
		while [ -e "$LEDGERS/held" ]; do
			: >"$LEDGERS/ready"
			sleep 0.02
		done
		cat
	END
	chmod +x bin/*
	export PATH="$PWD/bin:$PATH" LEDGERS="$PWD"
}

# How many lines a ledger has.
entries() { if [ -e "$1.ledger" ]; then wc -l <"$1.ledger"; else echo 0; fi; }

# The run's id, as the last line of a file that dies says.
id() { cat run.id; }

# No process has it in its environment that it belongs to the run.
deserted() { ! grep -qszxF "AWF_RUN_ID=$(id)" /proc/[0-9]*/environ; }

# Runs a workflow until it is held, and kills it. Its stdin is that of the caller.
die() {
	: >held
	rm -f ready
	awf-run --id-file run.id "$@" >out1 2>err1 3>&- <&0 &
	eventually test -e ready
	kill -9 $!
	wait $! 2>/dev/null || true
	eventually deserted
	rm -f held ready
}

# The same for a resumed one.
die_again() {
	: >held
	rm -f ready
	awf-run --resume "$(id)" "$@" >out1 2>err1 3>&- </dev/null &
	eventually test -e ready
	kill -9 $!
	wait $! 2>/dev/null || true
	eventually deserted
	rm -f held ready
}

resume() { awf-run --resume "$(id)" "$@" </dev/null; }

# The file of the run.
record() { echo "$AWF_STORAGE/transcripts/$(id).jsonl"; }

cleanup() {
	local pids
	pids=$(jobs -p)
	rm -f held
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null || true
}
