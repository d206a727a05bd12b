/*
 * A client has a socket, and at most two files: a transcript, and a projection of it.
 */
#include "httpd/descriptors.h"

#include <sys/resource.h>

#include "io/open_files.h"

/* Descriptors beyond those of clients are mostly for runs that clients send. */
static const struct open_files client_files = { .each = 3, .beside = 1024 };

static rlim_t most;

void
descriptors_begin(int64_t clients)
{
	struct rlimit limit;

	open_files_raise(&client_files, (size_t)clients, NULL);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		most = limit.rlim_cur;
}

bool
descriptors_left(int fd, unsigned left)
{
	return (rlim_t)fd + (left < most / 4 ? left : most / 4) < most;
}
