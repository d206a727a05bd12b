#include "run/prune.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "record/prune.h"

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

static int
prune_storage(const struct prune_spec *spec, struct error *err)
{
	struct storage storage;
	int failed;

	if (storage_locate(&storage, err) != 0)
		return -1;
	failed = prune(&storage, spec, err);
	storage_close(&storage);
	return failed;
}

int
prune_runs(const struct settings *s, void (*warn)(const struct error *warning),
    struct error *err)
{
	const struct prune_spec spec = {
		.rule = s->rule,
		.name = s->name,
		.dry = s->dry_run,
		.told = s->dry_run || s->verbose ? tell : NULL,
		.warn = warn,
	};

	return prune_storage(&spec, err);
}

int
prune_older(const char *age, const char *name, const char *run_id,
    void (*warn)(const struct error *warning), struct error *err)
{
	struct prune_spec spec = { .rule = RETENTION_ALL, .name = name, .spared = run_id,
		.warn = warn };

	return settings_time("--keep", age, &spec.rule.before, err) != 0 ? -1 :
	    prune_storage(&spec, err);
}
