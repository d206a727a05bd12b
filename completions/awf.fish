# fish completion for awf
complete -c awf -f
complete -c awf -n __fish_use_subcommand -a init -d 'make a workflow to begin with'
complete -c awf -n __fish_use_subcommand -a run -d 'run a workflow and record it'
complete -c awf -n __fish_use_subcommand -a step -d 'run one step of it for each item of its input'
complete -c awf -n __fish_use_subcommand -a log -d 'show, filter and follow what was recorded'
complete -c awf -n __fish_use_subcommand -a list -d 'list runs'
complete -c awf -n __fish_use_subcommand -a show -d 'run a recorded workflow again, show what it was made of'
complete -c awf -n __fish_use_subcommand -a verify -d 'check a transcript'
complete -c awf -n __fish_use_subcommand -a ctl -d 'decide about calls that wait, cancel and remove runs'
complete -c awf -n __fish_use_subcommand -a help -d 'show the manual page of a command'
complete -c awf -n '__fish_seen_subcommand_from init' -a '(__fish_complete_directories)'
complete -c awf -s h -l help -d 'print the help'
complete -c awf -l version -d 'print the version'
