# bash completion for awf-run
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_run()
{
	local i
	_awf_read_options awf-run
	# After the workflow come its own arguments.
	for ((i = 1; i < cword; i++)); do
		if _awf_is_of "${words[i]}" "${taking[@]}"; then
			((i++))
		elif [[ ${words[i]} != -* ]]; then
			_awf_files
			return
		fi
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
	*)
		_awf_options awf-run || {
			_awf_generated -c
			_awf_files
		} ;;
	esac
}
complete -F _awf_complete awf-run
