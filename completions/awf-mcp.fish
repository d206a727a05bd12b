# fish completion for awf-mcp
functions -q __awf_options; or source (status dirname)/awf.fish
complete -c awf-mcp -f
complete -c awf-mcp -s w -l workflows -x -a '(__fish_complete_directories)' -d 'the workflows that may be started'
__awf_options awf-mcp
