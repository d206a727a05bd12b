# bash completion for awf-record
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_record()
{
	local origins
	case $prev in
	--origin)
		mapfile -t origins < <(awf-tail --list --json 2>/dev/null |
			sed -n 's/.*"origin":"\([^"\]*\)"}$/\1/p' | sort -u)
		_awf_among "${origins[@]}" ;;
	*) _awf_options awf-record || _awf_of runs running ;;
	esac
}
complete -F _awf_complete awf-record
