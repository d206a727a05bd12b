/*
 * Each file of a claim is replaced atomically and synced (struct replacement). Once a day, the
 * process that receives a delivery removes old claims.
 */
#include "serve_start/claims.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/lock.h"
#include "io/sweep.h"

#define STARTED " started"
#define CLAIM_LIMIT ((size_t)128)
#define CLAIM_AGE (90 * SWEEP_DAY)      /* claims older than this are removed */

static void
add_name(struct claims *c, const char *kind, const void *bytes, size_t len)
{
	struct digest d;

	INVARIANT(c->count < sizeof c->names / sizeof c->names[0]);
	digest_begin(&d);
	digest_add(&d, kind, strlen(kind) + 1);
	digest_add(&d, bytes, len);
	digest_end(&d, c->names[c->count++]);
}

/* Reads a claim. 1, 0: there is none, or -1 with *err. */
static int
read_claim(const struct claims *c, const char *name, char run_id[ID_SIZE], bool *started,
    struct error *err)
{
	char *path = path_join(c->directory, name);
	int fd = file_open_plain(path, O_RDONLY, 0), result = fd == -1 && errno == ENOENT ? 0 : -1;
	struct buffer text = BUFFER_INIT;

	if (fd == -1 && result == -1)
		error_errno(err, ERROR_SYSTEM, path, "unable to open the claim");
	if (fd != -1 && file_read(fd, &text, CLAIM_LIMIT) != 0)
		error_errno(err, ERROR_SYSTEM, path, "unable to read the claim");
	else if (fd != -1 && (text.len < ID_SIZE || !id_valid(text.data, ID_SIZE - 1)))
		error_set(err, ERROR_SYSTEM, path, "is no claim: if it is removed, the delivery may "
		    "start its workflow once more");
	else if (fd != -1)
		result = 1;
	if (result == 1) {
		memcpy(run_id, text.data, ID_SIZE - 1);
		run_id[ID_SIZE - 1] = '\0';
		*started = strcmp(buffer_string(&text) + ID_SIZE - 1, STARTED "\n") == 0;
	}
	buffer_free(&text);
	file_close(&fd);
	free(path);
	return result;
}

static int
write_claims(const struct claims *c, bool started, struct error *err)
{
	char *text = memory_format("%s%s\n", c->run_id, started ? STARTED : "");
	int failed = 0;

	for (size_t i = 0; i < c->count && failed == 0; i++) {
		char *path = path_join(c->directory, c->names[i]);
		struct replacement file;

		failed = replacement_open(&file, path, 0600, err);
		if (failed == 0 && file_write(file.fd, text, strlen(text)) != 0) {
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to write the claim");
			replacement_abandon(&file);
		} else if (failed == 0) {
			failed = replacement_commit(&file, true, err);
		}
		free(path);
	}
	free(text);
	return failed;
}

/* Whether a claim is so old that no sender repeats its delivery. */
static bool
claims_is_expired(void *context, int directory, const char *name, const struct stat *status)
{
	(void)context, (void)directory, (void)name;
	return sweep_age(status) >= CLAIM_AGE;
}

/* Makes the directories, and locks the hook's. */
static int
open_directory(struct claims *c, const struct storage *s, const char *hook, struct error *err)
{
	char *serve = path_join(s->root, "serve"), *hooks = path_join(serve, "hooks");
	int failed = 0;

	c->directory = path_join(hooks, hook);
	if (storage_make_directory(serve, true, err) != 0 ||
	    storage_make_directory(hooks, true, err) != 0 ||
	    storage_make_directory(c->directory, true, err) != 0)
		failed = -1;
	if (failed == 0) {
		c->lock = file_open_plain(c->directory, O_RDONLY | O_DIRECTORY, 0);
		if (c->lock == -1 || lock_file_within(c->lock, HOOK_LOCK_MS) != 0)
			failed = error_errno(err, ERROR_SYSTEM, c->directory, "unable to lock the claims");
		else
			sweep_daily(c->lock, CLAIM_AGE, claims_is_expired, NULL);
	}
	free(hooks);
	free(serve);
	return failed;
}

int
claims_take(struct claims *c, const struct storage *s, const char *hook, const char *delivery,
    struct span body, struct error *err)
{
	size_t kept = 0;

	*c = (struct claims){ .lock = -1 };
	if (delivery != NULL)
		add_name(c, "delivery", delivery, strlen(delivery));
	if (body.at != NULL)
		add_name(c, "body", body.at, body.len);
	if (c->count > 0 && open_directory(c, s, hook, err) != 0)
		return -1;
	/* The claim of the id comes first in the list, so it decides if the claim of the body has
	 * another run. */
	for (size_t i = 0; i < c->count; i++) {
		char run_id[ID_SIZE];
		bool started;
		int found = read_claim(c, c->names[i], run_id, &started, err);

		if (found == -1)
			return -1;
		if (found == 1 && c->run_id[0] == '\0') {
			memcpy(c->run_id, run_id, ID_SIZE);
			c->started = started;
		} else if (found == 1 && strcmp(c->run_id, run_id) != 0) {
			continue; /* the claim belongs to another delivery: leave it */
		}
		memmove(c->names[kept++], c->names[i], DIGEST_SIZE);
	}
	c->count = kept;
	if (c->run_id[0] == '\0')
		id_new(c->run_id);
	/* If the two claims name different runs, the first one that was found is used, and the
	 * other is left to the delivery that made it. */
	return c->started ? 0 : write_claims(c, false, err);
}

int
claims_keep(struct claims *c, struct error *err)
{
	return write_claims(c, true, err);
}

void
claims_drop(struct claims *c)
{
	struct error ignored;

	for (size_t i = 0; i < c->count; i++) {
		char *path = path_join(c->directory, c->names[i]);

		unlink(path);
		free(path);
	}
	if (c->count > 0)
		directory_sync(c->directory, &ignored);
}

void
claims_close(struct claims *c)
{
	file_close(&c->lock);
	free(c->directory);
	c->directory = NULL;
}
