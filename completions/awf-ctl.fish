# fish completion for awf-ctl
# The call, then its run.
function __awf_ctl_decided
	argparse -i reason= -- (commandline -opc)[3..] 2>/dev/null
	switch (string match -v -- '-*' $argv | count)
		case 0
			awf complete waiting 2>/dev/null
		case 1
			awf complete runs waiting 2>/dev/null
	end
end
complete -c awf-ctl -f
complete -c awf-ctl -n __fish_use_subcommand -a approve -d 'a call that waits goes on'
complete -c awf-ctl -n __fish_use_subcommand -a deny -d 'make a waiting call fail'
complete -c awf-ctl -n __fish_use_subcommand -a complete -d 'give stdin as the result of a call that ended as pending'
complete -c awf-ctl -n __fish_use_subcommand -a heartbeat -d 'extend the waiting time of such a call'
complete -c awf-ctl -n __fish_use_subcommand -a tell -d 'tell stdin to an agent'
complete -c awf-ctl -n __fish_use_subcommand -a cancel -d 'end a running run'
complete -c awf-ctl -n __fish_use_subcommand -a prune -d 'remove runs that have ended'
complete -c awf-ctl -n __fish_use_subcommand -a list -d 'list runs'
complete -c awf-ctl -n '__fish_seen_subcommand_from approve deny complete heartbeat' -a '(__awf_ctl_decided)'
complete -c awf-ctl -n '__fish_seen_subcommand_from cancel' -a '(awf complete runs running 2>/dev/null)'
complete -c awf-ctl -n '__fish_seen_subcommand_from approve deny complete' -l reason -x -d 'why'
complete -c awf-ctl -n '__fish_seen_subcommand_from approve' -s e -l edit -d 'with the data on stdin'
complete -c awf-ctl -n '__fish_seen_subcommand_from approve' -l always -d 'all calls of this tool in the run'
complete -c awf-ctl -n '__fish_seen_subcommand_from complete' -s n -l no-input -d 'its result is null'
complete -c awf-ctl -n '__fish_seen_subcommand_from complete' -l failed -d 'it has no result'
complete -c awf-ctl -n '__fish_seen_subcommand_from approve deny complete heartbeat' -l seal -d 'sign it; --seal=KEYFILE'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l older-than -x -d 'that ended before'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l max-count -x -d 'all but the newest'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l max-size -x -d 'all but the newest that fit'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l name -x -a '(awf complete names 2>/dev/null)' -d 'of the runs with this name alone'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l archive -x -a '(__fish_complete_command)' -d 'first run this on the files of each'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l sessions -d 'also runs with which a session goes on'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -l dry-run -d 'print what would be removed, and keep it'
complete -c awf-ctl -n '__fish_seen_subcommand_from prune' -s v -l verbose -d 'say what goes'
complete -c awf-ctl -s h -l help -d 'print the help'
complete -c awf-ctl -l version -d 'print the version'
