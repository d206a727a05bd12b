/*
 * What a file of git's configuration says beyond plain data. Many of git's settings name a program
 * that git runs (core.fsmonitor, alias.*, filter.*.clean), or another file of settings. In a
 * repository that nobody has looked at only those of a list may stand: what git itself writes into
 * a new repository, and what people set there without thinking of programs.
 */
#ifndef AWF_ISOLATE_GIT_CONFIG_H
#define AWF_ISOLATE_GIT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* The settings that are not on the list, as "section.subsection.key=value", each once for each
 * time that it stands there; a line that this reader does not understand stands for itself, and
 * a text with lines that go on in the next as a whole. A list (base/list.h); NULL: none, the text
 * is plain. */
char **git_config_odd(const char *text, size_t len);
/* The same for the options of a cherry-pick or revert that has stopped (sequencer/opts). */
char **git_config_odd_options(const char *text, size_t len);
/* Whether a setting is on the list; its name is in lower case but for the subsection. */
bool git_config_is_plain(const char *name);

#endif
