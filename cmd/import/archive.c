/*
 * The list is at the end of the file, behind all members. A deflated member is given to gzip(1) with the head that gzip
 * files have, and the sum and length that the list says, which gzip compares with what comes.
 *
 * References: APPNOTE.TXT of PKWARE, 4.3.7 (local file header), 4.3.12 (central directory), 4.3.16 (its end); RFC 1952.
 */
#include "import/archive.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ingest/gunzip.h"
#include "io/file.h"
#include "json/scan.h"

#define END_BYTES 22
#define ENTRY_BYTES 46
#define LOCAL_BYTES 30
#define COMMENT_MOST 65535
#define MEMBERS_MOST 65534
#define STORED 0u
#define DEFLATED 8u
#define ENCRYPTED 1u
#define ZIP64 0xffffffffu        /* the length is told elsewhere */

static unsigned
archive_two(const struct buffer *b, size_t at)
{
	const unsigned char *bytes = (const unsigned char *)b->data + at;

	return (unsigned)bytes[0] | (unsigned)bytes[1] << 8;
}

static unsigned
archive_four(const struct buffer *b, size_t at)
{
	return archive_two(b, at) | archive_two(b, at + 2) << 16;
}

static bool
archive_has(const struct buffer *b, size_t at, size_t len)
{
	return at <= b->len && len <= b->len - at;
}

static int
archive_damaged(struct error *err, const char *what)
{
	return error_set(err, ERROR_INVALID_INPUT, NULL, "is a damaged zip archive: %s", what);
}

/* The place of the end of the list. */
static bool
archive_find_end(const struct buffer *b, size_t *end)
{
	size_t least = b->len > END_BYTES + COMMENT_MOST ? b->len - END_BYTES - COMMENT_MOST : 0;

	if (b->len < END_BYTES)
		return false;
	for (size_t at = b->len - END_BYTES + 1; at-- > least;)
		if (memcmp(b->data + at, "PK\5\6", 4) == 0 && archive_two(b, at + 20) == b->len - at - END_BYTES) {
			*end = at;
			return true;
		}
	return false;
}

static int
archive_add(struct archive *a, size_t entry, struct error *err)
{
	const struct buffer *b = &a->bytes;
	const size_t local = archive_four(b, entry + 42), name = archive_two(b, entry + 28);
	struct archive_member m = { .method = archive_two(b, entry + 10), .sum = archive_four(b, entry + 16),
		.packed = archive_four(b, entry + 20), .size = archive_four(b, entry + 24) };
	const size_t *other;

	if (m.packed == ZIP64 || m.size == ZIP64 || local == ZIP64)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "is a zip archive with members of 4 GiB");
	if ((archive_two(b, entry + 8) & ENCRYPTED) != 0)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "is an encrypted zip archive");
	if (!archive_has(b, local, LOCAL_BYTES) || memcmp(b->data + local, "PK\3\4", 4) != 0)
		return archive_damaged(err, "a member is not where it should be");
	m.at = local + LOCAL_BYTES + archive_two(b, local + 26) + archive_two(b, local + 28);
	if (!archive_has(b, m.at, m.packed))
		return archive_damaged(err, "a member is cut off");
	m.name = memory_copy(b->data + entry + ENTRY_BYTES, name);
	other = map_get(&a->names, m.name, strlen(m.name));
	if (other != NULL) {
		free(a->members[*other].name);
		a->members[*other] = m;
		return 0;
	}
	map_put(&a->names, m.name, strlen(m.name), a->count);
	a->members = memory_array(a->members, a->count + 1, sizeof *a->members);
	a->members[a->count++] = m;
	return 0;
}

int
archive_open(struct archive *a, const char *path, struct error *err)
{
	struct buffer *b = &a->bytes;
	size_t end, at, count;

	*a = (struct archive){ .names = MAP_INIT };
	if (file_load(path, SCAN_LINE_LIMIT, b, err) != 0)
		return -1;
	if (!archive_find_end(b, &end))
		return archive_damaged(err, "its end is missing");
	count = archive_two(b, end + 10);
	at = archive_four(b, end + 16);
	if (count > MEMBERS_MOST || at == ZIP64)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "is a zip archive with more than %d members", MEMBERS_MOST);
	for (size_t i = 0; i < count; i++) {
		size_t len;

		if (!archive_has(b, at, ENTRY_BYTES) || memcmp(b->data + at, "PK\1\2", 4) != 0)
			return archive_damaged(err, "its list is cut off");
		len = ENTRY_BYTES + archive_two(b, at + 28) + archive_two(b, at + 30) + archive_two(b, at + 32);
		if (!archive_has(b, at, len))
			return archive_damaged(err, "its list is cut off");
		if (archive_add(a, at, err) != 0)
			return -1;
		at += len;
	}
	return 0;
}

const struct archive_member *
archive_find(const struct archive *a, const char *name)
{
	const size_t *at = map_get(&a->names, name, strlen(name));

	return at != NULL ? &a->members[*at] : NULL;
}

static void
archive_put_four(struct buffer *out, unsigned value)
{
	for (int i = 0; i < 4; i++)
		buffer_byte(out, (char)(value >> 8 * i & 0xff));
}

/* The gzip file that would have the member in it. */
static void
archive_put_gzip(const struct archive *a, const struct archive_member *m, struct buffer *out)
{
	static const char head[10] = { 0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, (char)0xff };

	buffer_append(out, head, sizeof head);
	buffer_append(out, a->bytes.data + m->at, m->packed);
	archive_put_four(out, m->sum);
	archive_put_four(out, (unsigned)m->size);
}

int
archive_read(const struct archive *a, const struct archive_member *m, size_t limit, struct buffer *out, bool *unknown,
    struct error *err)
{
	struct buffer packed = BUFFER_INIT;
	const size_t before = out->len;
	enum gunzipped result = GUNZIP_DONE;

	*unknown = m->method != STORED && m->method != DEFLATED;
	if (*unknown)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "%s is packed by method %u", m->name, m->method);
	if (m->size > limit)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "is a zip archive of more than %zu MiB", limit >> 20);
	if (m->method == STORED) {
		buffer_append(out, a->bytes.data + m->at, m->packed);
	} else {
		archive_put_gzip(a, m, &packed);
		result = gunzip(packed.data, packed.len, m->size, out, err);
	}
	buffer_free(&packed);
	if (result == GUNZIP_FAILED)
		return -1;
	return result == GUNZIP_DONE && out->len - before == m->size ? 0 :
	    archive_damaged(err, "a member is not as long, or has not the sum, that its list says");
}

void
archive_close(struct archive *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->members[i].name);
	free(a->members);
	map_free(&a->names);
	buffer_free(&a->bytes);
}
