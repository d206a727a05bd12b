# bash completion for awf-diff
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_diff()
{
	case $prev in
	--ignore) _awf_among definition model input result status tools tokens answers files order retries time ;;
	-p | --path | --map) ;;
	--html) _awf_files ;;
	*) _awf_options awf-diff || { _awf_of runs; _awf_files; } ;;
	esac
}
complete -F _awf_complete awf-diff
