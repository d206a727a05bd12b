# bash completion for awf-tail
# The words that begin with the first one. What they are (files, runs) is data: compgen -W
# would run a $(command) in it. Control characters are for no terminal.
_awf_among()
{
	local cur=$1 word
	shift
	for word; do
		[[ $word != "$cur"* || $word == *[[:cntrl:]]* ]] || COMPREPLY+=("$word")
	done
}

_awf_tail()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words runs
	case $prev in
	--type) words='run.started run.completed step.started step.completed
		step.call_workflow.started step.call_workflow.completed message.user
		message.assistant tool.call tool.result' ;;
	--as) words='interagent agent-event daemon-event runtime otlp agentloom' ;;
	--color) words='auto always never' ;;
	--status) words='queued running waiting success failed cancelled timeout died' ;;
	--name)
		mapfile -t runs < <(awf-tail --list --json 2>/dev/null |
			sed -n 's/^{"run_id":"[^"]*","name":"\([^"\]*\)".*/\1/p' | sort -u)
		COMPREPLY=()
		_awf_among "$cur" "${runs[@]}"
		return ;;
	-n | --lines | --after | --since | --path | --grep | --buffer) return ;;
	*)
		case $cur in
		-*) words='--lines --follow --follow-latest --children --exit-status --after --since
			--type --path --grep --errors --json --inline --log --no-view --cost --as --tools --color --drop --buffer --list
			--name --status --help --version' ;;
		*)
			mapfile -t runs < <(awf-tail --list --json 2>/dev/null |
				sed -n 's/^{"run_id":"\([^"]*\)".*/\1/p')
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			_awf_among "$cur" @ "${runs[@]}"
			return ;;
		esac ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _awf_tail awf-tail
