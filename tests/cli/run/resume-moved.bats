#!/usr/bin/env bats
# A run goes on where its workspace is by now: with --workspace, or where it was moved to together
# with the storage.
# shellcheck shell=bash disable=SC2016
load ../../support/helpers
bats_require_minimum_version 1.5.0

# A run in home/project, its storage in home/storage, that has done half of its work.
prepare() {
	mkdir -p home/project/part
	export AWF_STORAGE=$PWD/home/storage
	cat >home/project/flow.awf <<-'END'
		#!/usr/bin/env -S awf-run --
		(cd part && awf-step -n -q --effects external push -- sh -c 'echo "${PWD##*/}" >>../ledger')
		awf-run -n ./child.awf "$1"
		awf-step -n -q end -- test -e done
	END
	cat >home/project/child.awf <<-'END'
		awf-step -n -q --effects external send -- sh -c 'echo "child $1" >>ledger' sh "$1"
		awf-step -n -q end -- test -e done
	END
	chmod +x home/project/flow.awf
	HERE=$PWD
}

# starts WORD...: the run, from the directory that it is in.
starts() { (cd home/project && run -3 awf-run --id-file "$HERE/id" "$@"); }
done_once() { same "$(cat ledger)" "part
child a"; }
places() { jq -r 'select(.type == "run.started") | .payload | "\(.cwd) \(.storage)"' "$AWF_STORAGE/transcripts/$(cat "$HERE/id").jsonl"; }

@test "storage and workspace were moved together: the run goes on, and does nothing twice" {
	local words
	for words in "./flow.awf" "$PWD/home/project/flow.awf" "--workspace . ./flow.awf"; do
		# shellcheck disable=SC2086
		starts $words a
		mv home moved
		export AWF_STORAGE=$PWD/moved/storage
		run -3 awf-run --resume "$(cat id)"
		[[ $output == *"$(cat id): the workspace was $PWD/home/project, and is $PWD/moved/project now"* ]]
		[[ $output != *'is not there any more'* ]]
		same "$(places)" "$PWD/home/project $PWD/home/storage
$PWD/moved/project $PWD/moved/storage"
		# From now on it is there; an edit is told by the file as it is called now.
		echo '# more' >>moved/project/flow.awf
		: >moved/project/done
		run -0 awf-run --resume "$(cat id)"
		[[ $output != *'the workspace was'* && $output != *'is not there any more'* ]]
		[[ $output == *"$PWD/moved/project/flow.awf: has changed since it was recorded"* ]]
		(cd moved/project && done_once)
		awf-verify
		rm -r moved
		prepare
	done
}

@test "of a copy whose original is there too, the user says which is meant" {
	starts ./flow.awf a
	cp -r home copy
	: >copy/project/done
	export AWF_STORAGE=$PWD/copy/storage
	run -125 awf-run --resume "$(cat id)"
	same "$output" "awf-run: $(cat id): its storage was at $PWD/home/storage, and is a copy or was moved: say which workspace is meant, --workspace $PWD/home/project or --workspace $PWD/copy/project"
	run -0 awf-run --resume "$(cat id)" --workspace copy/project
	(cd copy/project && done_once)
	[ ! -e home/project/done ]
	awf-verify
}

@test "a workspace that is nowhere is not guessed; --workspace says where it is" {
	starts ./flow.awf a
	mv home/project elsewhere
	run -125 awf-run --resume "$(cat id)"
	same "$output" "awf-run: $PWD/home/project: unable to start there again: No such file or directory; if the workspace is elsewhere now: --workspace DIRECTORY"
	: >elsewhere/done
	run -0 awf-run --resume "$(cat id)" --workspace elsewhere
	same "$output" "awf-run: $(cat id): the workspace was $PWD/home/project, and is $PWD/elsewhere now"
	(cd elsewhere && done_once)
	run -125 awf-run --resume "$(cat id)" --workspace nowhere
	same "$output" "awf-run: --workspace: unable to start in 'nowhere': No such file or directory"
}

@test "a storage that was moved alone leaves the workspace where it is; a script beside it moves with it" {
	starts ./flow.awf a
	mv home/storage storage
	export AWF_STORAGE=$PWD/storage
	: >home/project/done
	run -0 awf-run --resume "$(cat id)"
	same "$output" ''
	(cd home/project && done_once)
	rm -r home
	prepare
	mkdir home/flows
	mv home/project/flow.awf home/flows
	starts ../flows/flow.awf a
	mv home moved
	export AWF_STORAGE=$PWD/moved/storage
	: >moved/project/done
	run -0 awf-run --resume "$(cat id)"
	(cd moved/project && done_once)
}

@test "a fork begins where the workspace is now" {
	starts ./flow.awf a
	mv home moved
	export AWF_STORAGE=$PWD/moved/storage
	: >moved/project/done
	run -0 awf-run --fork "$(cat id)" --at end
	[[ $output == *"the workspace was $PWD/home/project, and is $PWD/moved/project now"* ]]
	(cd moved/project && done_once)
}
