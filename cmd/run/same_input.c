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

/* Keeps all that comes in a file without a name, which *input is then. */
static int
spool(const char *directory, int *input, struct error *err)
{
	char *path = memory_format("%s/spool-XXXXXX", directory), *bytes = NULL;
	int fd = mkstemp(path), failed = 0;
	ssize_t got = 1;

	if (fd >= 0) {
		unlink(path);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		bytes = memory_alloc(CHUNK);
	} else {
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to make");
	}
	while (failed == 0 && got != 0) {
		if (poll_one(*input, POLLIN, clock_monotonic() + LOOK_EVERY_MS) == 0) {
			if (signals_held() != 0)
				failed = error_set(err, ERROR_CANCELLED, NULL, "cancelled by signal %d",
				    signals_held());
			continue;
		}
		got = read(*input, bytes, CHUNK);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			failed = error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
		else if (got > 0 && file_write(fd, bytes, (size_t)got) != 0)
			failed = error_errno(err, ERROR_SYSTEM, "stdin", "unable to keep");
	}
	free(bytes);
	free(path);
	if (failed != 0) {
		if (fd >= 0)
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
		same = got[0] == got[1] && got[0] >= 0;
		if (same && more) {
			const struct data *x = &items[0].data, *y = &items[1].data;
			struct span left = item_error(&items[0]), right = item_error(&items[1]);

			same = items[0].metadata.len > 0 && items[1].metadata.len > 0 &&
			    x->json.len == y->json.len &&
			    memcmp(x->json.data, y->json.data, x->json.len) == 0 &&
			    x->no_newline == y->no_newline && x->base64 == y->base64 &&
			    left.len == right.len &&
			    (left.len == 0 || memcmp(left.at, right.at, left.len) == 0);
		}
		for (int i = 0; i < 2; i++)
			item_free(&items[i]);
	}
	state_reader_free(&readers[0]);
	state_reader_free(&readers[1]);
	return same;
}

int
same_input(const struct storage *s, const char *run_id, const char *directory,
    struct span recorded, int *input, bool *same, struct error *err)
{
	char *path = storage_input(s, run_id);
	int kept = file_open_plain(path, O_RDONLY, 0), failed = 0;
	long long bytes = 0;
	struct stat status;
	bool flows = false, now = false; /* whether there is anything that is kept of an input */
	off_t at;

	if (*input >= 0 && fstat(*input, &status) == 0) {
		flows = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
		now = flows || S_ISREG(status.st_mode);
	}
	span_integer(span_member(recorded, KEY_BYTES), &bytes);
	if (recorded.at == NULL || !now || kept < 0) {
		/* Of what was kept in part some may not have been taken; of nothing, nothing was. */
		*same = recorded.at == NULL ? !now : bytes == 0;
	} else {
		if (flows)
			failed = spool(directory, input, err);
		at = lseek(*input, 0, SEEK_CUR);
		*same = failed == 0 && (same_bytes(*input, at, kept) || same_state(*input, kept));
		if (failed == 0)
			lseek(*input, at, SEEK_SET);
	}
	if (kept >= 0)
		close(kept);
	free(path);
	return failed;
}
