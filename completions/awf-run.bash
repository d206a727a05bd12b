# bash completion for awf-run
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_run()
{
	local i
	# After the workflow come its own arguments.
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		-c | --command | --input | --env | --ignore-env | --name | --shell | --timeout | --allow-tools | --trust | --max-cost | \
			--tools-policy | --workspace | --mask | --id | --id-file | --resume | --fork | --at | --redo | --new | \
			--skip | --overlap | --on-complete | --on-failure | --keep) ((i++)) ;;
		-*) ;;
		*) _awf_files; return ;;
		esac
	done
	case $prev in
	--env | --ignore-env) _awf_generated -v ;;
	--shell | --id-file) _awf_files ;;
	--mask)
		_awf_among patterns
		_awf_generated -c ;;
	--workspace) _awf_files -d ;;
	--resume | --fork) _awf_of runs ;;
	--at | --redo | --skip | --new) _awf_steps ;;
	--name) _awf_of names ;;
	--allow-tools) _awf_listed tools ;;
	--tools-policy) _awf_among block warn ;;
	--overlap) _awf_among skip buffer-one buffer-all cancel-other allow-all ;;
	-c | --command | --input | --id | --timeout | --max-cost | --on-complete | --on-failure | --keep) ;;
	*)
		case $cur in
		-*) _awf_among --command --no-input --input --name --timeout --max-cost --resume --redo --skip \
		--new --redo-changed --continue --fork --at --detach --print-id --log --no-view --dry-run --env --ignore-env --shell --workspace \
		--allow-tools --tools-policy --trust --try --id --id-file --snapshot --no-transcript \
		--mask --seal --keep --overlap --on-complete --on-failure --help --version ;;
		*)
			_awf_generated -c
			_awf_files ;;
		esac ;;
	esac
}
complete -F _awf_complete awf-run
