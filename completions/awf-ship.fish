# fish completion for awf-ship
complete -c awf-ship -f -a '(awf complete runs 2>/dev/null)'
complete -c awf-ship -l to -x -a 'sqlite: postgresql:// https:// http:// otlp+http:// otlp+https:// otlp:' -d where
complete -c awf-ship -s f -l follow -d 'go on with what comes'
complete -c awf-ship -l blobs -x -d 'send blobs of at most so many bytes'
complete -c awf-ship -l keep -x -d 'remove from a database what is older'
complete -c awf-ship -l origin -x -d 'who sends'
complete -c awf-ship -s h -l help -d 'print the help'
complete -c awf-ship -l version -d 'print the version'
