# bash completion for awf-verify
_awf_verify()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words storage runs
	storage=${AWF_STORAGE:-${XDG_DATA_HOME:-$HOME/.local/share}/awf}
	case $prev in
	--key | --head | --keygen | --against)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--isolation)
		mapfile -t COMPREPLY < <(compgen -W 'namespaces copy none' -- "$cur")
		return ;;
	--visible)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return ;;
	--schema)
		words='transcript interagent agent-event daemon-event runtime otlp agentloom'
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return ;;
	esac
	case $cur in
	-*) words='--repair --key --head --print-head --determinism --isolation --visible --keygen --schema --against --formats --quiet --verbose --help --version' ;;
	*)
		runs=("$storage"/transcripts/*.jsonl)
		runs=("${runs[@]##*/}")
		words="@ ${runs[*]%.jsonl}" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; [[ $cur == -* ]] || compgen -f -- "$cur")
}
complete -o filenames -F _awf_verify awf-verify
