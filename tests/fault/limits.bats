#!/usr/bin/env bats
# Every program with next to nothing: few descriptors, little memory, files that may not grow, a small
# stack. None dies of a signal, waits for ever, or ends without a word.
# bats file_tags=ci
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../support/helpers

prepare() {
	awf-run --name base -n -c 'awf-step -n a -q -- echo hi' >/dev/null
	mkdir jobs done
	printf '#!/usr/bin/env -S awf-run\nawf-step -n a -q -- true\n' >up.awf
	chmod +x up.awf
	printf '%s\n' '{"type":"vendor.note","payload":{}}' >event
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"ping"}' >request
	echo x >line
	# What each is called with, and reads.
	programs="awf-run -n -c :
awf-step -n a -r -- cat <line
awf-step -n a -r --sandbox workspace -- cat <line
awf-tail @base
awf-replay @base
awf-verify @base
awf-ctl list
awf-serve --listen unix:socket
awf-mcp --workflows . <request
awf-worker --once jobs ./up.awf
awf-ship --to sqlite:$PWD/shipped.db @base
awf-record <event
$BUILD/libexec/awf/awf-sandbox -q -- true"
}

# LIMIT VALUE...: every program with each value of ulimit -LIMIT.
each_with() {
	local limit=$1 line from value rc
	shift
	while read -r line; do
		from=/dev/null
		[[ $line != *' <'* ]] || from=${line##* <}
		for value; do
			rc=0
			: >jobs/one
			# A server goes on until it is told to end.
			# shellcheck disable=SC2086
			timeout -k 2 "$([[ $line == awf-serve* ]] && echo 0.5 || echo 20)" \
				sh -c 'ulimit -c 0; ulimit "-$1" "$2" || exit; shift 2; exec "$@"' - "$limit" "$value" ${line% <*} <"$from" 2>../err >../out 3>&- || rc=$?
			rm -f socket
			case $line in awf-serve*) [ "$rc" != 124 ] || continue ;; esac
			[ $rc -lt 124 ] || [ $rc = 125 ] || [ $rc = 127 ] || { echo "$line with -$limit $value: $rc $(cat ../err)"; return 1; }
			[ $rc = 0 ] || [ "$limit" = f ] || [ -s ../err ] || [[ $line == awf-worker* ]] ||
				{ echo "$line with -$limit $value ended with $rc and said nothing"; return 1; }
		done
	done <<<"$programs"
}

@test "with few descriptors" {
	# shellcheck disable=SC2046
	each_with n $(rounds "4 6 8 10 13" "$(seq -s ' ' 3 40)")
}

@test "with little memory" {
	# shellcheck disable=SC2046
	each_with v $(rounds "9000 20000" "$(seq -s ' ' 4000 2000 30000) 50000 80000")
}

@test "with files that may not grow" {
	# shellcheck disable=SC2046
	each_with f $(rounds "0 8" "0 1 2 4 8 16 64")
}

@test "with a small stack" {
	# shellcheck disable=SC2046
	each_with s $(rounds "256" "160 200 256 512 1024")
}
