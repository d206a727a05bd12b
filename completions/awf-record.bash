# bash completion for awf-record
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_record()
{
	local origins
	case $prev in
	--name | --lease | --max-line) ;;
	--origin)
		mapfile -t origins < <(awf-tail --list --json 2>/dev/null |
			sed -n 's/.*"origin":"\([^"\]*\)"}$/\1/p' | sort -u)
		_awf_among "${origins[@]}" ;;
	*)
		case $cur in
		-*) _awf_among --name --origin --lease --max-line --quiet --help --version ;;
		*) _awf_of runs running ;;
		esac ;;
	esac
}
complete -F _awf_complete awf-record
