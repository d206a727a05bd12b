# bash completion for awf
_awf()
{
	local cur=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'init doctor run step log list show verify record ctl serve tail replay help --help --version' -- "$cur")
		return
	fi
	# Behind a command stands what stands behind its program.
	case ${COMP_WORDS[1]} in
	init)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return ;;
	help)
		mapfile -t COMPREPLY < <(compgen -W 'init doctor run step log show verify record ctl serve' -- "$cur")
		return ;;
	doctor)
		mapfile -t COMPREPLY < <(compgen -W '--json -q --quiet --help' -- "$cur")
		return ;;
	log) COMP_WORDS[1]=tail ;;
	show) COMP_WORDS[1]=replay ;;
	list)
		COMP_WORDS=(awf ctl list "${COMP_WORDS[@]:2}")
		((COMP_CWORD++)) ;;
	esac
	local program=${COMP_WORDS[1]}
	[[ $program =~ ^(run|step|tail|replay|verify|record|ctl|serve)$ ]] || return
	declare -F "_awf_$program" >/dev/null || _comp_load "awf-$program" 2>/dev/null ||
		_completion_loader "awf-$program" 2>/dev/null
	COMP_WORDS=("awf-$program" "${COMP_WORDS[@]:2}")
	((COMP_CWORD--))
	! declare -F "_awf_$program" >/dev/null || "_awf_$program"
}
complete -o filenames -F _awf awf
