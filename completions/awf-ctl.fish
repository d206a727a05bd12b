# fish completion for awf-ctl
function __awf_ctl_runs
	awf-tail --list --json --status $argv[1] 2>/dev/null | string replace -rf '^{"run_id":"([^"]*)","name":"([^"]*)","status":"([^"]*)".*' '$1\t$2 ($3)'
end
function __awf_ctl_calls
	awf-tail --type step.completed --json 2>/dev/null | string match -r '"approval":{"asks":.*' -e | string replace -rf '.*"call":"([^"]*)".*' '$1'
end
complete -c awf-ctl -f
complete -c awf-ctl -n __fish_use_subcommand -a approve -d 'a call that waits goes on'
complete -c awf-ctl -n __fish_use_subcommand -a deny -d 'a call that waits fails'
complete -c awf-ctl -n __fish_use_subcommand -a complete -d 'stdin is the result of a call that ended as pending'
complete -c awf-ctl -n __fish_use_subcommand -a heartbeat -d 'a call that ended as pending may wait on'
complete -c awf-ctl -n __fish_use_subcommand -a cancel -d 'end a run that lives'
complete -c awf-ctl -n __fish_use_subcommand -a prune -d 'remove runs that have ended'
complete -c awf-ctl -n __fish_use_subcommand -a list -d 'list runs'
complete -c awf-ctl -n '__fish_seen_subcommand_from approve deny complete heartbeat' -a '(__awf_ctl_calls) (__awf_ctl_runs waiting)'
complete -c awf-ctl -n '__fish_seen_subcommand_from cancel' -a '(__awf_ctl_runs running)'
complete -c awf-ctl -n '__fish_seen_subcommand_from approve deny complete' -l reason -x -d 'why'
complete -c awf-ctl -n '__fish_seen_subcommand_from approve complete' -s n -l no-input -d 'read nothing from stdin'
complete -c awf-ctl -n '__fish_seen_subcommand_from complete' -l failed -d 'it has no result'
complete -c awf-ctl -n '__fish_seen_subcommand_from approve deny complete heartbeat' -l seal -d 'sign it; --seal=KEYFILE'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l older-than -x -d 'that ended before'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l max-count -x -d 'all but the newest'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l max-size -x -d 'all but the newest that fit'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l name -x -d 'of the runs with this name alone'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l dry-run -d 'say what would go, and leave it'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -s v -l verbose -d 'say what goes'
complete -c awf-ctl -s h -l help -d 'print the help'
complete -c awf-ctl -l version -d 'print the version'
