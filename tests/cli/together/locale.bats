#!/usr/bin/env bats
# What is drawn for people is ASCII where the locale's character set is not UTF-8.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0
load ../../support/helpers

prepare() {
	printf '#!/usr/bin/env -S awf-run --\nawf-step -q -i lines --each map -- awf-step inner -- cat\n' >many.awf
	printf '#!/usr/bin/env -S awf-run --\nawf-step -n -q "$(printf "step_%%.0s" 1 2 3 4 5 6 7 8 9 10)" -- false; awf-step -n -q x -- true\n' >long-name-of-a-workflow-that-is-cut-in-lists-of-runs-as-it-is-long.awf
	chmod +x ./*.awf
	seq 4 | awf-run ./many.awf
	awf-run -n ./long*.awf 2>/dev/null || true
}

shows() {
	local show
	for show in 'awf-replay --tree @many.awf' 'awf-replay --timeline @many.awf' 'awf-tail @many.awf' awf-tail \
		'awf-replay --tree' 'awf-replay --timeline' 'awf-tail --list' 'awf-tail --list --cost -R' 'awf-tail --color always' \
		'awf-tail --full @many.awf' 'awf-ctl list'; do
		echo "== $show"
		$show
	done
}

@test "trees, lists, time lines and logs are ASCII with LANG=C, and of the same columns" {
	shows >utf8
	grep -q '├─ ' utf8 && grep -q '│  └─' utf8 && grep -q '█' utf8 && grep -q '…' utf8
	for locale in LANG=C LC_ALL=C LC_ALL=POSIX LC_CTYPE=C LANG=de_DE.ISO-8859-1 LANG=; do
		(export "${locale?}"; shows) >ascii
		run ! grep -nP '[^\x00-\x7f]' ascii
	done
	grep -q '^|- map' ascii && grep -q '^|  `- inner' ascii && grep -q '###' ascii
	python3 -c 'import sys
utf8, ascii = ([len(line) for line in open(name, encoding="utf-8")] for name in sys.argv[1:])
sys.exit(utf8 != ascii)' utf8 ascii
	(export LANG=C LC_CTYPE=C.UTF-8; shows) >again
	same "$(cat again)" "$(cat utf8)"
}

# bats test_tags=turn:2
@test "the help of every program is ASCII" {
	for program in "$BUILD"/bin/awf* "$BUILD"/libexec/awf/awf-*; do
		[ -x "$program" ] && [[ $program != *.json ]] || continue
		timeout 20 "$program" --help=all </dev/null >help 2>&1 || timeout 20 "$program" --help </dev/null >help 2>&1 || :
		run ! grep -nP '[^\x00-\x7f]' help
	done
}

@test "messages are ASCII too, but for data in them" {
	run -1 awf-step -n --via '' x -- true
	[[ $output == *'srun -n1 …'* ]]
	LC_ALL=C run -1 awf-step -n --via '' x -- true
	run ! grep -P '[^\x00-\x7f]' <<<"$output"
	LC_ALL=C run ! awf-run ./grün.awf
	[[ $output == *grün.awf* ]]
}

@test "data stays as it is, and so does what other programs read" {
	awf-run -n --name data -c 'awf-step -n -q x -- echo grün ✓'
	for form in --json '--as runtime' '--as otlp'; do
		# shellcheck disable=SC2086
		same "$(LANG=C awf-tail $form)" "$(awf-tail $form)"
	done
	[[ $(LANG=C awf-tail) == *grün* ]]
	LANG=C awf-replay --timeline --html page.html
	grep -q 'charset="\?utf-8' page.html
}
