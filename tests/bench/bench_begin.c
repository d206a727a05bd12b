/*
 * Becomes a command, and says before when that was: bench_begin COMMAND [ARG…]
 * prints nanoseconds since the epoch to stderr. A date in the shell would be a process that
 * ends, and another that is made, before the command begins.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct timespec t;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_begin COMMAND [ARG...]\n");
		return EXIT_FAILURE;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	fprintf(stderr, "%lld%09ld\n", (long long)t.tv_sec, t.tv_nsec);
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return EXIT_FAILURE;
}
