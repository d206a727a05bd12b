# bash completion for awf-verify
_awf_verify()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words storage runs
	storage=${AWF_STORAGE:-${XDG_DATA_HOME:-$HOME/.local/share}/awf}
	case $cur in
	-*) words='--repair --schema --quiet --verbose --help --version' ;;
	*)
		runs=("$storage"/transcripts/*.jsonl)
		runs=("${runs[@]##*/}")
		words="@ ${runs[*]%.jsonl}" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; [[ $cur == -* ]] || compgen -f -- "$cur")
}
complete -o filenames -F _awf_verify awf-verify
