#!/usr/bin/make -sf
# notes.mk: a summary of each note, and a page of them all; make is the scheduler:
#	awf-run --continue ./notes.mk -j4
# Run again it asks only about what has changed, and the record says which run made the
# rest; killed, it goes on where it was.
notes := $(wildcard notes/*.md)
summaries := $(notes:notes/%.md=out/%.state)

out/overview.txt: $(summaries) agents/editor.md
	cat $(summaries) | awf-step -s -a agents/editor.md overview -r -o $@

out/%.state: notes/%.md agents/summariser.md | out
	awf-step -a agents/summariser.md $* -o $@ <$<

out:
	mkdir -p $@

.DELETE_ON_ERROR:
