/*
 * Finds settings in a git configuration file that are more than plain data. Many settings of git
 * name a program that git executes (core.fsmonitor, alias.*, filter.*.clean), or another file of
 * settings. In an unchecked repository only listed settings are accepted: those that git writes
 * into a new repository, and common ones that run no program.
 */
#ifndef AWF_ISOLATE_GIT_CONFIG_H
#define AWF_ISOLATE_GIT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* The settings that are not on the list, as "section.subsection.key=value", once for each
 * occurrence; a line that cannot be parsed as it is; a text with continued lines as a whole. A list
 * (base/list.h); NULL: the text is plain. */
char **git_config_odd(const char *text, size_t len);
/* The same for the options of a stopped cherry-pick or revert (sequencer/opts). */
char **git_config_odd_options(const char *text, size_t len);
/* Whether a setting is on the list; the name is in lower case except for the subsection. */
bool git_config_is_plain(const char *name);

#endif
