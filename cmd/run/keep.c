/*
 * A mark is written to a temporary file, gets its times, and is renamed, so that nobody sees it
 * incomplete. If several runs end at the same time, each may search all runs; it does not matter
 * whose mark remains, as all are correct. A mark from the future, which may exist after the clock
 * was set back, is ignored.
 */
#include "run/keep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/options.h"
#include "decide/prune.h"
#include "io/file.h"
#include "storage/storage.h"

#define FEW_RUNS 100
#define PARTS 100 /* the result of a search is used for 1/100 of the age; so runs may be removed
                     that much too late */
#define SECOND INT64_C(1000000)

/* Whether the mark says that a search, not long ago, has removed the runs that ended before about
 * this time. */
static bool
is_done(const char *mark, int64_t before)
{
	int64_t now = clock_wall(), late = (now - before) / PARTS, looked;
	struct stat status;

	if (lstat(mark, &status) != 0)
		return false;
	looked = clock_of(&status.st_ctim);
	return looked <= now && now - looked < late && before - clock_of(&status.st_mtim) < late;
}

/* Writes the mark. If that fails, there is no error: the next run searches again. */
static void
mark_done(const char *directory, const char *mark, int64_t before)
{
	const struct timespec time = { .tv_sec = (time_t)(before / SECOND) };
	const struct timespec times[] = { time, time };
	struct replacement file;
	struct error none;

	if (storage_make_directory(directory, false, &none) != 0 ||
	    replacement_open(&file, mark, 0600, &none) != 0)
		return;
	if (futimens(file.fd, times) == 0)
		replacement_commit(&file, false, &none);
	else
		replacement_abandon(&file);
}

int
keep_prune(const struct keep_spec *spec, struct error *err)
{
	struct prune_spec what = { .rule = RETENTION_ALL, .name = spec->name, .own = true,
		.spared = spec->run_id, .warn = spec->warn };
	char digest[DIGEST_SIZE], *directory, *mark;
	struct storage storage;
	struct error none;
	size_t count;
	int failed = 0;

	if (options_time("--keep", spec->age, &what.rule.before, err) != 0 ||
	    storage_locate(&storage, err) != 0)
		return -1;
	directory = path_join(storage.root, STORAGE_KEPT);
	mark = path_join(directory, digest_sha256(spec->name, strlen(spec->name), digest));
	if (!is_done(mark, what.rule.before)) {
		failed = prune_runs(&storage, &what, err);
		if (failed == 0 && storage_count(&storage, &count, &none) == 0 && count > FEW_RUNS)
			mark_done(directory, mark, what.rule.before);
		else
			unlink(mark);
	}
	free(mark);
	free(directory);
	storage_close(&storage);
	return failed;
}
