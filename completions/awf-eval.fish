# fish completion for awf-eval
functions -q __awf_options; or source (status dirname)/awf.fish
complete -c awf-eval -a '(awf complete runs 2>/dev/null)'
complete -c awf-eval -s i -l inputs -r -d 'the inputs'
complete -c awf-eval -s o -l output -x -a 'table md csv json jsonl junit tap github html' -d 'form of the report'
complete -c awf-eval -l schema -r -d 'a JSON Schema for results'
complete -c awf-eval -l baseline -r -d 'compare with this file'
__awf_options awf-eval
