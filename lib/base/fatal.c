/* The version for programs: prints the line and exits. */
#include "base/fatal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

void
fatal_exit(const char *what)
{
	fprintf(stderr, "awf: %s\n", what);
	exit(STATUS_SYSTEM);
}
