# bash completion for awf-verify
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

_awf_verify()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words storage runs
	storage=${AWF_STORAGE:-${XDG_DATA_HOME:-$HOME/.local/share}/awf}
	case $prev in
	--key | --head | --keygen | --against | --from)
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
	-*) words='--repair --key --head --print-head --determinism --isolation --visible --from --keygen --schema --against --formats --quiet --verbose --help --version' ;;
	*)
		runs=("$storage"/transcripts/*.jsonl)
		runs=("${runs[@]##*/}")
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		_awf_among "$cur" @ "${runs[@]%.jsonl}"
		return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _awf_verify awf-verify
