# bash completion for awf-tail
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_tail()
{
	case $prev in
	--type) _awf_listed types ;;
	--path) _awf_steps ;;
	--as) _awf_of projections ;;
	--by) _awf_among workflow step tool model ;;
	--color) _awf_among auto always never ;;
	--status) _awf_among queued running waiting success failed cancelled timeout died ;;
	--name) _awf_of names ;;
	*) _awf_options awf-tail || { _awf_of runs; _awf_files; } ;;
	esac
}
complete -F _awf_complete awf-tail
