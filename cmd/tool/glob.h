/*
 * File name patterns, as shells and ignore files have them, over paths with slashes: * and
 * ? match within a name, ** as a whole name any number of directories, [a-z] and [!a-z] a
 * character, {a,b} either. A name that begins with a dot is as any other. A pattern is
 * compiled to a regular expression, which takes linear time, whatever it is.
 */
#ifndef AWF_TOOL_GLOB_H
#define AWF_TOOL_GLOB_H

#include "base/error.h"
#include "schema/pattern.h"

/* For pattern_matches() with a path; NULL with ERROR_INVALID_INPUT. */
struct pattern *glob_compile(const char *glob, struct error *err);
/* The length of what stands before the first name that has something special in it: a
 * directory with its last slash, "" or, of a pattern without anything special, its
 * directory. */
size_t glob_base(const char *glob);

#endif
