#!/usr/bin/env bats
# What make install puts where, and that uninstall takes all of it away again.
bats_require_minimum_version 1.5.0
load ../../support/helpers

in_place() {
	make -s -C "$ROOT" -o all STATIC= BUILD="$BUILD" DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr "$@"
}
# What is installed where nothing else is said: that is made once.
installed() {
	[ -e "$BATS_FILE_TMPDIR/root" ] || in_place DESTDIR="$BATS_FILE_TMPDIR/root" install
	cp -a "$BATS_FILE_TMPDIR/root" "$BATS_TEST_TMPDIR"
}

# bats test_tags=turn:2
@test "installed programs find their providers, and pages and schemas are there" {
	installed
	prefix="$BATS_TEST_TMPDIR/root/usr"
	PATH="$prefix/bin:/usr/bin:/bin"
	printf '%s\n' '{"type":"message","blocks":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{},"model":"m"}' >answer.jsonl
	same "$(echo hi | awf-run -c 'awf-step -r -m replay/answer.jsonl greet')" hello
	awf-verify
	[ -s "$prefix/share/awf/prices" ] && [ -s "$prefix/share/awf/www/page.js" ] && [ -s "$prefix/share/awf/openapi.json" ]
	same "awf $(jq -r .info.version "$prefix/share/awf/openapi.json")" "$(awf --version)"
	"$prefix/bin/awf" init begun
	[ -x begun/brief.awf ] && [ -x begun/tools/notes ] && [ -s begun/agents/writer.md ]
	same "$(cat "$prefix/share/awf/schemas/transcript.schema.json")" "$(awf-verify --schema)"
	for schema in draft-07 draft-2020-12 transcript interagent agent-event daemon-event langgraph runtime otlp agentloom; do
		[ -s "$prefix/share/awf/schemas/$schema.schema.json" ] || { echo "schema: $schema"; false; }
	done
}

# bats test_tags=turn:3
@test "the examples are there, and run as they stand" {
	installed
	prefix="$BATS_TEST_TMPDIR/root/usr"
	examples=$prefix/share/doc/awf/examples
	same "$(cd "$examples" && find . ! -type d | sort)" "$(cd "$ROOT/examples" && find . ! -type d | sort)"
	cd "$examples"
	[[ $(echo 'solid-state batteries' | PATH=$prefix/bin:$PATH AWF_MODEL=replay/recordings/brief.jsonl ./brief.awf) == 'Solid-state batteries: '* ]]
	# What are links in the tree are links there too.
	PATH=$prefix/bin:$PATH ci/check --isolation copy
	same "$(readlink ci/recording/latest)" "$(readlink "$ROOT/examples/ci/recording/latest")"
	for document in README.md INSTALL.md CHANGELOG.md; do cmp "$ROOT/$document" "../$document"; done
}

# bats test_tags=turn:3
@test "README, word for word, from an installation and an empty home directory" {
	[ "$(isolation)" = namespaces ] || skip 'no namespaces here'
	installed
	PATH="$BATS_TEST_TMPDIR/root/usr/bin:/usr/local/bin:/usr/bin:/bin"
	run python3 "$ROOT/tests/support/recipes.py" "$BATS_TEST_TMPDIR/root/usr/share/doc/awf/README.md"
	same "$output" '1 tried, 0 faults'
}

# bats test_tags=turn:3
@test "what README and doc link to is there where they are installed" {
	installed
	make -s -C "$ROOT" BUILD="$BATS_TEST_TMPDIR/build" DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr install-html
	place="$BATS_TEST_TMPDIR/root/usr/share/doc/awf"
	for page in awf.7 awf-run.1 awf-transcript.3; do [ -s "$place/html/$page.html" ]; done
	same "$(find "$place/html" -name 'awf*.html' | wc -l)" "$(find "$ROOT/man" -type f | wc -l)"
	python3 - "$place" >lost <<-'END'
		import html.parser, pathlib, re, sys
		place = pathlib.Path(sys.argv[1])
		class Links(html.parser.HTMLParser):
		    def __init__(self, file):
		        super().__init__()
		        self.links, self.ids = set(), set()
		        self.feed(file.read_text())
		    def handle_starttag(self, tag, attributes):
		        for name, value in attributes:
		            if name in ("href", "src") and not value.startswith("http"): self.links.add(value)
		            if name == "id": self.ids.add(value)
		known = {file: Links(file) for file in place.glob("html/*.html")}
		for file, found in known.items():
		    for link in found.links:
		        path, _, name = link.partition("#")
		        to = (file.parent / path).resolve() if path else file
		        if not to.exists() or name and to in known and name not in known[to].ids:
		            print(file.name, link)
		for file in [*place.glob("doc/*.md"), place / "README.md"]:
		    for link in re.findall(r"\]\(([^()#]+)[^()]*\)", re.sub(r"```.*?```", "", file.read_text(), flags=re.S)):
		        if not (file.parent / link).exists() and link not in ("LICENSE", "HACKING.md", "BENCHMARKS.md"):
		            print(file.name, link)
	END
	same "$(cat lost)" ''
	in_place uninstall
	same "$(find "$BATS_TEST_TMPDIR/root" ! -type d)" ''
}

@test "prices and agents are those beside the programs, installed or built" {
	mkdir agents
	printf '%s\n' '{"type":"message","blocks":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1000000},"model":"m"}' >answer.jsonl
	run -2 --separate-stderr awf-step -n -p hi -a nobody x
	[[ $stderr == *" $ROOT/share/agents"* ]]
	awf-run -c 'awf-step -n -p hi -r -m replay/answer.jsonl greet'
	[ "$BUILD" = "$ROOT/build/test" ] || skip 'built outside of the source tree'
	installed
	prefix="$BATS_TEST_TMPDIR/root/usr"
	echo 'replay/* 7 7' >"$prefix/share/awf/prices"
	[[ $("$prefix/bin/awf-tail" --cost -n 1) == *'$7.0000'* ]]
	mkdir "$prefix/share/awf/agents"
	printf -- '---\nmodel: replay/answer.jsonl\n---\n' >"$prefix/share/awf/agents/greeter.md"
	same "$("$prefix/bin/awf-step" -r -n -p hi -a greeter greet)" hello
}

# bats test_tags=turn:3
@test "every program and page is installed, and a program's completions" {
	installed
	prefix="$BATS_TEST_TMPDIR/root/usr"
	programs=$(make -s -C "$ROOT" rooms | sed -n 's/^program \([^ ]*\) .*/\1/p')
	[ "$(wc -l <<<"$programs")" -gt 30 ]
	for program in $programs; do
		where=${program%/*}
		program=${program##*/}
		same "$("$prefix/$where/$program" --version)" "$("$BUILD/$where/$program" --version)"
		page=$(page_of "$program")
		[ -s "$prefix/share/man/man${page##*.}/$page" ] || { echo "man: $program"; false; }
		[ "$where" = bin ] || continue
		[ -s "$prefix/share/bash-completion/completions/$program.bash" ] || { echo "bash: $program"; false; }
		[ -s "$prefix/share/zsh/site-functions/_$program" ] || { echo "zsh: $program"; false; }
		[ -s "$prefix/share/fish/vendor_completions.d/$program.fish" ] || { echo "fish: $program"; false; }
	done
	for page in awf.7 awf-tools.7 awf-skills.7 awf-provider.7 awf-projections.7 awf-transcript.3 awf-transcript.5 awf-agent.5 awf-tool.5 awf-mcp.5; do
		[ -s "$prefix/share/man/man${page##*.}/$page" ] || { echo "man: $page"; false; }
	done
}

# bats test_tags=turn:2
@test "every program lies at another address each time it runs, static ones too" {
	installed
	for program in "$BATS_TEST_TMPDIR"/root/usr/bin/* "$BATS_TEST_TMPDIR"/root/usr/libexec/awf/awf-*; do
		readelf -d "$program" | grep -q 'Flags:.* PIE$' || { echo "$program"; false; }
	done
	[ "$BUILD" = "$ROOT/build/test" ] || skip 'built outside of the source tree'
	[ -n "$(make -s -C "$ROOT" --eval='static: ; @echo $(STATIC)' static)" ] || skip 'no static programs here'
	programs="bin/awf-run bin/awf-step libexec/awf/awf-tool-read"
	# shellcheck disable=SC2086
	make -s -C "$ROOT" BUILD="$ROOT/build" $(printf "$ROOT/build/static-pie/%s " $programs)
	for program in $programs; do
		readelf -d "$ROOT/build/static-pie/$program" >dynamic
		grep -q 'Flags:.* PIE$' dynamic
		run -1 grep NEEDED dynamic
		same "$("$ROOT/build/static-pie/$program" --version)" "$("$BUILD/$program" --version)"
	done
}

# bats test_tags=turn:4
@test "the library lies where its pkg-config file says, in the directories that were given" {
	in_place LIBDIR=/usr/lib64 INCLUDEDIR=/usr/include/local install
	tree="$BATS_TEST_TMPDIR/root"
	export PKG_CONFIG_PATH="$tree/usr/lib64/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$tree"
	same "$(sed -n 2,3p "$PKG_CONFIG_PATH/awf-transcript.pc")" $'libdir=/usr/lib64\nincludedir=/usr/include/local'
	[ -s "$tree/usr/include/local/awf/transcript.h" ] && [ -s "$tree/usr/lib64/libawf-transcript.a" ]
	same "$(readlink "$tree/usr/lib64/libawf-transcript.so")" libawf-transcript.so.0
	[ -s "$tree/usr/lib64/libawf-transcript.so.0" ]
	[[ " $(pkg-config --cflags awf-transcript) " == *" -I$tree/usr/include/local "* ]]
	in_place LIBDIR=/usr/lib64 INCLUDEDIR=/usr/include/local uninstall
	same "$(find "$tree" ! -type d)" ''
}

# bats test_tags=turn:3
@test "uninstall leaves no file, but those of a site" {
	DESTDIR="$BATS_TEST_TMPDIR/a root"
	in_place DESTDIR="$DESTDIR" install
	mkdir "$DESTDIR/usr/share/awf/agents"
	echo ours | tee "$DESTDIR/usr/share/awf/agents/site.md" >"$DESTDIR/usr/libexec/awf/awf-provider-site"
	echo ours >"$DESTDIR/usr/share/awf/init/tools/site"
	in_place DESTDIR="$DESTDIR" uninstall
	same "$(cd "$DESTDIR" && find . ! -type d | sort)" './usr/libexec/awf/awf-provider-site
./usr/share/awf/agents/site.md
./usr/share/awf/init/tools/site'
	rm -r "$DESTDIR"/usr/libexec/awf/* "$DESTDIR"/usr/share/awf/*
	in_place DESTDIR="$DESTDIR" install
	in_place DESTDIR="$DESTDIR" uninstall
	same "$(find "$DESTDIR" ! -type d -o -name awf)" ''
}

@test "what has a prefix compiled in is built again for another one" {
	make -s -C "$ROOT" BUILD="$BATS_TEST_TMPDIR/build" PREFIX=/one "$BATS_TEST_TMPDIR/build/obj/lib/io/installation.o"
	strings=$(tr -c '[:print:]' '\n' <"$BATS_TEST_TMPDIR/build/obj/lib/io/installation.o")
	grep -q '^/one/share/awf$' <<<"$strings"
	make -s -C "$ROOT" BUILD="$BATS_TEST_TMPDIR/build" PREFIX=/two "$BATS_TEST_TMPDIR/build/obj/lib/io/installation.o"
	strings=$(tr -c '[:print:]' '\n' <"$BATS_TEST_TMPDIR/build/obj/lib/io/installation.o")
	grep -q '^/two/share/awf$' <<<"$strings"
}

@test "the prefix has the name that other makefiles give it, too" {
	for name in PREFIX prefix; do
		commands=$(env -u PREFIX make -n -C "$ROOT" -o all STATIC= BUILD="$BUILD" "$name=/one" install 2>&1)
		grep -q ' "/one/bin"' <<<"$commands"
		run ! grep '/usr/local/bin"' <<<"$commands"
	done
	commands=$(env -u PREFIX -u prefix make -n -C "$ROOT" -o all STATIC= BUILD="$BUILD" install 2>&1)
	grep -q ' "/usr/local/bin"' <<<"$commands"
}

# bats test_tags=ci
@test "with SHARED_LIBS=1 programs have no library that updates do not reach" {
	ls "$(cc -print-file-name=libjansson.a)" || skip "no archives here"
	commands=$(make -n -C "$ROOT" BUILD="$PWD/build" SHARED_LIBS=1 install DESTDIR="$PWD/root" 2>&1)
	[[ $commands == *' -ljansson '* ]]
	same "$(grep -cE 'lib(jansson|sodium|yaml)\.a|static-pie' <<<"$commands")" 0
	commands=$(make -n -C "$ROOT" BUILD="$PWD/build" all 2>&1)
	[[ $commands == *libjansson.a* ]]
}

# bats test_tags=ci
@test "a cross build runs no program of the target, and makes its filters of system calls" {
	command -v "${CC:-cc}" || skip "no compiler here"
	# Of a compiler for another machine its name is what counts.
	printf '#!/bin/sh\n[ "$1" = -dumpmachine ] && echo aarch64-linux-gnu && exit\nexec cc "$@"\n' >cross-cc
	chmod +x cross-cc
	commands=$(make -n -C "$ROOT" CC="$PWD/cross-cc" BUILD="$PWD/build" all 2>&1)
	grep -q 'build-machine/seccomp_rules aarch64 >' <<<"$commands"
	grep -q 'build-machine/bin/awf-verify --schema' <<<"$commands"
	same "$(grep -cE "(^|[^-])$PWD/build/(bin/[a-z-]*|seccomp_rules) (--schema|>)" <<<"$commands")" 0
	make -s -C "$ROOT" BUILD="$PWD/native" "$PWD/native/seccomp_rules"
	native/seccomp_rules >here.c
	native/seccomp_rules "$(uname -m)" >named.c
	cmp here.c named.c
	native/seccomp_rules aarch64 >aarch64.c
	grep -q '{ 0x15, 0, [0-9]*, 0xc00000b7 },' aarch64.c
	same "$(grep -c 0xc000003e aarch64.c)" 0
	run -1 native/seccomp_rules mips64
	[[ $output == *'unable to make filters for mips64 on this machine: build there'* ]]
}

@test "an object that is missing is compiled, also if its source is older than the library that it belongs to" {
	mkdir made
	touch made/libawf-ctl.a
	make -n -C "$ROOT" BUILD="$PWD/made" "$PWD/made/libawf-ctl.a" >commands
	grep -q -- '-o [^ ]*/obj/cmd/ctl/decide\.o ' commands
}
