#!/usr/bin/env bats
# What is on disk before what, awf-transcript(5): seen in the order of system calls.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../support/helpers

prepare() {
	# A storage that is there already.
	awf-step -n -q first -- true
	export AWF_SYNC=step
	mkdir tools
	for effects in none external; do
		echo "{\"effects\":\"$effects\"}" >tools/$effects.tool.json
		printf '#!/bin/sh\necho done\n' >tools/$effects
		chmod +x tools/$effects
	done
}

# The run's directory is taken away last.
dropped='rename directory,'

# Runs a program; the order of what it did, in one line.
order() {
	local program=$1
	rm -f trace
	env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 TRACED="$program" TRACE="$PWD/trace" \
		LD_PRELOAD="$BUILD/tests/fault/trace.so" "$@" >out
	tr '\n' ',' <trace
}
calls() {
	jq -cn '{type: "message", stop_reason: "tool_use", blocks: [$ARGS.positional | to_entries[] |
		{type: "tool_use", tool_id: "t\(.key)", tool_name: .value, tool_input: {}}]}' --args "$@"
}

@test "an effect of a command is on disk before it begins, the end before the state line" {
	begin='sync directory,line run.started,rename ,'
	same "$(order awf-step -n --effects external a -- true)" \
		"${begin}line step.started,sync line,run true,line step.completed,sync line,stdout ,line run.completed,sync line,$dropped"
	same "$(order awf-step -n --effects read a -- true)" \
		"${begin}line step.started,run true,line step.completed,sync line,stdout ,line run.completed,sync line,$dropped"
	same "$(AWF_SYNC=none order awf-step -n --effects external a -- true)" \
		"line run.started,rename ,line step.started,run true,line step.completed,stdout ,line run.completed,$dropped"
	same "$(AWF_SYNC=event order awf-step -n a -- true)" \
		'sync directory,line run.started,sync line,rename ,line step.started,sync line,run true,line step.completed,sync line,sync line,stdout ,line run.completed,sync line,sync line,'"$dropped"
}

@test "an answer is on disk before its tools run, or while those run that change nothing; the call of an effect before the tool" {
	answer() { { calls "$@"; echo '{"type":"message","stop_reason":"end_turn","blocks":[{"type":"text","text":"fine"}]}'; } >answers; }
	export TRACE_SLOW=1
	end='line message.assistant,line step.completed,sync line,stdout ,line run.completed,sync line,'"$dropped"
	answer none none external
	trace=$(order awf-step -n -p hi -m replay/answers --allow-tools none,external a)
	same "${trace#*line message.user,}" \
		"line message.assistant,line tool.call,run none,sync line,line tool.result,line tool.call,run none,line tool.result,line tool.call,sync line,run external,line tool.result,$end"
	answer external none
	trace=$(order awf-step -n -p hi -m replay/answers --allow-tools none,external a)
	same "${trace#*line message.user,}" \
		"line message.assistant,line tool.call,sync line,run external,line tool.result,line tool.call,run none,line tool.result,$end"
	trace=$(order awf-step -i json -t none a <<<'{}')
	same "${trace#*line step.started,}" \
		'line tool.call,run none,sync line,line tool.result,line step.completed,sync line,stdout ,line run.completed,sync line,'"$dropped"
	# How long the tool ran is told, not how long the disk took.
	[ "$(payloads tool.result .duration_ms)" -lt 150 ]
}

@test "a sync beside a tool that fails is final, and the tool has ended" {
	calls none >answers
	printf '#!/bin/sh\nsleep 0.5; echo over >over; echo done\n' >tools/none
	run -4 --separate-stderr env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
		LD_PRELOAD="$BUILD/tests/fault/preload.so" FAULT="fdatasync 1 1 EIO" \
		awf-step -n -p hi -m replay/answers --allow-tools none a
	same "$output" ''
	[[ $stderr == *": unable to sync: Input/output error"* ]]
	same "$(cat over)" over
	same "$(jq -r .type "$(transcript)" | tail -n 1)" tool.call
}

@test "the directories of a new storage are on disk before anything is in them" {
	export AWF_STORAGE="$PWD/new/storage"
	same "$(order awf-step -n a -- true)" \
		"$(printf 'sync directory,%.0s' 1 2 3 4 5 6 7 8)line run.started,rename ,line step.started,run true,line step.completed,sync line,stdout ,line run.completed,sync line,$dropped"
	export AWF_STORAGE="$PWD/other" AWF_SYNC=none
	same "$(order awf-step -n a -- true)" \
		"line run.started,rename ,line step.started,run true,line step.completed,stdout ,line run.completed,$dropped"
}

@test "a blob and its name are on disk before the line that names it" {
	trace=$(order awf-step -q a -- head -c 300000 /dev/zero <<<x)
	same "${trace#*run head,}" \
		'sync directory,sync file,rename ,sync directory,line step.completed,sync line,line run.completed,sync line,'"$dropped"
	# The name of their directory too, whoever made that.
	trace=$(printf '1\n2\n' | order awf-step -q -i lines a -- sh -c 'head -c "30000$(cat)" /dev/zero')
	same "$(grep -o 'sync directory,sync file,rename ,sync directory' <<<"$trace" | wc -l)" 2
}

@test "the end of a run is on disk, and so is what it read" {
	trace=$(order awf-run -c 'cat' <<<x)
	same "${trace#*rename ,}" 'run sh,sync line,rename ,sync directory,sync directory,sync file,rename ,sync directory,line run.completed,sync line,'"$dropped"
	same "$(cat out)" x
}

@test "nothing follows on stdout after a sync that failed" {
	for number in 1 2; do
		run -4 --separate-stderr env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
			LD_PRELOAD="$BUILD/tests/fault/preload.so" FAULT="fdatasync $number 1 EIO" \
			awf-step -n --effects external a -- sh -c 'echo ran >>ran; echo y'
		same "$output" ''
		[[ $stderr == *": unable to sync: Input/output error"* ]]
		[ "$number" = 2 ] || [ ! -e ran ]
	done
	same "$(cat ran)" ran
}
