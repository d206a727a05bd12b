/*
 * Attachments: images and PDF files that are sent to a model with the prompt. They come from
 * --attach, for every item, or from metadata.attachments in a state line, for its item: {"path": …}
 * names a file, {"data": …} contains it as base64. Anyone who can write a line can write a path, so
 * a path in a line may only lead to files below the current directory.
 *
 * The type of an attachment is determined by its content, not by its name. Each is at most 32 MiB,
 * all those of a call 128 MiB together. They are part of the call's input: the input's digest
 * includes their digests, and their bytes are recorded as blobs.
 */
#ifndef AWF_FORMATS_ATTACHMENT_H
#define AWF_FORMATS_ATTACHMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"
#include "json/writer.h"
#include "transcript/event.h"

struct attachment {
	char *path;              /* as given; NULL: it was sent as data in the line */
	char *name;              /* shown to people and models; NULL: none */
	const char *type;        /* of its block: "image" or "document" */
	char *media_type;
	char sha256[DIGEST_SIZE];
	int64_t size;
	struct buffer bytes;     /* empty if only the recording has them */
};

struct attachments {
	struct attachment **list;
	size_t count;
	size_t shared;           /* the first entries of the list, which belong to another list */
};
#define ATTACHMENTS_INIT { NULL, 0, 0 }

/* Adds a file. ERROR_INVALID_INPUT with its path as the place. */
int attachments_add_file(struct attachments *a, const char *path, struct error *err);
/* Adds the attachments of another list, which still owns them; only to an empty list. */
void attachments_share(struct attachments *a, const struct attachments *others);
/* Adds those listed in metadata.attachments. For a missing file the entry in `recorded`
 * (payload.attachments of an earlier call; may be absent) is used, without its bytes. */
int attachments_read(struct attachments *a, struct span list, struct span recorded,
    struct error *err);
/* Whether the bytes of any attachment are missing. */
bool attachments_lack(const struct attachments *a);
/* Sets missing bytes from the blocks of a recorded message.user whose blobs were put back;
 * ERROR_INVALID_INPUT if they do not contain them. */
int attachments_restore(struct attachments *a, struct span blocks, struct error *err);
/* Frees the bytes, for a caller that only passes the descriptions on. */
void attachments_drop_bytes(struct attachments *a);

/* The digest of an input: without attachments, the digest of its data alone. */
char *attachments_digest(const struct attachments *a, const struct buffer *data,
    char sha256[DIGEST_SIZE]);
/* Writes payload.attachments of step.started; nothing if there are none. */
void attachments_write(const struct attachments *a, struct writer *w);
/* Writes the blocks of a request; shown: for display, without the bytes. */
void attachments_write_blocks(const struct attachments *a, struct writer *w, bool shown);
/* Writes the first blocks of a message.user, whose bytes are stored as blobs. attachments_raws()
 * has the places of these bytes, one per attachment. */
void attachments_write_recorded(const struct attachments *a, struct writer *w);
struct event_raw *attachments_raws(const struct attachments *a);
void attachments_free_raws(const struct attachments *a, struct event_raw *raws);
void attachments_free(struct attachments *a);

#endif
