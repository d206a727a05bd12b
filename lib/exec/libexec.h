/*
 * Where the programs lie that AWF itself starts: its providers and tools.
 */
#ifndef AWF_EXEC_LIBEXEC_H
#define AWF_EXEC_LIBEXEC_H

/* A colon-separated list for path_search(), in memory of its own: ../libexec/awf
 * seen from this program's directory, then the directory of the installation. */
char *libexec_path(void);

#endif
