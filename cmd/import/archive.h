/*
 * Zip archives, as far as logs are kept in them: members that are stored, or deflated. What an archive says of itself is
 * not believed: each place is checked against its length, and each member against its length and sum.
 */
#ifndef AWF_IMPORT_ARCHIVE_H
#define AWF_IMPORT_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/map.h"

struct archive {
	struct buffer bytes;         /* the whole file */
	struct archive_member {
		char *name;
		size_t at, packed, size; /* where its bytes are in the file, how many; and how long it is */
		unsigned method, sum;
	} *members;
	size_t count;
	struct map names;            /* name → index */
};

/* Reads the list of members; of several of one name the last counts. ERROR_INVALID_INPUT: it is none, is damaged, or of a
 * kind that is not read. Call archive_close() in any case. */
int archive_open(struct archive *a, const char *path, struct error *err);
/* The member; NULL: there is none. */
const struct archive_member *archive_find(const struct archive *a, const char *name);
/* Appends what is in it. ERROR_INVALID_INPUT: it is damaged, has more than limit bytes, or is packed otherwise: *unknown. */
int archive_read(const struct archive *a, const struct archive_member *m, size_t limit, struct buffer *out, bool *unknown,
    struct error *err);
void archive_close(struct archive *a);

#endif
