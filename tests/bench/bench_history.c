/*
 * How long a resume takes to build the index of the recorded calls: the median
 * milliseconds of RUNS, and the number of calls.
 * usage: bench_history RUNS TRANSCRIPT INDEX
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "history/history.h"

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int
ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

/* Milliseconds of one build; *calls is what it found. */
static double
build(const char *transcript, const char *index, int64_t *calls)
{
	const struct history_spec spec = { .mode = RECALL_RESUME,
		.own = { .path = transcript, .blobs = "" } };
	struct history_summary summary;
	struct error err = ERROR_INIT;
	double begun = now_ms(), took;

	if (history_build(index, &spec, &summary, &err) != 0) {
		fprintf(stderr, "bench_history: %s: %s\n", err.place, err.message);
		exit(4);
	}
	took = now_ms() - begun;
	*calls = summary.calls;
	history_summary_free(&summary);
	unlink(index);
	return took;
}

int
main(int argc, char **argv)
{
	long runs = argc == 4 ? strtol(argv[1], NULL, 10) : 0;
	double *times = runs > 0 ? calloc((size_t)runs, sizeof *times) : NULL;
	int64_t calls = 0;

	if (times == NULL) {
		fprintf(stderr, "usage: bench_history RUNS TRANSCRIPT INDEX\n");
		return 1;
	}
	for (long run = 0; run < runs; run++)
		times[run] = build(argv[2], argv[3], &calls);
	qsort(times, (size_t)runs, sizeof *times, ascending);
	printf("%.1f %lld\n", times[runs / 2], (long long)calls);
	free(times);
	return 0;
}
