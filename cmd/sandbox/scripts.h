/*
 * The scripts that are being run: a shell reads its own as it goes on, so that whoever writes to
 * the file says what the shell does next, outside of any sandbox.
 */
#ifndef AWF_SANDBOX_SCRIPTS_H
#define AWF_SANDBOX_SCRIPTS_H

/* The files below a directory that processes above this one have open to be read alone, as their
 * paths; a list (base/list.h). Not their standard input: that is data, mostly. */
char **scripts_below(const char *directory);

#endif
