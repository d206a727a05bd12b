# fish completion for awf-diff
functions -q __awf_options; or source (status dirname)/awf.fish
complete -c awf-diff -a '(awf complete runs 2>/dev/null)'
complete -c awf-diff -l ignore -x -a 'definition model input result status tools tokens answers files order retries time' -d 'these are no differences'
complete -c awf-diff -l html -r -F -d 'write a page for browsers'
complete -c awf-diff -l map -x -d 'values pass this filter first'
complete -c awf-diff -s p -l path -x -d 'only this step, and what is inside it'
__awf_options awf-diff
