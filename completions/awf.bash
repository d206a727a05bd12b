# bash completion for awf, and what those of its programs share

# What complete -F runs for each of them: COMMAND TEXT, where TEXT is what bash replaces by what is
# completed. Names come from the files and workflows of others: each is put in place quoted, so
# that it is one word and nothing of it is run. Bash itself (-o filenames) leaves a ` that is in the
# name of no file.
#
# words are those up to the cursor as a program is given them, cword is the number of the last one,
# cur it, and prev the one before. What fits goes into found. options and taking: _awf_read_options.
_awf_complete()
{
	local words=() cword cur prev before open value quote found=() list= options=() taking=()
	COMPREPLY=()
	if ! _awf_words "$2"; then
		# What the word comes to is for bash to say.
		compopt -o bashdefault -o default 2>/dev/null
		return
	fi
	declare -F "_${1##*/}" >/dev/null || set -- "${words[0]}"
	set -- "${1##*/}"
	"_${1//-/_}"
	_awf_reply
}

# The words, each without its quotes; of what stands in front of TEXT, what it comes to (before)
# and the quote that it leaves open. Fails if the last word is more than text, as $HOME/x is.
_awf_words()
{
	local line=${COMP_LINE:0:COMP_POINT} LC_ALL=C text=$1 last i
	local word='([^[:blank:]\"'\'']|\\.?|"([^"\]|\\.?)*"?|'\''[^'\'']*'\''?)+'
	while [[ $line =~ ^[[:blank:]]*($word) ]]; do
		words+=("${BASH_REMATCH[1]}")
		line=${line:${#BASH_REMATCH}}
	done
	[[ -z $line ]] || words+=('')
	cword=$((${#words[@]} - 1)) last=${words[-1]}
	for i in "${!words[@]}"; do
		! _awf_unquote "${words[i]}" || words[i]=$value
	done
	prev=${words[-2]-}
	[[ $last == *"$text" ]] || text=$last
	_awf_unquote "${last%"$text"}" || return
	before=$value open=$quote
	_awf_unquote "$last" || return
	cur=$value
}

# What a word comes to (value), and the quote that it leaves open. Fails if that is not for the word
# alone to say.
_awf_unquote()
{
	local word=$1 c i
	value='' quote=''
	for ((i = 0; i < ${#word}; i++)); do
		c=${word:i:1}
		case $quote$c in
		\'\' | '""') quote='' ;;
		\'?) value+=$c ;;
		*[\$\`] | [\<\>\;\|\&\(\)]) return 1 ;;
		\' | '"') quote=$c ;;
		\\) value+=${word: ++i:1} ;;
		'"\')
			c=${word: ++i:1}
			[[ $c == [\$\`\"\\] || -z $c ]] || value+=\\
			value+=$c ;;
		*) value+=$c ;;
		esac
	done
}

# What was found, as it goes in the place of TEXT.
_awf_reply()
{
	local LC_ALL=C word plain
	for word in "${found[@]}"; do
		word=${word#"$before"}
		case $open in
		\') word=${word//\'/\'\\\'\'} ;;
		\")
			word=${word//\\/\\\\}
			word=${word//\"/\\\"}
			word=${word//\$/\\\$}
			word=${word//\`/\\\`}
			# A \! keeps its backslash, a ! alone is one of the history.
			word=${word//!/\"\'!\'\"} ;;
		*)
			# All in one pair of quotes: what several begin with may end in it.
			plain=${word%%[!A-Za-z0-9_./@%+:=,$'\x80'-$'\xff'-]*}
			word=${word#"$plain"}
			word=$plain${word:+\'${word//\'/\'\\\'\'}\'} ;;
		esac
		# Readline takes a quote that it begins or ends with as the one that is open, and its end.
		if [[ -n $open && -z $word ]]; then
			word=$open$open
		elif [[ -n $open ]]; then
			[[ $word != "$open"* ]] || word=$open$word
			[[ $word != *"$open" ]] || word+=$open
		fi
		COMPREPLY+=("$word")
	done
	# More of it is to come.
	[[ ${#found[@]} -ne 1 || $found != *[/:] ]] || compopt -o nospace 2>/dev/null
}

# What of these begins with the word. It is data, names of files and runs: compgen -W would run a
# $(command) in it.
_awf_among()
{
	local word
	for word; do
		[[ $word != "$cur"* ]] || found+=("$word")
	done
}

# The options of a program, as its --help has them: the long ones go into options, the names of those
# whose argument is the next word into taking.
_awf_read_options()
{
	local line
	options=() taking=()
	while IFS= read -r line; do
		[[ $line =~ ^\ {2,6}(-.)?(,\ )?(--[a-z-]+)(\ [^\ ])? ]] || continue
		options+=("${BASH_REMATCH[3]}")
		[[ -z ${BASH_REMATCH[4]} ]] || taking+=("${BASH_REMATCH[3]}" ${BASH_REMATCH[1]:+"${BASH_REMATCH[1]}"})
	done < <("$1" --help=all 2>/dev/null)
}

# Whether a word is one of those that follow.
_awf_is_of()
{
	local word=$1
	shift
	while (($# > 0)); do
		[[ $1 != "$word" ]] || return 0
		shift
	done
	return 1
}

# What begins with the word of the options of a program; nothing behind one that takes an argument.
# Fails if the word is another one.
_awf_options()
{
	_awf_read_options "$1"
	! _awf_is_of "$prev" "${taking[@]}" || return 0
	[[ $cur == -* ]] || return 1
	_awf_among "${options[@]}"
}

# What begins with the word of what there is of a kind: KIND [OF].
_awf_of()
{
	local value
	while IFS=$'\t' read -r value _; do
		_awf_among "$list$value"
	done < <(awf complete "$@" 2>/dev/null)
}

# Likewise of what bash knows: -c commands, -v variables.
_awf_generated()
{
	local values
	mapfile -t values < <(compgen "$1" -- "$cur")
	_awf_among "${values[@]}"
}

# Files; with -d directories alone, else behind a PREFIX.
_awf_files()
{
	local file kind=${1-}
	if [[ -z $before$open && $kind == @(|-d) && ${#found[@]} -eq 0 ]]; then
		# Bash does that itself, and well; but between "" it loses a newline.
		compopt -o "$([[ $kind == -d ]] && echo dirnames || echo default)" 2>/dev/null
		return
	fi
	while IFS= read -r -d '' file; do
		found+=("$file")
	done < <(
		shopt -u failglob
		shopt -s nullglob
		set +f
		unset GLOBIGNORE
		[[ $kind == -d ]] || cur=${cur#"$kind"}
		for file in "$cur"*; do
			[[ ! -d $file ]] || file+=/
			[[ $kind == -d && $file != */ ]] || printf '%s\0' "${kind#-d}$file"
		done
	)
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
	local list=${cur%"${cur##*,}"}
	_awf_of "$@"
}

_awf()
{
	local program
	if ((cword == 1)); then
		_awf_among init status trust doctor run step log list show verify record ship worker ctl serve mcp tail replay help --help --version
		return
	fi
	program=${words[1]}
	case $program in
	init) case $cur in -*) _awf_among --examples --help ;; *) _awf_files -d ;; esac; return ;;
	help) _awf_among init status trust doctor run step log show verify record ship worker ctl serve mcp; return ;;
	trust)
		case $prev in --edits | --revoke) _awf_files; return ;; esac
		_awf_among --yes --digests --edits --list --revoke --help
		return
		;;
	doctor)
		case $prev in --ask) _awf_of providers; return ;; esac
		_awf_among --json -q --quiet --ask --help
		return
		;;
	status) _awf_among --json --help; return ;;
	log) program='tail' ;;
	show) program=replay ;;
	list) program=ctl ;;
	esac
	[[ $program =~ ^(run|step|tail|replay|verify|record|ship|worker|ctl|serve|mcp)$ ]] || return
	# Behind a command stands what stands behind its program.
	declare -F "_awf_$program" >/dev/null || _comp_load "awf-$program" 2>/dev/null ||
		_completion_loader "awf-$program" 2>/dev/null
	declare -F "_awf_$program" >/dev/null || return
	if [[ ${words[1]} == list ]]; then
		words[0]=awf-ctl
	else
		words=("awf-$program" "${words[@]:2}")
		((cword--))
	fi
	"_awf_$program"
}
complete -F _awf_complete awf
