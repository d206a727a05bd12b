#!/usr/bin/env bats
# bats file_tags=turn:3
# What README and manual say: their examples run as they are printed, cross
# references lead somewhere, every option is described and completed.
bats_require_minimum_version 1.5.0
load ../../support/helpers
load ../../support/manual

prepare() {
	# The manual says ~/.local/share/awf.
	mkdir -p "$HOME/.local/share"
	mv "$XDG_DATA_HOME/awf" "$HOME/.local/share/awf"
	unset AWF_STORAGE AWF_REPLAY XDG_DATA_HOME
	cp -r "$ROOT/examples/." .
	mkdir stubs
	export PATH="$PWD/stubs:$BUILD/libexec/awf:$PATH"
	export AWF_MODEL=replay/$PWD/recordings/brief.jsonl
	export OPENAI_BASE_URL=http://127.0.0.1:1
}

# Runs an example: PAGE WORDS.
try() { sh -c "$(example "$@")"; }

brief() { echo 'solid-state batteries' | ./brief.awf >brief.txt; }

programs() { (cd "$BUILD/bin" && ls awf*); }

# FILE BEGIN WORDS [END]: each word stands in the file, behind that, and before that (or what is no
# letter).
has_words() {
	local text word
	text=$(<"$1")
	for word in $3; do
		[[ $text =~ "$2$word"${4:-([^a-zA-Z0-9_]|$)} ]] || { echo "$1: $2$word" >&2; return 1; }
	done
}

@test "every option in --help is in the page and in the completions" {
	for program in $(programs); do
		page=$ROOT/man/$program.1
		run -0 "$program" --help=all
		[[ $output == *"usage: $program "* ]]
		# Those of its commands too.
		for command in $(sed -n 's/^  \([a-z]*\) .*/\1/p' <<<"$output"); do
			case "$program $command" in
			'awf doctor') output+=$'\n'$("$program" "$command" --help) ;;
			esac
		done
		long=$(grep -o '^ *\(-., \)\?--[a-z-]*' <<<"$output" | grep -o -- '--[a-z-]*')
		short=$(grep -o '^ *-., --' <<<"$output" | grep -o -- '-.,' | tr -d ,)
		[ -n "$long" ]
		has_words "$page" 'Fl -' "${long//--/}"
		has_words "$page" 'Fl ' "${short//-/}"
		# They ask the program itself.
		! grep -q "_awf_options $program" "$ROOT/completions/$program.bash" || continue
		has_words "$ROOT/completions/$program.bash" -- "${long//--/}"
		has_words "$ROOT/completions/_$program" -- "${long//--/}"
		has_words "$ROOT/completions/_$program" '{-' "${short//-/}" ,--
		has_words "$ROOT/completions/$program.fish" '-l ' "${long//--/}"
		has_words "$ROOT/completions/$program.fish" '-s ' "${short//-/}"
	done
}

@test "--help fits on a screen, and all of it between its sides" {
	local LC_ALL=C.UTF-8 program
	mkdir short all
	for program in $(programs) $(cd "$BUILD/libexec/awf" && ls awf-*); do
		"$program" --help >"short/$program"
		"$program" --help=all >"all/$program"
	done
	for program in 'awf init' 'awf doctor' 'awf-ctl approve' 'awf-ctl prune'; do
		$program --help >"short/$program"
		cp "short/$program" all
	done
	same "$(awk 'FNR > 24 { print FILENAME; nextfile }' short/*)" ''
	same "$(wc -L all/* | awk '$1 > 80 && $2 != "total"')" ''
	run ! grep -n ' $' short/* all/*
	# What is told of first is told of there, too.
	same "$(cd short && awk '
		FNR == 1 { split("", there); while ((getline line < ("../all/" FILENAME)) > 0) there[line] }
		!($0 in there) { print FILENAME ": " $0 }' *)" ''
}

# bats test_tags=turn:3
@test "every program has a page with examples, every cross reference a page" {
	for program in $(programs) $(cd "$BUILD/libexec/awf" && ls awf-*); do
		page=$(page_of "$program")
		grep -q '^\.Sh EXAMPLES' "$ROOT/man/$page" || { echo "$program"; false; }
		# man(1) finds by its head what has no page of its own.
		sed -n '/^\.Sh NAME/,/^\.Nd/p' "$ROOT/man/$page" | grep -qE "^\.Nm $program( ,)?$" || { echo "$page: $program"; false; }
		grep -q "Xr ${page%.?} ${page##*.}" "$ROOT/man/awf.7" || { echo "awf.7: $page"; false; }
	done
	sed -n 's/^\.Xr \(awf[a-z-]*\) \([1-8]\).*/\1.\2/p' "$ROOT"/man/* | sort -u >pages
	[ "$(wc -l <pages)" -ge 10 ]
	while read -r page; do
		[ -e "$ROOT/man/$page" ] || { echo "no page: $page"; false; }
	done <pages
}

@test "every kind of work is in awf-step(1)" {
	awk '/^\.It / { on = /Fl -kind / } on' "$ROOT/man/awf-step.1" >page
	sed -n 's/^\t\.kind = "\(.*\)",$/\1/p' "$ROOT"/cmd/step_kinds/work_*.c | sort -u >kinds
	[ "$(wc -l <kinds)" -ge 9 ]
	while read -r kind; do
		grep -qw -- "$kind" page || { echo "$kind"; false; }
	done <kinds
}

@test "every variable that the programs read or set is in a page" {
	grep -rhoE '"AWF_[A-Z_]*[A-Z]' --include='*.[ch]' "$ROOT/lib" "$ROOT/cmd" | tr -d '"' | sort -u |
		grep -vx AWF_INVARIANT_LOG >variables # programs of tests alone read it
	[ "$(wc -l <variables)" -gt 30 ]
	while read -r variable; do
		grep -qE "^\.(It )?Ev (.* )?[$]?${variable}(_? |\$)" "$ROOT"/man/* || { echo "$variable"; false; }
	done <variables
}

@test "examples begin no program that is not in PATH where AWF is installed" {
	awk '
		/^\.Sh / { on = /EXAMPLES|IDIOMS/ }
		on && /^\.Bd -literal/ { shown = 1; next }
		/^\.Ed/ { shown = 0 }
		on && /^\.Dl / { print substr($0, 5) }
		on && shown' "$ROOT"/man/*.[157] |
		grep -oE '(^|[|&;(] *|[$>] +|do |then |coproc |xargs( -[a-z0-9 ]+)* |/)awf-[a-z_-]+' | grep -o 'awf-.*' | sort -u >begun
	[ "$(wc -l <begun)" -ge 10 ]
	while read -r program; do
		[ -x "$BUILD/bin/$program" ] || { echo "no program in PATH: $program"; false; }
	done <begun
}

# LINE: what bash completes at its end.
complete_line() {
	COMP_LINE=$1 COMP_POINT=${#1}
	_awf_complete "${1%% *}" "${1##* }" 2>/dev/null || :
}

@test "completions in bash" {
	local asking=
	for program in $(programs); do
		# shellcheck disable=SC1090
		. "$ROOT/completions/$program.bash"
		complete -p "$program"
		complete_line "$program --hel"
		same "${COMPREPLY[*]}" --help
		grep -q "_awf_options $program" "$ROOT/completions/$program.bash" || continue
		complete_line "$program --"
		same "${COMPREPLY[*]}" "$("$program" --help=all | grep -oE '^ {2,6}(-., )?--[a-z-]*' | grep -o -- '--[a-z-]*' | paste -sd' ')"
		asking+=" $program"
	done
	same "$asking" ' awf-diff awf-eval awf-exec awf-import awf-mcp awf-record awf-replay awf-run awf-serve awf-ship awf-step awf-tail awf-verify awf-worker'
	complete_line 'awf-run --timeout x'
	same "${COMPREPLY[*]}" ''
	complete_line 'awf-step -a res'
	same "${COMPREPLY[*]}" researcher
	complete_line 'awf doctor --j'
	same "${COMPREPLY[*]}" --json
}

# Runs what a document tells its readers to type, with programs whose patience is whole, as they are installed.
recipes() { PATH="${BUILD%/test}/bin:$PATH" python3 "$ROOT/tests/support/recipes.py" "$@"; }

# The block of README for those who are in a clone.
clone_block() { awk '/^```sh clone/ { on = 1; next } /^```/ { on = 0 } on' "$ROOT/README.md"; }

# bats test_tags=turn:2
@test "README, word for word, from a clone" {
	[ "$BUILD" = "$ROOT/build/test" ] || skip 'built outside of the source tree'
	[ "$(isolation)" = namespaces ] || skip 'no namespaces here'
	[ "$(clone_block | grep -c .)" -eq 2 ]
	local build=$BUILD
	unset BUILD
	cd "$ROOT"
	eval "$(clone_block)" >"$BATS_TEST_TMPDIR/made"
	cd "$BATS_TEST_TMPDIR/work"
	export BUILD=$build
	same "$(command -v awf-run)" "$ROOT/build/bin/awf-run"
	run recipes "$ROOT/README.md"
	same "$output" '1 tried, 0 faults'
}

@test "README says its part in 150 lines" {
	[ "$(wc -l <"$ROOT/README.md")" -le 150 ]
}

# bats test_tags=turn:2
@test "the tutorial, word for word" {
	run recipes "$ROOT/doc/tutorial.md"
	same "$output" '1 tried, 0 faults'
}

@test "the cookbook: three recipes, others each day" {
	local titles i chosen=()
	mapfile -t titles < <(recipes "$ROOT/doc/cookbook.md" --list)
	[ "${#titles[@]}" -ge 40 ]
	for i in 0 1 2; do
		chosen+=("${titles[(${AWF_TEST_TURN:-0} * 3 + i) % ${#titles[@]}]}")
	done
	run recipes "$ROOT/doc/cookbook.md" "${chosen[@]}"
	same "$output" '3 tried, 0 faults'
}

@test "a recipe that prints something else than the document shows is a fault" {
	cat >page.md <<-'END'
		```sh
		x=1
		```

		### Right
		```sh
		echo $x 12ms
		```
		```text
		1 3ms
		```

		### Other
		```sh
		echo 2
		```
		```text
		1
		```

		### More
		```sh
		echo 1 && echo 2
		```
		```text
		1
		```

		### Untold
		```sh
		echo 1
		```

		### Failed
		```sh
		false
		```

		### Unreadable
		```sh key
		if
		```

		### Varies
		```sh
		echo 21 is 8
		```
		<!-- varies: 617 = [0-9]+ -->
		```text
		617 is 8
		```
	END
	run -0 recipes page.md Right Varies
	rm -r ./*/
	for title in Other More Untold Failed Unreadable; do
		run -1 recipes page.md "$title"
		[[ $output == *'1 tried, '[1-9]*' fault'* ]] || { echo "$title"; false; }
		rm -rf ./*/
	done
	run -1 recipes page.md Nothing
	[[ $output == *'has no recipe: Nothing' ]]
	sed -i 's/617 is 8$/617 is 9/' page.md
	run -1 recipes page.md Varies
}

@test "README: every file that it links is there, and its picture is whole" {
	grep -oE '\]\([^)]*\)' "$ROOT/README.md" | sed 's/^](//; s/)$//' >links
	grep -q '\.svg$' links
	while read -r link; do
		[ -e "$ROOT/$link" ] || { echo "no file: $link"; false; }
	done <links
	python3 -c 'import sys, xml.dom.minidom as dom
text = "".join(node.data for tspan in dom.parse(sys.argv[1]).getElementsByTagName("tspan") for node in tspan.childNodes)
sys.exit("awf-run" not in text or "running" not in text or " of 96" not in text)' "$ROOT/examples/live-view.svg"
}

@test "README, tutorial, cookbook and index: every page that they name is there" {
	grep -ohE 'awf[a-z-]*\([1-8]\)' "$ROOT/README.md" "$ROOT"/doc/*.md | sort -u | tr '(' . | tr -d ')' >pages
	[ "$(wc -l <pages)" -ge 30 ]
	while read -r page; do
		[ -e "$ROOT/man/$page" ] || { echo "no $page"; false; }
	done <pages
}

@test "awf-run(1)" {
	answers 'You are the researcher' found 'You are the writer' written >answers.jsonl
	AWF_MODEL=replay/answers.jsonl try awf-run.1 'agents/writer.md write -r'
	same "$(cat brief.txt)" written
	git init -q .
	touch a.c b.c
	git add a.c b.c
	printf '#!/bin/sh\necho "$AWF_INPUT_file"\n' >review.awf
	try awf-run.1 'git ls-files'
	same "$(paste -sd' ' review.txt)" 'a.c b.c'
	mkdir "$HOME/flows"
	printf '#!/usr/bin/env -S awf-run --\nawf-step -n -q a -- false\n' >"$HOME/flows/digest.awf"
	line=$(example awf-run.1 '15 3' | sed -n 's/^15 3 \* \* \*  //p')
	run -3 sh -c "$line"
	[[ $output == *'awf-run: nightly: step a:0:0 failed: false: exit status 1'* ]]
	printf 'echo done\n' >long.awf
	chmod +x long.awf
	run -0 try awf-run.1 'id-file run.id'
	[[ $output == *'run completed (success, '* ]]
	for i in $(seq 12); do awf-run -n --name "n$i" --input i="$i" -c "exit $((i % 2))" 2>/dev/null || true; done
	run -0 try awf-run.1 audit.jsonl
	same "${#lines[@]}" 10
	same "${lines[0]} ${lines[-1]}" '["n3","failed",{"i":"3"}] ["n12","success",{"i":"12"}]'
}

@test "awf-step(1)" {
	same "$(try awf-step.1 'awf-step count' | tr -d ' ')" 2
	git init -q .
	echo 1 >file
	git add file
	echo 2 >file
	answers 'You chair' merge 'You are a reviewer' fault >answers.jsonl
	same "$(AWF_MODEL=replay/answers.jsonl awf-run -n -c "$(example awf-step.1 'agents/chair.md')")" merge
	stub curl 'exit 7'
	echo cached >cache.html
	echo why >question
	answers cached summed >answers.jsonl
	same "$(AWF_MODEL=replay/answers.jsonl awf-run -n -c "$(example awf-step.1 cache.html)" |
		jq -c .)" '{"input":"cached","summary":"summed"}'
	echo x >change
	stub make 'exit 2'
	line=$(example awf-step.1 'make lint')
	same "$(sh -c "${line/.../echo clean; else echo faults}")" faults
}

# follows PAGE PATTERN COMMAND: an example that follows what will run, which is COMMAND,
# again and again until it has seen one.
follows() {
	try "$1" "$2" 3>&- &
	while kill -0 $! 2>/dev/null; do
		awf-run -n "$3" >&2 || true
		sleep 0.1
	done
}

# bats test_tags=turn:2
@test "awf-tail(1)" {
	export JQ=jq
	brief
	same "$(try awf-tail.1 @brief.awf | head -n 1)" '["search_notes",{"query":"solid-state","limit":10}]'
	same "$(try awf-tail.1 '--inline --type' | head -n 1)" \
		'I start with the topic itself, its electrolytes and what it costs.'
	# With what runs inside of others have used, and without tries and waits, which used nothing.
	answers inside found >answers.jsonl
	sed -i 's/}$/,"usage":{"input_tokens":1000,"output_tokens":500}}/' answers.jsonl
	AWF_MODEL=replay/answers.jsonl awf-run -n --name outer -c 'awf-run -n --name inner -c "awf-step -n -q -p inside ask"'
	same "$(try awf-tail.1 'while read -r run' | sort)" $'answers.jsonl 500\nscripted-model 1601'
	stub ssh 'shift; exec "$@"'
	[[ $(follows awf-tail.1 'ssh host' true) == *'run completed (success, '* ]]
	same "$(try awf-tail.1 'awf-tail --errors')" ''
	# What examples compute, on what is known: 22 runs, more than a list for people shows.
	for i in {1..22}; do
		awf-run -n --name "nightly $((i % 2))" -c "awf-step -n -q a -- sh -c 'echo why $i >&2; exit 1'" 2>/dev/null || true
	done
	run -0 try awf-tail.1 'awf-tail --errors'
	same "$(grep -c '^nightly [01]:$' <<<"$output") $(grep -c ' | why [0-9]*$' <<<"$output")" '22 22'
	same "$(sed -n 1,3p <<<"$output" | sed 's/^ *[0-9.]* //; s/([^)]*)/()/; s/^ *//')" 'nightly 0:
a failed (): exit_status: sh: exit status 1: why 22
| why 22'
	answers topic found x y >answers.jsonl
	mkdir -p "$XDG_CONFIG_HOME/awf" && printf 'replay/* 1000 1000\n' >"$XDG_CONFIG_HOME/awf/prices"
	sed -i 's/}$/,"usage":{"input_tokens":1000,"output_tokens":500}}/' answers.jsonl
	for name in 'my flow' other 'my flow'; do
		echo topic | AWF_MODEL=replay/answers.jsonl awf-run --name "$name" -c 'awf-step -q -p "{{data}}" ask'
	done
	same "$(try awf-tail.1 'group_by(.name)' | grep -v 'nightly\|brief\|true\|inner\|outer')" $'3\tmy flow\n1.5\tother'
	rm "$XDG_CONFIG_HOME/awf/prices"
	stub notify-send 'echo "$@"'
	[[ $(follows awf-tail.1 notify-send false) == *'the run failed' ]]
}

@test "awf-verify(1)" {
	brief
	same "$(try awf-verify.1 '$ awf-verify')" ''
	[[ $(try awf-verify.1 'awf-verify -v') == *' 32 events, 1 attempts, 3 calls, 7 tool calls'* ]]
	same "$(try awf-verify.1 'for f in')" ''
	cp "$(readlink -f ~/.local/share/awf/latest)" "$HOME/.local/share/awf/transcripts/torn.jsonl"
	echo torn >>"$HOME/.local/share/awf/transcripts/torn.jsonl"
	[[ $(try awf-verify.1 'for f in') == *'/torn.jsonl' ]]
	rm "$HOME/.local/share/awf/transcripts/torn.jsonl"
	same "$(try awf-verify.1 'xargs -r awf-verify')" ''
	[[ $(try awf-verify.1 @brief | jq -r .payload.status) == success ]]
	try awf-verify.1 'keys[]' | grep -qx exit_code
	echo 'solid-state batteries' >topic
	(unset XDG_CONFIG_HOME && sh -ec "$(example awf-verify.1 keygen)")
	same "$(jq -r 'select(.type == "run.completed") | .payload.seal | type' "$(readlink -f ~/.local/share/awf/latest)")" object
	stub ssh 'shift; cd log && sh -c "$*"'
	mkdir log
	(unset XDG_CONFIG_HOME && sh -ec "$(example awf-verify.1 print-head)")
}

@test "awf-diff(1)" {
	# The last three lines are what it prints.
	same "$(sh -c "$(example awf-diff.1 'tr a-z A-Z' | sed '/^awf-diff/q')" 2>&1)" \
		"$(example awf-diff.1 'tr a-z A-Z' | tail -n 3)"
}

@test "awf-replay(1): what it shows" {
	brief
	stub less 'cat'
	stub xdg-open 'grep -c "<details class=.call " "$1"'
	[[ $(try awf-replay.1 'less -R') == *'research'*'search_notes'* ]]
	same "$(try awf-replay.1 '--state write' | tail -n 1)" "$(tail -n 1 brief.txt)"
	same "$(try awf-replay.1 xdg-open)" 3
	same "$(try awf-replay.1 'sed ' | tail -n 1)" "$(awf-replay --order causal | awf-tail - | tail -n 1)"
	same "$(try awf-replay.1 sha256sum)" "$(awf-replay --order causal >other; awf-replay --canonical other | sha256sum)"
	awf-run -n --name brief.awf -c 'echo topic | awf-step analyse -q -- false' || true
	same "$(try awf-replay.1 xargs)" "$(awf-replay --tree | grep ' failed (')"
	for _ in {1..22}; do
		awf-run -n --name other -c 'awf-step -n -q b -- false' 2>/dev/null || true
	done
	same "$(try awf-replay.1 xargs | grep -c '^other failed (')" 22
	awf-run -n --name brief.awf -c 'echo topic | awf-step analyse -q -- false' || true
	answers topic analysed >answers.jsonl
	same "$(AWF_MODEL=replay/answers.jsonl try awf-replay.1 'select(.error)')" analysed
}

@test "awf-agent(5) and awf-tool(5)" {
	answers 'You are the researcher' found '"Title: t' bug 'Title: u' feature >answers.jsonl
	sed -i 's/"\\"Title/"Title/' answers.jsonl
	printf '%s\n' '{"match":"Find the date","blocks":[{"type":"text","text":"{\"date\":\"2026-11-01\",\"amount\":5}"}]}' >>answers.jsonl
	export AWF_MODEL=replay/$PWD/answers.jsonl
	same "$(try awf-agent.5 "'solid-state batteries' |")" found
	echo '{"issues":[{"title":"t","labels":["l"],"body":"b"},{"title":"u","body":"c"}]}' >issues.json
	echo 'You sort issues.' >agents/triage.md
	same "$(try awf-agent.5 issues.json | paste -sd' ')" 'bug feature'
	echo invoice >invoice.txt
	same "$(try awf-agent.5 invoice.txt)" 5
	example awf-tool.5 'Counts the words' >tools/word_count.tool.json
	same "$(try awf-tool.5 'one two')" 2
	AWF_MODEL=replay/$PWD/recordings/brief.jsonl brief
	try awf-tool.5 group_by | jq -e '.search_notes // .word_count | . > 0'
}

@test "awf-mcp(5)" {
	stub npx "exec python3 '$ROOT/tests/support/mcp-server.py'"
	example awf-mcp.5 server-filesystem >.mcp.json
	example awf-mcp.5 mcp__files__read_text_file | sed 's/read_text_file/echo/; s/list_directory/number/' \
		>agents/librarian.md
	printf '%s\n' '{"turn":0,"blocks":[{"type":"tool_use","tool_id":"1","tool_name":"mcp__files__echo","tool_input":{"text":"MIT"}}]}' \
		'{"turn":1,"blocks":[{"type":"text","text":"MIT"}]}' >answers.jsonl
	same "$(awf-step -m replay/answers.jsonl -a librarian ask -r <<<licence)" MIT
	same "$(try awf-mcp.5 tool.result)" 'mcp__files__echo	ok'
	same "$(try awf-mcp.5 message.user)" 'mcp__files__echo	read
mcp__files__number	read'
	same "$(try awf-mcp.5 dry-run | wc -l)" 26
}

@test "awf-provider-replay(1) and awf-provider(7)" {
	same "$(try awf-provider-replay.1 Translate)" 'GUTEN TAG'
	brief
	echo 'solid-state batteries' >topic
	same "$(try awf-provider-replay.1 readlink)" "$(cat brief.txt)"
	mkdir providers
	example awf-provider.7 awf-provider-echo >providers/awf-provider-echo
	chmod +x providers/awf-provider-echo
	same "$(echo hi | AWF_PROVIDER_PATH=$PWD/providers awf-step -r -m echo/x say)" hi
	model_server --answer "$ROOT/tests/fixtures/anthropic/text.jsonl"
	line=$(example awf-provider.7 'Name a colour')
	same "$(sh -c "${line//\/usr\/local/"$BUILD"}")" \
		"$(jq -j '.delta.text? // empty' "$ROOT/tests/fixtures/anthropic/text.jsonl")"
}

@test "awf-mask-patterns(1), and masking in awf-run(1)" {
	printf '#!/usr/bin/env -S awf-run --\nawf-step -n -q a -- echo "key sk-%s"\n' "$(printf '%030d' 7)" >digest.awf
	chmod +x digest.awf
	./digest.awf
	echo 're:sk-[0-9]{20,}' >patterns
	same "$(try awf-mask-patterns.1 'grep -c')" 2
	for words in "echo 're:sk" 'env[]'; do
		try awf-mask-patterns.1 "$words"
		run ! grep -r sk-0 ~/.local/share/awf/latest
		same "$(jq -r 'select(.type == "step.completed").payload.result' ~/.local/share/awf/latest)" 'key [masked]'
	done
	same "$(jq -c 'select(.type == "run.started").payload.env | [.[]] | unique' ~/.local/share/awf/latest)" '[null]'
	stub pass 'echo swordfish'
	printf 'awf-step -n -q a -- echo swordfish\n' >deploy.awf
	chmod +x deploy.awf
	XDG_RUNTIME_DIR=$PWD try awf-run.1 'pass show deploy'
	same "$(jq -r 'select(.type == "step.completed").payload.result' ~/.local/share/awf/latest)" '[masked]'
}

@test "awf-record(1)" {
	awf-run -n -c "$(example awf-record.1 'awf-step -n train')"
	same "$(try awf-record.1 '--type epoch' | paste -sd,)" '0.5,0.25'
	[[ $(try awf-record.1 fetch) == *' call fetch: url='*' result fetch '* ]]
	# The other machine is this one, with another storage.
	awf-run -n --name theirs true
	mv "$HOME/.local/share/awf" theirs
	stub ssh 'shift; echo $$ >"'"$PWD"'/follower"; export AWF_STORAGE="'"$PWD"'/theirs" HOME="'"$PWD"'/home"; [ $# -gt 1 ] || exec sh -c "$1"; exec "$@"'
	mkdir -p home/.local/share && ln -s "$PWD/theirs" home/.local/share/awf
	try awf-record.1 'ssh host awf-tail -F' 3>&- &
	eventually [ -s follower ]
	AWF_STORAGE=$PWD/theirs awf-run -n --name later true
	eventually sh -c 'awf-tail --list --json | grep -q "\"later\",\"status\":\"success\".*\"origin\":\"host\""'
	kill "$(cat follower)"
	wait || true
	try awf-record.1 'tar c blobs'
	same "$(awf-tail --list --json | jq -r .origin | sort | uniq -c | tr -s ' ')" ' 4 host'
	for file in theirs/transcripts/*; do cmp "$file" "$HOME/.local/share/awf/transcripts/$(basename "$file")"; done
	awf-verify "$HOME/.local/share/awf"
}

# bats test_tags=turn:2
@test "awf-transcript(5)" {
	export JQ=jq
	brief
	[[ $(try awf-transcript.5 'awf-tail --json | jq') == '{'*'"seq": 1,'* ]]
	same "$(try awf-transcript.5 INDEX | jq -c '[.name, (.output | length > 0), .error]' | sort | uniq -c | tr -s ' ')" \
		"$(printf ' 5 ["search_notes",true,null]\n 2 ["word_count",true,null]')"
	same "$(try awf-transcript.5 'select(.type == "text") | .text' | tail -n 1)" "$(tail -n 1 brief.txt)"
	same "$(try awf-transcript.5 '"router"' | wc -l)" 14
	same "$(try awf-transcript.5 '.path / "."' | paste -sd' ')" 'research:0:0 analyse:0:0 write:0:0'
	same "$(try awf-transcript.5 group_by)" '{"model":"scripted-model","input":7470,"output":1601}'
	same "$(try awf-transcript.5 'sort -rn' | wc -l)" 3
	same "$(try awf-transcript.5 b2sum | cut -c 1-64 | uniq | wc -l)" 1
	awf-run -n -c 'awf-step -n -q a -- false' || true
	same "$(try awf-transcript.5 'select(.payload.error)' | head -n 1)" 'a:0:0: false: exit status 1'
}

@test "awf-step(1): a secret among documents fails the run, harmless ones do not" {
	mkdir papers && cd papers && mkdir docs
	echo a >docs/a.txt
	echo b >docs/b.txt
	example awf-step.1 'q SECRET' >flow
	run -0 --separate-stderr awf-run ./flow
	same "$output$stderr" ''
	echo SECRET >docs/b.txt
	run -3 --separate-stderr awf-run ./flow
	[[ $stderr == *docs/b.txt* && $stderr != *docs/a.txt* ]]
}

# bats test_tags=turn:3
@test "every example of the manual is shell, and says options that there are" {
	run -0 --separate-stderr "$ROOT/tests/support/manual-examples.py" "$ROOT/man"
	[ "$output" -gt 150 ]
	same "$stderr" ''
	mkdir pages
	printf '.Sh EXAMPLES\n.Dl awf-step -i lines --eahc a -- sh -c "x\n.Dl awf-tail --json | awf-ctl prune --max-cuont 3\n' >pages/x.1
	run -1 --separate-stderr "$ROOT/tests/support/manual-examples.py" pages
	[[ $stderr == *'unexpected EOF'*'awf-step has no --eahc'*'awf-ctl has no --max-cuont'* ]]
}

@test "awf-ctl(1) and awf(1)" {
	printf '#!/usr/bin/env -S awf-run --\nawf-step --approve editor | awf-step publish -r -- tr a-z A-Z\n' >brief.awf
	echo draft | awf-run ./brief.awf || true
	stub vi 'echo edited >"$1"'
	[[ $(try awf-ctl.1 'vi draft.txt') == *brief.awf*waiting* ]]
	same "$(cat brief.txt)" EDITED
	stub submit 'echo "$2" >task'
	awf-run -n -c 'awf-step -n --pending batch -r -- sh -c "./stubs/submit --reference \$AWF_TASK_TOKEN; exit 75"' || true
	[[ $(try awf-ctl.1 'for) ') == "completion batch:0:0 "*" $(cat task)"* ]]
	echo '{"done":1}' >result.json
	same "$(task=$(cat task) sh -c "$(example awf-ctl.1 'task%%')")" '{"done":1}'
	same "$(try awf-ctl.1 'while read -r run')" ''
	same "$(try awf-ctl.1 'max-size 2G')" ''
	mkdir empty && cd empty
	[[ $(AWF_MODEL='' try awf.1 'awf init demo') == *'run started (brief.awf'* ]]
	[[ $(try awf.1 '== "ok"') == *replay* ]]
}

# bats test_tags=turn:3
@test "awf-prices(5) and awf-models(5)" {
	unset XDG_CONFIG_HOME
	awf trust --edits .
	try awf-prices.5 gpt-oss
	brief
	answers 'sky' blue 'x' y topic found >answers.jsonl
	[[ $(AWF_MODEL=replay/answers.jsonl try awf-prices.5 'run.completed' 2>&1) == *'run completed (success'* ]]
	same "$(try awf-prices.5 'map(.cost')" 0
	[[ $(try awf-prices.5 'xargs -r -n 1' 2>&1) == *'no price of'* ]]
	# Of 22 runs that cost a dollar each, and of as many without a price.
	sed -i 's/}$/,"usage":{"input_tokens":1000,"output_tokens":0}}/' answers.jsonl
	for _ in {1..22}; do
		echo sky | AWF_MODEL=replay/answers.jsonl awf-run --name 'a b' -c 'awf-step -q -p "{{data}}" ask'
	done
	[ "$(try awf-prices.5 'xargs -r -n 1' 2>&1 | grep -c 'run completed')" -ge 22 ]
	echo 'replay/answers* 1000 0' >>~/.config/awf/prices
	same "$(try awf-prices.5 'map(.cost')" 22
	same "$(try awf-prices.5 'xargs -r -n 1' 2>&1 | grep -c 'no price of replay/answers')" 0
	sed -i '$d' ~/.config/awf/prices
	echo 'awf-step -n -q a -- true' >digest.awf && chmod +x digest.awf
	try awf-prices.5 '>>costs'
	same "$(cut -f2 costs)" 0
	try awf-models.5 'opus openai'
	echo 'You review.' >agents/reviewer.md
	same "$(AWF_MODEL=opus try awf-models.5 reviewer)" gpt-5.1
	echo "haiku replay/$PWD/answers.jsonl" >~/.config/awf/models
	same "$(try awf-models.5 'Why is the sky')" blue
}

@test "every key of an endpoint's file is in awf-endpoint(5)" {
	sed -n '/^\.Ss Where the server is/,/^\.Sh ENDPOINTS/p' "$ROOT/man/awf-endpoint.5" >page
	grep -o '{ "[a-z_0-9]*", check_' "$ROOT/lib/providers/endpoint_check.c" | cut -d'"' -f2 | sort -u >keys
	[ "$(wc -l <keys)" -ge 40 ]
	while read -r key; do
		grep -qE "^\.(It |Po |Pq )?(Cm|Li) .*\b$key\b" page || { echo "not told of: $key"; false; }
	done <keys
}

# The examples of files in awf-endpoint(5), one a line; several may stand in one display.
endpoint_examples() {
	awk '/^\.Sh / { on = /EXAMPLES/ } on && /^\.Bd -literal/ { inside = 1; next } /^\.Ed/ { inside = 0 }
		on && inside' "$ROOT/man/awf-endpoint.5" | sed '/^---$/,/^You do/d; /^[^ {]/d' | shown | jq -c .
}

# bats test_tags=turn:4
@test "awf-endpoint(5)" {
	umask 022
	unset XDG_CONFIG_HOME
	directory=$HOME/.config/awf/endpoints
	[[ $(try awf-endpoint.5 work.json) == *'wrong  work '*'no key: set WORK_API_KEY'* ]]
	same "$(jq -r .base_url "$directory/work.json")" https://llm.example.com/v1
	# Each file is right: of the name that it is to have, or of any.
	endpoint_examples >files
	[ "$(wc -l <files)" -ge 12 ]
	mkdir -p ~/.ssl
	n=0
	while read -r file; do
		n=$((n + 1))
		name=example-$n
		case $file in
		*'"protocol"'*) ;;
		*moonshot*) name=moonshot ;;
		*europe-west1*) name=vertex ;;
		*sigv4*) name=bedrock-claude ;;
		*cache_control*) name=anthropic ;;
		*developer*) name=openai ;;
		*) echo "for which endpoint? $file" >&2; false ;;
		esac
		echo "$file" >"$directory/$name.json"
		# What it names is not there; but it is read.
		found=$(awf doctor --json | jq -r --arg name "$name" 'select(.group == "endpoints" and .name == $name).message')
		[[ $found =~ ^(chat|responses|messages|gemini),\ https?:// ]] || { echo "$file: $found" >&2; false; }
	done <files
	[[ $(try awf-endpoint.5 'group == "endpoints"') == *'ollama: chat, http://127.0.0.1:11434/v1; no key'* ]]
	run -3 try awf-endpoint.5 'doctor --ask'
	[[ $output == *'no API key: set GROQ_API_KEY'* ]]
	# The server on this machine is none here.
	stub awf-provider-ollama 'exec awf-provider-replay "$@"'
	answers '' blue >answers.jsonl
	same "$(AWF_REPLAY=$PWD/answers.jsonl try awf-endpoint.5 ollama/qwen3:8b)" blue
	try awf-endpoint.5 https_proxy
}

@test "awf-worker(1)" {
	printf '#!/usr/bin/env -S awf-run\nawf-step -r review -- tr a-z A-Z\n' >review.awf
	chmod +x review.awf
	mkdir -p ~/jobs ~/bin incoming results stubs
	cp review.awf ~/bin
	ln -s ~/jobs jobs
	export PATH="$PWD/stubs:$PATH"
	printf '#!/bin/sh\necho diff\n' >stubs/git
	printf '#!/bin/sh\nshift\nsh -c "$1"\n' >stubs/ssh
	printf '#!/bin/sh\nsh -c "$2"\n' >stubs/sbatch
	printf '#!/bin/sh\nls incoming\n' >stubs/inotifywait
	chmod +x stubs/*
	try awf-worker.1 'jobs/.mine'
	try awf-worker.1 'ssh build'
	echo came >incoming/third
	try awf-worker.1 'inotifywait'
	example awf-worker.1 'cat >"$HOME/jobs' >take.awf
	echo body | awf-run ./take.awf
	same "$(find ~/jobs -maxdepth 1 -type f | wc -l)" 4
	line=$(example awf-worker.1 '--once -j 2' | sed -n 's,^[*]/5 [*] [*] [*] [*] ,,p')
	same "$(sh -c "$line" | cut -f2 | sort | uniq -c | tr -d ' ')" 4success
	same "$(try awf-worker.1 'uniq -c' | tr -d ' ')" 4success
	echo x >~/jobs/'of two words'
	sh -c "$(example awf-worker.1 'read -r job' | sed 's/^awf-worker/& --once/')"
	same "$(cat 'results/of two words')" X
	printf '#!/bin/sh\nawf-step -q look -- sh -c "echo no database >&2; exit 4"\n' >review.awf
	echo x >~/jobs/bad
	run -3 sh -c "$(example awf-worker.1 sbatch)"
	[[ $(try awf-worker.1 'jobs/failed' | head -n 1) == 'jobs/failed/bad/err:awf-run: '*'step look:0:0 failed: '* ]]
	same "$(ls ~/jobs/running)" bad
}

@test "awf(1): providers are those alone that can be asked" {
	mkdir -p ~/.config/awf && echo '* at-once=2' >~/.config/awf/limits
	OPENAI_API_KEY=none try awf.1 '"providers"' >asked
	same "$(grep -cx 'replay\|openai' asked)" 2
	while read -r provider; do
		[ -x "$BUILD/libexec/awf/awf-provider-$provider" ] || { echo "no provider: $provider"; false; }
	done <asked
}

@test "awf-limits(5)" {
	unset XDG_CONFIG_HOME
	awf trust --edits .
	try awf-limits.5 'at-once=4'
	grep -q '^claude     at-once=1$' ~/.config/awf/limits
	answers uno one due two tre three >answers.jsonl
	echo "sonnet replay/$PWD/answers.jsonl" >~/.config/awf/models
	printf "%s\n" uno due tre >questions
	same "$(try awf-limits.5 'j 100' | paste -sd' ')" 'one two three'
	same "$(try awf-limits.5 'awf doctor' | grep -c 'at once')" 3
	same "$(try awf-limits.5 'duration_ms')" ''
	try awf-limits.5 'night'
	same "$(try awf-limits.5 'awf-tail --limits' | sed 's/  */ /g' | tail -n 3)" \
		$'@ cost-per-day $0.0000 of $20.0000\nanthropic/*opus* cost-per-day $0.0000 of $5.0000\n@night* cost-per-day $0.0000 of $2.0000'
	# Two at once, of whom one is answered at a time, the first after longer than a wait may last untold.
	printf 'echo at-once=1\n' >~/.config/awf/limits
	mkdir providers
	example awf-provider.7 awf-provider-echo | sed 's/^exec/sleep 0.4; exec/' >providers/awf-provider-echo
	chmod +x providers/awf-provider-echo
	AWF_PROVIDER_PATH=$PWD/providers awf-run -n -c 'for question in uno due; do
			echo "$question" | awf-step -q -m echo/x -p "{{data}}" ask & done; wait'
	run -0 try awf-limits.5 'duration_ms'
	same "$(cut -f 1,2 <<<"$output")" $'ask\techo'
	same "$(cut -f 3 <<<"$output" | jq '. > 0.3')" true
}

@test "awf-sandbox(1), awf-tools(7) and awf-skills(7)" {
	[ "$(isolation)" = namespaces ] || skip "no namespaces here"
	mkdir -p empty/{src,stubs,agents} && cd empty && touch src/a src/b
	export PATH="$PWD/stubs:$PATH"
	stub curl 'echo "ls | wc -l; touch mine 2>/dev/null || echo 0"'
	same "$(try awf-sandbox.1 'sort -n' | paste -sd' ')" '0 2'
	stub make 'echo made >out'
	try awf-sandbox.1 '-- make' && same "$(cat out)" made
	same "$(try awf-sandbox.1 '.namespaces')" true
	same "$(try awf-sandbox.1 square)" 36
	answers 'signals' 'in wait.c' >answers.jsonl
	same "$(AWF_MODEL=replay/answers.jsonl try awf-tools.7 guide.md)" 'in wait.c'
	run -1 try awf-tools.7 'list -r'
	same "$output" 0
	touch a.c src/b.c
	same "$(try awf-tools.7 'list -r')" 2
	line=$(example awf-tools.7 'exit 3')
	[[ $(sh -c "${line//\/usr\/local/"$BUILD"}") == *"$(date +%Y)"* ]]
	# What failed, or was not allowed, has changed nothing.
	printf '%s\n' '{"turn":0,"blocks":[{"type":"tool_use","tool_id":"1","tool_name":"write","tool_input":{"file_path":"n","content":"a"}},{"type":"tool_use","tool_id":"2","tool_name":"edit","tool_input":{"file_path":"none","old_string":"a","new_string":"b"}},{"type":"tool_use","tool_id":"3","tool_name":"bash","tool_input":{"command":"echo b >m; rm a.c"}},{"type":"tool_use","tool_id":"4","tool_name":"write","tool_input":{"file_path":"/etc/x","content":"a"}}]}' \
		'{"turn":1,"blocks":[{"type":"text","text":"ok"}]}' >changes.jsonl
	awf-step -q -n -p do -m replay/changes.jsonl --allow-tools write,edit,bash change 2>/dev/null
	same "$(try awf-tools.7 '.changed' | sort)" $'bash\tcreated\tm\nbash\tdeleted\ta.c\nwrite\tcreated\tn'
	mkdir -p skills/{pdf-forms,letters}
	for skill in pdf-forms letters; do printf -- '---\nname: %s\ndescription: d\n---\nDo.\n' $skill >skills/$skill/SKILL.md; done
	try awf-skills.7 clerk.md
	echo 'Be polite.' >AGENTS.md
	[[ $(try awf-skills.7 'jq -r .system') == *letters*pdf-forms* || $(try awf-skills.7 'jq -r .system') == *pdf-forms*letters* ]]
}

# bats test_tags=turn:2
@test "awf-projections(7), and what awf-replay(1) does with recordings" {
	brief
	same "$(try awf-projections.7 task_sent | head -n 1 | cut -d' ' -f1-3)" 'brief.awf -> researcher'
	[[ $(try awf-projections.7 'sort -rn | head' | head -n 1) == *brief.awf* ]]
	try awf-projections.7 '--schema runtime' | grep -q .
	echo 'solid-state batteries' >topic
	same "$(try awf-projections.7 --from)" "$(cat brief.txt)"
	same "$(try awf-replay.1 'diff - brief.awf')" ''
	mkdir -p tests/recordings
	(unset JQ && try awf-replay.1 '--snapshot ./brief.awf')
	same "$(bash -c "$(example awf-replay.1 '--record now')" 2>/dev/null)" ''
}
