/*
 * What comes through a pipe is first kept whole in a file without a name, as it must be
 * compared and then still be read. Bytes are compared before state lines, which cost more.
 */
#include "run/same_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/polling.h"
#include "run/state.h"
#include "run/supervise.h"
#include "transcript/event_keys.h"

#define CHUNK ((size_t)64 << 10)
#define LOOK_EVERY_MS 200 /* for signals */

/* A file without a name. */
static int
make_spool(const char *directory, struct error *err)
{
	char *path = memory_format("%s/spool-XXXXXX", directory);
	int fd = mkstemp(path);

	if (fd >= 0) {
		unlink(path);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	} else {
		error_errno(err, ERROR_SYSTEM, path, "unable to make");
	}
	free(path);
	return fd;
}

/* Waits for bytes; -1 if a signal came that cancels. */
static int
wait_for(int source, struct error *err)
{
	while (poll_one(source, POLLIN, clock_monotonic() + LOOK_EVERY_MS) == 0)
		if (signals_held() != 0)
			return error_set(err, ERROR_CANCELLED, NULL, "cancelled by signal %d", signals_held());
	return 0;
}

static int
fill_spool(int source, int spool, struct error *err)
{
	char *bytes = memory_alloc(CHUNK);
	ssize_t got = 1;
	int failed = 0;

	while (failed == 0 && got != 0) {
		if (wait_for(source, err) != 0) {
			failed = -1;
			break;
		}
		got = read(source, bytes, CHUNK);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			failed = error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
		else if (got > 0 && file_write(spool, bytes, (size_t)got) != 0)
			failed = error_errno(err, ERROR_SYSTEM, "stdin", "unable to keep");
	}
	free(bytes);
	return failed;
}

static int
spool(const char *directory, int *input, struct error *err)
{
	int fd = make_spool(directory, err);

	if (fd < 0)
		return -1;
	if (fill_spool(*input, fd, err) != 0) {
		close(fd);
		return -1;
	}
	lseek(fd, 0, SEEK_SET);
	*input = fd;
	return 0;
}

static bool
same_bytes(int a, off_t at, int b)
{
	char *bytes = memory_alloc(2 * CHUNK);
	ssize_t first, second;
	bool same = true;

	for (off_t done = 0; same; done += first) {
		first = pread(a, bytes, CHUNK, at + done);
		second = pread(b, bytes + CHUNK, CHUNK, done);
		same = first == second && first >= 0 && memcmp(bytes, bytes + CHUNK, (size_t)first) == 0;
		if (first <= 0)
			break;
	}
	free(bytes);
	return same;
}

static bool
same_item(const struct item *a, const struct item *b)
{
	struct span left = item_error(a), right = item_error(b);

	return a->metadata.len > 0 && b->metadata.len > 0 &&
	    a->data.json.len == b->data.json.len &&
	    memcmp(a->data.json.data, b->data.json.data, a->data.json.len) == 0 &&
	    a->data.no_newline == b->data.no_newline && a->data.base64 == b->data.base64 &&
	    left.len == right.len && (left.len == 0 || memcmp(left.at, right.at, left.len) == 0);
}

/* Both from where they stand; what is no state is not compared here. */
static bool
same_state(int a, int b)
{
	struct state_reader readers[2];
	struct error none;
	bool same = true, more = true;

	state_reader_begin(&readers[0], a, INPUT_STATE, "");
	state_reader_begin(&readers[1], b, INPUT_STATE, "");
	while (same && more) {
		struct item items[2];
		int got[2];

		for (int i = 0; i < 2; i++) {
			memset(&items[i], 0, sizeof items[i]);
			got[i] = state_reader_next(&readers[i], &items[i], &none);
		}
		more = got[0] == 1;
		same = got[0] == got[1] && got[0] >= 0 && (!more || same_item(&items[0], &items[1]));
		for (int i = 0; i < 2; i++)
			item_free(&items[i]);
	}
	state_reader_free(&readers[0]);
	state_reader_free(&readers[1]);
	return same;
}

static bool
compare(int now, int kept)
{
	off_t at = lseek(now, 0, SEEK_CUR);
	bool same = same_bytes(now, at, kept) || same_state(now, kept);

	lseek(now, at, SEEK_SET);
	return same;
}

/* Whether there is anything that is kept of an input; true for a pipe in *flows. */
static bool
is_kept(int input, bool *flows)
{
	struct stat status;

	*flows = false;
	if (input < 0 || fstat(input, &status) != 0)
		return false;
	*flows = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
	return *flows || S_ISREG(status.st_mode);
}

int
same_input(const struct storage *s, const char *run_id, const char *directory,
    struct span recorded, int *input, bool *same, struct error *err)
{
	char *path = storage_input(s, run_id);
	int kept = file_open_plain(path, O_RDONLY, 0), failed = 0;
	long long bytes = 0;
	bool flows, now = is_kept(*input, &flows);

	span_integer(span_member(recorded, KEY_BYTES), &bytes);
	if (recorded.at == NULL || !now || kept < 0) {
		/* Of what was kept in part some may not have been taken; of nothing, nothing was. */
		*same = recorded.at == NULL ? !now : bytes == 0;
	} else {
		if (flows)
			failed = spool(directory, input, err);
		*same = failed == 0 && compare(*input, kept);
	}
	if (kept >= 0)
		close(kept);
	free(path);
	return failed;
}
