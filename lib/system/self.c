/* All of them are prctl(2). */
#include "system/self.h"

#ifndef AWF_PORTABLE
#include <sys/prctl.h>

void
self_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void
self_name(const char *name)
{
	prctl(PR_SET_NAME, name);
}

void
self_die_with_parent(int signal_number)
{
	prctl(PR_SET_PDEATHSIG, signal_number);
}

bool
self_seal_memory(void)
{
	return prctl(PR_SET_DUMPABLE, 0) == 0;
}

#else

void
self_adopt(void)
{
}

void
self_name(const char *name)
{
	(void)name;
}

void
self_die_with_parent(int signal_number)
{
	(void)signal_number;
}

bool
self_seal_memory(void)
{
	return true;
}

#endif
