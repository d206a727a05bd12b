# Runs a file of tests in the notation of bats, in a fifth of the time: bats starts a shell
# for each test, which reads bats and the whole file anew, and several programs beside it.
# Here one shell reads the file, and each test runs in a child of it, so that it has
# variables, functions, descriptors and a directory of its own. What the files use of bats is
# here under its names; bats itself runs them, too.
#
# usage: bats.bash FILE [TAG | !TAG...]: TAP on stdout, and all that a test said that failed.
# AWF_TEST_SKIPS=FILE: what its lines name is skipped: PATH (of all tests of a file) or PATH: TEST, a tab,
# and why.
# With TAG, the tests with that tag alone; with !TAG, those without it, and without each further one.
# AWF_TEST_TIER=check: of the tests with the tag turn:N (test_tags, or file_tags for all of a file) every
# Nth is run, another one with each AWF_TEST_TURN.
# shellcheck shell=bash
# shellcheck disable=SC2317 # most is called by the tests

# Notes where the shell stands as a command fails, the innermost place first.
bats_note_place() {
	local i file line
	[ -z "$bats_place" ] || return 0
	for ((i = 1; i < ${#FUNCNAME[@]}; i++)); do
		file=${BASH_SOURCE[i]} line=${BASH_LINENO[i - 1]}
		[ "$file" != "${BASH_SOURCE[0]}" ] || continue
		[ "$file" != "$bats_source" ] || file=$BATS_TEST_FILENAME
		mapfile -ts $((line - 1)) -n 1 <"$file"
		bats_place+="# ${file#"$bats_start/"}:$line: ${MAPFILE[0]#"${MAPFILE[0]%%[![:space:]]*}"}"$'\n'
	done
}

# FILE: read from the directory of the tests, without its .bash.
# shellcheck source=/dev/null
load() { source "$BATS_TEST_DIRNAME/$1.bash"; }

bats_require_minimum_version() { :; }

# [WHY]: ends a test, which has neither passed nor failed.
skip() {
	BATS_TEST_COMPLETED=1
	echo "${1:+ $1}" >"$BATS_TEST_TMPDIR.skip"
	exit 0
}

# [-STATUS | !] [--separate-stderr] COMMAND...: fails unless it ends with STATUS, or not
# with 0. $status is its exit status, $output what it said, $lines the lines of that which
# are not empty; $stderr and $stderr_lines, if they are wanted apart.
run() {
	# What fails in here is no place: it is where this was called, if this fails.
	local bats_wanted='' bats_stderr='' bats_place=run
	while [[ $1 == [-!]* ]]; do
		case $1 in
		!) bats_wanted=! ;;
		-[0-9]*) bats_wanted=${1#-} ;;
		--separate-stderr) bats_stderr=$BATS_TEST_TMPDIR.stderr.$BASHPID.$((bats_runs += 1)) ;;
		*) echo "run: there is no option $1" >&2 && return 1 ;;
		esac
		shift
	done
	local -
	set +eE
	if [ -n "$bats_stderr" ]; then
		output=$("$@" 2>"$bats_stderr")
		status=$?
		read -rd '' stderr <"$bats_stderr"
		bats_lines stderr_lines "$stderr"
	else
		output=$("$@" 2>&1)
		status=$?
	fi
	bats_lines lines "$output"
	case $bats_wanted in
	'') ;;
	!) [ "$status" -ne 0 ] || ! echo "it ended with 0: $*" ;;
	*) [ "$status" -eq "$bats_wanted" ] || ! echo "it ended with $status, not with $bats_wanted: $*" ;;
	esac
}

# NAME TEXT: makes an array of the lines that are not empty.
bats_lines() {
	local - IFS=$'\n'
	local -n bats_array=$1
	set -f
	# shellcheck disable=SC2034,SC2206
	bats_array=($2)
}

# FUNCTION: runs a test, which has passed if it came to its end, and teardown() as well.
bats_test() {
	BATS_TEST_COMPLETED='' bats_place=''
	trap bats_end EXIT
	trap bats_note_place ERR
	set -eE
	setup
	"$1"
	BATS_TEST_COMPLETED=1
	exit 0
}
bats_end() {
	local bats_status=$? bats_torn
	trap - EXIT ERR
	set +eE
	teardown
	bats_torn=$?
	if [ -z "$BATS_TEST_COMPLETED" ]; then
		printf '%s' "${bats_place:-# it left with exit status $bats_status$'\n'}" >"$BATS_TEST_TMPDIR.place"
		exit 1
	fi
	[ "$bats_torn" -eq 0 ] || echo "# teardown() ended with $bats_torn" >"$BATS_TEST_TMPDIR.place"
	exit "$bats_torn"
}

# teardown_file() is run even where setup_file() failed.
bats_end_file() {
	local bats_status=$?
	set +e
	teardown_file >&2 || {
		bats_status=$?
		echo "teardown_file ended with $bats_status" >&2
	}
	rm -rf "$BATS_RUN_TMPDIR"
	exit "$bats_status"
}

setup() { :; }
teardown() { :; }
setup_file() { :; }
teardown_file() { :; }

[ -f "${1-}" ] || {
	echo "bats.bash: there is no file ${1-}" >&2
	exit 2
}
set -e
bats_start=$PWD bats_runs=0
BATS_TEST_FILENAME=$(realpath "$1")
BATS_TEST_DIRNAME=${BATS_TEST_FILENAME%/*}
BATS_RUN_TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/bats-XXXXXX")
trap 'rm -rf "$BATS_RUN_TMPDIR"' EXIT
BATS_SUITE_TMPDIR=$BATS_RUN_TMPDIR BATS_FILE_TMPDIR=$BATS_RUN_TMPDIR/file
export BATS_TEST_FILENAME BATS_TEST_NUMBER BATS_RUN_TMPDIR BATS_SUITE_TMPDIR BATS_FILE_TMPDIR BATS_TEST_TMPDIR

# A test becomes a function, on the lines that it has.
mapfile -t bats_text <"$1"
declare -A bats_functions=() bats_turn_of=()
# Files begin to count elsewhere, lest all of them run most on the same day.
bats_names=() bats_tag='' bats_file_turn=1 bats_turns=${BATS_TEST_FILENAME##*/}
bats_turns=$((${#bats_turns} + ${AWF_TEST_TURN:-0}))
for bats_i in "${!bats_text[@]}"; do
	if [[ ${bats_text[bats_i]} == '# bats file_tags=turn:'* ]]; then bats_file_turn=${bats_text[bats_i]##*:}; fi
	if [[ ${bats_text[bats_i]} == '# bats test_tags='* ]]; then bats_tag=${bats_text[bats_i]#*=}; fi
	[[ ${bats_text[bats_i]} =~ ^[[:blank:]]*@test[[:blank:]] ]] || continue
	[[ ${bats_text[bats_i]} =~ ^@test\ \"([^\"]+)\"\ \{(.*) ]] || {
		echo "$1:$((bats_i + 1)): this is not @test \"NAME\" {" >&2
		exit 2
	}
	bats_name=${BASH_REMATCH[1]}
	bats_text[bats_i]="bats_test_$bats_i() {${BASH_REMATCH[2]}"
	[ -z "${bats_functions[$bats_name]-}" ] || {
		echo "$1:$((bats_i + 1)): a test before this has the same name: $bats_name" >&2
		exit 2
	}
	bats_functions[$bats_name]=bats_test_$bats_i
	bats_turn=$bats_file_turn
	if [[ $bats_tag == turn:* ]]; then bats_turn=${bats_tag#*:}; fi
	bats_turn_of[$bats_name]=$bats_turn
	if [ "$bats_turn" -gt 1 ] && [ "${AWF_TEST_TIER-}" = check ] && [ $((bats_turns++ % bats_turn)) -ne 0 ]; then
		bats_tag=''
		continue
	fi
	case ${2-} in
	'' | "$bats_tag") bats_names+=("$bats_name") ;;
	!*) [[ -n $bats_tag && " ${*:2} " == *" !$bats_tag "* ]] || bats_names+=("$bats_name") ;;
	esac
	bats_tag=''
done
declare -A bats_skips=()
bats_tree=${BATS_TEST_DIRNAME%/tests/*}
while IFS=$'\t' read -r bats_name bats_reason; do
	if [[ $bats_name == "${BATS_TEST_FILENAME#"$bats_tree/"}" ]]; then
		for bats_name in "${bats_names[@]}"; do bats_skips[$bats_name]=$bats_reason; done
	elif [[ $bats_name == "${BATS_TEST_FILENAME#"$bats_tree/"}: "* ]]; then
		bats_skips[${bats_name#*: }]=$bats_reason
	fi
done <"${AWF_TEST_SKIPS:-/dev/null}"
bats_source=$BATS_RUN_TMPDIR/source
printf '%s\n' "${bats_text[@]}" >"$bats_source"
# shellcheck source=/dev/null
source "$bats_source"

bats_count=${#bats_names[@]}
echo "1..$bats_count"
[ "$bats_count" -gt 0 ] || exit 0
# A test has what setup() of helpers.bash would make for it: for all of them at once that is cheap.
eval mkdir -p "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR/{1..$bats_count}/{home,work,config/awf,data/awf}"
trap bats_end_file EXIT
setup_file >&2
set +e
bats_result=0
for ((BATS_TEST_NUMBER = 1; BATS_TEST_NUMBER <= bats_count; BATS_TEST_NUMBER++)); do
	BATS_TEST_TMPDIR=$BATS_RUN_TMPDIR/$BATS_TEST_NUMBER bats_name=${bats_names[BATS_TEST_NUMBER - 1]}
	if [ -n "${bats_skips[$bats_name]-}" ]; then
		echo "ok $BATS_TEST_NUMBER $bats_name # skip ${bats_skips[$bats_name]}"
		continue
	fi
	# In no condition: a test would go on after what fails in it. Of its lists of cases others are chosen each
	# time that it is run (case_is_chosen).
	(
		AWF_TEST_TURN=$((${AWF_TEST_TURN:-0} / bats_turn_of[$bats_name]))
		bats_test "${bats_functions[$bats_name]}"
	) 3>&1 >"$BATS_TEST_TMPDIR.out" 2>&1
	bats_status=$? bats_skip=''
	if [ $bats_status -eq 0 ]; then
		[ ! -e "$BATS_TEST_TMPDIR.skip" ] || bats_skip=" # skip$(<"$BATS_TEST_TMPDIR.skip")"
		echo "ok $BATS_TEST_NUMBER $bats_name$bats_skip"
	else
		bats_result=1
		echo "not ok $BATS_TEST_NUMBER $bats_name"
		cat "$BATS_TEST_TMPDIR.place" 2>/dev/null || echo "# its shell ended with $bats_status"
		sed 's/^/# /' "$BATS_TEST_TMPDIR.out"
	fi
done
exit $bats_result
