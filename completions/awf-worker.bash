# bash completion for awf-worker
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_worker()
{
	case $prev in
	-j | --jobs | -t | --timeout) ;;
	*)
		case $cur in
		-*) _awf_among -1 --once -j --jobs -t --timeout --help --version ;;
		*) _awf_files ;;
		esac ;;
	esac
}
complete -F _awf_complete awf-worker
