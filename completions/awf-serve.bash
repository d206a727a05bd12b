# bash completion for awf-serve
declare -F _awf_complete >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_serve()
{
	case $prev in
	--new-token) _awf_among read decide ingest start ;;
	--trusted-proxy) _awf_among 127.0.0.1 ::1 unix ;;
	--workflows) _awf_files -d ;;
	--db)
		case $cur in
		sqlite:*) _awf_files sqlite: ;;
		*) _awf_among sqlite: postgresql:// ;;
		esac ;;
	--name) _awf_of names ;;
	*) _awf_options awf-serve ;;
	esac
}
complete -F _awf_complete awf-serve
