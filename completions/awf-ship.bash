# bash completion for awf-ship
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_ship()
{
	case $prev in
	--to)
		case $cur in
		sqlite:*) _awf_files sqlite: ;;
		*) _awf_among sqlite: postgresql:// https:// http:// otlp+http:// otlp+https:// otlp: ;;
		esac ;;
	*) _awf_options awf-ship || _awf_of runs ;;
	esac
}
complete -F _awf_complete awf-ship
