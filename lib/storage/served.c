/*
 * The program that copies is a peer to which nothing is sent: its stdin stays open as long as the
 * copy is needed. It writes one JSON object per line.
 */
#include "storage/served.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/patience.h"
#include "io/copytree.h"
#include "io/file.h"
#include "json/scan.h"
#include "proc/libexec.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define FETCHER "awf-fetch-run"

bool
served_is_url(const char *argument)
{
	return argument != NULL && (strncasecmp(argument, "http://", 7) == 0 ||
	    strncasecmp(argument, "https://", 8) == 0);
}

static int
served_start_fetcher(struct served *s, const char *url, unsigned what,
    const struct served_range *range, struct error *err)
{
	static const struct { unsigned what; const char *option; } options[] = {
		{ SERVED_FOLLOW, "--follow" }, { SERVED_CHILDREN, "--children" },
		{ SERVED_ORIGINS, "--origins" }, { SERVED_BLOBS, "--blobs" },
		{ SERVED_INPUT, "--input" },
		{ SERVED_LATEST, "--follow-latest" },
	};
	const size_t count = sizeof options / sizeof *options;
	char *list = libexec_path(), *program = path_search(list, FETCHER);
	const char *argv[7 + sizeof options / sizeof *options] = { program };
	char after[24], last[24];
	/* A signal from the terminal ends this program; the other must live a little longer, to
	 * clean up. */
	const struct process_spec spec = { .argv = (char *const *)(uintptr_t)argv,
		.err = PROCESS_INHERIT, .group = true };
	size_t words = 1;
	int failed;

	for (size_t i = 0; i < count; i++)
		if (what & options[i].what)
			argv[words++] = options[i].option;
	if (range != NULL && range->after > 0) {
		snprintf(after, sizeof after, "%" PRId64, range->after);
		argv[words++] = "--after";
		argv[words++] = after;
	}
	if (range != NULL && range->last >= 0) {
		snprintf(last, sizeof last, "%" PRId64, range->last);
		argv[words++] = "--last";
		argv[words++] = last;
	}
	argv[words++] = "--";
	argv[words] = url;
	if (program == NULL)
		failed = error_set(err, ERROR_SYSTEM, FETCHER, "not found in %s", list);
	else
		failed = peer_start(&s->peer, &spec, err);
	s->peer.end_ms = FETCHER_END_MS;
	free(program);
	free(list);
	return failed;
}

/* ---- what the program writes ---- */

static void
served_read_error(struct error *err, struct span line)
{
	char *place = span_text(span_member(line, "place"));
	char *message = span_text(span_member(line, "message"));
	char code[32] = "";

	span_copy(span_member(line, "code"), code, sizeof code);
	error_set(err, error_from_name(code, strlen(code)), place != NULL && *place != '\0' ? place : NULL,
	    "%s", message != NULL ? message : "it says nothing");
	free(place);
	free(message);
}

/* Handles a line. Returns its type if the caller must handle it, too; otherwise NULL. */
static const char *
served_read_line(struct served *s, struct span line, struct served_change *change)
{
	static const char *const types[] = { "copy", "ready", "replaced", "warning", "error", NULL };
	const char *type = span_one_of(span_member(line, KEY_TYPE), types);
	long long bytes = 0, seq = 0, skipped;

	if (type == types[0]) {
		s->storage.root = span_text(span_member(line, "directory"));
		s->base = span_text(span_member(line, "server"));
	} else if (type == types[1]) {
		event_copy_id(span_member(line, KEY_RUN_ID), s->run_id);
		if (span_integer(span_member(line, "skipped"), &skipped))
			s->skipped = skipped;
	} else if (type == types[2]) {
		span_integer(span_member(line, KEY_BYTES), &bytes);
		span_integer(span_member(line, KEY_SEQ), &seq);
		event_copy_id(span_member(line, KEY_RUN_ID), change->run_id);
		change->bytes = bytes;
		change->seq = seq;
	} else if (type != NULL) {
		served_read_error(&change->error, line);
	}
	return type;
}

/* The program has ended without saying why. */
static void
served_set_end_error(struct served *s, struct served_change *change)
{
	int wait_status = peer_end(&s->peer);
	char text[64];

	error_set(&change->error, ERROR_SYSTEM, FETCHER, "has ended: %s",
	    process_status_text(wait_status, text, sizeof text));
}

/* The next of the received lines that the caller must handle; NULL: there is none. */
static const char *
served_next_line(struct served *s, struct served_change *change)
{
	const char *type = NULL;
	struct span line;

	while (type == NULL && peer_line(&s->peer, &line) == 1)
		type = served_read_line(s, line, change);
	return type;
}

enum served_news
served_next(struct served *s, struct served_change *change)
{
	const char *type;
	int got = 0;

	if (s->ended || s->storage.root == NULL)
		return SERVED_NOTHING;
	while ((type = served_next_line(s, change)) == NULL && got != -1)
		if ((got = peer_receive(&s->peer)) == 0)
			return SERVED_NOTHING;
	if (type == NULL)
		served_set_end_error(s, change);
	else if (strcmp(type, "replaced") == 0)
		return SERVED_REPLACED;
	else if (strcmp(type, "warning") == 0)
		return SERVED_WARNING;
	s->ended = true;
	return SERVED_FAILED;
}

int
served_open(struct served *s, const char *url, unsigned what, const struct served_range *range,
    void (*warn)(const struct error *warning), struct error *err)
{
	struct served_change change;
	const char *type = "";

	*s = (struct served){ .base = NULL };
	if (served_start_fetcher(s, url, what, range, err) != 0)
		return -1;
	while (strcmp(type, "ready") != 0) {
		enum peer_event event = PEER_SERVED;

		if ((type = served_next_line(s, &change)) == NULL)
			event = peer_wait(&s->peer, 0, NULL, err);
		if (event == PEER_INTERRUPTED)
			break;
		if (event == PEER_GONE && (type = served_next_line(s, &change)) == NULL)
			served_set_end_error(s, &change);
		if (event == PEER_GONE || (type != NULL && strcmp(type, "error") == 0)) {
			*err = change.error;
			break;
		}
		if (type != NULL && strcmp(type, "warning") == 0)
			warn(&change.error);
		if (type == NULL)
			type = "";
	}
	if (type != NULL && strcmp(type, "ready") == 0)
		return 0;
	served_name(s, err);
	served_close(s);
	return -1;
}

struct pollfd
served_poll(const struct served *s)
{
	struct pollfd fds[PEER_FDS];

	peer_poll(&s->peer, fds);
	if (s->ended)
		fds[PEER_OUT].fd = -1;
	return fds[PEER_OUT];
}

void
served_name(const struct served *s, struct error *err)
{
	size_t len = s->storage.root != NULL ? strlen(s->storage.root) : 0;
	const char *rest, *blobs;
	char place[sizeof err->place];

	if (len == 0 || strncmp(err->place, s->storage.root, len) != 0 || err->place[len] != '/')
		return;
	rest = err->place + len;
	blobs = strstr(rest, "/blobs/");
	if (blobs != NULL && strlen(blobs) > 7 + ID_SIZE)
		snprintf(place, sizeof place, "%s/api/runs/%.36s/blobs/%s", s->base, blobs + 7,
		    blobs + 7 + ID_SIZE);
	else if (strncmp(rest, "/transcripts/", 13) == 0)
		snprintf(place, sizeof place, "%s/runs/%.36s", s->base, rest + 13);
	else if (strncmp(rest, "/inputs/", 8) == 0)
		snprintf(place, sizeof place, "%s/api/runs/%.36s/input", s->base, rest + 8);
	else
		return;
	memcpy(err->place, place, sizeof place);
}

void
served_close(struct served *s)
{
	if (s->peer.process.pid != 0)
		peer_end(&s->peer);
	/* If the program was killed, it has not removed the copy. */
	if (s->storage.root != NULL)
		copytree_remove(s->storage.root, NULL);
	peer_free(&s->peer);
	storage_close(&s->storage);
	free(s->base);
	s->base = NULL;
}
