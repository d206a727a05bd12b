# bash completion for awf-exec
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_exec() { _awf_options awf-exec || _awf_among "${options[@]}"; }
complete -F _awf_complete awf-exec
