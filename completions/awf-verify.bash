# bash completion for awf-verify
declare -F _awf_words >/dev/null || . "${BASH_SOURCE[0]%/*}/awf.bash"

_awf_verify()
{
	local words cword cur prev cut
	_awf_words
	case $prev in
	--key | --head | --keygen | --against | --from) _awf_files ;;
	--isolation) _awf_among namespaces copy none ;;
	--visible) _awf_files -d ;;
	--schema) _awf_among transcript; _awf_of projections ;;
	*)
		case $cur in
		-*) _awf_among --repair --key --head --print-head --keygen --determinism --isolation --visible \
		--from --quiet --verbose --schema --against --formats --help --version ;;
		*) _awf_of runs; _awf_files ;;
		esac ;;
	esac
}
complete -o filenames -F _awf_verify awf-verify
