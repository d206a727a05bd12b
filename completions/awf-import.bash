# bash completion for awf-import
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_import()
{
	case $prev in
	--from) _awf_among agents awf claude codex copilot gemini inspect opencode otel ;;
	--mask)
		_awf_among patterns
		_awf_generated -c ;;
	--ended | --origin | --since) ;;
	*) _awf_options awf-import || _awf_files ;;
	esac
}
complete -F _awf_complete awf-import
