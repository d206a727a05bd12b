# fish completion for awf, and what those of its programs share
# The steps of the run that the line names, or of the latest.
function __awf_steps
	set -l run (commandline -opc | string match -r '^(?:@|[0-9a-f]{8}).*')
	awf complete steps $run[-1] 2>/dev/null
end
# The options of a program, as its --help has them, but for those that it has a line for.
function __awf_options
	set -l program $argv[1]
	set -l known (complete -c $program | string replace -rf '.*(?:--long-option|-l) ([a-z-]+).*' '$1')
	# A line that goes on stands far to the right.
	set -l text ($program --help=all 2>/dev/null | string collect)
	for line in (string replace -ra '\n {7,}' ' ' -- $text)
		string match -rq '^ {2,6}(?:-(?<short>.), )?--(?<long>[a-z-]+)(?<argument>[ =\[]\S+)? *(?<help>.*)$' -- $line; or continue
		contains -- $long $known; and continue
		set -l more
		test -z "$short"; or set -a more -s $short
		# One that may be left out stands behind =, which fish does not ask for.
		string match -q '[ =]*' -- $argument; and set -a more -x
		complete -c $program -l $long $more -d $help
	end
end
# Behind a command stands what stands behind its program.
function __awf_behind
	set -l words (commandline -opc)
	set -l program awf-$words[2]
	switch $words[2]
		case log
			set program awf-tail
		case show
			set program awf-replay
		case list
			set program awf-ctl list
		case init status trust doctor help
			return
	end
	# A name may have a newline: each ends with a NUL.
	for line in (complete --escape -C (string join -- ' ' $program (string escape -- $words[3..]) (commandline -ct)))
		set -l parts (string split -m 1 \t -- $line)
		set parts[1] (string unescape -- $parts[1] | string collect)
		printf '%s\0' (string join -- \t $parts | string collect)
	end
end
complete -c awf -f
complete -c awf -n __fish_use_subcommand -a init -d 'make a workflow to begin with'
complete -c awf -n __fish_use_subcommand -a status -d 'what needs you, what failed, waits and runs'
complete -c awf -n __fish_use_subcommand -a trust -d 'show what definitions of this project would run, and allow it'
complete -c awf -n __fish_use_subcommand -a doctor -d 'say what is there, and what is missing'
complete -c awf -n __fish_use_subcommand -a run -d 'run a workflow and record it'
complete -c awf -n __fish_use_subcommand -a step -d 'run one step of it for each item of its input'
complete -c awf -n __fish_use_subcommand -a log -d 'show, filter and follow what was recorded'
complete -c awf -n __fish_use_subcommand -a list -d 'list runs'
complete -c awf -n __fish_use_subcommand -a show -d 'run a recorded workflow again, show what it was made of'
complete -c awf -n __fish_use_subcommand -a verify -d 'check a transcript'
complete -c awf -n __fish_use_subcommand -a record -d 'record what other programs did, and runs from elsewhere'
complete -c awf -n __fish_use_subcommand -a worker -d 'run the jobs of a directory'
complete -c awf -n __fish_use_subcommand -a ship -d 'copy transcripts into a database, for SQL'
complete -c awf -n __fish_use_subcommand -a ctl -d 'decide about calls that wait, cancel and remove runs'
complete -c awf -n __fish_use_subcommand -a serve -d 'serve the runs over HTTP'
complete -c awf -n __fish_use_subcommand -a mcp -d 'MCP server: lets coding agents run workflows step by step'
complete -c awf -n __fish_use_subcommand -a help -d 'show the manual page of a command'
complete -c awf -n '__fish_seen_subcommand_from init' -l examples -d 'all the examples of AWF instead'
complete -c awf -n '__fish_seen_subcommand_from init' -a '(__fish_complete_directories)'
complete -c awf -n '__fish_seen_subcommand_from status' -l json -d 'one JSON object'
complete -c awf -n '__fish_seen_subcommand_from trust' -l yes -d 'allow what is shown, without a question'
complete -c awf -n '__fish_seen_subcommand_from trust' -l digests -d 'print the digests of it'
complete -c awf -n '__fish_seen_subcommand_from trust' -l edits -x -a '(__fish_complete_directories)' -d 'ask about nothing there'
complete -c awf -n '__fish_seen_subcommand_from trust' -l list -d 'print what was allowed'
complete -c awf -n '__fish_seen_subcommand_from trust' -l revoke -x -a '(__fish_complete_directories)' -d 'allow nothing of it any more'
complete -c awf -n '__fish_seen_subcommand_from doctor' -l json -d 'a JSON object in each line'
complete -c awf -n '__fish_seen_subcommand_from doctor' -s q -l quiet -d 'only what is wrong'
complete -c awf -n '__fish_seen_subcommand_from doctor' -l ask -x -a '(awf complete providers 2>/dev/null)' -d 'ask the server of this endpoint'
complete -c awf -s h -l help -d 'print the help'
complete -c awf -l version -d 'print the version'
complete -c awf -n 'not __fish_use_subcommand' -a '(__awf_behind | string split0)'
