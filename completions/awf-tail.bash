# bash completion for awf-tail
_awf_tail()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words
	case $prev in
	--type) words='run.started run.completed step.started step.completed
		step.call_workflow.started step.call_workflow.completed message.user
		message.assistant tool.call tool.result' ;;
	--as) words='interagent agent-event daemon-event runtime otlp agentloom' ;;
	--color) words='auto always never' ;;
	--status) words='running waiting success failed cancelled timeout died' ;;
	--name) words=$(awf-tail --list --json 2>/dev/null | sed 's/.*"name":"\([^"]*\)".*/\1/') ;;
	-n | --lines | --after | --since | --path | --grep | --buffer) return ;;
	*)
		case $cur in
		-*) words='--lines --follow --follow-latest --children --exit-status --after --since
			--type --path --grep --errors --json --inline --cost --as --tools --color --drop --buffer --list
			--name --status --help --version' ;;
		*) words="@ $(awf-tail --list --json 2>/dev/null |
			sed 's/^{"run_id":"\([^"]*\)".*/\1/')" ;;
		esac
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; compgen -f -- "$cur")
		return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _awf_tail awf-tail
