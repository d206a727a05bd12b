# fish completion for awf-replay
# The steps of the run that the line names, or of the latest.
function __awf_steps
	set -l run (commandline -opc | string match -r '^(?:@|[0-9a-f]{8}).*')
	awf complete steps $run[-1] 2>/dev/null
end
complete -c awf-replay -a '(awf complete runs 2>/dev/null)'
complete -c awf-replay -l tree -d 'the tree of its calls'
complete -c awf-replay -l all -d 'with --tree: each item of a step'
complete -c awf-replay -l timeline -d 'the time that its calls took'
complete -c awf-replay -l html -r -F -d 'with --timeline: write it as a page'
complete -c awf-replay -l state -x -a '(__awf_steps)' -d 'what flowed into and out of a step'
complete -c awf-replay -l show -r -F -a 'stdin stdout' -d 'what was run: a script or other file, stdin or stdout'
complete -c awf-replay -l order -x -a 'causal seq' -d 'print the lines in an order'
complete -c awf-replay -l canonical -d 'print the lines without time and chance'
complete -c awf-replay -l color -x -a 'auto always never' -d 'when to use colours'
complete -c awf-replay -l from -r -d 'run a workflow on recorded answers'
complete -c awf-replay -l isolation -x -a 'namespaces copy none' -d 'what the workflow runs in'
complete -c awf-replay -l visible -x -a '(__fish_complete_directories)' -d 'seen although it lies in a private place'
complete -c awf-replay -l record -x -a '(__fish_complete_directories)' -d 'keep the replay in a storage'
complete -c awf-replay -l export -x -a '(__fish_complete_directories)' -d 'write a storage that replays elsewhere'
complete -c awf-replay -l with-workspace -d "with --export: today's workspace, if it has no snapshot"
complete -c awf-replay -l current -d 'scripts, agents and other files as they are today'
complete -c awf-replay -s q -l quiet -d 'do not say what it runs in'
complete -c awf-replay -s h -l help -d 'print the help'
complete -c awf-replay -l version -d 'print the version'
