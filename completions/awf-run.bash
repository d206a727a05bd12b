# bash completion for awf-run
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

_awf_run()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} word i runs
	# After the workflow come its own arguments.
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		-c | --command | --input | --env | --name | --shell | --timeout | --allow-tools | --max-cost | --tools-policy | --workspace | --mask | --id | --id-file | --resume | --fork | --at | --redo | --skip | --overlap | --on-complete | --on-failure | --keep) ((i++)) ;;
		-*) ;;
		*)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return ;;
		esac
	done
	case $prev in
	--env)
		mapfile -t COMPREPLY < <(compgen -v -- "$cur")
		return ;;
	--shell | --id-file)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--mask)
		mapfile -t COMPREPLY < <(compgen -W patterns -- "$cur"; compgen -f -- "$cur"; compgen -c -- "$cur")
		return ;;
	--workspace)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return ;;
	--resume | --fork)
		mapfile -t runs < <(awf-tail --list --json 2>/dev/null |
			sed -n 's/^{"run_id":"\([^"]*\)".*/\1/p')
		COMPREPLY=()
		_awf_among "$cur" @ "${runs[@]}"
		return ;;
	--tools-policy)
		mapfile -t COMPREPLY < <(compgen -W 'block warn' -- "$cur")
		return ;;
	--overlap)
		mapfile -t COMPREPLY < <(compgen -W 'skip buffer-one buffer-all cancel-other allow-all' -- "$cur")
		return ;;
	-c | --command | --input | --name | --id | --timeout | --allow-tools | --max-cost | --on-complete | --on-failure | --keep | --at | --redo | --skip) return ;;
	esac
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W '--command --no-input --input --env --name --shell
		--timeout --allow-tools --max-cost --tools-policy --workspace --snapshot --no-transcript --mask --seal --id --print-id --id-file --detach --try --resume --continue --fork --at --redo --skip --overlap
		--on-complete --on-failure --keep --help --version' -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -c -- "$cur") ;;
	esac
}
complete -o filenames -F _awf_run awf-run
