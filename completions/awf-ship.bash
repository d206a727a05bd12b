# bash completion for awf-ship
declare -F _awf_words >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_ship()
{
	local words cword cur prev cut
	_awf_words
	case $prev in
	--to)
		case $cur in
		sqlite:*) cut=sqlite: cur=${cur#sqlite:}; _awf_files ;;
		*) _awf_among sqlite: postgresql:// ;;
		esac ;;
	--blobs | --keep | --origin) ;;
	*)
		case $cur in
		-*) _awf_among --to -f --follow --blobs --keep --origin --help --version ;;
		*) _awf_of runs ;;
		esac ;;
	esac
}
complete -o filenames -F _awf_ship awf-ship
