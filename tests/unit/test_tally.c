/* What awf-serve keeps of many runs for figures is bounded: what was changed longest ago is left out, and that
 * is told. */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "io/copytree.h"
#include "serve_runs/tally.h"

#define RUNS 40

static char root[64];
static struct storage storage = { .root = root };
static struct loop loop;

/* A run with one step, whose file was changed so many minutes ago. */
static void
write_run(int number, int minutes)
{
	static const char head[] = "{\"seq\":%d,\"timestamp\":\"2026-11-30T10:00:0%d.000000Z\",\"event_id\":"
	    "\"00000000-0000-4000-8000-%012d\",\"run_id\":\"aaaa0000-0000-4000-8000-%012d\",\"parent_event_id\":%s,"
	    "\"type\":\"%s\",\"path\":\"%s\",\"iteration\":0,\"payload\":{%s},\"prev\":\"%064d\"}\n";
	struct timespec times[2];
	char path[160], id[48];
	FILE *file;

	snprintf(path, sizeof path, "%s/transcripts/aaaa0000-0000-4000-8000-%012d.jsonl", root, number);
	snprintf(id, sizeof id, "\"00000000-0000-4000-8000-%012d\"", 1);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, head, 1, 1, 1, number, "null", "run.started", "", "\"name\":\"flow\",\"attempt\":1", 0);
	fprintf(file, head, 2, 2, 2, number, id, "run.completed", "", "\"status\":\"failed\",\"error\":"
	    "{\"code\":\"exit_status\",\"message\":\"why\"}", 0);
	fclose(file);
	times[0].tv_sec = times[1].tv_sec = time(NULL) - (time_t)minutes * 60;
	times[0].tv_nsec = times[1].tv_nsec = 0;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int
make(void **state)
{
	char path[128];
	struct error err;

	(void)state;
	if (unit_make_directory(root, "tally") != 0)
		return -1;
	snprintf(path, sizeof path, "%s/transcripts", root);
	if (mkdir(path, 0700) != 0)
		return -1;
	memset(&loop, 0, sizeof loop);
	for (int i = 0; i < RUNS; i++)
		write_run(i, i);
	return loop_open(&loop, &err);
}

static int
clean(void **state)
{
	struct error err;

	(void)state;
	loop_close(&loop);
	return copytree_remove(root, &err);
}

static void
read_all(struct tally *t)
{
	struct error err;

	t->looked_at = 0;
	tally_refresh(t);
	while (t->phase != TALLY_IDLE)
		assert_int_equal(loop_round(&loop, 0, &err), 0);
}

static void
count(void *context, const struct figure *figure)
{
	assert_string_equal(figure->name, "flow");
	assert_string_equal(figure->reason, "why");
	assert_int_equal(figure->seq, 2);
	++*(int *)context;
}

/* How many figures there are of runs from the one changed last on, until one has none. */
static int
kept(const struct tally *t)
{
	int all = 0;

	for (size_t i = 0; i < t->count && t->runs[i]->texts != NULL; i++)
		tally_each(t->runs[i], BY_WORKFLOW, count, &all);
	return all;
}

static void
all_is_kept_that_fits(void **state)
{
	struct tally t;
	struct tally_progress p;

	(void)state;
	tally_open(&t, &loop, &storage);
	read_all(&t);
	tally_progress(&t, 0, &p);
	assert_true(p.complete);
	assert_int_equal(p.runs, RUNS);
	assert_int_equal(p.read, RUNS);
	assert_int_equal(p.whole_since, 0);
	assert_int_equal(kept(&t), RUNS);
	tally_close(&t);
}

static void
of_more_than_fits_the_latest_is_kept(void **state)
{
	struct tally t;
	struct tally_progress p;
	int before;

	(void)state;
	tally_open(&t, &loop, &storage);
	t.most = 1000;
	read_all(&t);
	tally_progress(&t, 0, &p);
	before = kept(&t);
	assert_true(p.complete);
	assert_true(p.read > 0 && p.read < RUNS / 2);
	assert_int_equal(p.read, before);
	/* Of what was changed since then, nothing is left out. */
	assert_true(p.whole_since > 0);
	assert_true(t.runs[p.read - 1]->seen >= p.whole_since);
	assert_int_equal(t.runs[p.read]->seen, p.whole_since);
	/* A run that changes now has its place, and an older one gives it up. */
	write_run(RUNS - 1, 0);
	read_all(&t);
	tally_progress(&t, 0, &p);
	assert_int_equal(p.read, before);
	assert_true(t.runs[0]->texts != NULL && t.runs[1]->texts != NULL);
	assert_true(strstr(t.runs[0]->run_id, "39") != NULL || strstr(t.runs[1]->run_id, "39") != NULL);
	assert_true(t.bytes <= t.most + 200);
	tally_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_is_kept_that_fits, make, clean),
		cmocka_unit_test_setup_teardown(of_more_than_fits_the_latest_is_kept, make, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
