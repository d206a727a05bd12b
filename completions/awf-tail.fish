# fish completion for awf-tail
functions -q __awf_steps; or source (status dirname)/awf.fish
complete -c awf-tail -a '(awf complete runs 2>/dev/null)'
complete -c awf-tail -l type -x -a '(awf complete types 2>/dev/null)' -d 'events of these types'
complete -c awf-tail -l path -x -a '(__awf_steps)' -d 'events of these step paths'
complete -c awf-tail -l as -x -a '(awf complete projections 2>/dev/null)' -d 'in another vocabulary'
complete -c awf-tail -l by -x -a 'workflow step tool model' -d 'of --stats'
complete -c awf-tail -l color -x -a 'auto always never' -d 'when to use colours'
complete -c awf-tail -l name -x -a '(awf complete names 2>/dev/null)' -d 'list runs of these workflows'
complete -c awf-tail -l status -x -a 'queued running waiting success failed cancelled timeout died' -d 'list runs with this status'
__awf_options awf-tail
