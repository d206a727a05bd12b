# fish completion for awf-import
functions -q __awf_options; or source (status dirname)/awf.fish
complete -c awf-import -l from -x -a 'agents awf claude codex copilot gemini inspect opencode otel' -d 'the format of the logs'
complete -c awf-import -l ended -x -d 'a session that was silent for so long is over'
complete -c awf-import -l mask -x -a 'patterns (__fish_complete_command)' -d 'a filter that masks secrets in what is recorded'
complete -c awf-import -l origin -x -d 'whose runs they are'
complete -c awf-import -l since -x -d 'logs that have changed since'
__awf_options awf-import
