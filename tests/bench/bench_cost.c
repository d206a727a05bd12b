/*
 * Runs a command and prints the milliseconds that it took and the peak memory, in KiB,
 * of the largest of its processes. What it prints itself is dropped.
 *     bench_cost COMMAND [ARG…]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static void
start(char **argv)
{
	int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nothing >= 0 && dup2(nothing, STDOUT_FILENO) >= 0)
		execvp(*argv, argv);
	perror(*argv);
	_exit(127);
}

int
main(int argc, char **argv)
{
	int64_t began = clock_monotonic();
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_cost COMMAND [ARG...]\n");
		return EXIT_FAILURE;
	}
	pid = fork();
	if (pid == 0)
		start(argv + 1);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror("bench_cost");
		return EXIT_FAILURE;
	}
	printf("%lld %ld\n", (long long)(clock_monotonic() - began), usage.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
