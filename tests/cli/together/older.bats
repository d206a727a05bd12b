#!/usr/bin/env bats
# Older and other systems: what is checked when AWF is built, and what is done where a kernel has less.
# shellcheck shell=bash disable=SC2016,SC2154 # $variables of inner shells; bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() { refuse=(python3 "$ROOT/tests/support/refuse.py" after-5.10 ENOSYS); }

# MODULE VERSION...: libraries of these versions are here, the others of new ones.
libraries() {
	mkdir -p stubs
	cat >stubs/pkg-config <<-'END'
		#!/bin/sh
		case $2 in
		libcurl) echo "${LIBCURL-8.5.0}" ;;
		libsodium) echo "${LIBSODIUM-1.0.18}" ;;
		*) echo 2.99.1 ;;
		esac
	END
	chmod +x stubs/pkg-config
}

@test "what is too old, or missing, is named in one line each before anything is compiled" {
	libraries
	PKG_CONFIG=$PWD/stubs/pkg-config run -0 --separate-stderr "$ROOT/packaging/versions"
	same "$stderr" ''
	[[ $output == *"libcurl 8.5.0"*"libsodium 1.0.18"*"jansson 2.99.1"* ]]
	LIBCURL=7.73.99 LIBSODIUM='' PKG_CONFIG=$PWD/stubs/pkg-config run -1 --separate-stderr "$ROOT/packaging/versions"
	same "$stderr" "awf: libcurl 7.74 or later is needed to build it, and 7.73.99 is here
awf: libsodium 1.0.18 or later is needed to build it, and none is here"
	# 7.100 comes after 7.74.
	LIBCURL=7.100 PKG_CONFIG=$PWD/stubs/pkg-config run -0 "$ROOT/packaging/versions"
}

@test "a C library that is too old is named" {
	libraries
	printf '#!/bin/sh\necho glibc 2 30\n' >stubs/cc
	chmod +x stubs/cc
	CC=$PWD/stubs/cc PKG_CONFIG=$PWD/stubs/pkg-config run -1 --separate-stderr "$ROOT/packaging/versions"
	same "${stderr_lines[0]}" "awf: glibc 2.31 or later is needed to build it, and 2.30 is here"
}

@test "the page says the same of the oldest versions as the check" {
	while read -r name _ version; do
		grep -qF "| $name | $version |" "$ROOT/doc/platforms.md" || { echo "not there: $name $version" >&2; return 1; }
	done < <(echo glibc - 2.31; sed -n '/<<END$/,/^END$/p' "$ROOT/packaging/versions" | sed '1d; $d')
}

@test "awf doctor names a kernel that is too old" {
	setarch --uname-2.6 true 2>/dev/null || skip 'no personality of older kernels here'
	run -3 --separate-stderr setarch --uname-2.6 awf doctor --json
	[[ $(jq -r 'select(.name == "kernel") | .status + ": " + .message' <<<"$output") == "wrong: Linux 2.6."*": 5.10 or later is needed" ]]
	run awf doctor --json
	same "$(jq -r 'select(.name == "kernel")' <<<"$output")" ''
}

@test "with the system calls of Linux 5.10 workflows are recorded, resumed and replayed" {
	cat >flow.awf <<-'END'
		printf 'a\nb\n' | awf-step -n up -i lines s -r -- tr a-z A-Z |
			awf-step -n down s -r -- sh -c 'tr A-Z a-z; [ -e again ] || exit 3'
	END
	run -1 "${refuse[@]}" awf-run flow.awf
	touch again
	same "$("${refuse[@]}" awf-run --resume @ -q | jq -r .value 2>/dev/null | tr '\n' ' ')" "$(awf-run -q flow.awf | jq -r .value 2>/dev/null | tr '\n' ' ')"
	"${refuse[@]}" awf-verify -q
	"${refuse[@]}" awf-verify --determinism --isolation copy
}

@test "with the system calls of Linux 5.10 the sandbox has no Landlock, and says so or goes on without" {
	sandbox=$BUILD/libexec/awf/awf-sandbox
	"$sandbox" --check >/dev/null || skip 'this system lacks what a sandbox takes'
	mkdir elsewhere here
	echo secret >elsewhere/file
	cd here
	run -77 --separate-stderr "${refuse[@]}" "$sandbox" -- true
	[[ $stderr == *'this system lacks Landlock (files elsewhere can be read)'* ]]
	same "$("${refuse[@]}" "$sandbox" --check | jq -c '[.ready, .landlock]')" '[false,0]'
	# Nothing outside is changed all the same.
	same "$("${refuse[@]}" "$sandbox" --prefer -q -- sh -c 'echo made >made; cat made; echo x >../elsewhere/file; echo x >../elsewhere/new' 2>/dev/null)" made
	same "$(cat ../elsewhere/file)" secret
	[ ! -e ../elsewhere/new ] && [ -e made ]
}

@test "what a portable build does not test is a test that is there, with a reason" {
	while IFS=$'\t' read -r what reason; do
		[ -n "$reason" ] && [ -f "$ROOT/${what%%: *}" ] || { echo "no such file, or no reason: $what" >&2; return 1; }
		[[ $what != *': '* ]] || grep -qF "@test \"${what#*: }\" {" "$ROOT/${what%%: *}" || { echo "no such test: $what" >&2; return 1; }
	done < <(grep -v '^#' "$ROOT/tests/portable.skips")
}
