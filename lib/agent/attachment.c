/*
 * A table of first bytes says what a file is. One named in a line is opened beneath the
 * current directory; if it is gone by now, a recorded call may know its digest, and, when it
 * comes to asking, its bytes. Those of the step are shared by all its calls and freed by none
 * of them.
 */
#include "agent/attachment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "run/attached.h"

#define SIZE_LIMIT ((size_t)32 << 20)
#define TOTAL_LIMIT ((int64_t)128 << 20)
#define FILE_KINDS "PNG, JPEG, GIF, WebP, PDF"

/* Which files are what: bytes at their beginning, and at a later place if there are any. */
static const struct kind {
	const char *media_type, *type;
	const char *magic;
	size_t len, later_at;
	const char *later;
} kinds[] = {
	{ "image/png", "image", "\x89PNG\r\n\x1a\n", 8, 0, "" },
	{ "image/jpeg", "image", "\xff\xd8\xff", 3, 0, "" },
	{ "image/gif", "image", "GIF87a", 6, 0, "" },
	{ "image/gif", "image", "GIF89a", 6, 0, "" },
	{ "image/webp", "image", "RIFF", 4, 8, "WEBP" },
	{ "application/pdf", "document", "%PDF-", 5, 0, "" }
};

static const struct kind *
kind_of(const struct buffer *bytes)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		const struct kind *k = &kinds[i];
		size_t later = strlen(k->later);

		if (bytes->len >= k->len && bytes->len >= k->later_at + later &&
		    memcmp(bytes->data, k->magic, k->len) == 0 &&
		    memcmp(bytes->data + k->later_at, k->later, later) == 0)
			return k;
	}
	return NULL;
}

static void
attachment_free(struct attachment *one)
{
	free(one->path);
	free(one->name);
	free(one->media_type);
	buffer_free(&one->bytes);
	free(one);
}

static void
add(struct attachments *a, struct attachment *one)
{
	a->list = memory_array(a->list, a->count + 1, sizeof *a->list);
	a->list[a->count++] = one;
}

static int
check_total(const struct attachments *a, const char *place, struct error *err)
{
	int64_t total = 0;

	for (size_t i = 0; i < a->count; i++)
		total += a->list[i]->size;
	if (total <= TOTAL_LIMIT)
		return 0;
	return error_set(err, ERROR_INVALID_INPUT, place,
	    "the attachments of a call are above 128 MiB together");
}

/* Says what its bytes are. */
static int
identify(struct attachment *one, const char *place, struct error *err)
{
	const struct kind *kind = kind_of(&one->bytes);

	if (one->bytes.len == 0)
		return error_set(err, ERROR_INVALID_INPUT, place, "is empty");
	if (one->bytes.len > SIZE_LIMIT)
		return error_set(err, ERROR_INVALID_INPUT, place, "an attachment is above 32 MiB");
	if (kind == NULL)
		return error_set(err, ERROR_INVALID_INPUT, place,
		    "no attachment that models take: it is none of " FILE_KINDS);
	one->type = kind->type;
	one->media_type = memory_text(kind->media_type);
	one->size = (int64_t)one->bytes.len;
	digest_sha256(one->bytes.data, one->bytes.len, one->sha256);
	return 0;
}

/* Never waits, as opening a pipe would. */
static int
open_file(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd == -1) {
		error_errno(err, ERROR_INVALID_INPUT, path, "unable to open");
	} else if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode)) {
		close(fd);
		fd = error_set(err, ERROR_INVALID_INPUT, path, "no regular file");
	}
	return fd;
}

/* Of a path that came with data: only what lies in this directory. errno is left. */
static int
open_file_here(const char *path, struct error *err)
{
	char here[PATH_MAX];
	int fd;

	if (getcwd(here, sizeof here) == NULL)
		return error_errno(err, ERROR_SYSTEM, ".", "unable to tell where this is");
	fd = beneath_open_file(here, path, err);
	if (fd == -1 && errno == EXDEV) {
		error_set(err, ERROR_INVALID_INPUT, path, "leads out of the current directory, which a "
		    "line's attachment may not: name it with --attach, or give its data");
		errno = EXDEV;
	}
	return fd;
}

/* Closes fd. */
static int
read_file(struct attachment *one, int fd, struct error *err)
{
	int result;

	if (fd == -1)
		return -1;
	result = file_read(fd, &one->bytes, SIZE_LIMIT);
	if (result == -1 && errno == EFBIG)
		error_set(err, ERROR_INVALID_INPUT, one->path, "an attachment is above 32 MiB");
	else if (result == -1)
		error_errno(err, ERROR_INVALID_INPUT, one->path, "unable to read");
	close(fd);
	return result == -1 ? -1 : identify(one, one->path, err);
}

/* The last part of the path, if it is text. */
static void
name_file(struct attachment *one)
{
	const char *name = path_base(one->path);

	if (utf8_valid(name, strlen(name)))
		one->name = memory_text(name);
}

int
attachments_add_file(struct attachments *a, const char *path, struct error *err)
{
	struct attachment *one = memory_zero(1, sizeof *one);

	add(a, one);
	one->path = memory_text(path);
	name_file(one);
	return read_file(one, open_file(path, err), err) == -1 ? -1 : check_total(a, path, err);
}

void
attachments_share(struct attachments *a, const struct attachments *others)
{
	for (size_t i = 0; i < others->count; i++)
		add(a, others->list[i]);
	a->shared = a->count;
}

/* What the record says of the file of this path. */
static struct span
find_recorded(struct span recorded, const char *path)
{
	for (struct span_walk entry = span_walk(recorded); span_next(&entry);)
		if (span_is(span_member(entry.value, "path"), path))
			return entry.value;
	return span_of(NULL, 0);
}

static const char *
type_of(const char *media_type)
{
	for (size_t i = 0; media_type != NULL && i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].media_type, media_type) == 0)
			return kinds[i].type;
	return NULL;
}

/* False if the record does not know it either. */
static bool
take_recorded(struct attachment *one, struct span entry)
{
	long long size;

	one->media_type = span_text(span_member(entry, "media_type"));
	one->type = type_of(one->media_type);
	if (one->type == NULL || !span_integer(span_member(entry, "bytes"), &size) || size <= 0 ||
	    !span_copy(span_member(entry, "sha256"), one->sha256, sizeof one->sha256))
		return false;
	one->size = size;
	return true;
}

/* What is not there, or may not be read, may be known from an earlier call. */
static int
read_path(struct attachment *one, struct span recorded, struct error *err)
{
	struct error why = ERROR_INIT;
	struct span entry;
	int fd = open_file_here(one->path, &why);

	if (one->name == NULL)
		name_file(one);
	if (fd == -1 && (errno == ENOENT || errno == EXDEV)) {
		entry = find_recorded(recorded, one->path);
		if (entry.at != NULL && take_recorded(one, entry))
			return 0;
	}
	if (fd == -1)
		return error_set(err, why.code, why.place, "%s", why.message);
	return read_file(one, fd, err);
}

static int
read_data(struct attachment *one, struct span data, const char *place, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	int result;

	span_decode(data, &text);
	result = base64_decode(buffer_string(&text), text.len, &one->bytes);
	buffer_free(&text);
	if (result == -1)
		return error_set(err, ERROR_INVALID_INPUT, place, "data: expected base64");
	return identify(one, place, err);
}

/* What the line says of it, beside where it is, must be so. */
static int
check_said(const struct attachment *one, struct span entry, const char *place, struct error *err)
{
	struct span type = span_member(entry, "media_type"), digest = span_member(entry, "sha256");

	if (type.at != NULL && !span_is(type, one->media_type))
		return error_set(err, ERROR_INVALID_INPUT, place, "its content is %s, not what "
		    "media_type says", one->media_type);
	if (digest.at != NULL && !span_is(digest, one->sha256))
		return error_set(err, ERROR_INVALID_INPUT, place, "has changed: its sha256 is %s",
		    one->sha256);
	return 0;
}

static int
read_entry(struct attachments *a, struct span entry, struct span recorded, struct error *err)
{
	struct span path = span_member(entry, "path"), data = span_member(entry, "data");
	struct attachment *one;
	const char *place;
	int result;

	if (span_type(entry) != 'o' || (span_type(path) == 's') == (span_type(data) == 's'))
		return error_set(err, ERROR_INVALID_INPUT, "metadata.attachments",
		    "expected objects with a path or with data, as texts");
	one = memory_zero(1, sizeof *one);
	add(a, one);
	one->name = span_text(span_member(entry, "name"));
	one->path = span_text(path);
	place = one->path != NULL ? one->path : one->name != NULL ? one->name :
	    "metadata.attachments";
	result = one->path != NULL ? read_path(one, recorded, err) : read_data(one, data, place, err);
	if (result == 0)
		result = check_said(one, entry, place, err);
	return result == 0 ? check_total(a, place, err) : -1;
}

int
attachments_read(struct attachments *a, struct span list, struct span recorded,
    struct error *err)
{
	char type = span_type(list);

	if (type == 0 || type == '0')
		return 0;
	if (type != 'a')
		return error_set(err, ERROR_INVALID_INPUT, "metadata.attachments", "expected an array");
	for (struct span_walk entry = span_walk(list); span_next(&entry);)
		if (read_entry(a, entry.value, recorded, err) == -1)
			return -1;
	return 0;
}

bool
attachments_lack(const struct attachments *a)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->list[i]->bytes.len == 0)
			return true;
	return false;
}

static bool
restore(struct attachment *one, struct span data)
{
	char sha256[DIGEST_SIZE];

	return span_type(data) == 's' &&
	    base64_decode(data.at + 1, data.len - 2, &one->bytes) == 0 &&
	    strcmp(digest_sha256(buffer_string(&one->bytes), one->bytes.len, sha256),
	    one->sha256) == 0;
}

int
attachments_restore(struct attachments *a, struct span blocks, struct error *err)
{
	for (size_t i = 0; i < a->count; i++) {
		struct attachment *one = a->list[i];

		if (one->bytes.len == 0 && !restore(one, span_member(span_element(blocks, i), "data")))
			return error_set(err, ERROR_INVALID_INPUT, one->path,
			    "is not there, and no earlier call was given it");
	}
	return 0;
}

void
attachments_drop_bytes(struct attachments *a)
{
	for (size_t i = a->shared; i < a->count; i++)
		buffer_free(&a->list[i]->bytes);
}

char *
attachments_digest(const struct attachments *a, const struct buffer *data,
    char sha256[DIGEST_SIZE])
{
	struct digest d;

	digest_begin(&d);
	digest_add(&d, data->data, data->len);
	for (size_t i = 0; i < a->count; i++) {
		const char *name = a->list[i]->name == NULL ? "" : a->list[i]->name;

		digest_add(&d, "\n", 1);
		digest_add(&d, a->list[i]->sha256, DIGEST_SIZE - 1);
		digest_add(&d, name, strlen(name));
	}
	return digest_end(&d, sha256);
}

static void
write_description(const struct attachment *one, struct writer *w)
{
	writer_member_string(w, "media_type", one->media_type);
	writer_member_string(w, "name", one->name);
	writer_member_integer(w, "bytes", one->size);
	writer_member_string(w, "sha256", one->sha256);
}

void
attachments_write(const struct attachments *a, struct writer *w)
{
	if (a->count == 0)
		return;
	writer_key(w, "attachments");
	writer_array(w);
	for (size_t i = 0; i < a->count; i++) {
		writer_object(w);
		if (a->list[i]->path != NULL && utf8_valid(a->list[i]->path, strlen(a->list[i]->path)))
			writer_member_string(w, "path", a->list[i]->path);
		write_description(a->list[i], w);
		writer_object_end(w);
	}
	writer_array_end(w);
}

static void
write_base64(const struct attachment *one, struct writer *w)
{
	writer_key(w, "data");
	writer_raw(w, "\"", 1);
	base64_encode(one->bytes.data, one->bytes.len, w->out);
	buffer_byte(w->out, '"');
}

/* In the place of the bytes, as displays have it. */
static void
write_label(const struct attachment *one, struct writer *w)
{
	struct buffer label = BUFFER_INIT;

	attached_label(one->media_type, one->name, one->size, &label);
	writer_member_string(w, "data", buffer_string(&label));
	buffer_free(&label);
}

void
attachments_write_blocks(const struct attachments *a, struct writer *w, bool shown)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct attachment *one = a->list[i];

		writer_object(w);
		writer_member_string(w, "type", one->type);
		writer_member_string(w, "media_type", one->media_type);
		writer_member_string(w, "name", one->name);
		if (shown)
			write_label(one, w);
		else
			write_base64(one, w);
		writer_object_end(w);
	}
}

void
attachments_write_recorded(const struct attachments *a, struct writer *w)
{
	for (size_t i = 0; i < a->count; i++) {
		writer_object(w);
		writer_member_string(w, "type", a->list[i]->type);
		write_description(a->list[i], w);
		writer_key(w, "data");
		writer_null(w);
		writer_member_string(w, "fidelity", "router");
		writer_object_end(w);
	}
}

struct event_raw *
attachments_raws(const struct attachments *a)
{
	struct event_raw *raws = memory_zero(a->count + 1, sizeof *raws);

	for (size_t i = 0; i < a->count; i++)
		raws[i] = (struct event_raw){ memory_format("/payload/blocks/%zu/data", i),
			a->list[i]->bytes.data, a->list[i]->bytes.len };
	return raws;
}

void
attachments_free_raws(const struct attachments *a, struct event_raw *raws)
{
	for (size_t i = 0; i < a->count; i++)
		free((char *)(uintptr_t)raws[i].at);
	free(raws);
}

void
attachments_free(struct attachments *a)
{
	for (size_t i = a->shared; i < a->count; i++)
		attachment_free(a->list[i]);
	free(a->list);
	*a = (struct attachments)ATTACHMENTS_INIT;
}
