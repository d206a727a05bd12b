/*
 * Where this program lies, and what was installed with it: a copy of the installation that is
 * put elsewhere, and one that was built and not installed, finds its own.
 */
#ifndef AWF_IO_INSTALLATION_H
#define AWF_IO_INSTALLATION_H

/* The path of this program, in memory of its own; NULL where the system does not say. */
char *installation_program(void);
/* The directory of prices, agents, tools and skills: ../share/awf beside the program's
 * directory; share in the source tree, if it was built there; else that of the compiled-in
 * prefix. It need not exist. Looked for once. */
const char *installation_share(void);
/* The directory of the examples: ../doc/awf/examples beside that; examples in the source tree. In
 * memory of its own. It need not exist. */
char *installation_examples(void);
/* Lets what this process starts find the programs beside this one: unless PATH leads to
 * this program, and to an awf-step, its directory is entered before the first that holds
 * another awf-step, else at the end, so that of everything else what was found before is
 * found still. */
void installation_join_path(void);

#endif
