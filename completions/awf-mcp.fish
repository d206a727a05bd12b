# fish completion for awf-mcp
complete -c awf-mcp -f
complete -c awf-mcp -s w -l workflows -x -a '(__fish_complete_directories)' -d 'the workflows that may be started'
complete -c awf-mcp -s h -l help -d 'print a summary of the options'
complete -c awf-mcp -l version -d 'print the version'
