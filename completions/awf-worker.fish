# fish completion for awf-worker
functions -q __awf_options; or source (status dirname)/awf.fish
__awf_options awf-worker
