/*
 * The directory is opened before the name is computed, since it is not there in a storage in which
 * nothing was refused. The room of a file is allocated before it is mapped: a full disk would
 * otherwise end who writes there by a signal.
 */
#include "providers/held.h"

#include <errno.h>
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
#include "proc/provider_variables.h"
#include "providers/endpoint.h"
#include "storage/run.h"

#define HELD_DIRECTORY "limits/.held"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 64
#define FORGOTTEN_MS ((int64_t)10 * 60 * 1000) /* after its last change a file is not used any more */
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

/* Whether the file says nothing any more: what was refused is long ago. */
static bool
held_is_forgotten(const struct hold *h, int64_t now)
{
	const int64_t times[] = { h->until, h->held, h->changed, h->shortened, h->counted_at, h->tried };
	int64_t latest = 0;

	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		if (times[i] > latest)
			latest = times[i];
	return latest != 0 && latest + FORGOTTEN_MS < now;
}

/* Opens the file of a call; make: it is made if it is not there. NULL. */
static struct hold *
held_open(const struct provider *client, const char *model, bool make)
{
	char *path, name[DIGEST_SIZE];
	struct hold *hold = NULL;
	struct error ignored;
	int directory, fd;

	if (client->run == NULL || client->run->storage.root == NULL)
		return NULL;
	path = path_join(client->run->storage.root, HELD_DIRECTORY);
	if (make)
		directory_make(path, 0700, &ignored);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	free(path);
	if (directory == -1)
		return NULL;
	held_name(client, model, name);
	fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
	if (fd != -1 && (!make || posix_fallocate(fd, 0, sizeof *hold) == 0))
		hold = held_map(fd);
	if (hold != NULL && !make && held_is_forgotten(hold, clock_monotonic())) {
		munmap(hold, sizeof *hold);
		hold = NULL;
		unlinkat(directory, name, 0);
	}
	file_close(&fd);
	close(directory);
	return hold;
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
	if (h->hold != NULL)
		munmap(h->hold, sizeof *h->hold);
	free(h->model);
	*h = (struct held){ .client = NULL };
}

int
held_enter(struct held *h, const struct held_spec *spec, struct error *err)
{
	*h = (struct held){ .client = spec->client, .model = memory_text(spec->model) };
	h->hold = held_open(h->client, h->model, false);
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
	if (h->hold == NULL && code == ERROR_RATE_LIMIT)
		h->hold = held_open(h->client, h->model, true);
	if (h->hold != NULL && code == ERROR_RATE_LIMIT)
		hold_refused(h->hold, h->sent, wait_ms, clock_monotonic());
	else if (h->hold != NULL && code == ERROR_NONE)
		hold_answered(h->hold, h->sent, clock_monotonic());
	held_end(h);
}
