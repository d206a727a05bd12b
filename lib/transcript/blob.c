/*
 * If a blob exists already, the process that wrote it may have been killed before it synced it: so
 * its size is compared, and file and directory are synced again, before anything relies on it. Each
 * large string of a payload is replaced by null and named by a JSON Pointer (RFC 6901), unless no
 * pointer leads to it. To put them back, the pointers are sorted and the line is copied once.
 */
#include "transcript/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

#define BLOB_LIMIT ((size_t)1 << 30) /* bytes of one blob, or of all blobs of a line, that are read */

/* Makes the directory if this is the first blob of the run. If another process made it, its name
 * may not be on disk yet, so that is synced here again. */
static int
blob_directory(const char *directory, bool sync, struct error *err)
{
	int fd = file_open_plain(directory, O_RDONLY | O_DIRECTORY, 0);

	if (fd == -1 && errno == ENOENT)
		return (sync ? directory_make_synced : directory_make)(directory, 0700, err);
	if (fd == -1)
		return error_errno(err, ERROR_SYSTEM, directory, "unable to open the blobs");
	close(fd);
	return sync ? file_sync_name(directory, err) : 0;
}

/* Whether the blob exists and is complete: 1 or 0; -1 if it cannot be synced. The process that
 * wrote it may not have synced its name yet, so that is done here again. */
static int
blob_there(const char *directory, const char *path, size_t len, bool sync,
    struct error *err)
{
	struct stat status;
	int result = 0;
	int fd = file_open_plain(path, O_RDONLY, 0);

	if (fd == -1)
		return 0;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (size_t)status.st_size == len)
		result = 1;
	if (result == 1 && sync) {
		if (fsync(fd) == -1)
			result = error_errno(err, ERROR_SYSTEM, path, "unable to sync");
		else if (directory_sync(directory, err) == -1)
			result = -1;
	}
	close(fd);
	return result;
}

static int
blob_create(const char *path, const void *bytes, size_t len, bool sync,
    struct error *err)
{
	struct replacement file;

	if (replacement_open(&file, path, 0600, err) == -1)
		return -1;
	if (file_write(file.fd, bytes, len) == -1) {
		error_errno(err, ERROR_SYSTEM, path, "unable to write");
		replacement_abandon(&file);
		return -1;
	}
	return replacement_commit(&file, sync, err);
}

int
blob_write(const char *directory, const void *bytes, size_t len, bool sync,
    char name[DIGEST_SIZE], struct error *err)
{
	if (blob_directory(directory, sync, err) == -1)
		return -1;
	char *path = path_join(directory, digest_sha256(bytes, len, name));
	int there = blob_there(directory, path, len, sync, err);
	int result = there == 1 ? 0 : there;

	if (there == 0)
		result = blob_create(path, bytes, len, sync, err);
	free(path);
	return result;
}

int
blob_keep(const char *directory, const void *bytes, size_t len, bool sync,
    char name[DIGEST_SIZE], struct error *err)
{
	char *path = path_join(directory, digest_sha256(bytes, len, name));
	bool there = blob_there(directory, path, len, false, NULL) == 1;
	int result = 0;

	if (!there)
		result = blob_directory(directory, sync, err) == 0 ?
		    blob_create(path, bytes, len, sync, err) : -1;
	free(path);
	return result;
}

int
blob_take(const char *directory, const char *path, int fd, bool sync, const char *name,
    struct error *err)
{
	char *to;
	int failed;

	INVARIANT(blob_name_valid(name));
	if (blob_directory(directory, sync, err) == -1)
		return -1;
	to = path_join(directory, name);
	failed = (sync && fsync(fd) != 0) || rename(path, to) != 0 ?
	    error_errno(err, ERROR_SYSTEM, to, "unable to keep") : 0;
	if (failed == 0 && sync)
		failed = directory_sync(directory, err);
	free(to);
	return failed;
}

bool
blob_name_valid(const char *name)
{
	return strlen(name) == DIGEST_SIZE - 1 && strspn(name, "0123456789abcdef") == DIGEST_SIZE - 1;
}

int
blob_read(const char *directory, const char *name, struct buffer *out, struct error *err)
{
	char digest[DIGEST_SIZE], *path;
	size_t before = out->len;
	int fd, result;

	if (!blob_name_valid(name))
		return error_set(err, ERROR_SYSTEM, directory, "'%s' is no name of a blob", name);
	path = path_join(directory, name);
	fd = file_open_plain(path, O_RDONLY, 0);
	result = fd == -1 ? error_errno(err, ERROR_SYSTEM, path, "unable to open the blob") : 0;
	if (result == 0 && file_read(fd, out, BLOB_LIMIT) == -1)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to read the blob");
	if (fd != -1)
		close(fd);
	if (result == 0 &&
	    strcmp(digest_sha256(buffer_string(out) + before, out->len - before, digest), name) != 0)
		result = error_set(err, ERROR_SYSTEM, path, "blob is damaged: its SHA-256 is %s", digest);
	if (result == -1)
		out->len = before;
	free(path);
	return result;
}

void
blob_reference(const char *at, const char *sha256, size_t bytes, const char *encoding,
    struct buffer *refs)
{
	struct writer w;

	INVARIANT(*at == '/' && blob_name_valid(sha256));
	writer_begin(&w, refs);
	w.comma = refs->len > 0;
	writer_object(&w);
	writer_member_string(&w, KEY_AT, at);
	writer_member_string(&w, KEY_SHA256, sha256);
	writer_member_integer(&w, KEY_BYTES, (int64_t)bytes);
	writer_member_string(&w, KEY_ENCODING, encoding);
	writer_object_end(&w);
}

/* The state of one blob_externalise(). */
struct externalise {
	const char *directory;
	bool sync;
	struct buffer pointer;  /* pointer to the value that is being visited */
	const char *copied;     /* the value is copied to out up to here */
	struct buffer *out, *refs;
	struct error *err;
};

/* Appends to out the part of the value before its large strings, with null for each of them. The
 * depth is at most SCAN_DEPTH: the value was checked. */
static int
externalise_value(struct externalise *x, struct span value)
{
	struct span_walk member = span_walk(value);
	size_t pointer_len = x->pointer.len;
	char name[DIGEST_SIZE];

	if (value.len <= BLOB_THRESHOLD)
		return 0;
	if (span_type(value) == 's') {
		if (blob_write(x->directory, value.at, value.len, x->sync, name, x->err) == -1)
			return -1;
		blob_reference(buffer_string(&x->pointer), name, value.len, "json", x->refs);
		INVARIANT(x->copied <= value.at);
		buffer_append(x->out, x->copied, (size_t)(value.at - x->copied));
		buffer_text(x->out, "null");
		x->copied = value.at + value.len;
		return 0;
	}
	for (size_t index = 0; span_next(&member); index++) {
		if (member.value.len <= BLOB_THRESHOLD)
			continue;
		if (member.key.at == NULL) {
			buffer_format(&x->pointer, "/%zu", index);
		} else {
			/* If two members have the same name, a pointer leads to the last one
			 * only; if a name has a NUL, no pointer leads to it: such values stay in
			 * the line. */
			char *key = span_text(member.key);
			bool found = span_member(value, key).at == member.value.at;

			free(key);
			if (!found)
				continue;
			pointer_append(&x->pointer, member.key);
		}
		if (externalise_value(x, member.value) == -1)
			return -1;
		x->pointer.len = pointer_len;
	}
	return 0;
}

int
blob_externalise(const char *directory, struct span value, const char *at, bool sync,
    struct buffer *out, struct buffer *refs, struct error *err)
{
	struct externalise x = { .directory = directory, .sync = sync, .pointer = BUFFER_INIT,
		.copied = value.at, .out = out, .refs = refs, .err = err };

	buffer_text(&x.pointer, at);
	int result = externalise_value(&x, value);
	INVARIANT(x.copied >= value.at && x.copied <= value.at + value.len);
	if (result == 0)
		buffer_append(out, x.copied, (size_t)(value.at + value.len - x.copied));
	buffer_free(&x.pointer);
	return result;
}

/* A null in a line, and the value that replaces it. */
struct patch {
	struct span place;
	struct buffer text;
};

static int
patch_compare(const void *a, const void *b)
{
	const char *left = ((const struct patch *)a)->place.at;
	const char *right = ((const struct patch *)b)->place.at;

	return (left > right) - (left < right);
}

/* Reads one entry of refs; -1 with *err. */
static int
patch_read(const char *directory, struct span line, struct span ref,
    struct patch *patch, struct error *err)
{
	char name[DIGEST_SIZE];
	struct buffer raw = BUFFER_INIT;
	char *at = span_text(span_member(ref, KEY_AT));

	patch->place = at == NULL ? span_of(NULL, 0) : pointer_find(line, at);
	free(at);
	if (span_type(patch->place) != '0' || !span_copy(span_member(ref, KEY_SHA256), name, sizeof name))
		return error_set(err, ERROR_SYSTEM, directory, "invalid reference %.*s",
		    ref.len > 200 ? 200 : (int)ref.len, ref.at);
	if (!span_is(span_member(ref, KEY_ENCODING), "raw"))
		return blob_read(directory, name, &patch->text, err);
	int result = blob_read(directory, name, &raw, err);
	if (result == 0) {
		buffer_byte(&patch->text, '"');
		base64_encode(raw.data, raw.len, &patch->text);
		buffer_byte(&patch->text, '"');
	}
	buffer_free(&raw);
	return result;
}

/* Copies value to out with the patches that are inside it; returns the first patch that is not. */
static const struct patch *
patch_apply(struct span value, const struct patch *patch,
    const struct patch *end, struct buffer *out)
{
	const char *copied = value.at;

	for (; patch < end && patch->place.at < value.at + value.len; patch++) {
		if (patch->place.at < copied)
			continue; /* it is named twice, or is inside refs */
		buffer_append(out, copied, (size_t)(patch->place.at - copied));
		buffer_append(out, buffer_string(&patch->text), patch->text.len);
		copied = patch->place.at + patch->place.len;
	}
	INVARIANT(copied <= value.at + value.len);
	buffer_append(out, copied, (size_t)(value.at + value.len - copied));
	return patch;
}

int
blob_inline(const char *directory, const char *line, size_t len, struct buffer *out,
    struct error *err)
{
	struct span whole = span_of(line, len), refs = span_member(whole, KEY_REFS);
	struct patch *patches = NULL;
	const struct patch *patch;
	size_t count = 0, bytes = 0;
	char separator = '{';
	int result = 0;

	if (refs.at == NULL) {
		buffer_append(out, line, len);
		return 0;
	}
	for (struct span_walk ref = span_walk(refs); result == 0 && span_next(&ref);) {
		patches = memory_array(patches, count + 1, sizeof *patches);
		patches[count] = (struct patch){ .text = BUFFER_INIT };
		result = patch_read(directory, whole, ref.value, &patches[count], err);
		bytes += patches[count++].text.len;
		if (result == 0 && bytes > BLOB_LIMIT)
			result = error_set(err, ERROR_SYSTEM, directory,
			    "the blobs of one line are larger than %zu bytes", BLOB_LIMIT);
	}
	if (result == 0) {
		if (count > 0)
			qsort(patches, count, sizeof *patches, patch_compare);
		patch = patches;
		for (struct span_walk member = span_walk(whole); span_next(&member);) {
			if (span_is(member.key, KEY_REFS))
				continue;
			buffer_byte(out, separator);
			separator = ',';
			buffer_append(out, member.key.at, member.key.len);
			buffer_byte(out, ':');
			patch = patch_apply(member.value, patch,
			    count > 0 ? patches + count : patches, out);
		}
		buffer_byte(out, '}');
	}
	for (size_t i = 0; i < count; i++)
		buffer_free(&patches[i].text);
	free(patches);
	return result;
}
