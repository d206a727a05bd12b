/*
 * The digest at the end covers the path, mode, size and bytes of each file.
 *
 * Received files are first written into one directory, with numbers as their names. Only when the
 * digest has shown that all are complete are they moved to the paths that the sender named. The
 * directories of such a path are made one by one, each opened beneath the one before
 * (io/beneath.h).
 */
#define _GNU_SOURCE /* O_PATH, in system/descriptor.h */
#include "proc/frame_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/beneath.h"
#include "io/file.h"
#include "json/writer.h"
#include "proc/frame.h"
#include "system/descriptor.h"

#define NUMBER_SIZE 24

/* A path that stays below the directory from which it is taken. */
static bool
path_valid(const char *path)
{
	const char *rest = path, *part;
	size_t len;

	if (*path == '\0' || *path == '/')
		return false;
	while ((part = text_part(&rest, '/', &len)) != NULL)
		if (len == 0 || (len == 1 && part[0] == '.') || (len == 2 && memcmp(part, "..", 2) == 0))
			return false;
	return true;
}

bool
frame_pattern_valid(const char *pattern)
{
	return path_valid(pattern);
}

static void
digest_head(struct digest *d, const char *path, int64_t mode, int64_t bytes)
{
	char text[64];

	digest_add(d, path, strlen(path) + 1);
	snprintf(text, sizeof text, "%lld %lld", (long long)mode, (long long)bytes);
	digest_add(d, text, strlen(text) + 1);
}

/* ---- sending ---- */

int
files_out_begin(struct files_out *f, char *const *patterns, struct error *err)
{
	*f = (struct files_out){ .root = -1, .fd = -1 };
	digest_begin(&f->digest);
	if (patterns == NULL)
		return 0;
	f->root = open(".", DESCRIPTOR_PLACE | O_DIRECTORY | O_CLOEXEC);
	if (f->root == -1)
		return error_errno(err, ERROR_INVALID_INPUT, ".", "unable to open");
	for (; *patterns != NULL; patterns++) {
		bool any = false;
		glob_t found;

		if (glob(*patterns, 0, NULL, &found) == 0) {
			for (size_t i = 0; i < found.gl_pathc; i++) {
				struct stat status;

				if (stat(found.gl_pathv[i], &status) != 0 || !S_ISREG(status.st_mode))
					continue;
				any = true;
				if (!list_has(f->paths, found.gl_pathv[i]))
					list_add(&f->paths, found.gl_pathv[i]);
			}
			globfree(&found);
		}
		if (!any)
			return error_set(err, ERROR_INVALID_INPUT, *patterns, "there is no such file");
	}
	return 0;
}

/* What happened to a file below the directory. */
static int
fail_at(const char *path, const char *how, struct error *err)
{
	return errno == EXDEV ? error_set(err, ERROR_INVALID_INPUT, path, "leads out of the directory") :
	    error_errno(err, ERROR_INVALID_INPUT, path, "%s", how);
}

static int
too_much(const char *path, struct error *err)
{
	return error_set(err, ERROR_INVALID_INPUT, path, "is too much: no more than %zu files, and %lld MiB in all",
	    FRAME_FILES, (long long)(FRAME_FILES_BYTES >> 20));
}

static int
open_next(struct files_out *f, struct buffer *out, struct error *err)
{
	const char *path = f->paths[f->next];
	struct buffer encoded = BUFFER_INIT;
	struct stat status;
	int64_t mode;

	f->fd = beneath_open(f->root, path);
	if (f->fd == -1 || fstat(f->fd, &status) == -1)
		return fail_at(path, "unable to read", err);
	mode = status.st_mode & 0111 ? 0777 : 0666;
	f->left = status.st_size;
	/* The other end would not accept more either, and could not say so in time. */
	if (f->next == FRAME_FILES || f->left > FRAME_FILES_BYTES - f->bytes)
		return too_much(path, err);
	f->bytes += f->left;
	f->next++;
	digest_head(&f->digest, path, mode, f->left);
	base64_encode(path, strlen(path), &encoded);
	buffer_format(out, "{\"type\":\"file\",\"data\":\"%s\",\"mode\":%lld,\"bytes\":%lld}\n",
	    buffer_string(&encoded), (long long)mode, (long long)f->left);
	buffer_free(&encoded);
	return 1;
}

int
files_out_next(struct files_out *f, struct buffer *out, struct error *err)
{
	static char piece[FRAME_BYTES]; /* too large for a small stack */
	size_t wanted = f->left < (int64_t)sizeof piece ? (size_t)f->left : sizeof piece;
	ssize_t n;

	if (f->fd == -1)
		return f->paths == NULL || f->paths[f->next] == NULL ? 0 : open_next(f, out, err);
	if (f->left == 0) {
		file_close(&f->fd);
		return 1;
	}
	n = read(f->fd, piece, wanted);
	if (n <= 0)
		return n == -1 ? error_errno(err, ERROR_INVALID_INPUT, f->paths[f->next - 1], "unable to read") :
		    error_set(err, ERROR_INVALID_INPUT, f->paths[f->next - 1], "became shorter while it was read");
	digest_add(&f->digest, piece, (size_t)n);
	frame_bytes(out, "data", piece, (size_t)n);
	f->left -= n;
	INVARIANT(f->left >= 0 && f->next <= FRAME_FILES && f->bytes <= FRAME_FILES_BYTES);
	return 1;
}

void
files_out_free(struct files_out *f)
{
	if (f->paths == NULL && f->root == 0)
		return; /* it was never begun */
	file_close(&f->fd);
	file_close(&f->root);
	list_free(f->paths);
	f->paths = NULL;
}

/* ---- taking ---- */

void
files_in_begin(struct files_in *f, int directory, char *const *patterns)
{
	*f = (struct files_in){ .directory = directory, .patterns = patterns, .fd = -1 };
	digest_begin(&f->digest);
}

static bool
is_wanted(const struct files_in *f, const char *path)
{
	bool wanted = f->patterns == NULL;

	for (char *const *pattern = f->patterns; !wanted && pattern != NULL && *pattern != NULL; pattern++)
		wanted = fnmatch(*pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0;
	return wanted && path_valid(path) && !list_has(f->paths, path);
}

static int
frame_files_read_head(struct files_in *f, struct span json, struct error *err)
{
	struct buffer path = BUFFER_INIT;
	long long mode = 0, bytes = -1;
	char number[NUMBER_SIZE];
	int result = 1;

	if (frame_take_bytes(json, &path) == -1 || memchr(buffer_string(&path), '\0', path.len) != NULL ||
	    !span_integer(span_member(json, "mode"), &mode) ||
	    !span_integer(span_member(json, "bytes"), &bytes) || bytes < 0 || f->left != 0)
		result = error_set(err, ERROR_INVALID_INPUT, NULL, "the data from the other end "
		    "is damaged");
	else if (f->directory == -1 || !is_wanted(f, buffer_string(&path)))
		result = error_set(err, ERROR_INVALID_INPUT, buffer_string(&path), "was not asked for");
	else if (f->count == FRAME_FILES || bytes > FRAME_FILES_BYTES - f->bytes)
		result = too_much(buffer_string(&path), err);
	if (result == 1) {
		file_close(&f->fd);
		snprintf(number, sizeof number, "%zu", f->count++);
		f->fd = openat(f->directory, number, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    (mode & 0111) != 0 ? 0777 : 0666);
		if (f->fd == -1)
			result = error_errno(err, ERROR_INVALID_INPUT, buffer_string(&path), "unable to write");
		list_add(&f->paths, buffer_string(&path));
		digest_head(&f->digest, buffer_string(&path), mode, bytes);
		f->left = bytes;
		f->bytes += bytes;
		INVARIANT(f->count <= FRAME_FILES && f->bytes <= FRAME_FILES_BYTES);
	}
	buffer_free(&path);
	return result;
}

static int
frame_files_read_bytes(struct files_in *f, struct span json, struct error *err)
{
	struct buffer bytes = BUFFER_INIT;
	int result = 1;

	if (frame_take_bytes(json, &bytes) == -1 || f->fd == -1 || (int64_t)bytes.len > f->left) {
		result = error_set(err, ERROR_INVALID_INPUT, NULL, "the data from the other end "
		    "is damaged");
	} else {
		digest_add(&f->digest, buffer_string(&bytes), bytes.len);
		f->left -= (int64_t)bytes.len;
		if (file_write(f->fd, bytes.data, bytes.len) == -1)
			result = error_errno(err, ERROR_INVALID_INPUT, f->paths[f->count - 1], "unable to write");
	}
	buffer_free(&bytes);
	return result;
}

int
files_in_take(struct files_in *f, struct span json, struct error *err)
{
	if (frame_is(json, "file"))
		return frame_files_read_head(f, json, err);
	return frame_is(json, "data") ? frame_files_read_bytes(f, json, err) : 0;
}

/* Opens the directory of a path, creating it if needed. -1 with errno. */
static int
open_parent(int root, const char *path)
{
	int fd = -1;

	for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		char *part = memory_copy(path, (size_t)(slash - path));
		int above = fd != -1 ? fd : root;
		const char *name = strrchr(part, '/') != NULL ? strrchr(part, '/') + 1 : part;
		int made = mkdirat(above, name, 0777) == 0 || errno == EEXIST ?
		    beneath_open_directory(root, part) : -1;

		file_close(&fd);
		free(part);
		if (made == -1)
			return -1;
		fd = made;
	}
	return fd != -1 ? fd : fcntl(root, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int
files_in_place(struct files_in *f, int directory, struct error *err)
{
	char number[NUMBER_SIZE];

	file_close(&f->fd);
	for (size_t i = 0; i < f->count; i++) {
		INVARIANT(f->left == 0 && path_valid(f->paths[i]));
		int parent = open_parent(directory, f->paths[i]);
		bool placed;

		snprintf(number, sizeof number, "%zu", i);
		placed = parent != -1 && renameat(f->directory, number, parent, path_base(f->paths[i])) == 0;
		if (!placed)
			fail_at(f->paths[i], "unable to write", err);
		file_close(&parent);
		if (!placed)
			return -1;
	}
	return 0;
}

void
files_in_free(struct files_in *f)
{
	file_close(&f->fd);
	file_close(&f->directory);
	list_free(f->paths);
	f->paths = NULL;
}
