/*
 * Times whole commands, in turn: bench_exec RUNS 'shell command' …
 * Prints the median milliseconds of each, separated by spaces. Commands are run by
 * exec of their words (split at spaces); stdin and stdout are /dev/null.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP 3
#define WORDS 64

extern char **environ;

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Runs one command to its end; milliseconds, or an exit if it cannot be run. */
static double
run_once(char **argv)
{
	posix_spawn_file_actions_t actions;
	double begun = now_ms();
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	errno = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	if (errno != 0 || waitpid(pid, &status, 0) != pid) {
		perror(argv[0]);
		exit(1);
	}
	if (status != 0) {
		fprintf(stderr, "bench_exec: %s failed\n", argv[0]);
		exit(1);
	}
	posix_spawn_file_actions_destroy(&actions);
	return now_ms() - begun;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	long runs = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	int commands = argc - 2, c;
	char *words[WORDS], *save;
	double *times;
	size_t count;
	long run;

	if (runs <= 0) {
		fprintf(stderr, "usage: bench_exec RUNS COMMAND ...\n");
		return 1;
	}
	times = calloc((size_t)(runs * commands), sizeof *times);
	if (times == NULL)
		return 1;
	for (run = -WARM_UP; run < runs; run++)
		for (c = 0; c < commands; c++) {
			char *text = strdup(argv[2 + c]);

			if (text == NULL)
				return 1;
			count = 0;
			words[0] = strtok_r(text, " ", &save);
			while (words[count] != NULL && count + 2 < WORDS)
				words[++count] = strtok_r(NULL, " ", &save);
			words[count] = NULL;
			if (run >= 0)
				times[c * runs + run] = run_once(words);
			else
				run_once(words);
			free(text);
		}
	for (c = 0; c < commands; c++) {
		qsort(times + c * runs, (size_t)runs, sizeof *times, compare);
		printf("%s%.2f", c > 0 ? " " : "", times[c * runs + runs / 2]);
	}
	putchar('\n');
	free(times);
	return 0;
}
