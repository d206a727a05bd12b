/* As programs meet it. */
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
