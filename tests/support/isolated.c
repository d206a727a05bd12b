/*
 * Runs a command isolated, as awf-replay does.
 * usage: isolated [-s SOURCE] [-t SCRATCH] [-v VISIBLE]... [-w WRITABLE]... [-d DIRECTORY]
 *   [-n HOST-NAME] [-p FIRST-PID] WORKSPACE COMMAND [ARG...]
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/isolate.h"
#include "proc/process.h"

#define PLACES 8

static int
execute(void *argv)
{
	char **words = argv;

	execvp(*words, words);
	fprintf(stderr, "isolated: %s: %s\n", *words, strerror(errno));
	return PROCESS_NOT_FOUND;
}

static void
add(const char **places, const char *path)
{
	size_t count = 0;

	while (places[count] != NULL)
		count++;
	if (count + 1 < PLACES)
		places[count] = path;
}

int
main(int argc, char **argv)
{
	static const char *visible[PLACES], *writable[PLACES];
	struct isolate_spec spec = { .visible = visible, .writable = writable };
	struct isolate_end end;
	struct error err = ERROR_INIT;
	int option;

	while ((option = getopt(argc, argv, "+s:t:v:w:d:n:p:")) != -1)
		switch (option) {
		case 's': spec.source = optarg; break;
		case 't': spec.scratch = optarg; break;
		case 'v': add(visible, optarg); break;
		case 'w': add(writable, optarg); break;
		case 'd': spec.directory = optarg; break;
		case 'n': spec.host_name = optarg; break;
		case 'p': spec.first_pid = (pid_t)strtol(optarg, NULL, 10); break;
		default: return STATUS_USAGE;
		}
	if (argc - optind < 2)
		return STATUS_USAGE;
	spec.workspace = argv[optind];
	if (isolate_run(&spec, execute, argv + optind + 1, &end, &err) != 0) {
		char text[sizeof err.place + sizeof err.message + 4];

		fprintf(stderr, "isolated: %s\n", error_text(&err, text, sizeof text));
		return error_status(err.code);
	}
	if (end.signal_number != 0)
		fprintf(stderr, "isolated: passed on signal %d\n", end.signal_number);
	return process_exit_code(end.wait_status);
}
