/*
 * The directory is opened before the name is computed, since it is not there in a storage in which
 * nothing was refused. The room of a file is allocated before it is mapped: a full disk would
 * otherwise end who writes there by a signal.
 */
#include "providers/held.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/sweep.h"
#include "proc/provider_variables.h"
#include "providers/endpoint.h"
#include "storage/run.h"

#define HELD_DIRECTORY "limits/.held"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 64
#define MAKES_MOST 100 /* files that others remove one after another */
#define REASON "rate limit reached"

static void
add_text(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text) + 1);
}

/* What the monotonic clock of the times in the files belongs to; "" if it is not known. */
static size_t
held_boot_id(char text[BOOT_ID_SIZE])
{
	int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd != -1 ? read(fd, text, BOOT_ID_SIZE) : 0;

	file_close(&fd);
	return len > 0 ? (size_t)len : 0;
}

/* The name of the file for the calls of a client and a model. */
static void
held_name(const struct provider *client, const char *model, char name[DIGEST_SIZE])
{
	char **own = client->endpoint != NULL ? endpoint_variables(client->endpoint) : NULL;
	const char *const *names = own != NULL ? (const char *const *)own : provider_key_names();
	struct buffer text = BUFFER_INIT;
	char boot[BOOT_ID_SIZE];
	const size_t boot_len = held_boot_id(boot);

	add_text(&text, client->name);
	add_text(&text, model);
	if (client->endpoint != NULL) {
		const struct span endpoint = endpoint_text(client->endpoint);

		buffer_append(&text, endpoint.at, endpoint.len);
	}
	for (; names != NULL && *names != NULL; names++) {
		const char *value = keys_value(client->keys, *names);

		if (value == NULL)
			continue;
		add_text(&text, *names);
		add_text(&text, value);
	}
	digest_hmac(boot, boot_len, text.data, text.len, name);
	buffer_free(&text);
	list_free(own);
}

/* Maps a file of a struct hold; NULL. */
static struct hold *
held_map(int fd)
{
	struct stat status;
	void *at = MAP_FAILED;

	if (fd != -1 && fstat(fd, &status) == 0 && status.st_size >= (off_t)sizeof(struct hold))
		at = mmap(NULL, sizeof(struct hold), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void
held_unmap(struct hold **hold)
{
	if (*hold != NULL)
		munmap(*hold, sizeof **hold);
	*hold = NULL;
}

/* Opens the directory of the files. -1: there is none. */
static int
held_open_directory(const struct provider *client, bool make)
{
	char *path;
	struct error ignored;
	int directory;

	if (client->run == NULL || client->run->storage.root == NULL)
		return -1;
	path = path_join(client->run->storage.root, HELD_DIRECTORY);
	if (make)
		directory_make(path, 0700, &ignored);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	free(path);
	return directory;
}

/* Maps a file that is there and counts; NULL. */
static struct hold *
held_find(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct hold *hold = held_map(fd);

	if (hold != NULL && hold_is_forgotten(hold, clock_monotonic()))
		held_unmap(&hold);
	file_close(&fd);
	return hold;
}

/* Whether a file counts no more, or is none. */
static bool
held_is_left(void *context, int directory, const char *name, const struct stat *status)
{
	struct hold *hold = held_find(directory, name);
	const bool left = hold == NULL;

	(void)context, (void)status;
	held_unmap(&hold);
	return left;
}

/* Records a refusal in the file that has the name now, which is made if there is none. A process that has
 * judged the file before that may remove it: then it is made again. */
static void
held_refuse(const struct held *h, int64_t wait_ms)
{
	int directory = held_open_directory(h->client, true);
	char name[DIGEST_SIZE];
	struct hold *hold;
	struct stat status;
	bool removed = true;

	if (directory == -1)
		return;
	held_name(h->client, h->model, name);
	hold = held_find(directory, name);
	if (hold == NULL)
		sweep_files(directory, held_is_left, NULL);
	for (int tries = 0; removed && tries < MAKES_MOST; tries++) {
		int fd = openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		held_unmap(&hold);
		if (fd != -1 && posix_fallocate(fd, 0, sizeof *hold) == 0)
			hold = held_map(fd);
		if (hold != NULL)
			hold_refused(hold, h->sent, wait_ms, clock_monotonic());
		removed = hold != NULL && fstat(fd, &status) == 0 && status.st_nlink == 0;
		file_close(&fd);
	}
	held_unmap(&hold);
	close(directory);
}

/* ---- waiting ---- */

struct held_wait {
	const struct held_spec *spec;
	int64_t since;   /* monotonic ms */
	bool told;
};

/* Reports a wait that has lasted a while. */
static int
held_report_wait(struct held_wait *w, int64_t again, struct error *err)
{
	const struct provider_wait wait = { .provider = w->spec->client->name, .reason = REASON,
		.delay_ms = again - clock_monotonic() };

	if (w->told || clock_monotonic() < w->since + LIMIT_TOLD_MS)
		return 0;
	w->told = true;
	return w->spec->told(w->spec->context, &wait, err);
}

static int
held_sleep(const struct held_wait *w, int64_t again, struct error *err)
{
	const int64_t now = clock_monotonic(), deadline = w->spec->deadline;

	if (!w->told && w->since + LIMIT_TOLD_MS > now && w->since + LIMIT_TOLD_MS < again)
		again = w->since + LIMIT_TOLD_MS;
	if (deadline != 0 && deadline < again)
		again = deadline;
	return interrupts_sleep(w->spec->interrupts, again > now ? again - now : 0, err);
}

/* Waits until the call may be sent: 0, -1. */
static int
held_wait(struct hold *hold, const struct held_spec *spec, struct error *err)
{
	struct held_wait w = { .spec = spec, .since = clock_monotonic() };
	struct hold_place place = hold_draw(hold, spec->last);
	struct error ignored;
	int64_t again;
	int result = 0;

	while (result == 0 && !hold_pass(hold, &place, clock_monotonic(), &again)) {
		const int64_t now = clock_monotonic();

		if ((spec->longest_ms > 0 && hold_left(hold, now) > spec->longest_ms) ||
		    (spec->deadline != 0 && now >= spec->deadline))
			result = error_set(err, ERROR_RATE_LIMIT, spec->client->name,
			    "was not asked: " REASON);
		if (result == 0)
			result = held_report_wait(&w, again, err);
		if (result == 0)
			result = held_sleep(&w, again, err);
	}
	if (w.told) {
		const struct provider_wait over = { .provider = spec->client->name,
			.waited_ms = clock_monotonic() - w.since };

		if (spec->told(spec->context, &over, result == 0 ? err : &ignored) == -1)
			result = -1;
	}
	return result;
}

/* ---- a call ---- */

static void
held_end(struct held *h)
{
	held_unmap(&h->hold);
	free(h->model);
	*h = (struct held){ .client = NULL };
}

int
held_enter(struct held *h, const struct held_spec *spec, struct error *err)
{
	int directory = held_open_directory(spec->client, false);
	char name[DIGEST_SIZE];

	*h = (struct held){ .client = spec->client, .model = memory_text(spec->model) };
	if (directory != -1) {
		held_name(h->client, h->model, name);
		h->hold = held_find(directory, name);
		close(directory);
	}
	if (h->hold != NULL && held_wait(h->hold, spec, err) == -1) {
		held_end(h);
		return -1;
	}
	h->sent = clock_monotonic();
	return 0;
}

void
held_leave(struct held *h, enum error_code code, int64_t wait_ms)
{
	if (h->client == NULL)
		return;
	if (code == ERROR_RATE_LIMIT)
		held_refuse(h, wait_ms);
	else if (h->hold != NULL && code == ERROR_NONE)
		hold_answered(h->hold, h->sent, clock_monotonic());
	held_end(h);
}
