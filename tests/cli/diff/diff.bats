#!/usr/bin/env bats
# bats file_tags=turn:2
# awf-diff: which call is which, what differs, and what of it is a cause.
# shellcheck shell=bash disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/agent

# NAME LINES...: a workflow.
flow() {
	printf '%s\n' '#!/bin/sh' "${@:2}" >"$1"
	chmod +x "$1"
}
# ID WORKFLOW: runs it on stdin; its id is in the file ID.
record() { awf-run --id-file "$1" "./$2" >/dev/null; }
runs() { echo "$(cat "$1")" "$(cat "$2")"; }
# What awf-diff says of the runs in these two files, without its first line, and that the workflow is another.
says() {
	# shellcheck disable=SC2046
	run "$3" awf-diff $(runs "$1" "$2") "${@:4}"
	output=$(sed '1d; /^      workflow   /d' <<<"$output")
}

@test "the same workflow twice: nothing differs, and nothing is printed" {
	flow f 'awf-step -i lines -j 4 up -- tr a-z A-Z | awf-step -q n -- wc -c'
	seq 20 | record a f
	seq 20 | record b f
	# shellcheck disable=SC2046
	run -0 awf-diff $(runs a b)
	same "$output" ''
	# shellcheck disable=SC2046
	awf-diff --json $(runs a b) | tail -n 1 | jq -e '.differ == false and .counts == {same: 40}'
}

@test "an item more, at the front, in the middle and gone" {
	flow f 'awf-step -i lines up -- tr a-z A-Z | awf-step -q -s n -- wc -l'
	printf '%s\n' a b c | record a f
	printf '%s\n' new a b c | record front f
	printf '%s\n' a b new c | record middle f
	says a front -1
	same "$output" $'+ up (new)\n~ n   follows (its input changed)\n  3 same, 1 follows, 1 new'
	says a middle -1
	same "$output" $'+ up[2] (new)\n~ n   follows (its input changed)\n  3 same, 1 follows, 1 new'
	says middle a -1
	same "$output" $'- up[2] (new)\n~ n   follows (its input changed)\n  3 same, 1 follows, 1 gone'
}

@test "a call that is new since the one before it is new is no cause" {
	flow f 'awf-step -i lines up -- tr a-z A-Z | awf-step -q low -- tr A-Z a-z'
	printf '%s\n' a b | record a f
	printf '%s\n' a b c | record b f
	says a b -1
	same "$output" $'+ up[2] (c)\n~ low[2]   follows (new since what is before it)\n  4 same, 1 follows, 1 new'
}

@test "items that are equal, and items in another order" {
	flow f 'awf-step -i lines -q up -- tr a-z A-Z'
	printf '%s\n' a b a a | record a f
	printf '%s\n' a a b a a | record b f
	says a b -1
	[[ $output == '+ up'*' (a)'$'\n  4 same, 1 new' ]]
	seq 30 | record up f
	seq 30 -1 1 | record down f
	says up down -1
	[[ $output == *'~ up   29 moved'*'1 same, 29 moved' ]]
	# shellcheck disable=SC2046
	run -0 awf-diff --ignore order $(runs up down)
}

# FILE: a transcript like that of a run of one step, with an item for each line of stdin.
made() {
	python3 -Sc '
import hashlib, json, sys, uuid
run, seq = str(uuid.uuid4()), 0
def line(type, path, parent, payload, item=0):
    global seq
    seq += 1
    event = str(uuid.uuid4())
    print(json.dumps({"seq": seq, "timestamp": "2026-11-30T10:00:00.000000Z", "event_id": event, "run_id": run,
        "parent_event_id": parent, "type": type, "path": path, "iteration": item, "payload": payload,
        "prev": "0" * 64}, separators=(",", ":")))
    return event
first = line("run.started", "", None, {"name": "f", "attempt": 1})
for i, text in enumerate(sys.stdin.read().split()):
    call = {"name": "up", "kind": "command", "call": f"up:0:{i}"}
    begun = line("step.started", "up", first, {**call, "attempt": 1, "input": text,
        "input_sha256": hashlib.sha256(text.encode()).hexdigest(), "definition_sha256": "0" * 64}, i)
    line("step.completed", "up", begun, {**call, "result": text.upper(), "duration_ms": 1, "exit_code": 0}, i)
line("run.completed", "", first, {"status": "success", "exit_code": 0, "error": None, "duration_ms": 1})
' >"$1"
}

@test "ten thousand items, one more in front, and reversed: three lines" {
	seq 10000 >items
	made a.jsonl <items
	sed 1i0 items | made front.jsonl
	tac items | made down.jsonl
	run -1 timeout 20 awf-diff ./a.jsonl ./front.jsonl
	same "$(sed 1d <<<"$output")" $'+ up (0)\n  10000 same, 1 new'
	run -1 timeout 20 awf-diff ./a.jsonl ./down.jsonl
	same "$(sed 1d <<<"$output")" $'~ up   10000 moved\n  10000 moved'
}

@test "one byte of a script: told once for all items, what comes after it follows" {
	flow f 'awf-step -i lines up -- sh -c '\''x=$(cat); echo "$x!"'\'' | awf-step -q low -- tr A-Z a-z'
	printf '%s\n' a b c | record a f
	sed -i 's/x!/x?/' f
	printf '%s\n' a b c | record b f
	says a b -1
	same "$output" '! up   (3 calls)
      command
      sh -c x=$(cat); echo [-"$x!"-]{+"$x?"+}
      result
      -a!
      +a?
~ low   3 follow (its input changed)
  3 changed, 3 follow'
}

@test "something else for the same input is a cause; --ignore and --results" {
	flow f 'awf-step -n now -- cat now | awf-step -q low -- tr A-Z a-z'
	echo A >now
	record a f
	echo B >now
	record b f
	says a b -1
	same "$output" $'! now   gave something else for the same input\n      result\n      -A\n      +B\n~ low   follows (its input changed)\n  1 changed, 1 follows'
	run -0 awf-diff --ignore result,input "$(cat a)" "$(cat b)"
	run -1 awf-diff -q --results "$(cat a)" "$(cat b)"
	same "$output" ''
	run -2 awf-diff --ignore reslut a b
	[[ $output == *"'reslut' is nothing that can differ (did you mean 'result'?)" ]]
}

@test "values that are the same JSON" {
	flow f 'awf-step -n -q v -- cat value'
	echo '{"a":1,"b":[2.0,1e2]}' >value
	record a f
	echo '{"b":[2,100],"a":1.0}' >value
	record b f
	# shellcheck disable=SC2046
	run -0 awf-diff $(runs a b)
	echo '{"b":[100,2],"a":1.0}' >value
	record c f
	says a c -1
}

@test "a step that is renamed, one that fails, one that is skipped" {
	flow f 'echo x | awf-step -q old -- tr a-z A-Z'
	record a f
	sed -i 's/old/fresh/' f
	record b f
	says a b -1
	same "$output" $'= old is fresh\n  1 renamed'
	flow g 'awf-step -n one -- sh -c "cat answer" | awf-step -q two -- cat'
	echo yes >answer
	record good g
	rm answer
	record bad g || true
	says good bad -1
	[[ $output == '! one   ended otherwise on the same input'*'status     success -> failed (sh: exit status 1'*'~ two'*follows* ]]
}

@test "rounds by their number, branches by what they do" {
	flow f 'echo 1 | awf-step -q --max ${MAX:-3} grow -- awf-step inc -- sh -c '\''x=$(cat); echo $((x+1))'\'
	record a f
	MAX=5 record b f
	says a b -1
	[[ $output == '! grow   (4 calls)
      loop       {"max":3} -> {"max":5}
+ grow[3] (4)'*'~ grow[4]   follows'* ]]
	flow g "echo 5 | awf-step -q --parallel both -- 'awf-step p -- cat' 'awf-step q -- tr 5 6'"
	record c g
	flow g "echo 5 | awf-step -q --parallel both -- 'awf-step q -- tr 5 6' 'awf-step n -- tr 5 7' 'awf-step p -- cat'"
	record d g
	says c d -1
	[[ $output == *'+ both[1]'* ]]
	run ! grep -q 'tr 5 7.*p \|^- ' <<<"$output"
}

@test "inside a child run" {
	flow f 'printf "%s\n" $WORDS | awf-run --name inner -c "awf-step -i lines -q up -- tr a-z A-Z"'
	WORDS='a b' record a f
	WORDS='a b' record b f
	WORDS='a new b' record c f
	# shellcheck disable=SC2046
	run -0 awf-diff $(runs a b)
	says a c -1
	same "$output" $'+ up[1] (new)\n~ inner   follows (its input changed)\n  2 same, 1 follows, 1 new'
	# Only what is asked for.
	run -2 awf-diff -p other "$(cat a)" "$(cat c)"
	[[ $output == "awf-diff: --path: neither run has a step of the path "* ]]
	run -1 awf-diff -p up "$(cat a)" "$(cat c)"
}

@test "a resumed run and a fork: what was taken over is where it was made" {
	flow f 'awf-step -n one -- sh -c "echo made >>made; echo 1" | awf-step -q two -- sh -c "cat; test ! -e broken"'
	record whole f
	: >broken
	record part f || true
	rm broken
	awf-run --resume "$(cat part)" >/dev/null
	same "$(wc -l <made)" 2
	# shellcheck disable=SC2046
	run -0 awf-diff $(runs whole part)
	sed -i 's/cat; test/rev; test/' f
	awf-run --id-file fork --fork "$(cat whole)" --at two >/dev/null
	same "$(wc -l <made)" 2
	says whole fork -1
	[[ $output == '! two'*'1 same, 1 changed' ]]
	run -1 awf-diff "$(cat whole)" "$(cat fork)"
	[[ ${lines[0]} == *' (its fork)  success -> success, 1 of 2 calls taken over' ]]
	awf-diff --json "$(cat whole)" "$(cat fork)" | head -n 1 | jq -e '.kind == "same" and .taken_over == {a: false, b: true}' ||
		{ awf-diff --json "$(cat whole)" "$(cat fork)"; false; }
}

@test "masked runs: their digests differ, their values do not" {
	flow f 'awf-step -i lines -q up -- tr a-z A-Z'
	for id in a b; do
		printf '%s\n' one two | awf-run --mask 'sed -u s/one/xxx/g' --id-file "$id" ./f >/dev/null
	done
	# shellcheck disable=SC2046
	run -0 awf-diff $(runs a b)
	printf '%s\n' one two three | awf-run --mask 'sed -u s/one/xxx/g' --id-file c ./f >/dev/null
	says a c -1
	same "$output" $'+ up[2] (three)\n  2 same, 1 new'
}

@test "agents: prompt, model, tools, tokens, cost" {
	mkdir agents tools
	tool note '"input_schema":{"type":"object"},"effects":"none"' 'cat >/dev/null; echo noted'
	agent op 'tools: [note]'
	stream tool_use "$(use t1 note '{"n":1}')" >first
	stream tool_use "$(use t1 note '{"n":1}')" "$(use t2 note '{"n":2}')" >two
	text done >last
	flow f 'echo x | awf-step -q -a op work'
	model_server --answer first --answer last --answer first --answer last --answer two --answer last
	record a f
	record same f
	record b f
	# shellcheck disable=SC2046
	run -0 awf-diff $(runs a same)
	says a b -1
	[[ $output == '! work   called tools otherwise for the same input'*'tools      note -> note x2'*'+note {"n":2}'* ]]
	sed -i 's/^You.*/Be brief./; $ s/$/ And kind./' agents/op.md
	model_server --answer first --answer last
	record c f
	says a c -1
	[[ $output == '! work'*'file       agents/op.md'*kind* ]]
	run -0 awf-diff --stat "$(cat a)" "$(cat same)" -- "$(cat b)"
	[[ $output == '2 runs -> 1 run;'*work*'turns   2 -> 2'* ]]
	same "$(awf-tail --stats --by tool --json | jq -c '[.tool, .count, .failed]')" '["note",5,0]'
	same "$(awf-tail --stats --by model --json | jq -c '[.count, .failed, .output_tokens > 0]')" '[8,0,true]'
	run -0 awf-diff --stat --json "$(cat a)" -- "$(cat b)"
	jq -e 'select(.path == "work") | .a.turns == [2, 2, 2] and .b.calls == 1' <<<"$output"
}

@test "what cannot be compared: exit status 2, in one line" {
	flow f 'awf-step -n -q a -- true'
	record a f
	run -2 awf-diff "$(cat a)"
	[[ $output == 'awf-diff: takes two runs, and got 1: '* ]]
	run -2 awf-diff "$(cat a)" nothing-here
	[[ $output == 'awf-diff: nothing-here: '* ]]
	run -2 awf-diff --stat "$(cat a)"
	[[ $output == 'awf-diff: --stat: takes runs, --, and runs '* ]]
	: >empty.jsonl
	run -2 awf-diff "$(cat a)" ./empty.jsonl
	# A transcript that was copied elsewhere is compared as well.
	cp "$(transcript)" copy.jsonl
	run -0 awf-diff "$(cat a)" ./copy.jsonl
	run -2 awf-diff "$(cat a)" "$(cat a)" >/dev/full
}

@test "--map: values pass a filter first, which is started once; dates are no difference" {
	flow f 'awf-step -i lines now -- sh -c '\''echo "$(cat) at $(date +%s%N)"'\'' | awf-step low -- tr a-z A-Z | awf-step -q -s n -- sort'
	seq 3 | record a f
	seq 3 | record b f
	# shellcheck disable=SC2046
	run -1 awf-diff -q $(runs a b)
	map="echo >>started; sed 's/[0-9]\{15,\}/TIME/g'"
	# shellcheck disable=SC2046
	run -0 awf-diff --map "$map" $(runs a b)
	same "$output" ''
	same "$(wc -l <started)" 1
	# What is shown has passed it, too; what a filter of another kind makes of it counts.
	seq 4 | record c f
	says a c -1 --map "$map"
	same "$(sort <<<"$output")" "$(sort <<<$'+ now[3] (4)\n~ n   follows (its input changed)\n~ low[3]   follows (new since what is before it)\n  6 same, 2 follow, 1 new')"
	awf-diff --json --map "$map" "$(cat a)" "$(cat c)" | jq -e 'select(.path == "n").result.b | startswith("[\"1 AT TIME\"")' ||
		{ awf-diff --json --map "$map" "$(cat a)" "$(cat c)"; false; }
	# One that reads a line, and answers it before it reads the next.
	# shellcheck disable=SC2046
	run -0 awf-diff --map "sed -u 's/[0-9]\{15,\}/TIME/g'" $(runs a b)
}

@test "--map: a filter that fails is trouble, in one clear line" {
	flow f 'awf-step -n -q a -- echo 1; awf-step -n -q b -- echo 2'
	record a f
	record b f
	while IFS='|' read -r command message; do
		# shellcheck disable=SC2046
		run -2 awf-diff --map "$command" $(runs a b)
		[[ $output == "awf-diff: --map: "$message ]] || { echo "$command: $output"; false; }
	done <<-'END'
		false|exit status 1
		echo why >&2; exit 3|exit status 3: why
		head -n 1|it was given * values and printed 1
		cat; echo 1|it printed more than the * values that it was given
		echo x|line 1 of what it printed is not JSON
		kill -9 $$|killed by signal 9 (Killed)
		no-such-program|exit status 127: *
	END
}

@test "--html: one file that needs nothing else, in which data is text, written whole or not at all" {
	flow f 'awf-step -i lines up -- sh -c "sed s/a/A/" | awf-step -q low -- tr A-Z a-z' 'awf-step -n -q say -- cat text'
	echo '<b>one</b> & two' >text
	printf '%s\n' a b | record a f
	sed -i 's/A/AB/' f
	echo '<b>"<img src=x onerror=alert(1)></b> & two' >text
	printf '%s\n' a b | record b f
	# shellcheck disable=SC2046
	run -1 awf-diff --html page.html $(runs a b)
	same "$output" ''
	# shellcheck disable=SC2046
	run -1 awf-diff --html - $(runs a b)
	same "$output" "$(cat page.html)"
	grep -q '^<!doctype html>' page.html
	run ! grep -iE '<script|<img|<b>|<link|https?:|url\(|src=[^x]' page.html
	grep -q '&lt;img src=x onerror=alert(1)&gt;' page.html
	# Causes are open, what follows is not.
	grep -o '<details class="pair [a-z]*"[^>]*>' page.html >folds
	grep -q 'changed" open' folds
	grep -q 'follows">' folds
	python3 -Sc '
import html.parser, sys
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(); self.open = []
    def handle_starttag(self, tag, attributes):
        if tag not in ("meta",): self.open.append(tag)
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
page = Page(); page.feed(open("page.html").read()); assert page.open == [], page.open'
	echo before >kept
	# shellcheck disable=SC2046
	(ulimit -f 1; run -2 awf-diff --html kept $(runs a b); [[ $output == 'awf-diff: kept: unable to write: '* ]])
	same "$(cat kept)" before
	same "$(ls)" "$(ls | grep -v '^\.')"
	# shellcheck disable=SC2046
	run -2 awf-diff --html none/page.html $(runs a b)
	[[ $output == 'awf-diff: none/page.html: '* ]]
	run -0 awf-diff --html same.html "$(cat a)" "$(cat a)"
	grep -q 'Nothing differs' same.html
}

@test "what a tool answered, which it may call, settings, and where an item came from" {
	mkdir -p agents tools
	tool note '"input_schema":{"type":"object"},"effects":"none"' 'cat >/dev/null; cat answer'
	tool more '"input_schema":{"type":"object"},"effects":"none"' 'cat'
	agent op $'tools: [note]\ntemperature: 0.5'
	stream tool_use "$(use t1 note '{"n":1}')" >first
	text one >one
	text two >two
	flow f 'echo x | awf-step -q -a op work'
	model_server --answer first --answer one --answer first --answer two --answer first --answer one
	echo sunny >answer
	record a f
	echo rainy >answer
	record b f
	says a b -1
	[[ $output == '! work   a tool answered otherwise to the same call'*'answer of note {"n":1}'*'-sunny'*'+rainy'*'result'* ]]
	echo sunny >answer
	sed -i 's/\[note\]/[note, more]/; s/0\.5/0.7/' agents/op.md
	record c f
	says a c -1
	[[ $output == '! work'*'may call'*'+more'*'temperature 0.5 -> 0.7'* ]] || { echo "$output"; false; }
	# An item more, while all were changed before.
	flow g 'awf-step -i lines up -- sh -c "sed s/a/A/" | awf-step -q low -- tr A-Z a-z'
	printf '%s\n' a1 a2 | record d g
	sed -i s/A/AB/ g
	printf '%s\n' a1 a2 a3 | record e g
	says d e -1
	[[ $output == '! up   (2 calls)'*'+ up[2] (a3)'*'~ low   3 follow'* ]]
}

@test "what was given to a call is a cause, if nothing before it differs; what follows of it is none" {
	flow f 'awf-step one -- tr a-z A-Z | awf-step -q two -- cat'
	echo cake | record a f
	echo tea | record b f
	says a b -1
	same "$output" $'! one   was given something else\n      input\n      -cake\n      +tea\n      result\n      -CAKE\n      +TEA\n~ two   follows (its input changed)\n  1 changed, 1 follows'
	run -0 awf-diff --ignore input,result "$(cat a)" "$(cat b)"
	# What the workflow itself is, and how it was started, is said beside what differs.
	flow g 'awf-step -n -q say -- sh -c "echo $AWF_INPUT_name"'
	awf-run -n --input name=a --id-file c ./g
	awf-run -n --input name=b --id-file d ./g
	run -1 awf-diff "$(cat c)" "$(cat d)"
	[[ $output == *$'\n      input name "a" -> "b"\n! say'* ]]
	# Neither makes a difference by itself.
	echo '# a word more' >>g
	awf-run -n --input name=b --input more=1 --id-file e ./g
	run -0 awf-diff "$(cat d)" "$(cat e)"
}

@test "a new step says what it does; of many calls that differ each for itself five are told" {
	flow f 'awf-step -n -q say -- true'
	record a f
	echo 'awf-step -i lines -n -q more -- echo hi' >>f
	record b f
	says a b -1
	same "$output" $'+ more\n      command\n      +echo hi\n      result\n      +hi\n  1 same, 1 new'
	flow g 'awf-step -i lines -q now -- sh -c "cat; date +%s%N"'
	seq 9 | record c g
	seq 9 | record d g
	says c d -1
	same "$(grep -c '^! now' <<<"$output")" 6
	[[ $output == *'! now[5]   gave something else for the same input   (4 calls)'* ]]
}

@test "a script that was edited is a cause; a file that a command wrote otherwise, too" {
	printf '#!/bin/sh\necho hi\n' >tool.sh
	chmod +x tool.sh
	flow f 'awf-step -n -q say -- ./tool.sh'
	record a f
	echo 'echo more' >>tool.sh
	record b f
	says a b -1
	same "$output" $'! say\n      file       work/tool.sh\n      result\n      +more\n  1 changed'
	# The same files elsewhere are the same.
	mkdir elsewhere
	cp f tool.sh elsewhere
	(cd elsewhere && awf-run --id-file ../c ./f)
	# shellcheck disable=SC2046
	run -0 awf-diff $(runs b c)
	flow g 'awf-step -n --effects workspace -q make -- sh -c "cat source >made; echo done"'
	for id in one two; do
		echo "$id" >source
		record "$id" g
	done
	says one two -1
	same "$output" $'! make   wrote something else for the same input\n      wrote      made\n  1 changed'
	run -0 awf-diff --ignore files "$(cat one)" "$(cat two)"
}

@test "a variable that was recorded, and the description of a tool, are told" {
	flow f 'awf-step -n say -q -- sh -c "echo \$MODE"'
	MODE=x awf-run --env MODE --id-file a ./f >/dev/null
	MODE=y awf-run --env MODE --id-file b ./f >/dev/null
	says a b -1
	[[ $(awf-diff "$(cat a)" "$(cat b)") == *$'\n      variable MODE "x" -> "y"\n! say'* ]]
	mkdir agents tools
	tool note '"input_schema":{"type":"object"},"effects":"none"' 'cat >/dev/null; echo noted'
	agent op 'tools: [note]'
	text done >last
	flow g 'echo x | awf-step -q -a op work'
	model_server --answer last --answer last
	record c g
	sed -i 's/"type":"object"/"type":"object","minProperties":1/' tools/note.tool.json
	record d g
	says c d -1
	[[ $output == *'input_schema of note'*'minProperties'* ]]
}

@test "what a run did not come to, and what it skipped, is no cause" {
	flow f 'awf-step -n one -q -- echo 1' 'awf-step -n two -q -- sh -c "test ! -e broken" || exit 1' 'awf-step -n -q three -- echo 3'
	record a f
	: >broken
	record b f || true
	says a b -1
	[[ $output == '! two   ended otherwise on the same input'*$'\n~ three   follows (not reached in the second run)\n  1 same, 1 changed, 1 follows' ]]
	says b a -1
	[[ $output == *$'\n~ three   follows (not reached in the first run)\n'* ]]
	flow g 'awf-step -n one -- cat data | awf-step -q two -- cat'
	echo 1 >data
	record c g
	rm data
	record d g || true
	says c d -1
	[[ $output == *$'\n~ two   follows (skipped in the second run)\n'* ]]
	# An agent that is skipped has asked nothing.
	mkdir agents
	agent op
	text done >last
	flow h 'awf-step -n one -- cat data | awf-step -q two -a op'
	echo 1 >data
	model_server --answer last
	record e h
	rm data
	record f h || true
	says e f -1
	[[ $output == *$'\n~ two   follows (skipped in the second run)\n'* ]]
}

@test "a masked run and one that is not" {
	flow f 'awf-step -i lines up -- tr a-z A-Z | awf-step -q low -- tr A-Z a-z'
	printf '%s\n' one two | awf-run --mask 'sed -u s/three/xxx/g' --id-file a ./f >/dev/null
	printf '%s\n' one two | record b f
	printf '%s\n' one tee | record c f
	# shellcheck disable=SC2046
	run -0 awf-diff $(runs a b)
	# shellcheck disable=SC2046
	run -0 awf-diff $(runs b a)
	says a c -1
	[[ $output == '! up[1]   was given something else'*'~ low[1]'* ]]
}

@test "one edit inside a branch, a round or a child run is told once, where it is" {
	flow f "echo 5 | awf-step -q --parallel both -- 'awf-step p -- cat' 'awf-step q -- tr 5 6'" \
		"echo x | awf-step -q --max 2 grow -- awf-step inc -- sed s/^./ab/"
	record a f
	sed -i 's/tr 5 6/tr 5 7/; s/ab/abc/' f
	record b f
	says a b -1
	same "$(grep -c '^! ' <<<"$output")" 3
	[[ $output == *$'\n! both.q\n'*$'\n! grow.inc   (2 calls)\n'* ]]
	echo 'awf-step -q deep -- tr a-z A-Z' >in.awf
	sed -i '1i#!/usr/bin/env -S awf-run --' in.awf
	chmod +x in.awf
	flow g 'echo x | awf-step -q child -- ./in.awf'
	record c g
	sed -i 's/A-Z/A-Y/' in.awf
	record d g
	says c d -1
	[[ $output == $'! deep\n'* ]]
	same "$(grep -c '^! ' <<<"$output")" 1
}

@test "sessions of other programs: what was said last, and by which model" {
	local model
	for model in opus sonnet; do
		mkdir -p "$HOME/.claude/projects/-w"
		{
			printf '{"type":"user","uuid":"u-%s","timestamp":"2026-03-01T1%d:00:00.000Z","sessionId":"1f9a4c1e-2222-4b5d-8a3c-%012d","cwd":"/w","version":"2.1.40","message":{"role":"user","content":"mend it"}}\n' $model $((${#model} - 4)) ${#model}
			printf '{"type":"assistant","uuid":"a-%s","timestamp":"2026-03-01T15:01:00.000Z","sessionId":"1f9a4c1e-2222-4b5d-8a3c-%012d","cwd":"/w","version":"2.1.40","message":{"id":"m1","role":"assistant","model":"claude-%s-4-6","content":[{"type":"text","text":"mended by %s"}],"usage":{"input_tokens":10,"output_tokens":5}}}\n' \
				$model ${#model} $model $model
		} >$model.jsonl
		touch -d '2026-03-02' $model.jsonl
		awf-import --ended 1h $model.jsonl
		awf-tail --list --json -n 1 | jq -r .run_id >$model
	done
	says opus sonnet -1
	[[ $output == *'! prompt'*'model      anthropic/claude-opus-4-6 -> anthropic/claude-sonnet-4-6'*'mended by [-opus-]{+sonnet+}'* ]]
}

@test "long lines are shown where they differ" {
	flow f 'awf-step -n -q long -- cat long'
	for end in one two; do
		{ head -c 5000 /dev/zero | tr '\0' x; printf 'é%s\n' $end; } >long
		record $end f
	done
	says one two -1
	same "$(sed -n 's/^      \([-+]…\)x*\(.*\)/\1\2/p' <<<"$output")" $'-…éone\n+…étwo'
}

@test "lines that are damaged are not compared, and that is said" {
	flow f 'awf-step -n -q one -- echo 1; awf-step -n -q two -- echo 2'
	record a f
	{ head -n 3 "$(transcript)"; echo garbage; tail -n +4 "$(transcript)"; } >damaged.jsonl
	run -0 --separate-stderr awf-diff "$(cat a)" ./damaged.jsonl
	same "$output" ''
	[[ $stderr == 'awf-diff: '*'damaged.jsonl: 1 line is damaged, and not compared (see awf-verify)' ]]
	run -2 awf-diff --ignore inside "$(cat a)" "$(cat a)"
	same "$output" "awf-diff: --ignore: 'inside' is nothing that can differ"
	run -2 awf-diff --html '' "$(cat a)" "$(cat a)"
	[[ $output == 'awf-diff: --html: takes the name of a file, '* ]]
}

@test "values whose blobs are not there count by their digests, and that is said" {
	flow f 'awf-step -n -q big -- sh -c "head -c 300000 /dev/zero | tr \"\\0\" \"$(cat letter)\""' 'awf-step -n -q same -- sh -c "head -c 300000 /dev/zero | tr \"\\0\" s"'
	for id in a b c; do
		if [ $id = b ]; then echo y; else echo x; fi >letter
		record $id f
	done
	rm -r "$AWF_STORAGE/blobs/$(cat a)"
	run -0 --separate-stderr awf-diff "$(cat a)" "$(cat c)"
	same "$output" ''
	[[ $stderr == 'awf-diff: '*"$(cat a).jsonl: has values whose blobs are not there: they count by their digests" ]]
	for pair in 'a b' 'b a'; do
		# shellcheck disable=SC2046,SC2086
		run -1 --separate-stderr awf-diff $(runs $pair)
		[[ $output == *'! big'*'not there: the blob '*'1 same, 1 changed' ]]
	done
}
