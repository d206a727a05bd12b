# bash completion for awf-record
# The words that begin with the first one. What they are (files, runs) is data: compgen -W
# would run a $(command) in it. Control characters are for no terminal.
_awf_among()
{
	local cur=$1 word
	shift
	for word; do
		[[ $word != "$cur"* || $word == *[[:cntrl:]]* ]] || COMPREPLY+=("$word")
	done
}

_awf_record()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} runs
	COMPREPLY=()
	case $prev in
	--name | --lease | --max-line) return ;;
	--origin)
		mapfile -t runs < <(awf-tail --list --json 2>/dev/null |
			sed -n 's/.*"origin":"\([^"\]*\)"}$/\1/p' | sort -u)
		_awf_among "$cur" "${runs[@]}"
		return ;;
	esac
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--name --origin --lease --max-line --quiet --help --version' -- "$cur")
		return
	fi
	mapfile -t runs < <(awf-tail --list --json 2>/dev/null |
		sed -n 's/^{"run_id":"\([^"]*\)".*/\1/p')
	_awf_among "$cur" @ "${runs[@]}"
}
complete -F _awf_record awf-record
