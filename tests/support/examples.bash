# Sourced by the bats files about single examples: they run in a copy, as they stand, on
# their recorded answers; after resume.bash.
# shellcheck shell=bash

# example NAME: its recording answers.
example() {
	cp -r "$ROOT/examples/." .
	export LEDGERS=$PWD AWF_MODEL=replay/recordings/$1.jsonl
	RECORDING=recordings/$1.jsonl
	ISOLATION=$(isolation)
}

# The answers whose request has this text are not there, until recall.
forget() {
	cp "$RECORDING" whole
	grep -v -F "\"match\":\"$1" whole >"$RECORDING" || true
	run ! cmp -s whole "$RECORDING"
}
recall() { mv whole "$RECORDING"; }

# Requests with this text are answered as soon as there is no file named held.
hold() {
	mkdir -p providers
	cat >providers/awf-provider-replay <<-END
		#!/bin/sh
		while IFS= read -r request; do
			case \$request in
			*"$1"*)
				while [ -e "$PWD/held" ]; do
					: >"$PWD/ready"
					sleep 0.02
				done ;;
			esac
			printf '%s\n' "\$request"
		done | "$BUILD/libexec/awf/awf-provider-replay"
	END
	chmod +x providers/awf-provider-replay
	export AWF_PROVIDER_PATH=$PWD/providers
}

# What the steps of a run answered: the paths of the models' messages, each as often as
# there is one. One that was cut off while it came is none.
answers() { jq -r 'select(.type == "message.assistant" and (.payload.partial | not)).path' "$1" | sort | uniq -c | tr -s ' \n' ' '; }

# The latest run is whole, whatever an attempt of it left unfinished; deterministic: it
# also runs again to the same bytes, twice.
sound() {
	run awf-verify "$@"
	[ "$status" = 0 ] || { echo "$output"; return 1; }
	echo "$output"
	same "$(grep -v ': warning: .* never ended: ' <<<"$output")" ''
}
deterministic() { sound --determinism --isolation "$ISOLATION"; }
