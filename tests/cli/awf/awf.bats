#!/usr/bin/env bats
# awf: its commands, and what init makes.
# shellcheck shell=bash disable=SC2016
bats_require_minimum_version 1.5.0
load ../../support/helpers

@test "init: a workflow that runs at once, without a network or a key, and replays" {
	run -0 --separate-stderr awf init demo
	same "$output" 'Run it: cd demo && ./brief.awf'
	cd demo
	run -0 --separate-stderr env -u AWF_MODEL ./brief.awf
	[[ $output == *'paints itself red.' && $stderr == '' ]]
	same "$(awf log --json --type tool.call | jq -r .payload.name)" notes
	same "$(awf log --list --json | jq -r '[.name, .status] | @tsv')" $'brief.awf\tsuccess'
	awf verify
	awf verify --determinism
	same "$(awf show -q)" "$output"
	# As the page says, for a model of one's own.
	sed -i '/^model:/d' agents/*.md
	run -0 env AWF_MODEL=replay/answers/writer.jsonl ./brief.awf
	# It goes nowhere where a name is taken, and leaves all as it is.
	cd .. && mkdir taken && echo mine >taken/notes.txt
	run -1 awf init taken
	same "$output" 'awf: taken/notes.txt: exists already; nothing was written'
	same "$(ls taken)" notes.txt
	run -0 awf init "a b\$"
	same "$output" "Run it: cd -- 'a b\$' && ./brief.awf"
	run -0 awf init "it's"
	same "$output" 'Run it: ./brief.awf in that directory'
	mkdir here && cd here && echo other >other
	run -0 awf init
	same "$output" 'Run it: ./brief.awf'
	run -0 ./brief.awf
	run -1 awf init
	mkdir ../full && cd ../full && chmod 555 .
	[ "$(id -u)" = 0 ] || run -4 awf init below
	run -4 awf init /proc/self/below
	# Nor on a full disk, of which nothing is left.
	cd .. && echo file >file
	run -1 awf init file
	same "$output" 'awf: file: exists already, and is not a directory'
	mkdir small
	mount -t tmpfs -o size=8k none small 2>/dev/null || return 0
	run -4 awf init small/a
	left=$(find small -mindepth 1)
	umount small
	same "$left" ''
}

@test "awf NAME is a helper of AWF, too, before a program of that name in PATH" {
	mkdir theirs
	printf '#!/bin/sh\necho theirs "$@"\n' | tee theirs/awf-tool-bash >theirs/awf-report
	chmod +x theirs/*
	PATH=$PWD/theirs:$BUILD/bin:/usr/bin:/bin
	same "$(echo '{"command": "echo helped"}' | awf tool-bash | jq -r .)" helped
	same "$(awf report it)" 'theirs it'
	run -0 awf sandbox --version
	[[ $output == 'awf-sandbox '* ]]
	run -1 --separate-stderr awf nosuch
	same "$stderr" 'awf: nosuch: no such command, nor a program awf-nosuch (see --help)'
}

@test "init --examples: all of them, to run at once, and without awf trust" {
	run -0 --separate-stderr awf init --examples "$HOME/all"
	[[ $output == "Run it: cd $HOME/all && AWF_MODEL=replay/recordings/router.jsonl ./router.awf <samples/mail.txt" ]]
	same "$(cd "$HOME/all" && find . ! -type d | sort)" "$(cd "$ROOT/examples" && find . ! -type d ! -path './out/*' ! -path '*/__pycache__/*' | sort)"
	rm "$XDG_DATA_HOME/awf/trust"
	mkdir here
	cd here
	# Where others can write, or in a directory that was there, their tools are allowed.
	run -0 awf init --examples
	[ "${lines[-1]}" = 'Run it: AWF_MODEL=replay/recordings/router.jsonl ./router.awf <samples/mail.txt' ]
	[[ $(AWF_MODEL=replay/recordings/brief.jsonl ./brief.awf <<<'solid-state batteries') == 'Solid-state batteries: '* ]]
	run -1 awf init --examples
	[[ $output == "awf: ./"*": exists already; nothing was written" ]]
}

@test "a command is a program beside it, or of one's own; and has other names" {
	same "$(awf run --version)" "$(awf-run --version)"
	same "$(echo x | awf step -r a -- cat)" x
	same "$(awf tail --list)" "$(awf-tail --list)"
	same "$(awf list)" "$(awf-ctl list)"
	same "$(awf replay --tree)" "$(awf show --tree)"
	run -7 awf run sh -c 'exit 7'
	mkdir mine
	printf '#!/bin/sh\necho "mine: $*"\n' >mine/awf-report
	chmod +x mine/awf-report
	same "$(PATH=$PWD/mine:$PATH awf report 'a b' c)" 'mine: a b c'
	printf '#!/nowhere\n' >mine/awf-broken
	chmod +x mine/awf-broken
	PATH=$PWD/mine:$PATH run -4 awf broken
	same "$output" "awf: $PWD/mine/awf-broken: unable to run it: No such file or directory"
}

@test "help of what has no page ends with status 1, and without man(1) with 4" {
	mkdir bin
	for status in 0 16 1; do
		printf '#!/bin/sh\necho "No manual entry for $1" >&2\nexit %s\n' $status >bin/man
		chmod +x bin/man
		rc=0
		PATH=$PWD/bin:$PATH awf help report 2>err || rc=$?
		same "$status: $rc $(cat err)" "$status: $((status > 0)) No manual entry for awf-report"
	done
	mkdir none
	PATH=$PWD/none run -4 "$(command -v awf)" help report
	same "$output" 'awf: man: unable to run it: No such file or directory'
}

@test "help shows the page of a command" {
	mkdir bin
	printf '#!/bin/sh\necho "$*"\n' >bin/man
	chmod +x bin/man
	while read -r command page; do
		# shellcheck disable=SC2086
		same "$(PATH=$PWD/bin:$PATH awf help ${command#-})" "$page"
	done <<-'END'
		- 7 awf
		run awf-run
		log awf-tail
		tail awf-tail
		list awf-ctl
		init awf
		doctor awf
		report awf-report
	END
	rm bin/man
	awf=$(command -v awf)
	PATH=$PWD/bin run -4 "$awf" help
	same "$output" 'awf: man: unable to run it: No such file or directory'
}

@test "mistakes" {
	while IFS='|' read -r words message; do
		# shellcheck disable=SC2086
		run -1 awf $words
		same "$output" "awf: $message"
	done <<-'END'
		|no command given (see --help)
		rn|rn: no such command (did you mean run?)
		nothing|nothing: no such command, nor a program awf-nothing (see --help)
		--nothing|--nothing: unknown option: a COMMAND comes first, then its options (see --help)
		../x|../x: no such command, nor a program awf-../x (see --help)
		init a b|b: one DIRECTORY only
		init --examples a b|b: one DIRECTORY only
		init --force|--force: unknown option (see --help)
		init -- a b|b: one DIRECTORY only
		help run step|step: one COMMAND only
	END
	run -0 awf --help
	[[ $output == 'usage: awf COMMAND '* ]]
	run -0 awf --version
	[ ! -e /dev/full ] || run -4 sh -c 'awf --help >/dev/full'
}
