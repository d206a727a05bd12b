# bash completion for awf, and what those of its programs share

# The words up to the cursor as a program is given them: words, the number of the last one
# (cword), that one (cur) and the one before (prev). Bash breaks them at @ : = too, and takes what
# is behind the last break, or from @ on, as the one that is completed; cut is what stands before.
_awf_words()
{
	local rest=${COMP_LINE:0:${COMP_POINT:-0}} word i
	words=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((i > 0)) && [[ -n ${COMP_LINE-} && $rest != [[:blank:]]* ]]; then
			words[-1]+=$word
		else
			words+=("$word")
		fi
		rest=${rest#"${rest%%[![:blank:]]*}"}
		rest=${rest#"$word"}
	done
	cword=$((${#words[@]} - 1)) cur=${words[-1]} prev=${words[-2]-}
	cut=
	[[ $cur != *[@:=]* || -z ${COMP_LINE-} ]] || cut=${cur%"${cur##*[@:=]}"} cut=${cut%@}
	COMPREPLY=()
}

# What of these begins with the word. It is data, names of files and runs: compgen -W would run a
# $(command) in it.
_awf_among()
{
	local word
	for word; do
		[[ $word != "$cur"* ]] || COMPREPLY+=("${word#"$cut"}")
	done
}

# Likewise of what there is of a kind: KIND [OF].
_awf_of()
{
	local value
	while IFS=$'\t' read -r value _; do
		_awf_among "$value"
	done < <(awf complete "$@" 2>/dev/null)
}

# Files; with -d directories alone.
_awf_files()
{
	local file
	while IFS= read -r file; do
		COMPREPLY+=("${file#"$cut"}")
	done < <(compgen "${1:--f}" -- "$cur")
}

# The run that the line names, in run; "" for the latest.
_awf_named_run()
{
	local i
	run=
	for ((i = 1; i < cword; i++)); do
		[[ ! ${words[i]} =~ ^(@|[0-9a-f]{8}) ]] || run=${words[i]}
	done
}

# The steps of that run.
_awf_steps()
{
	local run
	_awf_named_run
	_awf_of steps "$run"
}

# The last of a list with commas, of a kind.
_awf_listed()
{
	local before=${cur%"${cur##*,}"} reply
	cur=${cur##*,}
	_awf_of "$@"
	for reply in "${!COMPREPLY[@]}"; do
		COMPREPLY[reply]=$before${COMPREPLY[reply]}
	done
}

_awf()
{
	local words cword cur prev cut program
	_awf_words
	if ((cword == 1)); then
		_awf_among init doctor run step log list show verify record ship ctl serve mcp tail replay help --help --version
		return
	fi
	program=${words[1]}
	case $program in
	init) _awf_files -d; return ;;
	help) _awf_among init doctor run step log show verify record ship ctl serve mcp; return ;;
	doctor) _awf_among --json -q --quiet --help; return ;;
	log) program='tail' ;;
	show) program=replay ;;
	list) program=ctl ;;
	esac
	[[ $program =~ ^(run|step|tail|replay|verify|record|ship|ctl|serve|mcp)$ ]] || return
	# Behind a command stands what stands behind its program.
	declare -F "_awf_$program" >/dev/null || _comp_load "awf-$program" 2>/dev/null ||
		_completion_loader "awf-$program" 2>/dev/null
	declare -F "_awf_$program" >/dev/null || return
	COMP_LINE=${COMP_LINE:0:${COMP_POINT:-0}}
	if [[ ${words[1]} == list ]]; then
		COMP_WORDS=(awf-ctl "${COMP_WORDS[@]:1}")
		COMP_LINE=${COMP_LINE:+awf-ctl${COMP_LINE#"${words[0]}"}}
	else
		COMP_WORDS=("awf-$program" "${COMP_WORDS[@]:2}")
		((COMP_CWORD--))
		COMP_LINE=${COMP_LINE:+awf-$program${COMP_LINE#*"${words[1]}"}}
	fi
	COMP_POINT=${#COMP_LINE}
	"_awf_$program"
}
complete -o filenames -F _awf awf
