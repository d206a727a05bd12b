#!/usr/bin/env bats
# awf-run --seal, and awf-verify --keygen, --key, --head, --print-head. Every bit and
# every cut of a sealed transcript is in tests/unit/test_seal.c.
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	awf-verify --keygen key
	echo hi | awf-run --seal=key --name pair -c 'awf-step a -- tr a-z A-Z | awf-step -r b -- cat' >out
	file=$(transcript)
	id=$(basename "$file" .jsonl)
}

# Makes the chain and the seal of a changed transcript anew, as its forger would.
seal_of() { jq -r 'select(.type == "run.completed").payload.seal.'"$1" "$(transcript)"; }

@test "a sealed run verifies by the key, given as a file or as digits" {
	same "$(cat out)" HI
	for argument in key.pub "$(cat key.pub)"; do
		run -0 --separate-stderr awf-verify --key "$argument"
		same "$output$stderr" ''
	done
	run -0 awf-verify -v
	[[ $output == *": sealed by $(cat key.pub)"*", seal" ]]
	same "$(seal_of algorithm) $(seal_of public_key)" "ed25519 $(cat key.pub)"
}

@test "faults are named with their line, and exit 3" {
	awf-verify --keygen other
	run -3 awf-verify --key other.pub
	same "$output" "awf-verify: $file:6: byte $(head -n 5 "$file" | wc -c): seal: sealed by another key: $(cat key.pub)"
	awf-run -n --name plain -c true
	run -3 awf-verify --key key.pub @plain
	[[ $output == *":2: byte "*": seal: not sealed: the last line is no run.completed with a seal" ]]
	run -3 awf-verify --key key.pub "$AWF_STORAGE"
	same "$(wc -l <<<"$output")" 1
	sed -i '$s/"exit_code":0/"exit_code":1/' "$file"
	run -3 awf-verify "$file"
	[[ $output == *":6: byte "*": seal: the seal is no signature of this line by its public_key: one of them was changed" ]]
	sed -i '$d' "$file"
	run -0 awf-verify -q "$file"
	run -3 awf-verify -q --key key.pub "$file"
	[[ $output == *":5: byte "*": seal: not sealed"* ]]
}

@test "a run that is alive is not sealed yet" {
	mkfifo hold
	awf-run --seal=key -n --id-file live -c 'read -r x <hold' &
	eventually test -s live
	run -3 awf-verify --key key.pub "$(cat live)"
	[[ $output == *": seal: not sealed yet, as the run is alive: "* ]]
	echo >hold
	wait $!
	awf-verify --key key.pub "$(cat live)"
}

@test "what ended badly is sealed too" {
	run -3 awf-run --seal=key -n -c 'awf-step -n a -- false >/dev/null'
	awf-verify --key key.pub
	run -124 awf-run --seal=key -n --timeout 100ms -c 'sleep 9'
	awf-verify --key key.pub
}

@test "a head that was kept is there, or the transcript is not the one it was" {
	awf-verify --key key.pub --print-head >heads
	same "$(cat heads)" "$id 6 $(tail -n 1 "$file" | tr -d '\n' | b2sum -l 256 | cut -d' ' -f1)"
	awf-run -n --name more -c true
	awf-verify --print-head >>heads
	run -0 --separate-stderr awf-verify --head heads "$AWF_STORAGE"
	same "$output$stderr" ''
	run -0 awf-verify -v --head heads
	[[ $output == *", seal, heads" ]]
	sed -i '$d' "$file"
	run -3 awf-verify -q --head heads "$file"
	[[ $output == *":5: byte "*": heads: the transcript ends here, but heads:1 has the digest of line 6: lines were cut off" ]]
	awf-run -n --name third -c true
	run -3 awf-verify --head heads @third
	[[ $output == *": heads: no head of run "*" is in heads" ]]
	run -3 --separate-stderr awf-verify --head heads --print-head @third
	same "$output" ''
}

@test "a pipe will do for a key, which is then nowhere to be read" {
	cat key | awf-run --seal=/dev/stdin -n -c true
	awf-verify --key key.pub
}

@test "the secret key is in no event, argument, message or file" {
	secret=$(cut -d' ' -f2 key)
	[ ${#secret} = 64 ]
	awf-run --seal=key -n -c 'tr "\0" " " </proc/$PPID/cmdline; env' >seen 2>&1
	run -125 awf-run --seal=key.pub -n -c true
	echo "$output" >>seen
	run -1 awf-verify --key key
	echo "$output" >>seen
	awf-verify -v >>seen
	run ! grep -q "$secret" seen
	run ! grep -rq "$secret" "$AWF_STORAGE"
	grep -rq "$(cat key.pub)" "$AWF_STORAGE"
}

@test "the user's key is the default; what is wrong with a key stops the run before it begins" {
	mkdir -p "$XDG_CONFIG_HOME/awf"
	run -125 awf-run --seal -n -c 'touch ran'
	same "$output" "awf-run: $XDG_CONFIG_HOME/awf/seal.key: unable to open the key (awf-verify --keygen makes one): No such file or directory"
	awf-verify --keygen "$XDG_CONFIG_HOME/awf/seal.key"
	awf-run --seal -n -c true
	awf-verify --key "$XDG_CONFIG_HOME/awf/seal.key.pub"
	chmod 640 "$XDG_CONFIG_HOME/awf/seal.key"
	run -125 awf-run --seal -n -c 'touch ran'
	[[ $output == *"seal.key: holds keys and is open to others; run: chmod 600 "* ]]
	run -125 env -u XDG_CONFIG_HOME -u HOME awf-run --seal -n -c 'touch ran'
	same "$output" "awf-run: --seal: no home to look for a key in: say --seal=KEYFILE"
	run -125 awf-run --seal=. -n -c 'touch ran'
	[[ $output == *"neither a regular file nor a pipe" ]]
	[ ! -e ran ]
	same "$(awf-tail --list --json | wc -l)" 2
}

@test "wrong command lines" {
	run -125 awf-run --seal=key --no-transcript -n -c true
	same "$output" "awf-run: --seal: not with --no-transcript: there would be nothing to seal"
	run -4 awf-verify --keygen key
	same "$output" "awf-verify: key.pub: unable to make the key: File exists"
	run -1 awf-verify --keygen a b
	same "$output" "awf-verify: --keygen: 'b' is left over: one FILE only"
	run -1 awf-verify --keygen fresh --schema
	same "$output" "awf-verify: --schema: not with --keygen"
	for option in --repair --print-head --determinism -q "--head none"; do
		# shellcheck disable=SC2086
		run -1 awf-verify --keygen fresh $option
		same "$output" "awf-verify: ${option%% *}: not with --keygen, which verifies nothing"
		# shellcheck disable=SC2086
		run -1 awf-verify --schema $option
		same "$output" "awf-verify: ${option%% *}: not with --schema, which verifies nothing"
	done
	[ ! -e fresh ]
	run -1 awf-verify -v --print-head
	same "$output" "awf-verify: --print-head: not with -v"
	run -1 awf-verify --key out
	[[ $output == "awf-verify: out: holds no public key, "* ]]
	run -1 awf-verify --head out
	[[ $output == "awf-verify: out:1: is no head, "* ]]
	run -4 awf-verify --head none
	run -4 awf-verify --key none
}

# Bytes of the hex digits on stdin.
unhex() { tr -d '\n' | tr a-f A-F | basenc -d --base16; }

@test "OpenSSL agrees" {
	command -v openssl >/dev/null || skip "openssl is not installed"
	tail -n 1 "$file" | tr -d '\n' | sed 's/"signature":"[0-9a-f]*"/"signature":""/' >signed
	{ echo 302a300506032b6570032100; cat key.pub; } | unhex >public.der
	seal_of signature | unhex >signature
	run -0 openssl pkeyutl -verify -pubin -keyform DER -inkey public.der -rawin -in signed -sigfile signature
	[[ $output == *"Verified Successfully"* ]]
}

@test "a sealed run is no other run, however it is copied or renamed" {
	other=$(uuidgen -r 2>/dev/null || cat /proc/sys/kernel/random/uuid)
	copy="$AWF_STORAGE/transcripts/$other.jsonl"
	cp "$file" "$copy"
	run -3 --separate-stderr awf-verify --key key.pub "$other"
	same "$stderr" "awf-verify: $copy: this is the transcript of run $id, not of the one that it is named after: it was copied or renamed"
	# By its path, as part of the storage, as the latest, and renamed.
	run -3 awf-verify "$copy"
	run -3 awf-verify "$AWF_STORAGE"
	ln -sfn "transcripts/$other.jsonl" "$AWF_STORAGE/latest"
	run -3 awf-verify --key key.pub
	mv "$file" "$AWF_STORAGE/transcripts/named.jsonl"
	rm "$copy"
	run -3 awf-verify "$AWF_STORAGE"
	# Outside of a storage a file may be called anything, but be there once.
	mkdir elsewhere
	mv "$AWF_STORAGE/transcripts/named.jsonl" elsewhere/one.jsonl
	awf-verify elsewhere/one.jsonl
	awf-verify elsewhere
	cp elsewhere/one.jsonl elsewhere/two.jsonl
	run -3 --separate-stderr awf-verify elsewhere
	same "$stderr" "awf-verify: elsewhere/two.jsonl: a second transcript of run $id in this directory"
}
