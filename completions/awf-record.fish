# fish completion for awf-record
functions -q __awf_options; or source (status dirname)/awf.fish
function __awf_record_origins
	awf-tail --list --json 2>/dev/null | string replace -rf '.*"origin":"([^"]*)"}$' '$1' | sort -u
end
complete -c awf-record -f -a '(awf complete runs running 2>/dev/null)'
complete -c awf-record -l origin -x -a '(__awf_record_origins)' -d 'who sends runs that are recorded elsewhere'
__awf_options awf-record
