# bash completion for awf-eval
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_eval()
{
	case $prev in
	-o | --output) _awf_among table md csv json jsonl junit tap github html ;;
	-i | --inputs | --schema | --baseline) _awf_files ;;
	-k | --repeat | -j | --jobs | --variant | -c | --check | --max-ms | --name | --max-cost | --require | --per-input | \
		--margin) ;;
	*) _awf_options awf-eval || { _awf_of runs; _awf_files; } ;;
	esac
}
complete -F _awf_complete awf-eval
