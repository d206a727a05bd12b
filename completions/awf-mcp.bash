# bash completion for awf-mcp
declare -F _awf_words >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_mcp()
{
	local words cword cur prev cut
	_awf_words
	case $prev in
	-w | --workflows) _awf_files -d ;;
	*) _awf_among --workflows --help --version ;;
	esac
}
complete -o filenames -F _awf_mcp awf-mcp
