# fish completion for awf-exec
complete -c awf-exec -f
complete -c awf-exec -s h -l help -d 'print the help'
complete -c awf-exec -l version -d 'print the version'
