/*
 * Finds this program and the files installed with it, relative to the program, so that a moved
 * installation, and a build that is not installed, use their own files.
 */
#ifndef AWF_IO_INSTALLATION_H
#define AWF_IO_INSTALLATION_H

/* The path of this program, to be freed by the caller; NULL if the system does not provide it. */
char *installation_program(void);
/* The directory of the programs that users start: that of this program, or bin beside the
 * libexec/awf that contains it. To be freed by the caller. NULL if the system does not
 * provide it. */
char *installation_programs(void);
/* The directory of prices, agents, tools and skills: ../share/awf beside the programs' directory;
 * share in the source tree, if it was built there; otherwise that of the compiled-in prefix. It may
 * not exist. Determined once. */
const char *installation_share(void);
/* The directory of the examples: ../doc/awf/examples beside the programs' directory; examples in
 * the source tree. To be freed by the caller. It may not exist. */
char *installation_examples(void);
/* Makes child processes find the programs in this program's directory. Unless PATH already
 * finds this program and an awf-step, the directory is added before the first one with another
 * awf-step, or else at the end, so that all other commands are still found where they were. */
void installation_join_path(void);

#endif
