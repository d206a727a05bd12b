/*
 * Where the programs lie that AWF itself starts: its providers and tools.
 */
#ifndef AWF_PROC_LIBEXEC_H
#define AWF_PROC_LIBEXEC_H

#include <stdbool.h>

#include "base/error.h"

/* A colon-separated list for path_search(), to be freed by the caller: ../libexec/awf relative to
 * the directory of users' programs, then the directory of the installation. */
char *libexec_path(void);
/* Whether a path leads into one of its directories, by its text. */
bool libexec_has(const char *program);
/* "DIRECTORY/NAME" of a program in this program's directory; if that is unknown only NAME, for
 * PATH. To be freed by the caller. */
char *libexec_sibling(const char *name);
/* The filter for a URL, to be freed by the caller: PREFIX-NAME for "NAME:..." and "NAME+...", in
 * AWF's directories and in PATH. https is handled as http, postgres as postgresql. NULL with *err,
 * ERROR_USAGE, at place. */
char *libexec_filter(const char *prefix, const char *url, const char *place, struct error *err);

#endif
