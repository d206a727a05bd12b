# bash completion for awf-replay
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_replay()
{
	case $prev in
	--order) _awf_among causal seq ;;
	--color) _awf_among auto always never ;;
	--html | --from) _awf_files ;;
	--isolation) _awf_among namespaces copy none ;;
	--record | --visible | --export) _awf_files -d ;;
	--state) _awf_steps ;;
	--show) _awf_among stdin stdout; _awf_files ;;
	*) _awf_options awf-replay || { _awf_of runs; _awf_files; } ;;
	esac
}
complete -F _awf_complete awf-replay
