/*
 * git reads the entries in sequence or, for a large index with several threads, at the offsets in
 * the extensions EOIE and IEOT. Here both must agree.
 */
#include "isolate/git_index.h"

#include <limits.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/sha1.h"

#define HEADER 12          /* length of the file's header */
#define EXTENSION_HEADER 8
#define SIZE 36            /* in an entry: where the size of its file is */
#define STATUS 40          /* in an entry: length of what is known of its file, at the beginning */
#define STAGES 4           /* so many entries may have the same path */
#define NAME_LENGTH 0xfffu /* part of an entry's flags; this value: the path is longer */

struct reading {
	const unsigned char *bytes;
	size_t len, at, hash;
	uint32_t version;
	struct buffer path;    /* path of the previous entry */
	size_t *starts;        /* offset of each entry, times two; plus one if it reuses nothing of
	                          the previous path */
	size_t count;
	bool unordered, empty, directories;
	git_index_take *take;
	void *context;
};

static uint32_t
number_at(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* In version 4 an entry begins with the number of bytes to remove from the previous path. */
static bool
read_dropped(const struct reading *r, size_t *name, size_t *dropped)
{
	unsigned char byte;

	*dropped = 0;
	do {
		if (*name >= r->len || *dropped > ((size_t)1 << 24))
			return false;
		byte = r->bytes[(*name)++];
		*dropped = (*dropped << 7 | (byte & 0x7f)) + ((byte & 0x80) != 0 ? 1 : 0);
	} while ((byte & 0x80) != 0);
	return *dropped <= r->path.len;
}

static bool
read_entry(struct reading *r)
{
	enum { MODE = 24, FLAGS = 2 };
	const size_t start = r->at, fixed = STATUS + r->hash + FLAGS;
	size_t name, dropped = r->path.len, length, said;
	const unsigned char *end, *flags;
	struct buffer path = BUFFER_INIT;
	bool known;

	if (r->len - start < fixed + FLAGS)
		return false;
	flags = r->bytes + start + STATUS + r->hash;
	name = start + fixed + ((flags[0] & 0x40) != 0 ? FLAGS : 0);
	if (r->version == 4 && !read_dropped(r, &name, &dropped))
		return false;
	end = name < r->len ? memchr(r->bytes + name, '\0', r->len - name) : NULL;
	if (end == NULL)
		return false;
	length = (size_t)(end - (r->bytes + name));
	buffer_append(&path, buffer_string(&r->path), r->path.len - dropped);
	buffer_append(&path, r->bytes + name, length);
	said = ((size_t)flags[0] << 8 | flags[1]) & NAME_LENGTH;
	known = said == (path.len < NAME_LENGTH ? path.len : NAME_LENGTH);
	r->empty = r->empty || path.len == 0;
	r->unordered = r->unordered || strcmp(buffer_string(&r->path), buffer_string(&path)) > 0;
	r->directories = r->directories || (number_at(r->bytes + start + MODE) & 0170000) == 0040000;
	if ((r->count & (r->count - 1)) == 0)
		r->starts = memory_array(r->starts, r->count * 2 + 1, sizeof *r->starts);
	r->starts[r->count++] = start << 1 | (dropped == r->path.len);
	buffer_free(&r->path);
	r->path = path;
	/* Older versions pad to a multiple of eight bytes with at least one NUL. */
	r->at = r->version == 4 ? name + length + 1 : start + ((name - start + length) / 8 + 1) * 8;
	if (known && r->at <= r->len)
		r->take(r->context, buffer_string(&r->path), ((flags[0] & 0x80) != 0 ? GIT_INDEX_ASSUMED : 0) |
		    ((flags[0] & 0x40) != 0 && (flags[FLAGS] & 0x40) != 0 ? GIT_INDEX_SKIPPED : 0));
	return known && r->at <= r->len;
}

/* Whether the blocks that IEOT lists are the entries that were read. */
static bool
are_blocks_known(const struct reading *r, const unsigned char *bytes, size_t size)
{
	enum { VERSION = 4, BLOCK = 8 };
	size_t first = 0;

	if (size < VERSION || (size - VERSION) % BLOCK != 0)
		return false;
	for (size_t at = VERSION; at < size; at += BLOCK) {
		if (first >= r->count || r->starts[first] != ((size_t)number_at(bytes + at) << 1 | 1))
			return false;
		first += number_at(bytes + at + 4);
	}
	return first == r->count;
}

/* Whether EOIE, the last extension, has the offset at which the entries ended. */
static bool
is_end_known(const struct reading *r)
{
	const size_t whole = EXTENSION_HEADER + 4 + r->hash;
	const unsigned char *at = r->len < HEADER + r->hash + whole ? NULL : r->bytes + r->len - r->hash - whole;

	return at == NULL || memcmp(at, "EOIE", 4) != 0 || number_at(at + EXTENSION_HEADER) == r->at;
}

/* Reads the extensions after the entries, and returns their flags; -1: invalid. */
static int
read_extensions(const struct reading *r)
{
	int flags = 0;

	if (r->len < r->at + r->hash || !is_end_known(r))
		return -1;
	for (size_t at = r->at, size; r->len - at != r->hash; at += EXTENSION_HEADER + size) {
		const unsigned char *name = r->bytes + at;

		if (r->len - at < r->hash + EXTENSION_HEADER)
			return -1;
		size = number_at(name + 4);
		if (size > r->len - at - EXTENSION_HEADER - r->hash)
			return -1;
		if (memcmp(name, "link", 4) == 0)
			flags |= GIT_INDEX_SPLIT;
		else if (memcmp(name, "sdir", 4) == 0)
			flags |= GIT_INDEX_SPARSE;
		else if (*name < 'A' || *name > 'Z' ||
		    (memcmp(name, "IEOT", 4) == 0 && !are_blocks_known(r, name + EXTENSION_HEADER, size)))
			return -1;
	}
	return flags;
}

/* Reads it all. Returns flags, as git_index_read(). */
static int
read_index(struct reading *r)
{
	uint32_t count;
	int flags = -1;
	bool known = r->len >= HEADER + r->hash && memcmp(r->bytes, "DIRC", 4) == 0;

	if (known) {
		r->version = number_at(r->bytes + 4);
		count = number_at(r->bytes + 8);
		known = r->version >= 2 && r->version <= 4;
		while (known && count-- > 0)
			known = read_entry(r);
	}
	if (known)
		flags = read_extensions(r);
	if (flags != -1 && (((r->unordered || r->empty) && (flags & GIT_INDEX_SPLIT) == 0) ||
	    (r->directories && (flags & GIT_INDEX_SPARSE) == 0)))
		flags = -1;
	return flags;
}

int
git_index_read(const char *bytes, size_t len, size_t hash, git_index_take *take, void *context)
{
	struct reading r = { .bytes = (const unsigned char *)bytes, .len = len, .at = HEADER, .hash = hash,
		.path = BUFFER_INIT, .take = take, .context = context };
	const int flags = read_index(&r);

	buffer_free(&r.path);
	free(r.starts);
	return flags;
}

/* ---- what is known of files ---- */

/* Takes the paths of an index, each with its NUL. */
static void
git_index_add_path(void *context, const char *path, int flags)
{
	(void)flags;
	buffer_append(context, path, strlen(path) + 1);
}

/* Goes through the entries of an index, in their order. */
struct entries {
	struct reading reading;
	struct buffer paths;
	const char *path;   /* of the next one */
	size_t next;
};

/* False: it is not an index, and has no entries. */
static bool
entries_read(struct entries *e, const char *bytes, size_t len, size_t hash)
{
	*e = (struct entries){ .reading = { .bytes = (const unsigned char *)bytes, .len = len, .at = HEADER, .hash = hash,
		.path = BUFFER_INIT, .take = git_index_add_path, .context = &e->paths }, .paths = BUFFER_INIT };
	if (len == 0 || read_index(&e->reading) == -1) {
		e->reading.count = 0;
		return false;
	}
	e->path = buffer_string(&e->paths);
	return true;
}

static const unsigned char *
entries_at(const struct entries *e, size_t i)
{
	return e->reading.bytes + (e->reading.starts[i] >> 1);
}

static void
entries_skip(struct entries *e)
{
	e->path += strlen(e->path) + 1;
	e->next++;
}

static void
entries_free(struct entries *e)
{
	buffer_free(&e->reading.path);
	free(e->reading.starts);
	buffer_free(&e->paths);
}

/* Whether the next entry is in another index too, with all that is known of its file. Both are
 * sorted by path. */
static bool
is_entry_known(const struct entries *e, struct entries *other)
{
	const size_t fixed = STATUS + e->reading.hash;
	const char *path;
	size_t i;

	while (other->next < other->reading.count && strcmp(other->path, e->path) < 0)
		entries_skip(other);
	path = other->path;
	for (i = other->next; i < other->reading.count && i < other->next + STAGES && strcmp(path, e->path) == 0;
	    i++, path += strlen(path) + 1)
		if (memcmp(entries_at(e, e->next), entries_at(other, i), fixed) == 0)
			return true;
	return false;
}

/* The file that a split index names, at the beginning of an extension; NULL: none of these. */
static const struct git_index_base *
find_base(const unsigned char *extension, size_t hash, const struct git_index_base *bases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (memcmp(extension, "link", 4) == 0 && number_at(extension + 4) >= hash &&
		    memcmp(extension + EXTENSION_HEADER, bases[i].from, hash) == 0)
			return &bases[i];
	return NULL;
}

/* Appends the extensions without which the entries could not be read, or a conflict not be resolved
 * again. */
static void
append_needed_extensions(const struct reading *r, const struct git_index_base *bases, size_t count, struct buffer *out)
{
	static const char *const needed[] = { "link", "sdir", "REUC" };
	const struct git_index_base *base;

	for (size_t at = r->at, size; at < r->len - r->hash; at += size) {
		size = EXTENSION_HEADER + number_at(r->bytes + at + 4);
		for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
			if (memcmp(r->bytes + at, needed[i], 4) == 0)
				buffer_append(out, r->bytes + at, size);
		if ((base = find_base(r->bytes + at, r->hash, bases, count)) != NULL)
			memcpy(out->data + out->len - size + EXTENSION_HEADER, base->to, r->hash);
	}
}

bool
git_index_has_base(const char *bytes, size_t len, size_t hash, const struct git_index_base *bases, size_t count)
{
	struct entries e;
	bool has = false;

	if (entries_read(&e, bytes, len, hash))
		for (size_t at = e.reading.at; !has && at < len - hash; at += EXTENSION_HEADER + number_at(e.reading.bytes + at + 4))
			has = find_base(e.reading.bytes + at, hash, bases, count) != NULL;
	entries_free(&e);
	return has;
}

static void
append_checksum(struct buffer *out, size_t start, size_t hash)
{
	unsigned char sum[crypto_hash_sha256_BYTES];
	const char *bytes = out->data + start;

	if (hash == SHA1_BYTES)
		sha1(bytes, out->len - start, sum);
	else
		crypto_hash_sha256(sum, (const unsigned char *)bytes, out->len - start);
	buffer_append(out, sum, hash);
}

int
git_index_distrust(const char *bytes, size_t len, size_t hash, const struct buffer *known,
    const struct git_index_base *bases, size_t base_count, struct buffer *out)
{
	const size_t start = out->len;
	struct entries is, was;
	int failed = -1;

	entries_read(&was, buffer_string(known), known->len, hash);
	if (entries_read(&is, bytes, len, hash)) {
		buffer_append(out, bytes, is.reading.at);
		for (; is.next < is.reading.count; entries_skip(&is))
			if (!is_entry_known(&is, &was))
				memset(out->data + start + (is.reading.starts[is.next] >> 1) + SIZE, 0, STATUS - SIZE);
		append_needed_extensions(&is.reading, bases, base_count, out);
		append_checksum(out, start, hash);
		failed = 0;
	}
	entries_free(&is);
	entries_free(&was);
	return failed;
}
