# fish completion for awf-tail
# The steps of the run that the line names, or of the latest.
function __awf_steps
	set -l run (commandline -opc | string match -r '^(?:@|[0-9a-f]{8}).*')
	awf complete steps $run[-1] 2>/dev/null
end
complete -c awf-tail -a '(awf complete runs 2>/dev/null)'
complete -c awf-tail -s n -l lines -x -d 'the last N events; with --list, runs'
complete -c awf-tail -s f -l follow -d 'follow to the end of the run, or of the next one'
complete -c awf-tail -s F -l follow-latest -d 'follow the latest run, for ever'
complete -c awf-tail -s R -l children -d 'take in child runs'
complete -c awf-tail -l exit-status -d 'exit with the exit code of the run'
complete -c awf-tail -l after -x -d 'events after this number'
complete -c awf-tail -l since -x -d 'events, or runs, since a time or an age'
complete -c awf-tail -l type -x -a '(awf complete types 2>/dev/null)' -d 'events of these types'
complete -c awf-tail -l path -x -a '(__awf_steps)' -d 'events of these step paths'
complete -c awf-tail -l grep -x -d 'events whose line matches'
complete -c awf-tail -l full -d 'with all that was said, for a pager'
complete -c awf-tail -l errors -d 'failed calls, with their stderr'
complete -c awf-tail -l json -d 'the lines themselves; with --list, an object per run'
complete -c awf-tail -l log -d 'while following on a terminal, events line by line'
complete -c awf-tail -l no-view -d 'the same, and nothing that is drawn anew'
complete -c awf-tail -l cost -d 'what answers have cost, see awf-prices(5)'
complete -c awf-tail -l inline -d 'put blobs back into their lines'
complete -c awf-tail -l as -x -a '(awf complete projections 2>/dev/null)' -d 'in another vocabulary'
complete -c awf-tail -l tools -d 'with --as daemon-event, tool calls too'
complete -c awf-tail -l color -x -a 'auto always never' -d 'when to use colours'
complete -c awf-tail -l drop -d 'drop events that a slow reader has no room for'
complete -c awf-tail -l buffer -x -d 'events kept before any is dropped (256)'
complete -c awf-tail -l list -d 'list runs, the newest first'
complete -c awf-tail -l name -x -a '(awf complete names 2>/dev/null)' -d 'list runs of these workflows'
complete -c awf-tail -l status -x -a 'queued running waiting success failed cancelled timeout died' -d 'list runs with this status'
complete -c awf-tail -s h -l help -d 'print the help'
complete -c awf-tail -l version -d 'print the version'
