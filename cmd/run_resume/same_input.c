/*
 * Input from a pipe is first stored completely in an unnamed file, since it is read twice: to
 * compare it, and by the workflow. Bytes are compared before state lines, which takes longer. To
 * choose between several recorded children, the beginning of the input is enough: it is read from
 * the pipe by tee(2) without consuming it, so a child with endless input starts too.
 */
#include "run_resume/same_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/polling.h"
#include "start/input.h"
#include "start/supervise.h"
#include "storage/state.h"
#include "system/descriptor.h"
#include "transcript/event_keys.h"

#define CHUNK ((size_t)64 << 10)
#define LOOK_EVERY_MS 200 /* for held signals */
#define BEGIN_LIMIT ((size_t)64 << 10) /* capacity of a pipe */
#define BEGIN_NAP_MS 10

/* Stores all input in an unnamed file, and sets *input to it. */
static int
same_input_spool_stdin(const char *directory, int *input, struct error *err)
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

/* Compares state lines from the current positions; false if one is not a state line. begin: a holds
 * the beginning of an input, so b may have more lines. */
static bool
same_state(int a, int b, bool begin)
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
		same = (got[0] == got[1] || (begin && got[0] == 0)) && got[0] >= 0;
		if (same && more) {
			const struct data *x = &items[0].data, *y = &items[1].data;
			struct span left = item_error(&items[0]), right = item_error(&items[1]);

			same = items[0].metadata.len > 0 && items[1].metadata.len > 0 &&
			    span_same(span_of(x->json.data, x->json.len), span_of(y->json.data, y->json.len)) &&
			    x->no_newline == y->no_newline && x->base64 == y->base64 &&
			    span_same(left, right);
		}
		for (int i = 0; i < 2; i++)
			item_free(&items[i]);
	}
	state_reader_free(&readers[0]);
	state_reader_free(&readers[1]);
	return same;
}

/* ---- comparing the beginning ---- */

/* The beginning of an input that has arrived. */
struct begin {
	char *bytes; /* BEGIN_LIMIT bytes */
	size_t len;
	bool ended;  /* it is the whole input */
};

static bool
peek_input(int input, mode_t type, struct begin *begin)
{
	const short ready = poll_now(input, POLLIN);
	ssize_t got = 0;

	if (S_ISREG(type))
		got = pread(input, begin->bytes, BEGIN_LIMIT, lseek(input, 0, SEEK_CUR));
	else if ((ready & POLLIN) != 0)
		got = S_ISFIFO(type) ? descriptor_peek(input, begin->bytes, BEGIN_LIMIT) :
		    recv(input, begin->bytes, BEGIN_LIMIT, MSG_PEEK | MSG_DONTWAIT);
	if (got < 0)
		return false;
	begin->len = (size_t)got;
	/* If the writer had closed the pipe before the bytes were read, no more will come. */
	begin->ended = begin->len < BEGIN_LIMIT && (S_ISREG(type) || (ready & POLLHUP) != 0);
	return true;
}

/* whole: the recorded input was stored up to its end. */
static bool
begins_alike(const struct begin *begin, int kept, bool whole)
{
	char *bytes = memory_alloc(BEGIN_LIMIT);
	ssize_t had = pread(kept, bytes, BEGIN_LIMIT, 0);
	size_t least = had > 0 && (size_t)had < begin->len ? (size_t)had : begin->len;
	bool alike = had >= 0 && memcmp(bytes, begin->bytes, least) == 0;

	/* One has more bytes: the same only if the other may go on. */
	if (alike && (size_t)had < begin->len)
		alike = !whole;
	else if (alike && (size_t)had > begin->len)
		alike = !begin->ended;
	free(bytes);
	return alike;
}

/* Compares complete state lines. */
static enum input_fit
compare_states(const struct begin *begin, int kept, const char *directory)
{
	char *path = memory_format("%s/begin-XXXXXX", directory);
	size_t len = begin->len;
	enum input_fit fit = INPUT_UNKNOWN;
	int fd = mkstemp(path);

	while (!begin->ended && len > 0 && begin->bytes[len - 1] != '\n')
		len--;
	if (fd >= 0) {
		unlink(path);
		if ((len > 0 || begin->ended) && file_write(fd, begin->bytes, len) == 0 &&
		    lseek(fd, 0, SEEK_SET) == 0 && lseek(kept, 0, SEEK_SET) == 0)
			fit = same_state(fd, kept, !begin->ended) ? INPUT_SAME : INPUT_OTHER;
		close(fd);
	}
	free(path);
	return fit;
}

/* Compares with an input of which the digest alone is known. */
static enum input_fit
compare_digest(const struct begin *begin, struct span recorded)
{
	char sha256[DIGEST_SIZE];
	long long bytes = -1;

	/* State lines may have another length. */
	if (span_member(recorded, KEY_DATA_SHA256).at != NULL) {
		if (!begin->ended)
			return INPUT_UNKNOWN;
		if (state_digest(begin->bytes, begin->len, sha256))
			return span_is(span_member(recorded, KEY_DATA_SHA256), sha256) ? INPUT_SAME : INPUT_OTHER;
	}
	span_integer(span_member(recorded, KEY_BYTES), &bytes);
	if (bytes < 0 || begin->len > (size_t)bytes || (begin->ended && begin->len < (size_t)bytes))
		return bytes < 0 ? INPUT_UNKNOWN : INPUT_OTHER;
	if (begin->len < (size_t)bytes)
		return INPUT_UNKNOWN;
	return span_is(span_member(recorded, KEY_SHA256), digest_sha256(begin->bytes, begin->len, sha256)) ?
	    INPUT_SAME : INPUT_OTHER;
}

enum input_fit
input_compare_begin(const struct storage *s, const char *run_id, const char *directory, struct span recorded,
    int input, int wait_ms)
{
	const struct timespec nap = { 0, BEGIN_NAP_MS * 1000000L };
	char *path = storage_input(s, run_id), *part = memory_format("%s.part", path);
	int kept = file_open_plain(path, O_RDONLY, 0);
	const bool whole = kept >= 0;
	struct begin begin = { .len = 0 };
	enum input_fit fit = INPUT_UNKNOWN;
	struct stat now, then;
	bool some = input >= 0 && fstat(input, &now) == 0 &&
	    (S_ISFIFO(now.st_mode) || S_ISSOCK(now.st_mode) || S_ISREG(now.st_mode));

	if (!whole)
		kept = file_open_plain(part, O_RDONLY, 0);
	/* If a child read nothing and did not see the end of its input, any input may
	 * be the same. */
	if (kept >= 0 && (fstat(kept, &then) != 0 || (!whole && then.st_size == 0)))
		fit = INPUT_SAME;
	else if (!some && kept < 0)
		fit = recorded.at == NULL ? INPUT_SAME : INPUT_OTHER;
	else if (some && (kept >= 0 || recorded.at != NULL))
		begin.bytes = memory_alloc(BEGIN_LIMIT);
	/* Wait until as much has arrived as was recorded. */
	for (int waited = 0; begin.bytes != NULL && waited < wait_ms; waited += BEGIN_NAP_MS) {
		if (!peek_input(input, now.st_mode, &begin))
			break;
		fit = begin.len == 0 && !begin.ended ? INPUT_UNKNOWN : kept < 0 ? compare_digest(&begin, recorded) :
		    begins_alike(&begin, kept, whole) ? INPUT_SAME : compare_states(&begin, kept, directory);
		if (fit == INPUT_OTHER || begin.ended || begin.len == BEGIN_LIMIT ||
		    (kept >= 0 && (off_t)begin.len > then.st_size) || nanosleep(&nap, NULL) != 0)
			break;
	}
	if (kept >= 0)
		close(kept);
	free(begin.bytes);
	free(part);
	free(path);
	return fit;
}

bool
input_peek(int input, struct input_digests *digests, struct buffer *begin, size_t most)
{
	struct begin peeked = { .len = 0 };
	struct stat status;
	bool whole = false;

	*digests = (struct input_digests){ .bytes = 0 };
	if (input < 0 || fstat(input, &status) != 0 ||
	    !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode)))
		return false;
	peeked.bytes = memory_alloc(BEGIN_LIMIT);
	if (peek_input(input, status.st_mode, &peeked)) {
		whole = peeked.ended;
		buffer_append(begin, peeked.bytes, peeked.len < most ? peeked.len : most);
	}
	if (whole) {
		digest_sha256(peeked.bytes, peeked.len, digests->sha256);
		digests->bytes = (int64_t)peeked.len;
		if (!state_digest(peeked.bytes, peeked.len, digests->data_sha256))
			digests->data_sha256[0] = '\0';
	}
	free(peeked.bytes);
	return whole;
}

/* ---- comparing all of it ---- */

int
input_digest(const char *directory, int *input, struct input_digests *digests, struct error *err)
{
	char *bytes;
	struct buffer all = BUFFER_INIT;
	struct digest digest;
	struct stat status;
	ssize_t got;
	off_t at;

	*digests = (struct input_digests){ .bytes = 0 };
	if (*input < 0 || fstat(*input, &status) != 0)
		return 0;
	if ((S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) && same_input_spool_stdin(directory, input, err) != 0)
		return -1;
	at = lseek(*input, 0, SEEK_CUR);
	if (at < 0)
		return 0;
	bytes = memory_alloc(CHUNK);
	digest_begin(&digest);
	while ((got = pread(*input, bytes, CHUNK, at + (off_t)digests->bytes)) > 0) {
		digest_add(&digest, bytes, (size_t)got);
		digests->bytes += got;
		if (digests->bytes <= INPUT_DATA_LIMIT)
			buffer_append(&all, bytes, (size_t)got);
	}
	if (got == 0)
		digest_end(&digest, digests->sha256);
	if (got == 0 && digests->bytes == (int64_t)all.len &&
	    !state_digest(buffer_string(&all), all.len, digests->data_sha256))
		digests->data_sha256[0] = '\0';
	buffer_free(&all);
	free(bytes);
	return 0;
}

/* Compares with an input of which the digests alone are known. */
static int
compare_digests(const char *directory, struct span recorded, int *input, bool *same, struct error *err)
{
	struct input_digests now;
	long long bytes = -1;

	if (input_digest(directory, input, &now, err) != 0)
		return -1;
	span_integer(span_member(recorded, KEY_BYTES), &bytes);
	*same = (now.bytes == bytes && span_is(span_member(recorded, KEY_SHA256), now.sha256)) ||
	    (now.data_sha256[0] != '\0' && span_is(span_member(recorded, KEY_DATA_SHA256), now.data_sha256));
	return 0;
}

int
same_input(const struct storage *s, const char *run_id, const char *directory,
    struct span recorded, int *input, bool *same, struct error *err)
{
	char *path = storage_input(s, run_id), *part = memory_format("%s.part", path);
	const bool gone = access(path, F_OK) != 0 && access(part, F_OK) != 0;
	int kept = file_open_plain(path, O_RDONLY, 0), failed = 0;
	long long bytes = 0;
	struct stat status;
	bool flows = false, now = false; /* whether the input is one that is recorded */
	off_t at;

	if (*input >= 0 && fstat(*input, &status) == 0) {
		flows = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
		now = flows || S_ISREG(status.st_mode);
	}
	span_integer(span_member(recorded, KEY_BYTES), &bytes);
	if (recorded.at == NULL || !now || (kept < 0 && !gone)) {
		/* Incomplete recorded input: the same only if nothing of it was read. */
		*same = recorded.at == NULL ? !now : bytes == 0;
	} else if (kept < 0) {
		failed = compare_digests(directory, recorded, input, same, err);
	} else {
		if (flows)
			failed = same_input_spool_stdin(directory, input, err);
		at = lseek(*input, 0, SEEK_CUR);
		*same = failed == 0 && (same_bytes(*input, at, kept) || same_state(*input, kept, false));
		if (failed == 0)
			lseek(*input, at, SEEK_SET);
	}
	if (kept >= 0)
		close(kept);
	free(part);
	free(path);
	return failed;
}
