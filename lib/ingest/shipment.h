/*
 * A shipment: one run on its way to a target.
 *
 * What the code relies on, and keeps:
 *   - Nothing is sent of a transcript that is not on disk: else a power cut would unmake here what
 *     the target keeps.
 *   - Lines go on from where the target is, once the line there is the one that the target says;
 *     each follows from the one before it by seq and digest, or the shipment ends.
 *   - What the target is not known to have is sent again to whoever asks for it: nothing is kept
 *     here but in memory.
 */
#ifndef AWF_INGEST_SHIPMENT_H
#define AWF_INGEST_SHIPMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "model/cost.h"
#include "model/model.h"
#include "storage/storage.h"
#include "transcript/reader.h"

/* What goes with all runs. */
struct shipping {
	const struct storage *storage;
	const char *origin;
	int64_t blobs;        /* of more bytes none is sent */
	bool takes_about, takes_blobs; /* the target */
	bool synced;          /* what is sent is on disk; false: AWF_SYNC is none */
	bool follow;          /* what comes after the target was asked is sent, too */
	struct cost *cost;    /* begun */
};

enum shipment_state {
	SHIPMENT_NEW,         /* the target is to be asked what it has */
	SHIPMENT_ASKED,
	SHIPMENT_SENDING,
	SHIPMENT_REFUSED      /* no more of it is sent before the target is asked again */
};

struct shipment {
	char *path;
	struct reader reader;
	struct model model;        /* fed up to the reader's position */
	struct map blobs;          /* that were sent */
	struct stat seen;          /* the transcript as it was looked at last */
	int64_t limit;             /* bytes that are on disk */
	int64_t seq;               /* of the line that was sent last, or the target had; 0: none */
	int64_t acknowledged;      /* seq */
	int64_t again;             /* when one that was refused is tried anew, clock_monotonic() */
	enum shipment_state state;
	bool gone;                 /* the transcript was removed */
	bool more;                 /* there may be lines to be sent */
	bool open, modelled;       /* reader and model are */
	bool told;                 /* why it was refused */
	char run_id[ID_SIZE];
	char digest[DIGEST_SIZE];  /* of the line that was sent last */
};

struct shipment *shipment_new(const struct storage *s, const char *run_id, const char *path);
/* The target is to be asked anew, as it was started anew. */
void shipment_restart(struct shipment *s);
/* Looks at the file: what has come is sent, be it refused so far; and one that was replaced is
 * another shipment. */
void shipment_look(struct shipment *s);
/* Appends the question what the target has, once all that is there now is on disk. -1: ERROR_SYSTEM. */
int shipment_ask(struct shipment *s, const struct shipping *with, struct buffer *out,
    struct error *err);
/* What the target has. digest: 64 digits; "": it does not say. ERROR_DIVERGENCE: it has another
 * line there. */
int shipment_begin(struct shipment *s, int64_t seq, const char *digest, struct error *err);
/* Appends lines until out has room bytes, or all are sent. ERROR_SCHEMA: the next line is none
 * that follows. */
int shipment_send(struct shipment *s, const struct shipping *with, size_t room, struct buffer *out,
    struct error *err);
/* Whether the target has all of it. */
bool shipment_done(const struct shipment *s);
/* Lets go of its file: it is opened anew when more is sent. */
void shipment_rest(struct shipment *s);
/* No more of it is sent, but what comes of it is looked at after a while. */
void shipment_refuse(struct shipment *s, int64_t again);
void shipment_free(struct shipment *s);

#endif
