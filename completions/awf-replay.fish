# fish completion for awf-replay
functions -q __awf_steps; or source (status dirname)/awf.fish
complete -c awf-replay -a '(awf complete runs 2>/dev/null)'
complete -c awf-replay -l html -r -F -d 'with --timeline: write it as a page'
complete -c awf-replay -l state -x -a '(__awf_steps)' -d 'what flowed into and out of a step'
complete -c awf-replay -l show -r -F -a 'stdin stdout' -d 'print a recorded file: a script or other file, stdin or stdout'
complete -c awf-replay -l order -x -a 'causal seq' -d 'print the lines in an order'
complete -c awf-replay -l color -x -a 'auto always never' -d 'when to use colours'
complete -c awf-replay -l from -r -d 'run a workflow on recorded answers'
complete -c awf-replay -l isolation -x -a 'namespaces copy none' -d 'what the workflow runs in'
complete -c awf-replay -l visible -x -a '(__fish_complete_directories)' -d 'seen although it lies in a private place'
complete -c awf-replay -l record -x -a '(__fish_complete_directories)' -d 'keep the replay in a storage'
complete -c awf-replay -l export -x -a '(__fish_complete_directories)' -d 'write a storage that can be replayed elsewhere'
__awf_options awf-replay
