# fish completion for awf-verify
functions -q __awf_options; or source (status dirname)/awf.fish
complete -c awf-verify -a '(awf complete runs 2>/dev/null)'
complete -c awf-verify -l key -r -F -d 'require a seal by this key: 64 hex digits, or a file with them'
complete -c awf-verify -l head -r -F -d 'require the heads that FILE has of the run'
complete -c awf-verify -l isolation -x -a 'namespaces copy none' -d 'of the replays'
complete -c awf-verify -l visible -x -a '(__fish_complete_directories)' -d 'what they see of private places too'
complete -c awf-verify -l from -r -F -d 'of a workflow on these recorded answers'
complete -c awf-verify -l keygen -r -F -d 'create a key for seals: FILE, and FILE.pub'
complete -c awf-verify -n '__fish_contains_opt schema' -a 'transcript (awf complete projections 2>/dev/null)'
complete -c awf-verify -l against -r -F -d 'check lines of JSON against the JSON Schema in this file'
__awf_options awf-verify
