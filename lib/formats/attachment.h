/*
 * Attachments: images and PDF files that go to a model with the prompt. They come from
 * --attach, for every item, or stand in a state line's metadata.attachments, for its item:
 * {"path": …} names a file, {"data": …} has it as base64. Whoever can write a line can
 * write a path, so one in a line leads no further than the current directory.
 *
 * What an attachment is says its content, not its name. Each is at most 32 MiB, those of a
 * call 128 MiB together. They are part of the call's input: their digests are in its
 * digest, their bytes, as a blob, in its record.
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
	char *path;              /* as it was named; NULL: it came in the line */
	char *name;              /* for people and models; NULL: none */
	const char *type;        /* of its block: "image", "document" */
	char *media_type;
	char sha256[DIGEST_SIZE];
	int64_t size;
	struct buffer bytes;     /* empty if only the record has them */
};

struct attachments {
	struct attachment **list;
	size_t count;
	size_t shared;           /* the first ones are others' */
};
#define ATTACHMENTS_INIT { NULL, 0, 0 }

/* Adds a file. ERROR_INVALID_INPUT at its path. */
int attachments_add_file(struct attachments *a, const char *path, struct error *err);
/* Adds those of others, whose they stay; only before any other. */
void attachments_share(struct attachments *a, const struct attachments *others);
/* Adds what metadata.attachments lists. A file that is not there is taken as the record of
 * an earlier call has it (payload.attachments; may be absent), without its bytes. */
int attachments_read(struct attachments *a, struct span list, struct span recorded,
    struct error *err);
/* Whether one lacks its bytes. */
bool attachments_lack(const struct attachments *a);
/* Fills in the bytes that are missing from blocks of a message.user, its blobs put back;
 * ERROR_INVALID_INPUT if they are not there. */
int attachments_restore(struct attachments *a, struct span blocks, struct error *err);
/* Forgets the bytes, for what only passes them on. */
void attachments_drop_bytes(struct attachments *a);

/* The digest of an input: that of its data alone if there are no attachments. */
char *attachments_digest(const struct attachments *a, const struct buffer *data,
    char sha256[DIGEST_SIZE]);
/* payload.attachments of step.started; nothing if there are none. */
void attachments_write(const struct attachments *a, struct writer *w);
/* Blocks of a request; shown: for people, without the bytes. */
void attachments_write_blocks(const struct attachments *a, struct writer *w, bool shown);
/* The first blocks of message.user, whose bytes go into blobs: their places, as many as
 * there are attachments. */
void attachments_write_recorded(const struct attachments *a, struct writer *w);
struct event_raw *attachments_raws(const struct attachments *a);
void attachments_free_raws(const struct attachments *a, struct event_raw *raws);
void attachments_free(struct attachments *a);

#endif
