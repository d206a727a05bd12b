#!/usr/bin/env bats
# What is given away: the tarball of the source, and that what is built of it depends on nothing else.
# shellcheck shell=bash disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

# The tarball of this tree, and DIST.
dist() {
	make -s -C "$ROOT" BUILD="$PWD/made" dist 2>/dev/null
	version=$(sed -n 's/.*AWF_VERSION "\(.*\)"/\1/p' "$ROOT/lib/base/version.h")
	tarball=$PWD/made/dist/awf-$version.tar.gz
}

# bats test_tags=turn:2
@test "the tarball has what is needed to build and to test, no name of this machine, and makes itself again" {
	dist
	[ -s "$tarball" ]
	tar -tvzf "$tarball" >list
	# All in one directory, of nobody, with modes for all and one time.
	same "$(awk '{ print $2, $4, $5 }' list | sort -u | wc -l)" 1
	[[ $(head -n 1 list) == 'drwxr-xr-x 0/0 '* ]]
	same "$(awk '{ print $1 }' list | sort -u | paste -sd' ')" '-rw-r--r-- -rwxr-xr-x drwxr-xr-x lrwxr-xr-x'
	same "$(awk '$6 !~ /^awf-[^\/]*\// { print $6 }' list)" ''
	tar -xzf "$tarball"
	for file in Makefile rooms.mk README.md INSTALL.md LICENSE CHANGELOG.md packaging/debian/control tests/run .ci/run \
		examples/ci/recording/latest; do
		[ -e "awf-$version/$file" ] || [ -L "awf-$version/$file" ] || { echo "$file"; false; }
	done
	[ ! -e "awf-$version/.git" ] && [ ! -e "awf-$version/build" ]
	# There is no git in it; what was built and what a run left is not taken along.
	mkdir -p "awf-$version/build/obj" "awf-$version/examples/out"
	touch "awf-$version/build/obj/x.o" "awf-$version/examples/out/x"
	make -s -C "awf-$version" BUILD=build dist
	cmp "$tarball" "awf-$version/build/dist/awf-$version.tar.gz"
	SOURCE_DATE_EPOCH=86400 make -s -C "awf-$version" BUILD=build dist
	same "$(TZ=UTC tar -tvzf "awf-$version/build/dist/awf-$version.tar.gz" | awk '{ print $4, $5 }' | sort -u)" '1970-01-02 00:00'
}

# The whole of it: make check-reproducible, and CI, which builds its installation of the tarball.
# bats test_tags=turn:4
@test "the same source gives the same bytes in two places, none of which is in them" {
	dist
	export CCACHE_DISABLE=1
	for place in one another/deeper; do
		mkdir -p "$place"
		tar -xzf "$tarball" -C "$place"
		make -s -C "$place/awf-$version" BUILD=build build/libawf-ctl.a build/seccomp_rules build/gen/draft-07_schema.o
	done
	# With a directory of its own for what is built, too.
	make -s -C "one/awf-$version" BUILD="$PWD/elsewhere" "$PWD"/elsewhere/{libawf-ctl.a,seccomp_rules,gen/draft-07_schema.o}
	for file in libawf-ctl.a seccomp_rules gen/draft-07_schema.o; do
		cmp "one/awf-$version/build/$file" "another/deeper/awf-$version/build/$file"
		cmp "one/awf-$version/build/$file" "elsewhere/$file"
		run -1 grep -cF "$PWD" "elsewhere/$file"
	done
}

@test "the version stands in one file" {
	version=$(sed -n 's/.*AWF_VERSION "\(.*\)"/\1/p' "$ROOT/lib/base/version.h")
	same "$(awf --version)" "awf $version"
	# Where else it is printed, it comes from there: examples and fixtures are records of what was.
	cd "$ROOT"
	run -1 grep -rnFw --include=*.c --include=*.h --include=*.json --include=*.mk --include=Makefile --include=control "$version" \
		cmd lib/base/text.h lib/transcript lib/storage lib/net lib/mcp_client include share packaging Makefile rooms.mk
	same "$(make -s -C "$ROOT" --eval='version: ; @echo $(VERSION)' version)" "$version"
}
