/*
 * Files in place of others, for one command and what it starts: each is mounted over the other in a mount namespace of
 * the command's own, so no file is changed, and commands beside it see none of this. Needs Linux, and that the user may
 * make user namespaces, or mount.
 */
#ifndef AWF_EVAL_REPLACE_H
#define AWF_EVAL_REPLACE_H

#include "base/error.h"

/* Executes a command: words are FILE=OTHER ..., "--", the command line. Returns only with -1 and *err. */
#define EVAL_REPLACING_WORD "--replacing"
int eval_replace_exec(char **words, struct error *err);
/* Whether FILE=OTHER ... can be replaced: 0; -1 with *err. */
int eval_replace_check(char *const *files, struct error *err);

#endif
