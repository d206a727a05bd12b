/*
 * A client has a socket, and at most two files beside it: a transcript, and what was made of it.
 */
#include "serve/descriptors.h"

#include <sys/resource.h>

#define FOR_CLIENT 3
#define BESIDE 1024 /* most of them of runs that clients send */

static rlim_t most;

void
descriptors_begin(int64_t clients)
{
	rlim_t wanted = FOR_CLIENT * (rlim_t)clients + BESIDE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = limit.rlim_max > wanted ? wanted : limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	most = limit.rlim_cur;
}

bool
descriptors_left(int fd, unsigned left)
{
	return (rlim_t)fd + (left < most / 4 ? left : most / 4) < most;
}
