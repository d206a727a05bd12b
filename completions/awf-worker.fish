# fish completion for awf-worker
complete -c awf-worker -s 1 -l once -d 'end when there is nothing to do'
complete -c awf-worker -s j -l jobs -x -d 'up to so many jobs at a time'
complete -c awf-worker -s t -l timeout -x -d 'end a run after so long'
complete -c awf-worker -s h -l help -d 'print the help'
complete -c awf-worker -l version -d 'print the version'
