# fish completion for awf-serve
functions -q __awf_options; or source (status dirname)/awf.fish
complete -c awf-serve -f
complete -c awf-serve -l db -x -a 'sqlite: postgresql://' -d 'serve the runs of a database'
complete -c awf-serve -l trusted-proxy -x -a '127.0.0.1 ::1 unix' -d 'who says whose requests it passes on'
complete -c awf-serve -l workflows -x -a '(__fish_complete_directories)' -d 'directory of workflows that POST /hooks/NAME starts'
complete -c awf-serve -l new-token -x -a 'read decide ingest start' -d 'make a token'
complete -c awf-serve -l name -x -a '(awf complete names 2>/dev/null)' -d 'for runs of these workflows alone'
__awf_options awf-serve
