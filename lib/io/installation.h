/*
 * Finds this program and the files installed with it, relative to the program, so that a moved
 * installation, and a build that is not installed, use their own files.
 */
#ifndef AWF_IO_INSTALLATION_H
#define AWF_IO_INSTALLATION_H

/* The path of this program, in memory of its own; NULL where the system does not say. */
char *installation_program(void);
/* The directory of the programs that users start, in memory of its own: that of this program, or
 * bin beside the libexec/awf in which it lies. NULL where the system does not say. */
char *installation_programs(void);
/* The directory of prices, agents, tools and skills: ../share/awf beside that; share in the source tree, if it was built there; else that of the compiled-in
 * prefix. It need not exist. Looked for once. */
const char *installation_share(void);
/* The directory of the examples: ../doc/awf/examples beside that; examples in the source tree. In
 * memory of its own. It need not exist. */
char *installation_examples(void);
/* Makes child processes find the programs in this program's directory. Unless PATH already
 * finds this program and an awf-step, the directory is added before the first one with another
 * awf-step, or else at the end, so that all other commands are still found where they were. */
void installation_join_path(void);

#endif
