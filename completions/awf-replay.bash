# bash completion for awf-replay
_awf_replay()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words storage runs
	storage=${AWF_STORAGE:-${XDG_DATA_HOME:-$HOME/.local/share}/awf}
	case $prev in
	--order)
		mapfile -t COMPREPLY < <(compgen -W 'causal seq' -- "$cur")
		return ;;
	--color)
		mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur")
		return ;;
	--html | --from)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--isolation)
		mapfile -t COMPREPLY < <(compgen -W 'namespaces copy none' -- "$cur")
		return ;;
	--record | --visible | --export)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return ;;
	--state) return ;;
	esac
	case $cur in
	-*) words='--tree --timeline --html --state --order --canonical --color --from --isolation --visible --record --export --with-workspace -q --quiet --help --version' ;;
	*)
		runs=("$storage"/transcripts/*.jsonl)
		runs=("${runs[@]##*/}")
		words="@ ${runs[*]%.jsonl}" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; [[ $cur == -* ]] || compgen -f -- "$cur")
}
complete -o filenames -F _awf_replay awf-replay
