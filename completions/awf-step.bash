# bash completion for awf-step
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_step()
{
	local i
	# After -- come the command and its own arguments.
	for ((i = 1; i < cword - 1; i++)); do
		[[ ${words[i]} != -- ]] || { _awf_files; return; }
	done
	case $prev in
	-a | --agent) _awf_of agents; _awf_files ;;
	-m | --model) _awf_of models ;;
	-t | --tool) _awf_of tools ;;
	--allow-tools) _awf_listed tools ;;
	--require) _awf_steps ;;
	-p | --prompt | --ask)
		[[ $cur != @* ]] || _awf_files @ ;;
	-i | --input) _awf_among auto text lines nul json state ;;
	-O | --output-form) _awf_among text lines nul json ;;
	--strategy) _awf_among all any best-effort ;;
	--terminal) _awf_among success failure ;;
	--tools-policy) _awf_among block warn ;;
	--backoff) _awf_among constant linear exponential ;;
	--sandbox) _awf_among workspace read-only none ;;
	--sandbox-mode) _awf_among require prefer ;;
	--effects) _awf_among none read workspace external workspace,idempotent external,idempotent ;;
	--retry-on) _awf_among rate_limit overloaded network provider exit_status timeout schema lost ;;
	--pass-env | --pass-key | --env) _awf_generated -v ;;
	-o | --output | --attach | --output-schema | --open) _awf_files ;;
	--) _awf_generated -c ;;
	*) _awf_options awf-step || _awf_among "${options[@]}" ;;
	esac
}
complete -F _awf_complete awf-step
