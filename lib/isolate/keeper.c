/* A report is sent as the bytes of the struct: both ends are the same program. */
#include "isolate/keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/invariant.h"
#include "io/file.h"

void
keeper_tell(int fd, const struct keeper_report *r)
{
	INVARIANT(fd >= 0 && r->what != KEEPER_KILLED && (r->what == KEEPER_ENDED) ==
	    (r->error.code == ERROR_NONE));
	file_write(fd, r, sizeof *r);
	_exit(EXIT_SUCCESS);
}

void
keeper_refuse(int fd, const struct error *err)
{
	keeper_tell(fd, &(struct keeper_report){ .what = KEEPER_REFUSED, .error = *err });
}

bool
keeper_hear(int fd, struct keeper_report *r)
{
	ssize_t got;

	do
		got = read(fd, r, sizeof *r);
	while (got < 0 && errno == EINTR);
	if (got == (ssize_t)sizeof *r)
		return true;
	r->what = KEEPER_KILLED;
	return false;
}
