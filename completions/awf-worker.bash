# bash completion for awf-worker
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_worker()
{
	_awf_options awf-worker || _awf_files
}
complete -F _awf_complete awf-worker
