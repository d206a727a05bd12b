# fish completion for awf-verify
function __awf_verify_runs
    set -l storage $AWF_STORAGE
    test -n "$storage"; or set storage $XDG_DATA_HOME/awf
    test "$storage" != /awf; or set storage ~/.local/share/awf
    echo @
    for file in $storage/transcripts/*.jsonl
        basename $file .jsonl
    end
end
complete -c awf-verify -a '(__awf_verify_runs)'
complete -c awf-verify -l repair -d 'move what a crash left of a line to <run-id>.torn'
complete -c awf-verify -l key -r -F -d 'it must be sealed by this key: 64 hex digits, or their file'
complete -c awf-verify -l head -r -F -d 'it must contain the heads that FILE keeps of it'
complete -c awf-verify -l print-head -d 'print RUN_ID SEQ DIGEST of what was verified'
complete -c awf-verify -l determinism -d 'replay it twice: does it come to the same?'
complete -c awf-verify -l isolation -x -a 'namespaces copy none' -d 'of the replays'
complete -c awf-verify -l visible -x -a '(__fish_complete_directories)' -d 'what they see of private places too'
complete -c awf-verify -l from -r -F -d 'of a workflow on these recorded answers'
complete -c awf-verify -l keygen -r -F -d 'make a key for seals: FILE, and FILE.pub'
complete -c awf-verify -l schema -d 'print the JSON Schema of a line'
complete -c awf-verify -n '__fish_contains_opt schema' -a 'transcript interagent agent-event daemon-event runtime otlp agentloom'
complete -c awf-verify -l against -r -F -d 'check lines of JSON against the JSON Schema in this file'
complete -c awf-verify -l formats -d 'with --against: "format" is checked too'
complete -c awf-verify -s q -l quiet -d 'no warnings'
complete -c awf-verify -s v -l verbose -d 'say what was checked, and name what is unknown'
complete -c awf-verify -s h -l help -d 'print the help'
complete -c awf-verify -l version -d 'print the version'
