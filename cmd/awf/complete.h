/*
 * awf complete: what the completions of shells offer, for they cannot know it: the runs that
 * there are, the steps of one, agents, providers, models and so on. A line for each, with a tab
 * before what it is; nothing that holds a control character, for it goes to a terminal.
 *
 * It is asked at each key, so it looks at no more than may take some milliseconds: at the runs
 * that changed last, and at so much of a transcript. What cannot be read is not offered, and no
 * error is told.
 */
#ifndef AWF_AWF_COMPLETE_H
#define AWF_AWF_COMPLETE_H

/* words: the kind, and what it is of; end with NULL. The exit status. */
int complete_words(char *const *words);

#endif
