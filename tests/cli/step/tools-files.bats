#!/usr/bin/env bats
# The tools read, write, edit, glob and grep: what they answer to which arguments.
# shellcheck shell=bash disable=SC2154,SC2016 # bats sets stderr; the shell of a step reads dollars
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/tools

prepare() {
	mkdir -p src/inner docs .git
	printf 'alpha\nbeta\ngamma\n' >src/a.c
	printf 'Alpha beta\n\nbeta (x)\n' >src/inner/b.h
	printf 'notes\n' >docs/read.me
	printf 'beta\n' >.git/config
	printf 'beta\n' >.hidden
	printf 'beta\0beta\n' >blob
	: >empty
}

@test "read: numbered lines, from an offset, so many" {
	answers read <<-'END'
		{"file_path":"src/a.c"}
		     1	alpha
		     2	beta
		     3	gamma
		=
		{"file_path":"src/a.c","offset":2}
		     2	beta
		     3	gamma
		=
		{"file_path":"src/a.c","offset":2,"limit":1}
		     2	beta
		[there are more lines; go on with offset 3]
		=
		{"file_path":"src/a.c","offset":3.0,"limit":1}
		     3	gamma
		=
		{"file_path":"empty"}
		[the file is empty]
		=
	END
	same "$(tool read "{\"file_path\":\"$PWD/docs/read.me\"}")" '     1	notes'
}

@test "read: what cannot be shown is refused in a line" {
	refuses read <<-'END'
		{"file_path":"nowhere"} nowhere: unable to read: No such file or directory
		{"file_path":"src"} src: this is a directory
		{"file_path":"/dev/null"} /dev/null: this is no regular file
		{"file_path":"blob"} blob: this is a binary file, which cannot be shown as text
		{"file_path":"src/a.c","offset":4} src/a.c: there is no line 4, the file has 3
		{"file_path":"src/a.c/x"} src/a.c/x: unable to read: Not a directory
	END
	mkfifo pipe
	same "$(timeout 5 "$LIBEXEC/awf-tool-read" <<<'{"file_path":"pipe"}' 2>&1)" 'read: pipe: this is no regular file'
}

@test "read: CR of line ends, a last line without its end, bytes that are no UTF-8" {
	printf 'one\r\ntwo\r\nthr\xc3\xa9\xff' >odd
	same "$(tool read '{"file_path":"odd"}')" '     1	one
     2	two
     3	thré�'
}

@test "read: 2000 lines, 2000 bytes of a line, 256 KiB, and it says how to go on" {
	seq 3000 >long
	same "$(tool read '{"file_path":"long"}' | tail -n 2)" '  2000	2000
[there are more lines; go on with offset 2001]'
	same "$(tool read '{"file_path":"long","limit":3000}' | tail -n 1)" '  3000	3000'
	same "$(tool read '{"file_path":"long","offset":2001}' | sed -n '1p;$p')" '  2001	2001
  3000	3000'
	{ printf '%02000d\n' 0; printf '%02001d\n' 0; printf '%01999d\xc3\xa9z\n' 0; printf '%05000d\n' 0; } >wide
	same "$(tool read '{"file_path":"wide"}' | cut -c 2008-)" '
 [1 more bytes in this line]
[3 more bytes in this line]
 [3000 more bytes in this line]'
	for _ in $(seq 300); do printf '%01000d\n' 0; done >much
	tool read '{"file_path":"much"}' >part
	same "$(tail -n 1 part)" '[there are more lines; go on with offset 261]'
	[ "$(wc -c <part)" -le $((257 << 10)) ]
	same "$(tool read '{"file_path":"much","offset":261}' | grep -c '^ *[0-9]')" 40
}

@test "write: creates files and their directories, and replaces files with their mode" {
	umask 022
	answers write <<-'END'
		{"file_path":"new/deep/file","content":"text\n"}
		created new/deep/file (5 bytes)
		=
		{"file_path":"new/deep/file","content":""}
		overwrote new/deep/file (0 bytes)
		=
		{"file_path":"zero","content":"a\u0000b"}
		created zero (3 bytes)
		=
		{"file_path":"one","content":"é"}
		created one (2 bytes)
		=
		{"file_path":"a","content":"a"}
		created a (1 byte)
		=
	END
	same "$(od -An -c zero | tr -d ' ')" 'a\0b'
	same "$(stat -c %a new/deep new/deep/file | paste -sd' ')" '755 644'
	chmod 750 a
	ln -s ../a new/link
	tool write '{"file_path":"new/link","content":"through"}'
	same "$(cat a; stat -c ' %a %F' a; stat -c %F new/link)" 'through 750 regular file
symbolic link'
	same "$(find . -name '*.tmp')" ''
}

@test "write: what cannot be written is refused in a line, and nothing is left" {
	mkfifo pipe
	refuses write <<-'END'
		{"file_path":"src","content":"x"} src: this is a directory
		{"file_path":"pipe","content":"x"} pipe: this is no regular file
		{"file_path":"src/a.c/x","content":"x"} src/a.c/x: unable to write: Not a directory
		{"file_path":"docs/read.me/x/y","content":"x"} docs/read.me/x/y: unable to write: Not a directory
		{"file_path":"/proc/none/x","content":"x"} /proc/none: unable to make the directory: No such file or directory
	END
	# A full disk.
	run -4 --separate-stderr env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD="$BUILD/tests/fault/preload.so" FAULT="write 1 1 ENOSPC" \
		"$LIBEXEC/awf-tool-write" <<<'{"file_path":"src/a.c","content":"new"}'
	same "$stderr" 'write: src/a.c: unable to write: No space left on device'
	same "$(cat src/a.c)" 'alpha
beta
gamma'
	same "$(find . -name '*.tmp')" ''
	# A file that its user may not write stays, though its directory would allow another.
	chmod a-w src/a.c
	[ -w src/a.c ] || same "$(tool write '{"file_path":"src/a.c","content":"new"}' 2>&1)" \
		'write: src/a.c: unable to write: Permission denied'
}

@test "edit: replaces one text, or all, and says where" {
	chmod 640 src/a.c
	answers edit <<-'END'
		{"file_path":"src/a.c","old_string":"beta","new_string":"BETA\nand more"}
		replaced 1 occurrence in src/a.c (line 2)
		=
		{"file_path":"src/a.c","old_string":"a\nBETA\n","new_string":"a\n"}
		replaced 1 occurrence in src/a.c (line 1)
		=
		{"file_path":"src/a.c","old_string":"a","new_string":"","replace_all":true}
		replaced 5 occurrences in src/a.c (lines 1, 1, 2, 3, 3)
		=
		{"file_path":"src/new","old_string":"","new_string":"one\n"}
		created src/new (4 bytes)
		=
		{"file_path":"empty","old_string":"","new_string":"x"}
		overwrote empty (1 byte)
		=
	END
	same "$(cat src/a.c)" 'lph
nd more
gmm'
	same "$(stat -c %a src/a.c)" 640
	same "$(cat src/new)" one
	printf '%s\n' x y x x x x x >many
	same "$(tool edit '{"file_path":"many","old_string":"x","new_string":"z","replace_all":true}')" \
		'replaced 6 occurrences in many (lines 1, 3, 4, 5, 6 …)'
}

@test "edit: errors say how often the text is there, or what is like it" {
	refuses edit <<-'END'
		{"file_path":"src/a.c","old_string":"delta","new_string":"x"} src/a.c: old_string is not in the file
		{"file_path":"src/a.c","old_string":"  beta\n gamma","new_string":"x"} src/a.c: old_string is not in the file exactly as given, but line 2 resembles its first line: read the file there
		{"file_path":"src/a.c","old_string":" ","new_string":"x"} src/a.c: old_string is not in the file
		{"file_path":"src/a.c","old_string":"a\n","new_string":"x"} src/a.c: old_string is there 3 times (lines 1, 2, 3): give more of what is around it, or replace_all
		{"file_path":"src/a.c","old_string":"a","new_string":"a"} old_string and new_string are the same
		{"file_path":"src/a.c","old_string":"","new_string":"a"} src/a.c: old_string is empty, but the file is not
		{"file_path":"nowhere","old_string":"a","new_string":"b"} nowhere: unable to read: No such file or directory
		{"file_path":"src","old_string":"a","new_string":"b"} src: this is a directory
	END
	same "$(cat src/a.c)" 'alpha
beta
gamma'
	truncate -s 65M huge
	refuses edit <<<'{"file_path":"huge","old_string":"a","new_string":"b"} huge: the file is larger than 64 MiB'
}

@test "edit: the line ends of the file are kept" {
	printf 'one\r\ntwo\r\nthree' >crlf
	printf 'one\r\ntwo\nthree\n' >mixed
	answers edit <<-'END'
		{"file_path":"crlf","old_string":"one\ntwo","new_string":"1\n2\r\n2a"}
		replaced 1 occurrence in crlf (line 1)
		=
		{"file_path":"mixed","old_string":"two\n","new_string":"2\n"}
		replaced 1 occurrence in mixed (line 2)
		=
	END
	same "$(od -An -c crlf | tr -d ' \n')" '1\r\n2\r\n2a\r\nthree'
	same "$(od -An -c mixed | tr -d ' \n')" 'one\r\n2\nthree\n'
	refuses edit <<<'{"file_path":"mixed","old_string":"one\n2","new_string":"x"} mixed: old_string is not in the file exactly as given, but line 1 resembles its first line: read the file there'
}

@test "glob: patterns" {
	touch 'src/[x]' 'src/a-b' 'src/{y}' src/inner/c.hpp
	ln -s src/inner linked
	ln -s a.c src/link.c
	ln -s nowhere broken
	answers glob <<-'END'
		{"pattern":"*"}
		.hidden
		blob
		empty
		=
		{"pattern":"**/*.{c,h}"}
		src/a.c
		src/inner/b.h
		src/link.c
		=
		{"pattern":"src/**"}
		src/[x]
		src/a-b
		src/a.c
		src/inner/b.h
		src/inner/c.hpp
		src/link.c
		src/{y}
		=
		{"pattern":"*.h","path":"src/inner"}
		src/inner/b.h
		=
		{"pattern":"inner/*","path":"./src/"}
		./src/inner/b.h
		./src/inner/c.hpp
		=
		{"pattern":"src/a?[!a-c]"}
		[no file matches]
		=
		{"pattern":"src/a?[!c-z]"}
		src/a-b
		=
		{"pattern":"src/a[.-]?"}
		src/a-b
		src/a.c
		=
		{"pattern":"src/\\[x\\]"}
		src/[x]
		=
		{"pattern":"src/[[]x]"}
		src/[x]
		=
		{"pattern":"src/\\{y}"}
		src/{y}
		=
		{"pattern":"src/{inner/*.h,a.c}"}
		src/a.c
		src/inner/b.h
		=
		{"pattern":"{src/**/*.h,docs/*}"}
		docs/read.me
		src/inner/b.h
		=
		{"pattern":"**/**/b.*"}
		src/inner/b.h
		=
		{"pattern":"src/in**/b.h"}
		src/inner/b.h
		=
		{"pattern":"src/[x"}
		[no file matches]
		=
		{"pattern":"{src"}
		[no file matches]
		=
		{"pattern":"src/{y[}]"}
		src/{y}
		=
		{"pattern":"src/{a.[}c],[{]y[}]}"}
		src/a.c
		src/{y}
		=
		{"pattern":"../work/src/*.c"}
		../work/src/a.c
		../work/src/link.c
		=
	END
	same "$(tool glob "{\"pattern\":\"$PWD/doc?/*\",\"path\":\"src\"}")" "$PWD/docs/read.me"
	refuses glob <<-'END'
		{"pattern":"*","path":"nowhere"} nowhere: unable to read: No such file or directory
		{"pattern":"*","path":"blob"} blob: unable to read: Not a directory
		{"pattern":"src/a[z-a]"} a[z-a]: not a pattern of file names: a range is out of order
	END
}

@test "glob: a thousand files, and it says that there are more" {
	mkdir many
	(cd many && seq -f f%04g 1001 | xargs touch)
	tool glob '{"pattern":"many/*"}' >found
	same "$(sed -n '1p;1000,$p' found)" 'many/f0001
many/f1000
[1001 files match, these are the first 1000: narrow the pattern]'
}

@test "grep: files, lines, counts" {
	answers grep <<-'END'
		{"pattern":"beta"}
		.hidden
		src/a.c
		src/inner/b.h
		=
		{"pattern":"beta","output_mode":"content"}
		.hidden:1:beta
		src/a.c:2:beta
		src/inner/b.h:1:Alpha beta
		src/inner/b.h:3:beta (x)
		=
		{"pattern":"^beta$","output_mode":"content","-n":false}
		.hidden:beta
		src/a.c:beta
		=
		{"pattern":"beta","output_mode":"count"}
		.hidden:1
		src/a.c:1
		src/inner/b.h:2
		=
		{"pattern":"ALPHA","-i":true}
		src/a.c
		src/inner/b.h
		=
		{"pattern":"(?i)ALPHA"}
		src/a.c
		src/inner/b.h
		=
		{"pattern":"\\w+ \\(\\w\\)$","path":"src"}
		src/inner/b.h
		=
		{"pattern":"beta","path":"src/a.c","output_mode":"content"}
		src/a.c:2:beta
		=
		{"pattern":"beta","glob":"*.h"}
		src/inner/b.h
		=
		{"pattern":"beta","glob":"!*.{h,c}"}
		.hidden
		=
		{"pattern":"beta","glob":"src/*"}
		src/a.c
		=
		{"pattern":"beta","type":"c","path":"."}
		src/a.c
		src/inner/b.h
		=
		{"pattern":"omega"}
		[no matches]
		=
		{"pattern":"beta","path":"blob"}
		[no matches]
		[not searched, as it is a binary file]
		=
	END
	refuses grep <<-'END'
		{"pattern":"beta","path":"nowhere"} nowhere: unable to read: No such file or directory
		{"pattern":"be(ta"} the pattern is refused: ( has no )
		{"pattern":"(b)eta\\1"} the pattern is refused: backreferences are not supported
		{"pattern":"x","type":"cobol"} the file type 'cobol' is not known: use a glob instead
		{"pattern":"x","glob":"[z-a]"} [z-a]: not a pattern of file names: a range is out of order
	END
}

@test "grep: lines around, each once" {
	seq 20 >numbers
	answers grep <<-'END'
		{"pattern":"^(5|7|15)$","path":"numbers","output_mode":"content","-C":1}
		numbers-4-4
		numbers:5:5
		numbers-6-6
		numbers:7:7
		numbers-8-8
		--
		numbers-14-14
		numbers:15:15
		numbers-16-16
		=
		{"pattern":"^(1|20)$","path":"numbers","output_mode":"content","-A":1,"-B":2}
		numbers:1:1
		numbers-2-2
		--
		numbers-18-18
		numbers-19-19
		numbers:20:20
		=
		{"pattern":"^3$","path":"numbers","output_mode":"content","-C":2,"-A":0,"-n":false}
		numbers-1
		numbers-2
		numbers:3
		=
	END
}

@test "grep: matches that go on over lines" {
	printf 'a {\n  b\n}\na {\n}\n' >block
	answers grep <<-'END'
		{"pattern":"a \\{.*?\\}","path":"block","output_mode":"content","multiline":true}
		block:1:a {
		block:2:  b
		block:3:}
		block:4:a {
		block:5:}
		=
		{"pattern":"\\{\\s+b$","path":"block","output_mode":"content","multiline":true}
		block:1:a {
		block:2:  b
		=
		{"pattern":"^\\}\\na","path":"block","output_mode":"count","multiline":true}
		block:2
		=
		{"pattern":"\\{\\s+b","path":"block"}
		[no matches]
		=
		{"pattern":"x*","path":"block","output_mode":"count","multiline":true}
		block:5
		=
	END
}

@test "grep: head_limit, long lines, as much as is shown at once" {
	seq 300 >numbers
	same "$(tool grep '{"pattern":"1","output_mode":"content","path":"numbers","head_limit":2}')" 'numbers:1:1
numbers:10:10
[there may be more: head_limit is 2]'
	same "$(tool grep '{"pattern":"","output_mode":"content","path":"numbers"}' | tail -n 2)" 'numbers:250:250
[there may be more: head_limit is 250]'
	same "$(tool grep '{"pattern":"","output_mode":"content","path":"numbers","head_limit":0}' | tail -n 1)" 'numbers:300:300'
	same "$(tool grep '{"pattern":"beta","head_limit":1}')" '.hidden
[there may be more: head_limit is 1]'
	printf '%0700d\n' 0 >wide
	same "$(tool grep '{"pattern":"0","output_mode":"content","path":"wide"}' | cut -c 508-)" ' [200 more bytes]'
	yes "$(printf '%0400d' 0)" | head -n 1000 >much
	tool grep '{"pattern":"0","output_mode":"content","path":"much","head_limit":0}' >part
	same "$(tail -n 1 part)" '[there may be more: this is as much as is shown at once]'
	[ "$(wc -c <part)" -lt $((66 << 10)) ]
}

@test "grep: CR of line ends, bytes that are no UTF-8, files that cannot be searched" {
	printf 'one\r\ncaf\xe9\xff(x)\r\n' >odd
	answers grep <<-'END'
		{"pattern":"one$","path":"odd"}
		odd
		=
		{"pattern":"caf..\\(x\\)$","path":"odd","output_mode":"content"}
		odd:2:caf��(x)
		=
	END
	truncate -s 65M huge
	same "$(tool grep '{"pattern":"one$"}')" 'odd
[not searched, as they are larger than 64 MiB: 1]'
	refuses grep <<<'{"pattern":"x","path":"huge"} huge: the file is larger than 64 MiB'
	# Directories that cannot be read are counted.
	mkdir closed && chmod 0 closed
	[ -r closed ] || same "$(tool grep '{"pattern":"omega"}' | tail -n 1)" '[not searched, as they cannot be read: 1]'
	chmod 700 closed
}

@test "arguments are checked" {
	for name in read write edit glob grep bash; do
		refuses "$name" <<-'END'
			[] stdin: the arguments are no JSON object
			7 stdin: the arguments are no JSON object
		END
		run -1 --separate-stderr "$LIBEXEC/awf-tool-$name" <<<'{'
		[[ $stderr == "$name: stdin:"*"ends too early" ]]
		run -1 --separate-stderr "$LIBEXEC/awf-tool-$name" x </dev/null
		same "$stderr" "awf-tool-$name: x: there are no arguments but those on stdin"
		run -1 --separate-stderr "$LIBEXEC/awf-tool-$name" --x </dev/null
		same "$stderr" "awf-tool-$name: --x: unknown option (see --help)"
		run -0 "$LIBEXEC/awf-tool-$name" --help
		same "${lines[0]}" "usage: awf-tool-$name <arguments >result"
	done
	refuses read <<-'END'
		{} the argument 'file_path' is missing
		{"file_path":7} the argument 'file_path' must be a text
		{"file_path":""} the argument 'file_path' must be a text that is not empty and has no NUL in it
		{"file_path":"a\u0000b"} the argument 'file_path' must be a text that is not empty and has no NUL in it
		{"file_path":"x","offset":0} the argument 'offset' must be a whole number from 1 to 1000000000000
		{"file_path":"x","limit":1.5} the argument 'limit' must be a whole number from 1 to 1000000000000
		{"file_path":"x","limit":"1"} the argument 'limit' must be a whole number from 1 to 1000000000000
	END
	refuses write <<<'{"file_path":"x"} the argument '"'content'"' is missing'
	refuses edit <<-'END'
		{"file_path":"x","old_string":"a"} the argument 'new_string' is missing
		{"file_path":"x","old_string":"a","new_string":"b","replace_all":"yes"} the argument 'replace_all' must be true or false
	END
	refuses glob <<<'{"path":"x"} the argument '"'pattern'"' is missing'
	refuses grep <<-'END'
		{"path":"x"} the argument 'pattern' is missing
		{"pattern":"x","output_mode":"lines"} the argument 'output_mode' cannot be 'lines'
		{"pattern":"x","-C":1001} the argument '-C' must be a whole number from 0 to 1000
	END
}

@test "what the sandbox refuses is status 77, what was refused anyway is not" {
	! touch /sys/awf-none 2>/dev/null || skip "/sys can be written"
	run -4 "$LIBEXEC/awf-tool-write" <<<'{"file_path":"/sys/awf-none","content":"x"}'
	export AWF_SANDBOX=workspace
	run -77 --separate-stderr "$LIBEXEC/awf-tool-write" <<<'{"file_path":"/sys/awf-none","content":"x"}'
	same "$stderr" 'write: /sys/awf-none: the sandbox (workspace) does not allow to write this: stay in the working directory'
	ln -s /sys out
	run -77 "$LIBEXEC/awf-tool-edit" <<<'{"file_path":"out/deep/x","old_string":"","new_string":"x"}'
	run -4 "$LIBEXEC/awf-tool-write" <<<'{"file_path":"docs/read.me/x","content":"x"}'
	cd /sys
	run -4 "$LIBEXEC/awf-tool-write" <<<'{"file_path":"awf-none","content":"x"}'
	AWF_SANDBOX=read-only run -77 "$LIBEXEC/awf-tool-write" <<<'{"file_path":"awf-none","content":"x"}'
}
