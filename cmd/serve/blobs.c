/*
 * Serves files next to the transcript: blobs, which are data that is large or not text, and the
 * run's input from stdin. The browser is told to display only pictures and to save everything else,
 * so that a script in such a file never runs on a page of this server.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/log.h"
#include "transcript/blob.h"

#define HEAD 16

/* Recognized by their first bytes. */
static const struct { const char *type, *begin; size_t len, skip; const char *more; } pictures[] = {
	{ "image/png", "\x89PNG\r\n\x1a\n", 8, 0, NULL },
	{ "image/jpeg", "\xff\xd8\xff", 3, 0, NULL },
	{ "image/gif", "GIF87a", 6, 0, NULL },
	{ "image/gif", "GIF89a", 6, 0, NULL },
	{ "image/webp", "RIFF", 4, 8, "WEBP" },
};

static const char *
picture_type(const char head[HEAD], size_t len)
{
	for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
		if (len == HEAD && memcmp(head, pictures[i].begin, pictures[i].len) == 0 &&
		    (pictures[i].more == NULL ||
		    memcmp(head + pictures[i].skip, pictures[i].more, strlen(pictures[i].more)) == 0))
			return pictures[i].type;
	return NULL;
}

static const char *const saved[] = { "Content-Disposition", "attachment", NULL };

/* Opens a regular file for reading; -1: it does not exist. Frees the path. */
static int
open_file(char *path, struct stat *status)
{
	int fd = file_open_plain(path, O_RDONLY, 0);

	free(path);
	if (fd != -1 && (fstat(fd, status) != 0 || !S_ISREG(status->st_mode)))
		file_close(&fd);
	return fd;
}

static void
blobs_wake_request(void *context)
{
	request_wake(context);
}

static void
free_fetch(void *state)
{
	upload_free(state);
}

/* With --db: asks the database for a blob that was not copied from it. */
static void
blobs_fetch_from_database(struct request *r, const char *run_id, const char *name)
{
	struct error err;
	struct upload *u = upload_begin(&r->server->uploads, UPLOAD_FETCH, r->token, r->connection->address,
	    &err);

	if (u == NULL) {
		request_error(r, 503, "unavailable", "the database cannot be asked for the blob now");
		return;
	}
	memcpy(u->run_id, run_id, ID_SIZE);
	memcpy(u->sha256, name, DIGEST_SIZE);
	u->context = r;
	u->done = blobs_wake_request;
	/* The run was found. From now on the request's state is the upload; the state of the search
	 * for the run is freed. */
	if (r->free_state != NULL)
		r->free_state(r->state);
	r->state = u;
	r->free_state = free_fetch;
	upload_end(u);
	request_wait(r);
}

void
request_blob(struct request *r, const char *run_id, const char *name)
{
	const struct upload *u = r->free_state == free_fetch ? r->state : NULL;
	char head[HEAD], *directory = storage_blobs(&r->server->storage, run_id);
	struct stat status;
	const char *type;
	ssize_t got;
	int fd = open_file(path_join(directory, name), &status);

	free(directory);
	if (fd == -1 && u == NULL && r->server->database.shipper != NULL) {
		blobs_fetch_from_database(r, run_id, name);
		return;
	}
	if (fd == -1 && u != NULL && u->result.refusal.fault != INGEST_NONE) {
		log_warn(&u->result.refusal.error);
		request_error(r, 503, "unavailable", "the database cannot be asked for the blob now");
		return;
	}
	if (fd == -1) {
		request_error(r, 404, "not_found", "the run has no such blob");
		return;
	}
	got = pread(fd, head, sizeof head, 0);
	type = picture_type(head, got > 0 ? (size_t)got : 0);
	request_file(r, type != NULL ? type : "application/octet-stream", fd, 0, status.st_size,
	    type != NULL ? NULL : saved);
}

bool
request_blob_fetched(struct request *r)
{
	const struct upload *u = r->free_state == free_fetch ? r->state : NULL;

	if (u != NULL)
		request_blob(r, u->run_id, u->sha256);
	return u != NULL;
}

void
answer_blob(struct request *r)
{
	const char *name = request_segment(r, 1);
	char run_id[ID_SIZE];

	if (request_blob_fetched(r) || !request_run(r, request_segment(r, 0), run_id))
		return;
	if (blob_name_valid(name))
		request_blob(r, run_id, name);
	else
		request_error(r, 404, "not_found", "a blob's name is 64 hex digits");
}

void
answer_input(struct request *r)
{
	struct stat status;
	char run_id[ID_SIZE], *path;
	int fd;

	if (!request_run(r, request_segment(r, 0), run_id))
		return;
	path = storage_input(&r->server->storage, run_id);
	fd = open_file(memory_text(path), &status);
	/* If the run has not read its input to the end, what it has read is in a file with another
	 * name. */
	if (fd == -1)
		fd = open_file(memory_format("%s.part", path), &status);
	free(path);
	if (fd == -1)
		request_error(r, 404, "not_found", "nothing is kept of what the run was given");
	else
		request_file(r, "application/octet-stream", fd, 0, status.st_size, saved);
}
