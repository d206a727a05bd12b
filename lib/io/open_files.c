/* If the limit cannot be read, no limit is assumed. */
#include "io/open_files.h"

#include <stdint.h>

#include "base/invariant.h"

static size_t
hard_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_max == RLIM_INFINITY)
		return SIZE_MAX;
	return (size_t)files.rlim_max;
}

size_t
open_files_most(const struct open_files *need)
{
	INVARIANT(need->each > 0);
	size_t limit = hard_limit(), most = limit <= need->beside ? 0 : (limit - need->beside) / need->each;

	return most > 0 ? most : 1;
}

int
open_files_check(const struct open_files *need, const char *option, long long count,
    struct error *err)
{
	size_t most = open_files_most(need);

	if (count <= 1 || (size_t)count <= most)
		return 0;
	return error_set(err, ERROR_USAGE, NULL, "%s %lld needs %zu open files, and the hard limit is %zu "
	    "(ulimit -Hn): %s %zu is the most here", option, count,
	    (size_t)count * need->each + need->beside, hard_limit(), option, most);
}

void
open_files_raise(const struct open_files *need, size_t count, struct rlimit *before)
{
	rlim_t wanted = (rlim_t)count * need->each + need->beside;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		files = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	if (before != NULL)
		*before = files;
	if (files.rlim_cur >= wanted)
		return;
	files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &files);
}
