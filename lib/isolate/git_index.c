/*
 * git reads the entries in sequence or, for a large index with several threads, at the offsets in
 * the extensions EOIE and IEOT. Here both must agree.
 */
#include "isolate/git_index.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"

#define HEADER 12          /* of the file */
#define EXTENSION_HEADER 8
#define NAME_LENGTH 0xfffu /* in an entry's flags; this value means a longer path */

struct reading {
	const unsigned char *bytes;
	size_t len, at, hash;
	uint32_t version;
	struct buffer path;    /* of the previous entry */
	size_t *starts;        /* offsets of the entries, shifted left by one; the lowest bit is set
	                          if an entry reuses nothing of the previous path */
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

/* In version 4 an entry begins with how many bytes of the previous path to drop. */
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
	enum { MODE = 24, STATUS = 40, FLAGS = 2 };
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

/* Reads the extensions after the entries and returns their flags; -1. */
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

int
git_index_read(const char *bytes, size_t len, size_t hash, git_index_take *take, void *context)
{
	struct reading r = { .bytes = (const unsigned char *)bytes, .len = len, .at = HEADER, .hash = hash,
		.path = BUFFER_INIT, .take = take, .context = context };
	uint32_t count;
	int flags = -1;
	bool known = len >= HEADER + hash && memcmp(bytes, "DIRC", 4) == 0;

	if (known) {
		r.version = number_at(r.bytes + 4);
		count = number_at(r.bytes + 8);
		known = r.version >= 2 && r.version <= 4;
		while (known && count-- > 0)
			known = read_entry(&r);
	}
	if (known)
		flags = read_extensions(&r);
	if (flags != -1 && (((r.unordered || r.empty) && (flags & GIT_INDEX_SPLIT) == 0) ||
	    (r.directories && (flags & GIT_INDEX_SPARSE) == 0)))
		flags = -1;
	buffer_free(&r.path);
	free(r.starts);
	return flags;
}
