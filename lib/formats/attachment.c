/*
 * The type of a file is determined from its first bytes, by a table. A file named in a state line
 * is opened beneath the current directory; if it is gone, its digest is taken from the recording of
 * an earlier call and, when a model is asked, its bytes too. The step's attachments are shared by
 * all its calls, which do not free them.
 */
#include "formats/attachment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/media_type.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/beneath.h"
#include "io/file.h"
#include "storage/attached.h"
#include "transcript/event_keys.h"

#define SIZE_LIMIT ((size_t)32 << 20)
#define TOTAL_LIMIT ((int64_t)128 << 20)

/* The type of the block for a file of this media type. */
static const char *
block_type(const char *media_type)
{
	return strncmp(media_type, "image/", 6) == 0 ? "image" : "document";
}

static void
attachments_add(struct attachments *a, struct attachment *one)
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

/* Determines the media type and the digest from its bytes. */
static int
attachment_identify_type(struct attachment *one, const char *place, struct error *err)
{
	const struct buffer *bytes = &one->bytes;
	const char *media_type;

	if (bytes->len == 0)
		return error_set(err, ERROR_INVALID_INPUT, place, "is empty");
	if (bytes->len > SIZE_LIMIT)
		return error_set(err, ERROR_INVALID_INPUT, place, "an attachment is above 32 MiB");
	media_type = media_type_of(bytes->data, bytes->len);
	if (media_type != NULL) {
		one->media_type = memory_text(media_type);
		one->type = block_type(media_type);
	}
	if (one->type == NULL)
		return error_set(err, ERROR_INVALID_INPUT, place,
		    "no attachment that models take: it is none of " MEDIA_TYPES_TOLD);
	one->size = (int64_t)bytes->len;
	digest_sha256(bytes->data, bytes->len, one->sha256);
	return 0;
}

/* Reads the file and closes fd. */
static int
attachment_read_file(struct attachment *one, int fd, struct error *err)
{
	int result = file_read(fd, &one->bytes, SIZE_LIMIT);

	if (result == -1 && errno == EFBIG)
		error_set(err, ERROR_INVALID_INPUT, one->path, "an attachment is above 32 MiB");
	else if (result == -1)
		error_errno(err, ERROR_INVALID_INPUT, one->path, "unable to read");
	close(fd);
	return result == -1 ? -1 : attachment_identify_type(one, one->path, err);
}

/* Sets the name to the last part of the path, if that is UTF-8. */
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
	struct stat status;
	int fd;

	attachments_add(a, one);
	one->path = memory_text(path);
	name_file(one);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* O_NONBLOCK: do not block on a FIFO */
	if (fd == -1)
		return error_errno(err, ERROR_INVALID_INPUT, path, "unable to open");
	if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode)) {
		close(fd);
		return error_set(err, ERROR_INVALID_INPUT, path, "no regular file");
	}
	return attachment_read_file(one, fd, err) == -1 ? -1 : check_total(a, path, err);
}

void
attachments_share(struct attachments *a, const struct attachments *others)
{
	for (size_t i = 0; i < others->count; i++)
		attachments_add(a, others->list[i]);
	a->shared = a->count;
}

/* Uses the type, size and digest that an earlier call recorded for this path. False if there are
 * none. */
static bool
attachment_apply_recorded(struct attachment *one, struct span recorded)
{
	struct span found = SPAN_NONE;
	long long size;

	for (struct span_walk entry = span_walk(recorded); found.at == NULL && span_next(&entry);)
		if (span_is(span_member(entry.value, KEY_PATH), one->path))
			found = entry.value;
	if (found.at == NULL)
		return false;
	one->media_type = span_text(span_member(found, KEY_MEDIA_TYPE));
	if (one->media_type != NULL)
		one->type = block_type(one->media_type);
	if (one->type == NULL || !span_integer(span_member(found, KEY_BYTES), &size) || size <= 0 ||
	    !span_copy(span_member(found, KEY_SHA256), one->sha256, sizeof one->sha256))
		return false;
	one->size = size;
	return true;
}

/* Reads a file named in a state line, which must be below the current directory. If it does not
 * exist or its path leads out of the directory, the recording of an earlier call may have it. */
static int
read_path(struct attachment *one, struct span recorded, struct error *err)
{
	struct error why = ERROR_INIT;
	char here[PATH_MAX];
	int fd = -1, reason = 0;

	if (one->name == NULL)
		name_file(one);
	if (getcwd(here, sizeof here) == NULL) {
		reason = errno;
		error_errno(&why, ERROR_SYSTEM, ".", "unable to tell where this is");
	} else if ((fd = beneath_open_file(here, one->path, &why)) == -1) {
		reason = errno;
	}
	if (fd != -1)
		return attachment_read_file(one, fd, err);
	if ((reason == ENOENT || reason == EXDEV) && attachment_apply_recorded(one, recorded))
		return 0;
	if (reason == EXDEV)
		return error_set(err, ERROR_INVALID_INPUT, one->path, "leads out of the current "
		    "directory, which a line's attachment may not: name it with --attach, or give its "
		    "data");
	return error_set(err, why.code, why.place, "%s", why.message);
}

static int
read_entry(struct attachments *a, struct span entry, struct span recorded, struct error *err)
{
	struct span path = span_member(entry, "path"), data = span_member(entry, "data");
	struct span type = span_member(entry, "media_type"), digest = span_member(entry, "sha256");
	struct buffer text = BUFFER_INIT;
	struct attachment *one;
	const char *place;
	int result;

	if (span_type(entry) != 'o' || (span_type(path) == 's') == (span_type(data) == 's'))
		return error_set(err, ERROR_INVALID_INPUT, "metadata.attachments",
		    "expected objects with a path or with data, as texts");
	one = memory_zero(1, sizeof *one);
	attachments_add(a, one);
	one->name = span_text(span_member(entry, "name"));
	one->path = span_text(path);
	place = one->path != NULL ? one->path : one->name != NULL ? one->name :
	    "metadata.attachments";
	if (one->path != NULL) {
		if (read_path(one, recorded, err) != 0)
			return -1;
	} else {
		span_decode(data, &text);
		result = base64_decode(buffer_string(&text), text.len, &one->bytes);
		buffer_free(&text);
		if (result == -1)
			return error_set(err, ERROR_INVALID_INPUT, place, "data: expected base64");
		if (attachment_identify_type(one, place, err) != 0)
			return -1;
	}

	/* The media type and the digest in the line must match the content. */
	if (type.at != NULL && !span_is(type, one->media_type))
		return error_set(err, ERROR_INVALID_INPUT, place, "its content is %s, not what "
		    "media_type says", one->media_type);
	if (digest.at != NULL && !span_is(digest, one->sha256))
		return error_set(err, ERROR_INVALID_INPUT, place, "has changed: its sha256 is %s",
		    one->sha256);
	return check_total(a, place, err);
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

int
attachments_restore(struct attachments *a, struct span blocks, struct error *err)
{
	char sha256[DIGEST_SIZE];

	for (size_t i = 0; i < a->count; i++) {
		struct attachment *one = a->list[i];
		struct span data = span_member(span_element(blocks, i), KEY_DATA);

		if (one->bytes.len == 0 && (span_type(data) != 's' ||
		    base64_decode(data.at + 1, data.len - 2, &one->bytes) != 0 ||
		    strcmp(digest_sha256(buffer_string(&one->bytes), one->bytes.len, sha256),
		    one->sha256) != 0))
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
	writer_member_string(w, KEY_MEDIA_TYPE, one->media_type);
	writer_member_string(w, KEY_NAME, one->name);
	writer_member_integer(w, KEY_BYTES, one->size);
	writer_member_string(w, KEY_SHA256, one->sha256);
}

void
attachments_write(const struct attachments *a, struct writer *w)
{
	if (a->count == 0)
		return;
	writer_member_array(w, KEY_ATTACHMENTS);
	for (size_t i = 0; i < a->count; i++) {
		const struct attachment *one = a->list[i];

		writer_object(w);
		if (one->path != NULL && utf8_valid(one->path, strlen(one->path)))
			writer_member_string(w, KEY_PATH, one->path);
		write_description(one, w);
		writer_object_end(w);
	}
	writer_array_end(w);
}

void
attachments_write_blocks(const struct attachments *a, struct writer *w, bool shown)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct attachment *one = a->list[i];

		writer_object(w);
		writer_member_string(w, KEY_TYPE, one->type);
		writer_member_string(w, KEY_MEDIA_TYPE, one->media_type);
		writer_member_string(w, KEY_NAME, one->name);
		if (shown) {
			struct buffer label = BUFFER_INIT; /* the text that displays show */

			attached_label(one->media_type, one->name, one->size, &label);
			writer_member_string(w, KEY_DATA, buffer_string(&label));
			buffer_free(&label);
		} else {
			writer_key(w, KEY_DATA);
			writer_raw(w, "\"", 1);
			base64_encode(one->bytes.data, one->bytes.len, w->out);
			buffer_byte(w->out, '"');
		}
		writer_object_end(w);
	}
}

void
attachments_write_recorded(const struct attachments *a, struct writer *w)
{
	for (size_t i = 0; i < a->count; i++) {
		writer_object(w);
		writer_member_string(w, KEY_TYPE, a->list[i]->type);
		write_description(a->list[i], w);
		writer_key(w, KEY_DATA);
		writer_null(w);
		writer_member_string(w, KEY_FIDELITY, "router");
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
	for (size_t i = a->shared; i < a->count; i++) {
		struct attachment *one = a->list[i];

		free(one->path);
		free(one->name);
		free(one->media_type);
		buffer_free(&one->bytes);
		free(one);
	}
	free(a->list);
	*a = (struct attachments)ATTACHMENTS_INIT;
}
