/* What every unit test includes: cmocka and what it needs first. */
#ifndef AWF_TESTS_UNIT_H
#define AWF_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Makes a directory for the files of a test, below $TMPDIR or /tmp. */
static inline int
unit_make_directory(char path[64], const char *name)
{
	const char *base = getenv("TMPDIR");

	snprintf(path, 64, "%.40s/%s-XXXXXX", base != NULL && strlen(base) <= 40 ? base : "/tmp", name);
	return mkdtemp(path) == NULL ? -1 : 0;
}

#endif
