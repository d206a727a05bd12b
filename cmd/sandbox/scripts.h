/*
 * Finds scripts that are being executed: a shell reads its script while it runs, so whoever writes
 * to the file controls what the shell does next, outside of any sandbox.
 */
#ifndef AWF_SANDBOX_SCRIPTS_H
#define AWF_SANDBOX_SCRIPTS_H

/* Paths of the files below a directory that ancestors of this process have open only for reading; a
 * list (base/list.h). Standard input is skipped: that is mostly data. */
char **scripts_below(const char *directory);

#endif
