/*
 * A shipment: one run that is sent to a target.
 *
 * What the code relies on, and maintains:
 *   - Only lines that are on disk are sent: otherwise a power failure could remove here what the
 *     target keeps.
 *   - Lines continue from the target's position, if the line there is the one that the target
 *     reports; each follows the one before by seq and digest, or the shipment ends.
 *   - What the target is not known to have is sent again when it asks: positions are kept in
 *     memory only.
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

/* The same for all runs. */
struct shipping {
	const struct storage *storage;
	const char *origin;
	int64_t blobs;        /* of more bytes none is sent */
	bool takes_about, takes_blobs; /* the target */
	bool synced;          /* sync what is sent; false: AWF_SYNC is none */
	bool follow;          /* also send what is added after the target was asked */
	struct cost *cost;    /* begun */
};

enum shipment_state {
	SHIPMENT_NEW,         /* the target must be asked what it has */
	SHIPMENT_ASKED,
	SHIPMENT_SENDING,
	SHIPMENT_REFUSED      /* nothing more is sent before the target is asked again */
};

struct shipment {
	char *path;
	struct reader reader;
	struct model model;        /* fed up to the reader's position */
	struct map blobs;          /* that were sent */
	struct stat seen;          /* the transcript's state at the last look */
	int64_t limit;             /* bytes that are on disk */
	int64_t seq;               /* of the line that was sent last, or that the target had; 0: none */
	int64_t acknowledged;      /* seq */
	int64_t again;             /* when to try a refused one again, clock_monotonic() */
	enum shipment_state state;
	bool gone;                 /* the transcript was removed */
	bool more;                 /* there may be lines to be sent */
	bool open, modelled;       /* reader and model are */
	bool told;                 /* why it was refused */
	char run_id[ID_SIZE];
	char digest[DIGEST_SIZE];  /* of the line that was sent last */
};

struct shipment *shipment_new(const struct storage *s, const char *run_id, const char *path);
/* The target was restarted, and must be asked again. */
void shipment_restart(struct shipment *s);
/* Looks at the file: new lines are sent, even if the run was refused before; a replaced file is
 * a new shipment. */
void shipment_look(struct shipment *s);
/* Appends the question what the target has, after everything that is there now was synced. -1:
 * ERROR_SYSTEM. */
int shipment_ask(struct shipment *s, const struct shipping *with, struct buffer *out,
    struct error *err);
/* Sets what the target has. digest: 64 digits; "": not given. ERROR_DIVERGENCE: it has a
 * different line. */
int shipment_begin(struct shipment *s, int64_t seq, const char *digest, struct error *err);
/* Appends lines until out has `room` bytes, or all are sent. ERROR_SCHEMA: the next line does
 * not follow. */
int shipment_send(struct shipment *s, const struct shipping *with, size_t room, struct buffer *out,
    struct error *err);
/* Whether the target has all of it. */
bool shipment_done(const struct shipment *s);
/* Closes its file, which is opened again when more is sent. */
void shipment_rest(struct shipment *s);
/* Nothing more of it is sent until later, when new lines are looked at. */
void shipment_refuse(struct shipment *s, int64_t again);
void shipment_free(struct shipment *s);

#endif
