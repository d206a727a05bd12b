/*
 * Times shell commands beside each other: bench_time ROUNDS <COMMANDS
 * A line of COMMANDS is a name, a space, and a command for sh. Prints a line for each: its
 * name and the medians, in milliseconds, of its time and of the processor time that it and
 * all that it waited for took. Rounds go through the commands in turn, so that what else the
 * machine does meets them alike; one more comes first, and does not count. What the commands
 * read and print is /dev/null.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define COMMANDS 64

struct cost {
	double wall, processor;
};

/* For the whole of the program. */
struct timing {
	char *name, *command;
	double *wall, *processor; /* of each round */
};

static double
milliseconds(time_t seconds, long nanoseconds)
{
	return (double)seconds * 1e3 + (double)nanoseconds / 1e6;
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return milliseconds(t.tv_sec, t.tv_nsec);
}

/* Exits if the command fails: its time is that of something else then. */
static struct cost
run_once(char *command)
{
	char shell[] = "sh", option[] = "-c", *argv[] = { shell, option, command, NULL };
	posix_spawn_file_actions_t actions;
	double begun = now();
	struct rusage used;
	struct cost c;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	errno = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	if (errno != 0 || wait4(pid, &status, 0, &used) != pid) {
		perror(argv[0]);
		exit(EXIT_FAILURE);
	}
	c.wall = now() - begun;
	c.processor = milliseconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec,
	    (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000);
	posix_spawn_file_actions_destroy(&actions);
	if (status != 0) {
		fprintf(stderr, "bench_time: failed: %s\n", command);
		exit(EXIT_FAILURE);
	}
	return c;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static size_t
read_commands(struct timing *timings, size_t rounds)
{
	size_t count, size;
	ssize_t len;

	for (count = 0;; count++) {
		char *line = NULL, *space;

		size = 0;
		len = getline(&line, &size, stdin);
		if (len <= 0) {
			free(line);
			return count;
		}
		line[strcspn(line, "\n")] = '\0';
		space = strchr(line, ' ');
		if (space == NULL || count == COMMANDS) {
			fprintf(stderr, "bench_time: not NAME COMMAND, or too many: %s\n", line);
			exit(EXIT_FAILURE);
		}
		*space = '\0';
		timings[count] = (struct timing){ line, space + 1, calloc(rounds, sizeof(double)),
			calloc(rounds, sizeof(double)) };
		if (timings[count].wall == NULL || timings[count].processor == NULL)
			exit(EXIT_FAILURE);
	}
}

static double
median(double *figures, size_t count)
{
	qsort(figures, count, sizeof *figures, compare);
	return figures[count / 2];
}

int
main(int argc, char **argv)
{
	static struct timing timings[COMMANDS];
	size_t rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0, count, i, round;

	if (rounds == 0) {
		fprintf(stderr, "usage: bench_time ROUNDS <COMMANDS\n");
		return EXIT_FAILURE;
	}
	count = read_commands(timings, rounds);
	for (i = 0; i < count; i++)
		run_once(timings[i].command);
	for (round = 0; round < rounds; round++)
		for (i = 0; i < count; i++) {
			struct cost cost = run_once(timings[i].command);

			timings[i].wall[round] = cost.wall;
			timings[i].processor[round] = cost.processor;
		}
	for (i = 0; i < count; i++)
		printf("%s %.3f %.3f\n", timings[i].name, median(timings[i].wall, rounds),
		    median(timings[i].processor, rounds));
	return 0;
}
