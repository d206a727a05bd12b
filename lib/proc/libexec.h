/*
 * Where the programs lie that AWF itself starts: its providers and tools.
 */
#ifndef AWF_PROC_LIBEXEC_H
#define AWF_PROC_LIBEXEC_H

#include <stdbool.h>

#include "base/error.h"

/* A colon-separated list for path_search(), in memory of its own: ../libexec/awf
 * seen from the directory of users' programs, then the directory of the installation. */
char *libexec_path(void);
/* Whether a path leads into one of its directories, by its text. */
bool libexec_has(const char *program);
/* "DIRECTORY/NAME" of a program in this one's directory; NAME alone, for PATH, where that
 * is not known. In memory of its own. */
char *libexec_sibling(const char *name);
/* The filter for what a URL names, in memory of its own: PREFIX-NAME for "NAME:..." and "NAME+...",
 * in this one's directories and in PATH. https is for what http is, postgres for what postgresql
 * is. NULL with *err, ERROR_USAGE, at place. */
char *libexec_filter(const char *prefix, const char *url, const char *place, struct error *err);

#endif
