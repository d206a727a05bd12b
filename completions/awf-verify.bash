# bash completion for awf-verify
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_verify()
{
	case $prev in
	--key | --head | --keygen | --against | --from) _awf_files ;;
	--isolation) _awf_among namespaces copy none ;;
	--visible) _awf_files -d ;;
	--schema) _awf_among transcript; _awf_of projections ;;
	*) _awf_options awf-verify || { _awf_of runs; _awf_files; } ;;
	esac
}
complete -F _awf_complete awf-verify
