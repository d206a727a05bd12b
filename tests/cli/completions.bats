#!/usr/bin/env bats
# Completions of the shells: names of files and of runs are data, never run.
# shellcheck disable=SC2016 # what must not be expanded
bats_require_minimum_version 1.5.0
load ../support/helpers

# Files, tools, workflows and transcripts whose names are commands.
prepare() {
	export ROOT=${BATS_TEST_DIRNAME%/tests/cli}
	mkdir agents tools
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

@test "bash runs nothing that a name says" {
	lines >lines
	bash --norc --noprofile -c '
		for file in "$ROOT"/completions/*.bash; do . "$file"; done
		while read -r -a words; do
			for cur in "" "\$" "\`" a w; do
				COMP_WORDS=("${words[@]}" "$cur") COMP_CWORD=${#words[@]} COMPREPLY=()
				"_${words[0]//-/_}"
				printf "%s\n" "${COMPREPLY[@]}"
			done
		done <lines' >out 2>err
	[ ! -e pwned ]
	# They are offered as they are.
	grep -qxF '$(touch pwned).md' out
	grep -qxF '$(touch pwned)' out
	grep -qx 'writer.md' out
	grep -qx add out
	grep -qxF @ out
}

@test "fish runs nothing that a name says" {
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
