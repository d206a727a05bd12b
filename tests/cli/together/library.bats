#!/usr/bin/env bats
# bats file_tags=turn:2
# libawf-transcript as other programs have it: installed, found by pkg-config alone, beside
# the programs of AWF on one transcript.
# shellcheck disable=SC2016 # $variables of inner shells
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/manual

# Once: installed, and the example built far from the source.
setup_file() {
	local top build flags=() name
	top=$(cd "$BATS_TEST_DIRNAME/../../.." && pwd)
	build=${BUILD:-$top/build/test}
	PREFIX=$BATS_FILE_TMPDIR/prefix
	make -s -C "$top" -o all BUILD="$build" STATIC= DESTDIR= PREFIX="$PREFIX" install
	export PREFIX PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig" LD_LIBRARY_PATH="$PREFIX/lib"
	# What is built for the sanitizers needs them in each program.
	for name in address thread undefined; do
		! nm -u "$PREFIX/lib/libawf-transcript.a" | grep -q "__${name:0:1}.*san" || flags+=("-fsanitize=$name")
	done
	export SANITIZED=${flags[*]}
	mkdir "$BATS_FILE_TMPDIR/bin"
	cp "$top/examples/append-follow.c" "$BATS_FILE_TMPDIR"
	compile "$BATS_FILE_TMPDIR/append-follow.c" -o "$BATS_FILE_TMPDIR/bin/append-follow"
	export PATH="$BATS_FILE_TMPDIR/bin:$PATH"
}

# With what the first lines of the example say, and with every warning an error.
compile() {
	# shellcheck disable=SC2046,SC2086
	cc -Wall -Wextra -Wpedantic -Werror $SANITIZED "$@" $(pkg-config --cflags --libs awf-transcript)
}

# A transcript whose run has neither ended nor an owner, elsewhere/open.jsonl; its first event
# is the parent of what is appended.
open_ended() {
	awf-run -n -c 'awf-step -n one -q -- true'
	mkdir -p elsewhere
	head -n -1 "$(transcript)" >elsewhere/open.jsonl
	AWF_PARENT=$(head -n 1 elsewhere/open.jsonl | jq -r .event_id)
	export AWF_PARENT
}

# FILE NAME: the calls of a tool, and their results, each as "TYPE CALL_ID".
calls() { jq -r "select(.payload.name == \"$2\") | \"\(.type) \(.payload.call_id)\"" "$1"; }

# COUNT: what calls() prints of so many calls, one after another.
numbered() { for ((i = 0; i < $1; i++)); do printf 'tool.call %d\ntool.result %d\n' "$i" "$i"; done; }

@test "the header is C11 and C++, the library is found by pkg-config and has no names but its own" {
	echo '#include <awf/transcript.h>' >alone.c
	compile -std=c11 -c alone.c
	! command -v c++ || compile -x c++ -std=c++11 -c alone.c
	same "$(pkg-config --modversion awf-transcript)" "$(awf-verify --version | sed 's/.* //')"
	same "$(nm -g --defined-only "$PREFIX/lib/libawf-transcript.a" | awk 'NF == 3 && $3 !~ /^awf_/')" ''
	same "$(nm -D --defined-only "$PREFIX/lib/libawf-transcript.so" | awk '$2 != "A" && $3 !~ /^awf_[a-z_]*@@AWF_TRANSCRIPT_0$/')" ''
	declared=$(grep -oE '\bawf_[a-z_]+\(' "$PREFIX/include/awf/transcript.h" | tr -d '(' | sort -u)
	same "$(nm -g --defined-only "$PREFIX/lib/libawf-transcript.a" | awk 'NF == 3 { print $3 }' | sort)" "$declared"
	for name in $declared; do
		grep -q "^\.Nm $name\b" "$ROOT/man/awf-transcript.3" && grep -q "^\.Fn $name\b" "$ROOT/man/awf-transcript.3"
	done
	[ "$SANITIZED" ] || same "$(nm -u "$PREFIX/lib/libawf-transcript.a" | grep -wE '_?exit|f?printf|puts|stderr|signal|setenv')" ''
}

@test "the list of symbols is that of the library, each with a version that there has been" {
	symbols=$ROOT/lib/shared/libawf-transcript.symbols
	read -r soname package rest <"$symbols"
	same "$soname $package" 'libawf-transcript.so.0 libawf-transcript0'
	same "$(objdump -p "$PREFIX/lib/libawf-transcript.so" | awk '$1 == "SONAME" { print $2 }')" "$soname"
	same "$(sed -n 's/^ \([^ ]*\) [0-9.]*$/\1/p' "$symbols" | sort)" \
		"$(nm -D --defined-only --with-symbol-versions "$PREFIX/lib/libawf-transcript.so" |
			awk '{ sub(/@@/, "@", $3); print $2 == "A" ? $3 "@" $3 : $3 }' | sort -u)"
	# None is promised for a version that is still to come.
	version=$(awf --version)
	while read -r since; do
		same "$(printf '%s\n' "$since" "${version#awf }" | sort -V | tail -n 1)" "${version#awf }"
	done < <(sed -n 's/^ [^ ]* \([0-9.]*\)$/\1/p' "$symbols")
	grep -q "^\.Pa $soname" "$ROOT/man/awf-transcript.3"
}

@test "a program links the archive as well, which needs libsodium alone" {
	mv "$PREFIX/lib/libawf-transcript.so" hidden.so
	# shellcheck disable=SC2046
	compile "$ROOT/examples/append-follow.c" -o archived $(pkg-config --static --libs awf-transcript) || failed=1
	mv hidden.so "$PREFIX/lib/libawf-transcript.so"
	[ ! "$failed" ]
	open_ended
	env -u LD_LIBRARY_PATH ./archived elsewhere/open.jsonl tool 2
	awf-verify -q elsewhere/open.jsonl
	same "$(calls elsewhere/open.jsonl tool)" "$(numbered 2)"
}

@test "the page shows the example, and what it says to run runs" {
	same "$(example awf-transcript.3 awf_reader_open)" "$(sed '1,/^ \*\/$/d' "$ROOT/examples/append-follow.c" | expand)"
	unset AWF_STORAGE XDG_DATA_HOME
	cp "$ROOT/examples/append-follow.c" .
	[ "$SANITIZED" ] || same "$(sh -c "$(example awf-transcript.3 'cc -o append-follow')" | tr -s ' ' | sed 1d)" ' 3 sensor'
}

@test "four programs append beside a run, and who follows sees each line once and in order" {
	many=$(rounds 100 1000)
	awf-run -n --name crowd -c 'echo "$AWF_TRANSCRIPT" >path
		until [ -e go ]; do sleep 0.01; done
		for i in 1 2 3 4; do append-follow "$AWF_TRANSCRIPT" "tool$i" '"$many"' & pids="$pids $!"; done
		for i in 1 2 3 4 5; do awf-step -n "step$i" -q -- true; done
		for pid in $pids; do wait "$pid" || exit 1; done' &
	run=$!
	eventually [ -s path ]
	append-follow "$(cat path)" >seen1 &
	first=$!
	touch go
	append-follow "$(cat path)" >seen2 &
	second=$!
	wait "$run"
	wait "$first"
	wait "$second"
	awf-verify
	cmp seen1 "$(cat path)"
	cmp seen2 "$(cat path)"
	for i in 1 2 3 4; do same "$(calls seen1 "tool$i")" "$(numbered "$many")"; done
	same "$(payloads step.completed .call | sort)" "$(printf '"step%d:0:0"\n' 1 2 3 4 5)"
	same "$(jq -r .seq seen1)" "$(seq "$(wc -l <seen1)")"
	same "$(jq -r .event_id seen1 | sort | uniq -d)" ''
}

@test "nothing is appended to what is recorded elsewhere" {
	AWF_STORAGE=$PWD/there awf-run -n true
	AWF_STORAGE=$PWD/there awf-tail --json | sed '$d' | awf-record -q
	run -1 --separate-stderr append-follow "$AWF_STORAGE"/transcripts/*.jsonl tool 1
	[[ $stderr == *'is of a run that is recorded elsewhere: nothing is appended here' ]]
	same "$(wc -l <"$(echo "$AWF_STORAGE"/transcripts/*.jsonl)")" 1
}

# bats test_tags=turn:2
@test "a program that is killed leaves a torn line at most, which the next one moves away" {
	open_ended
	for ((round = 0; round < $(rounds 5 100); round++)); do
		append-follow elsewhere/open.jsonl killed 1000000 &
		sleep "0.0$((round % 5))"
		kill -9 $!
		wait $! 2>/dev/null || true
		awf-verify -q elsewhere/open.jsonl 2>said || grep -q 'whole lines: the last line is torn' said
		append-follow elsewhere/open.jsonl "after$round" 1
		awf-verify -q elsewhere/open.jsonl
		same "$(calls elsewhere/open.jsonl "after$round")" "$(numbered 1)"
	done
	rm -f elsewhere/open.torn
	size=$(stat -c %s elsewhere/open.jsonl)
	tail -n 1 elsewhere/open.jsonl | head -c 100 >part
	cat part >>elsewhere/open.jsonl
	run -3 awf-verify -q elsewhere/open.jsonl
	[[ $output == *"byte $size: whole lines: the last line is torn: 100 bytes"* ]]
	append-follow elsewhere/open.jsonl last 1
	cmp part elsewhere/open.torn
	awf-verify -q elsewhere/open.jsonl
	same "$(calls elsewhere/open.jsonl last)" "$(numbered 1)"
}

@test "in a run that is alive a torn line is work in progress, and then repaired" {
	awf-run -n -c 'append-follow "$AWF_TRANSCRIPT" first 1
		printf %s "{\"seq\":4,\"timest" >>"$AWF_TRANSCRIPT"
		awf-verify "$AWF_TRANSCRIPT" && append-follow "$AWF_TRANSCRIPT" second 1'
	awf-verify
	record=$(transcript)
	same "$(cat "${record%.jsonl}.torn")" '{"seq":4,"timest'
	same "$(calls "$record" second)" "$(numbered 1)"
}

@test "what cannot be appended to says why, and stays as it is" {
	run -1 append-follow nowhere.jsonl tool 1
	same "$output" "append-follow: $PWD/nowhere.jsonl: unable to open: No such file or directory"
	run -1 append-follow nowhere.jsonl
	[ ! -e nowhere.jsonl ]
	echo 'no transcript' >notes
	run -1 append-follow notes tool 1
	same "$output" "append-follow: $PWD/notes: is no transcript: it does not begin with a run.started"
	same "$(cat notes)" 'no transcript'
	open_ended
	cp elsewhere/open.jsonl before
	AWF_PARENT=me run -1 append-follow elsewhere/open.jsonl tool 1
	same "$output" 'append-follow: tool.call: "parent_event_id" is not a UUID, version 4, in lower case'
	run -1 env -u AWF_PARENT append-follow elsewhere/open.jsonl tool 1
	same "$output" 'append-follow: tool.call: has no parent'
	run -1 append-follow elsewhere/open.jsonl '"' 1
	[[ $output == 'append-follow: the payload: is no JSON: byte '* ]]
	cmp elsewhere/open.jsonl before
	cp "$(transcript)" before
	run -1 append-follow "$(transcript)" tool 1
	[[ $output == *": the run has ended" ]]
	cmp "$(transcript)" before
}

@test "nothing is appended to a run that is masked, nor behind a seal" {
	awf-run -n --mask cat -c 'append-follow "$AWF_TRANSCRIPT" tool 1 2>said || echo refused' >printed
	same "$(cat printed)" refused
	[[ $(cat said) == *": is of a masked run, whose filter is not known here" ]]
	same "$(calls "$(transcript)" tool)" ''
	awf-verify
	awf-verify --keygen key
	awf-run -n --seal=key -c true
	AWF_PARENT=$(head -n 1 "$(transcript)" | jq -r .event_id) run -1 append-follow "$(transcript)" tool 1
	awf-verify --key key.pub
}

# The library in another language: library.py, whose end is read from standard input.
program() {
	cat >library.py <<-'END'
		import ctypes, os, sys
		awf = ctypes.CDLL("libawf-transcript.so.0")
		awf.awf_append.restype = ctypes.c_int64
		awf.awf_run_id.restype = ctypes.c_char_p
		class Error(ctypes.Structure):
		    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 1024)]
		class Event(ctypes.Structure):
		    _fields_ = [("type", ctypes.c_char_p), ("parent", ctypes.c_char_p), ("path", ctypes.c_char_p),
		                ("iteration", ctypes.c_int64), ("payload", ctypes.c_char_p), ("links", ctypes.c_char_p)]
		error, transcript, id = Error(), ctypes.c_void_p(), ctypes.create_string_buffer(37)
		def append(type, parent, payload, path=None):
		    event = Event(type=type, parent=parent, payload=payload, path=path)
		    return awf.awf_append(transcript, ctypes.byref(event), id, ctypes.byref(error))
	END
	cat >>library.py
}

@test "a run's own program alone begins and ends it" {
	[ ! "$SANITIZED" ] || skip 'python is not built for the sanitizers'
	program <<-'END'
		assert awf.awf_open(ctypes.byref(transcript), os.environ["AWF_TRANSCRIPT"].encode(), ctypes.byref(error)) == 0
		parent = os.environ["AWF_PARENT"].encode()
		for type, parent, payload in [(b"run.completed", parent, b'{"status":"failed"}'),
		                              (b"run.started", None, b'{"name":"mine","attempt":2}')]:
		    assert append(type, parent, payload) == -1
		    assert error.code == 1, error.code
		    print(error.message.decode())
	END
	run -0 awf-run -n -c 'python3 library.py'
	same "$output" $'run.completed: is the owner\'s to append: the run is alive\nrun.started: is the owner\'s to append: the run is alive'
	awf-verify
	same "$(wc -l <"$(transcript)")" 2
}

@test "a program in another language conducts a run of its own, which AWF's programs show" {
	[ ! "$SANITIZED" ] || skip 'python is not built for the sanitizers'
	awf-run -n -c true
	program <<-'END'
		where = (os.environ["AWF_STORAGE"] + "/transcripts").encode()
		assert awf.awf_create(ctypes.byref(transcript), where, b'{"name": "snake"}', id, ctypes.byref(error)) == 0, error.message
		started = id.value
		assert append(b"step.started", started, b'{"name": "bite", "kind": "command", "call": "bite:0:0"}', b"bite") == 2
		assert append(b"step.completed", id.value, b'{"name": "bite", "kind": "command", "call": "bite:0:0", "result": 7}', b"bite") == 3
		assert append(b"run.completed", started, b'{"status": "success", "exit_code": 0}') == 4
		assert append(b"tool.call", started, b'{"name": "t", "call_id": "c"}') == -1 and error.code == 4
		print(awf.awf_run_id(transcript).decode())
	END
	python3 library.py >run
	awf-verify "$(cat run)"
	[[ $(awf-tail "$(cat run)") == *"bite started (command)"*"bite done (1 B): 7"*"run completed (success)"* ]]
	same "$(awf-tail --list --json | jq -r 'select(.name == "snake").status')" success
	same "$(awf-replay --state bite "$(cat run)" | jq -c .output)" 7
}
