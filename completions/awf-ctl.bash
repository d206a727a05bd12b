# bash completion for awf-ctl
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

# The runs with this status.
_awf_ctl_runs()
{
	local runs
	mapfile -t runs < <(awf-tail --list --json --status "$2" 2>/dev/null |
		sed -n 's/^{"run_id":"\([^"]*\)".*/\1/p')
	_awf_among "$1" @ "${runs[@]}"
}

_awf_ctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} calls
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'approve deny complete heartbeat cancel prune list --help --version' -- "$cur")
		return
	fi
	case $prev in
	--reason | --older-than | --max-count | --max-size | --name) return ;;
	esac
	case ${COMP_WORDS[1]} in
	approve) [[ $cur != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--no-input --reason --seal --help' -- "$cur") ;;
	deny) [[ $cur != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--reason --seal --help' -- "$cur") ;;
	complete) [[ $cur != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--no-input --failed --reason --seal --help' -- "$cur") ;;
	heartbeat) [[ $cur != -* ]] || mapfile -t COMPREPLY < <(compgen -W '--seal --help' -- "$cur") ;;
	cancel)
		_awf_ctl_runs "$cur" running
		return ;;
	prune)
		mapfile -t COMPREPLY < <(compgen -W '--older-than --max-count --max-size --name --dry-run --verbose --help' -- "$cur")
		return ;;
	list)
		mapfile -t COMPREPLY < <(compgen -W '--lines --children --since --json --cost --color --name --status --help' -- "$cur")
		return ;;
	*) return ;;
	esac
	[[ $cur != -* ]] || return
	# What waits in the latest run; and runs.
	mapfile -t calls < <(awf-tail --type step.completed --json 2>/dev/null |
		sed -n '/"approval":{"asks":/s/.*"call":"\([^"]*\)".*/\1/p' | sort -u)
	_awf_among "$cur" "${calls[@]}"
	_awf_ctl_runs "$cur" waiting
}
complete -F _awf_ctl awf-ctl
