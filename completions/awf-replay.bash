# bash completion for awf-replay
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
	--state | --show) return ;;
	esac
	case $cur in
	-*) words='--tree --all --timeline --html --state --show --order --canonical --color --from --isolation --visible --record --export --with-workspace --current -q --quiet --help --version' ;;
	*)
		runs=("$storage"/transcripts/*.jsonl)
		runs=("${runs[@]##*/}")
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		_awf_among "$cur" @ "${runs[@]%.jsonl}"
		return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _awf_replay awf-replay
