/*
 * Files in frames (proc/frame.h): what goes to a far end (awf-step --send) and comes back
 * (--fetch). A file is a frame with its path, mode and size, and as many with its bytes; a digest
 * over all that was sent goes in the sealed frame behind them.
 *
 * Paths are relative and stay inside the directory, files are regular, and their names match
 * patterns (glob(7), without matching slashes), which the receiver knows, too. The receiver
 * accepts at most FRAME_FILES files and FRAME_FILES_BYTES in total.
 */
#ifndef AWF_PROC_FRAME_FILES_H
#define AWF_PROC_FRAME_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"

#define FRAME_FILES ((size_t)10000)
#define FRAME_FILES_BYTES (INT64_C(1) << 30)

/* Whether a pattern can only match files below the directory. */
bool frame_pattern_valid(const char *pattern);

/* Sends files of the current directory. */
struct files_out {
	int root;                  /* the directory; links that lead out of it are not followed */
	char **paths;              /* ends with NULL */
	size_t next;
	int fd;                    /* of the file being sent; -1 */
	int64_t left;              /* bytes of it */
	int64_t bytes;             /* of all so far */
	struct digest digest;
};
/* Finds what the patterns (which end with NULL, or are NULL) name. A pattern that names no file:
 * ERROR_INVALID_INPUT. */
int files_out_begin(struct files_out *f, char *const *patterns, struct error *err);
/* Appends a few frames: 1; 0: there are no more. -1: a file cannot be read, or is too much. */
int files_out_next(struct files_out *f, struct buffer *out, struct error *err);
void files_out_free(struct files_out *f);

/* Taking, into a directory. */
struct files_in {
	int directory;             /* -1: none, and no file is accepted */
	char *const *patterns;     /* NULL: whatever comes */
	char **paths;              /* of received files; ends with NULL */
	size_t count;
	int fd;                    /* of the file being received; -1 */
	int64_t left, bytes;       /* of it; of all */
	struct digest digest;
};
/* directory is a descriptor that becomes f's; patterns stay the caller's. */
void files_in_begin(struct files_in *f, int directory, char *const *patterns);
/* Handles a frame: 1; 0: it has no part of a file. -1: it is not allowed, or cannot be written. */
int files_in_take(struct files_in *f, struct span json, struct error *err);
/* Moves all of them to where they belong, below another directory, of which links are followed as
 * long as they stay below it. Each appears whole, in place of what was there. */
int files_in_place(struct files_in *f, int directory, struct error *err);
void files_in_free(struct files_in *f);

#endif
