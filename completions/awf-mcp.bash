# bash completion for awf-mcp
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_mcp()
{
	case $prev in
	-w | --workflows) _awf_files -d ;;
	*) _awf_options awf-mcp || _awf_among "${options[@]}" ;;
	esac
}
complete -F _awf_complete awf-mcp
