# bash completion for awf-ctl
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_ctl()
{
	local i given=0
	if ((cword == 1)); then
		_awf_among approve deny complete heartbeat tell cancel prune list --help --version
		return
	fi
	case $prev in
	--reason | --older-than | --max-count | --max-size | --archive) return ;;
	--name) _awf_of names; return ;;
	esac
	case ${words[1]}${cur:0:1} in
	approve-) _awf_among --always --edit --reason --seal --help ;;
	deny-) _awf_among --reason --seal --help ;;
	complete-) _awf_among --no-input --failed --reason --seal --help ;;
	heartbeat-) _awf_among --seal --help ;;
	prune*) _awf_among --older-than --max-count --max-size --name --archive --sessions --dry-run --verbose --help ;;
	list*)
		[[ $prev != --status ]] ||
			{ _awf_among queued running waiting success failed cancelled timeout died; return; }
		_awf_among --lines --children --since --json --cost --color --name --status --help ;;
	tell-) _awf_among --help ;;
	cancel*) _awf_of runs running ;;
	tell*) ((cword == 3)) && _awf_of runs running ;;
	approve* | deny* | complete* | heartbeat*)
		# The call, then its run.
		for ((i = 2; i < cword; i++)); do
			case ${words[i]} in
			--reason) ((i++)) ;;
			-*) ;;
			*) ((++given)) ;;
			esac
		done
		case $given in
		0) _awf_of waiting ;;
		1) _awf_of runs waiting ;;
		esac ;;
	esac
}
complete -F _awf_complete awf-ctl
