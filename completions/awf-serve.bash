# bash completion for awf-serve
_awf_serve()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words
	COMPREPLY=()
	case $prev in
	--new-token)
		mapfile -t COMPREPLY < <(compgen -W 'read decide ingest start' -- "$cur")
		return ;;
	--trusted-proxy)
		mapfile -t COMPREPLY < <(compgen -W '127.0.0.1 ::1 unix' -- "$cur")
		return ;;
	--workflows)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return ;;
	--listen | -l | --host | --clients | --clients-per-address | --ingest-rate | --blob-quota | --name | --label | --revoke-token)
		return ;;
	esac
	words='--listen --host --trusted-proxy --require-token --workflows --clients --clients-per-address
		--ingest-rate --blob-quota --new-token --name --label --list-tokens --revoke-token --help --version'
	[[ $cur != -* ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _awf_serve awf-serve
