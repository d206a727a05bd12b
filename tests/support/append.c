/*
 * Appends events to the run of the environment (inside awf-run), as a step does.
 * usage: append [-c CHILD] TYPE PATH PAYLOAD      ("-" is the empty path)
 *        append < LINES                           one TYPE PATH PAYLOAD each
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json/line_input.h"
#include "storage/run.h"

static _Noreturn void
fail(const struct error *err)
{
	char text[sizeof err->place + sizeof err->message + 4];

	fprintf(stderr, "append: %s\n", error_text(err, text, sizeof text));
	exit(error_status(err->code));
}

static void
append(struct run *run, const char *child, const char *type, const char *path,
    const char *payload)
{
	struct event e = { .type = event_type_from_name(type, strlen(type)),
		.child_run_id = child, .parent_event_id = run->started,
		.path = strcmp(path, "-") == 0 ? "" : path,
		.payload = span_of(payload, strlen(payload)) };
	struct error err;

	if (e.type == EVENT_TYPES) {
		error_set(&err, ERROR_USAGE, type, "no type of an event");
		fail(&err);
	}
	if (transcript_append(&run->transcript, &e, &err) != 0)
		fail(&err);
}

static void
append_lines(struct run *run)
{
	struct line_input in;
	struct error err;
	const char *line;
	size_t len;
	int got;

	line_input_begin(&in, STDIN_FILENO, "stdin");
	while ((got = line_input_next(&in, &line, &len, &err)) == 1) {
		char *copy = strndup(line, len), *rest = copy;
		const char *type = strsep(&rest, " "), *path = strsep(&rest, " ");

		append(run, NULL, type, path ? path : "-", rest ? rest : "null");
		free(copy);
	}
	line_input_free(&in);
	if (got != 0)
		fail(&err);
}

int
main(int argc, char **argv)
{
	const char *child = NULL;
	struct error err;
	struct run run;

	if (argc > 2 && strcmp(argv[1], "-c") == 0) {
		child = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (run_enter(&run, &err) != 0)
		fail(&err);
	if (argc == 4)
		append(&run, child, argv[1], argv[2], argv[3]);
	else if (argc == 1)
		append_lines(&run);
	else
		return fprintf(stderr, "usage: append [-c CHILD] TYPE PATH PAYLOAD\n"), 1;
	run_close(&run);
	return 0;
}
