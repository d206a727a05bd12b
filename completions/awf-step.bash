# bash completion for awf-step
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

_awf_step()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words i file
	# After -- come the command and its own arguments.
	for ((i = 1; i < COMP_CWORD - 1; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
		fi
	done
	case $prev in
	-a | --agent)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		for file in agents/*.md agents/*.json; do
			[[ ! -e $file ]] || _awf_among "$cur" "${file#agents/}"
		done
		return ;;
	-t | --tool | --allow-tools)
		COMPREPLY=()
		for file in tools/*.tool.json; do
			file=${file#tools/}
			[[ ! -e tools/$file ]] || _awf_among "$cur" "${file%.tool.json}"
		done
		return ;;
	-i | --input) words='auto text lines nul json state' ;;
	-O | --output-form) words='text lines nul json' ;;
	--strategy) words='all any best-effort' ;;
	--terminal) words='success failure' ;;
	--tools-policy) words='block warn' ;;
	--backoff) words='constant linear exponential' ;;
	--sandbox) words='workspace read-only none' ;;
	--sandbox-mode) words='require prefer' ;;
	--effects) words='none read workspace external workspace,idempotent external,idempotent' ;;
	--retry-on) words='rate_limit overloaded network provider exit_status timeout schema' ;;
	-o | --output | --attach | --output-schema)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	--)
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		return ;;
	*) words='--agent --model --prompt --attach --tool --approve --ask --accept --max-answers --ask-grace --pending --each --while --until --max --parallel --strategy --terminal --allow-tools --tools-policy --output-schema --max-turns --max-children --max-tokens-total --max-cost
		--input --no-input --allow-empty --state --output-form --join --by-name --complete --jobs --into
		--raw --output --quiet --when --rescue --allow-failure --try --cleanup --timeout --retries
		--backoff --delay --max-delay --retry-on --require --effects --pass-key --sandbox --network --no-network --sandbox-mode --open --pass-env --kind --known-end --dry-run
		--verbose --help --version' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _awf_step awf-step
