# fish completion for awf-exec
functions -q __awf_options; or source (status dirname)/awf.fish
complete -c awf-exec -f
__awf_options awf-exec
