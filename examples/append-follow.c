/*
 * Appends to the transcript of a run, and follows it: what awf-transcript(3) describes.
 *
 *     cc -o append-follow append-follow.c $(pkg-config --cflags --libs awf-transcript)
 *
 *     append-follow TRANSCRIPT             prints each line as it comes, until the run is over
 *     append-follow TRANSCRIPT NAME COUNT  records COUNT calls of a tool, from within the run
 *
 * A workflow finds its own transcript in $AWF_TRANSCRIPT.
 */
#include <awf/transcript.h>
#include <stdio.h>
#include <stdlib.h>

static int
append(const char *path, const char *name, int count, struct awf_error *err)
{
	struct awf_transcript *transcript;
	char payload[256], call[AWF_ID_SIZE];

	if (awf_open(&transcript, path, err) != 0)
		return -1;
	for (int i = 0; i < count && err->code == AWF_OK; i++) {
		snprintf(payload, sizeof payload, "{\"name\":\"%s\",\"call_id\":\"%d\"}", name, i);
		struct awf_event event = { .type = "tool.call", .parent = getenv("AWF_PARENT"),
			.path = getenv("AWF_PATH"), .payload = payload };
		if (awf_append(transcript, &event, call, err) < 0)
			break;
		event.type = "tool.result";
		event.parent = call;
		awf_append(transcript, &event, NULL, err);
	}
	awf_close(transcript);
	return err->code == AWF_OK ? 0 : -1;
}

static int
follow(const char *path, struct awf_error *err)
{
	struct awf_reader *reader;
	struct awf_line line;
	int got, alive;

	if (awf_reader_open(&reader, path, 0, err) != 0)
		return -1;
	do {
		alive = awf_reader_alive(reader);
		if ((got = awf_read(reader, 1000, &line, err)) == 1)
			printf("%.*s\n", (int)line.len, line.text);
	} while (got == 1 || (got == 0 && alive));
	awf_reader_close(reader);
	return got;
}

int
main(int argc, char **argv)
{
	struct awf_error err;

	if (argc == 2 && follow(argv[1], &err) == 0)
		return 0;
	if (argc == 4 && append(argv[1], argv[2], atoi(argv[3]), &err) == 0)
		return 0;
	fprintf(stderr, "append-follow: %s\n", argc % 2 == 0 ? err.message : "usage: see above");
	return 1;
}
