# fish completion for awf-ship
functions -q __awf_options; or source (status dirname)/awf.fish
complete -c awf-ship -f -a '(awf complete runs 2>/dev/null)'
complete -c awf-ship -l to -x -a 'sqlite: postgresql:// https:// http:// otlp+http:// otlp+https:// otlp:' -d where
__awf_options awf-ship
