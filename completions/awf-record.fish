# fish completion for awf-record
function __awf_record_origins
	awf-tail --list --json 2>/dev/null | string replace -rf '.*"origin":"([^"]*)"}$' '$1' | sort -u
end
complete -c awf-record -f -a '(awf complete runs running 2>/dev/null)'
complete -c awf-record -l name -x -d 'of the run that is made where there is none'
complete -c awf-record -l origin -x -a '(__awf_record_origins)' -d 'who sends runs that are recorded elsewhere'
complete -c awf-record -l lease -x -d 'how long these count as alive after a line'
complete -c awf-record -l max-line -x -d 'refuse longer lines'
complete -c awf-record -s q -l quiet -d 'acknowledge nothing'
complete -c awf-record -s h -l help -d 'print the help'
complete -c awf-record -l version -d 'print the version'
