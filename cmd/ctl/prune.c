/* A line for each run as it goes; names come from outside and are made harmless. */
#include "ctl/prune.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "run/prune.h"

#define NAME_WIDTH 32

static void
tell(const struct pruned *run)
{
	struct buffer name = BUFFER_INIT;
	time_t seconds = (time_t)(run->ended / 1000000);
	struct tm local;
	char ended[32];

	localtime_r(&seconds, &local);
	strftime(ended, sizeof ended, "%Y-%m-%d %H:%M:%S", &local);
	text_visible(&name, run->name, strlen(run->name), NAME_WIDTH);
	printf("%s  %-9s  %s  %10" PRId64 "  %s\n", run->run_id, run->status, ended, run->bytes,
	    buffer_string(&name));
	buffer_free(&name);
}

int
prune_runs(const struct retention_rule *rule, const char *name, bool dry, bool told,
    void (*warn)(const struct error *warning), struct error *err)
{
	const struct prune_spec spec = { .rule = *rule, .name = name, .dry = dry,
		.told = dry || told ? tell : NULL, .warn = warn };
	struct storage storage;
	int failed;

	if (storage_locate(&storage, err) != 0)
		return -1;
	failed = prune(&storage, &spec, err);
	storage_close(&storage);
	return failed;
}
