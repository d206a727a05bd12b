#!/usr/bin/env bats
# Completions of the shells: what they offer, and that names of files and of runs are data, never
# run.
# shellcheck disable=SC2016 # what must not be expanded
bats_require_minimum_version 1.5.0
load ../../support/helpers

# Files, tools, workflows and transcripts whose names are commands.
harmful() {
	mkdir -p agents tools
	local name
	for name in '$(touch pwned)' '`touch pwned`' ';touch pwned;' 'a b' $'a\ntouch pwned' \
		'<(touch pwned)' '{$(touch pwned),x}' '${x:-$(touch pwned)}' "'" '*' '!!'; do
		: >"agents/$name.md"
		: >"tools/$name.tool.json"
		: >"$name.jsonl"
		awf-run -n --name "$name" -c 'awf-step -n a -q -- true' 2>/dev/null || true
	done
	: >agents/writer.md
	: >tools/add.tool.json
	cp "$(transcript)" "$AWF_STORAGE/transcripts/"'$(touch pwned).jsonl'
	: >"$AWF_STORAGE/transcripts/"'`touch pwned`.jsonl'
}

# Runs, an agent and a tool to be named.
usual() {
	mkdir -p agents tools
	echo 'You write.' >agents/writer.md
	echo '{}' >tools/word_count.tool.json
	awf-run -n --id 22222222-1111-4111-8111-111111111111 --name brief.awf -c \
		'for step in research analyse write; do awf-step -n -q $step -- true; done'
	awf-run -n --id 22222222-2222-4222-8222-222222222222 --name other true
	awf-run --name waits -c 'echo x | awf-step -q --approve check' 2>/dev/null || true
}

# What is typed in front of the tab key, and what it comes to.
typed() {
	cat <<-'END'
		awf-run --resume @bri|awf-run --resume @brief.awf
		awf-run --resume 22222222-1|awf-run --resume 22222222-1
		awf-run --fork @brief.awf --at re|awf-run --fork @brief.awf --at research
		awf-run --fork 22222222-1 --at wr|awf-run --fork 22222222-1 --at write
		awf-run --resume @brief.awf --redo ana|awf-run --resume @brief.awf --redo analyse
		awf-run --overlap buffer-o|awf-run --overlap buffer-one
		awf-run --name oth|awf-run --name other
		awf-run --deta|awf-run --detach
		awf-run --timeout |awf-run --timeout
		awf-run --timeout 5m --id-f|awf-run --timeout 5m --id-file
		awf-mcp --workf|awf-mcp --workflows
		awf-record --max-l|awf-record --max-line
		awf-replay --canon|awf-replay --canonical
		awf-serve --ingest-r|awf-serve --ingest-rate
		awf-ship --blo|awf-ship --blobs
		awf-verify --print-h|awf-verify --print-head
		awf-worker --onc|awf-worker --once
		awf-step -a wri|awf-step -a writer
		awf-step -m openai/gpt-5-n|awf-step -m openai/gpt-5-nano
		awf-step -m son|awf-step -m sonnet
		awf-step -m cop|awf-step -m copilot/
		awf-step -t word|awf-step -t word_count
		awf-step --sandbox-m|awf-step --sandbox-mode
		awf-step --fail-f|awf-step --fail-fast
		awf-tail --exit-s|awf-tail --exit-status
		awf-step -i js|awf-step -i json
		awf-tail @oth|awf-tail @other
		awf-tail @brief.awf --path wri|awf-tail @brief.awf --path write
		awf-tail --type step.comp|awf-tail --type step.completed
		awf-tail --as otl|awf-tail --as otlp
		awf-tail --list --name bri|awf-tail --list --name brief.awf
		awf-replay @brief.awf --state ana|awf-replay @brief.awf --state analyse
		awf-verify @bri|awf-verify @brief.awf
		awf-ctl app|awf-ctl approve
		awf-ctl approve che|awf-ctl approve check
		awf-ctl approve |awf-ctl approve check
		awf-ctl approve --reason fine |awf-ctl approve --reason fine check
		awf-ctl approve check @wai|awf-ctl approve check @waits
		awf-ctl prune --name oth|awf-ctl prune --name other
		awf-serve --new-token re|awf-serve --new-token read
		awf tail @oth|awf tail @other
		awf show @brief.awf --state rese|awf show @brief.awf --state research
		awf run --resume @bri|awf run --resume @brief.awf
	END
}

# What a shell makes of it.
completed_by() {
	command -v "$1" >/dev/null || skip "no $1 here"
	usual
	typed | cut -d'|' -f1 | "$ROOT/tests/support/complete.py" "$1" >have
	typed | cut -d'|' -f2 | sed 's/ /></g; s/.*/<&>/' | diff -u - have
}

# bats test_tags=turn:2
@test "bash completes what people type" { completed_by bash; }
# bats test_tags=turn:3
@test "zsh completes what people type" { completed_by zsh; }
# bats test_tags=turn:2
@test "fish completes what people type" { completed_by fish; }

# The words before a name, its beginning as it is typed, and what it comes to: the name and nothing
# but it, in one word.
whole_in() {
	command -v "$1" >/dev/null || skip "no $1 here"
	local name='ev`touch pwned`$(touch pwned)$HOME >pwned;&|()<"'\''x *?[a]{b,c}~#!!\:=@%^,x'
	local file=$'fi`touch pwned`\nle !.jsonl' before typed value
	awf-run -n --name "$name" true
	awf-run -n --name 'o;a1' true
	awf-run -n --name 'o;a2' true
	mkdir tools
	echo '{}' >"tools/$name.tool.json"
	: >"$file"
	while IFS='|' read -r before typed value; do
		case $value in
		*NAME) value=${value%NAME}$name ;;
		*FILE) value=${value%FILE}$file ;;
		esac
		printf '%s %s\n' "$before" "$typed" >>lines
		printf '<%s><%s>\n' "${before// /><}" "$value" >>wanted
	done
	"$ROOT/tests/support/complete.py" "$1" <lines | diff -u wanted -
	[ ! -e pwned ]
}

# In each of the quotes, with an end of one, and where several begin like it.
names() {
	cat <<-'END'
		awf-tail|@ev|@NAME
		awf-tail|"@ev|@NAME
		awf-tail|'@ev|@NAME
		awf-tail|"@e"v|@NAME
		awf-tail|'@ev`touch'\ |@NAME
		awf-tail|'@ev`touch pwned`$(t|@NAME
		awf-tail --list --name|ev|NAME
		awf-run --name|"ev|NAME
		awf-run --resume|'@'e|@NAME
		awf run --fork|@ev|@NAME
		awf-step -t|ev|NAME
		awf-step -t|'ev|NAME
		awf-tail|fi|FILE
		awf tail|"fi|FILE
	END
}

@test "bash: a name is one word, whatever is in it" {
	whole_in bash < <(names; cat <<-'END'
		awf-tail|"@ev\`touch pwned\`\$|@NAME
		awf-tail|@ev\`touch\ pwned\`|@NAME
		awf-step -p|@fi|@FILE
		awf-ship --to|sqlite:fi|sqlite:FILE
		awf-ship --to|'sqlite:fi|sqlite:FILE
	END
	)
}

# bats test_tags=turn:3
@test "zsh: a name is one word, whatever is in it" { whole_in zsh < <(names; echo 'awf-run --name|o|o;a'); }
@test "fish: a name is one word, whatever is in it" { whole_in fish < <(names; echo 'awf-run --name|o|o;a'); }

# Lines of awf complete, without what stands behind the tab.
offers() { awf complete "$@" | cut -f1 | paste -sd' '; }

@test "awf complete: a line for each, with what it is" {
	usual
	same "$(awf complete names)" 'waits	waiting
other	success
brief.awf	success'
	same "$(offers runs | sed 's/ [0-9a-f]\{8\} / ID /')" '@ @waits ID @other 22222222-2 @brief.awf 22222222-1'
	same "$(awf complete runs | sed -n '5p')" '22222222-2	other, success'
	same "$(offers runs waiting | sed 's/ [0-9a-f]\{8\}$/ ID/')" '@ @waits ID'
	same "$(offers runs running)" ''
	same "$(awf complete steps @brief.awf)" 'research	command
analyse	command
write	command'
	same "$(awf complete waiting)" 'check	approval'
	same "$(offers steps @nosuch)" ''
	same "$(offers agents)" writer
	same "$(offers tools)" 'bash edit glob grep read run_workflow word_count write'
	same "$(offers projections)" 'interagent agent-event daemon-event langgraph runtime otlp agentloom'
	[[ $(offers models) == 'sonnet opus '*' anthropic/'*' openai/gpt-5 '* ]]
	[[ $(offers providers) == 'anthropic google openai '* ]]
	[[ $(offers types) == 'run.started run.completed step.started '* ]]
	# Nothing is made, and nothing said, where there is nothing.
	AWF_STORAGE=$PWD/none run -0 awf complete runs
	same "$output" ''
	[ ! -e none ]
	while IFS='|' read -r words message; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr awf complete $words
		same "$stderr" "awf: $message"
	done <<-'END'
		|complete: no kind given: awf complete KIND [OF]
		nothing|nothing: is nothing that can be completed
		agents x|x: is one word too many
		steps @ x|x: is one word too many
	END
}

@test "awf complete reads no more of a storage than the runs that it offers" {
	usual
	local number
	for number in $(seq 10 50); do
		sed "s/22222222-1111/333333$number-1111/g" "$AWF_STORAGE"/transcripts/22222222-1111*.jsonl \
			>"$AWF_STORAGE/transcripts/333333$number-1111-4111-8111-111111111111.jsonl"
	done
	same "$(awf complete runs | cut -f1 | grep -c '^[0-9a-f]')" 30
	printf '\0\n' >"$AWF_STORAGE/transcripts/44444444-1111-4111-8111-111111111111.jsonl"
	run -0 --separate-stderr awf complete runs
	same "$(grep -c '^[0-9a-f]' <<<"$output") $stderr" '30 '
}

# What is completed, in each line.
lines() {
	cat <<-'END'
		awf-step -a 
		awf-step -t 
		awf-step --allow-tools 
		awf-step --attach 
		awf-run --resume 
		awf-run --fork 
		awf-run 
		awf-tail 
		awf-tail --name 
		awf-replay 
		awf-ctl approve 
		awf-ctl cancel 
		awf-verify 
	END
}

# bats test_tags=turn:2
@test "bash runs nothing that a name says" {
	harmful
	lines >lines
	bash --norc --noprofile -c '
		for file in "$ROOT"/completions/*.bash; do . "$file"; done
		while read -r -a words; do
			for cur in "" "\$" "\`" a w; do
				COMP_LINE="${words[*]} $cur"
				COMP_POINT=${#COMP_LINE}
				_awf_complete "${words[0]}" "$cur"
				printf "%s\n" "${COMPREPLY[@]}"
			done
		done <lines' >out 2>err
	[ ! -e pwned ]
	grep -qxF "'\$(touch pwned)'" out
	grep -qxF "@'\$(touch pwned)'" out
	grep -qx writer out
	grep -qx add out
	grep -qxF @ out
}

@test "fish runs nothing that a name says" {
	harmful
	command -v fish >/dev/null || skip "no fish here"
	lines >lines
	fish --no-config -c '
		set -p fish_complete_path $ROOT/completions
		while read -l line
			complete -C "$line "
			complete -C "$line a"
		end <lines' >out 2>err
	[ ! -e pwned ]
	grep -q '^@' out
}

@test "zsh runs nothing that a name says" {
	harmful
	command -v zsh >/dev/null || skip "no zsh here"
	lines >lines
	cat >complete.zsh <<-'END'
		zmodload zsh/zpty
		zpty shell zsh -f -i
		zpty -w shell "PROMPT=; fpath=($ROOT/completions \$fpath); autoload -Uz compinit; compinit -u -D"
		zpty -w shell 'zstyle ":completion:*" list-prompt ""; zstyle ":completion:*" select-prompt ""; LISTMAX=9999; : >ready'
		repeat 100 { [[ -e ready ]] && break; sleep 0.1 }
		while read -r line; do
			# Nothing of it is run: the line is killed.
			zpty -n -w shell "$line "$'\t\t\x15'
		done <lines
		zpty -w shell ': >done'
		repeat 100 { [[ -e done ]] && break; zpty -r -t shell chunk && print -rn -- "$chunk"; sleep 0.1 }
		zpty -d shell
	END
	TERM=dumb zsh -f complete.zsh >out 2>err
	[ -e done ] || { cat out err; false; }
	[ ! -e pwned ]
}
