/*
 * Files that a call changes in the workspace, the directory that awf-step works in, for
 * payload.changed of tool.result and step.completed, awf-transcript(5).
 *
 * If a tool declares which argument names the file that it changes, only that file is compared,
 * exactly: its contents afterwards, and the numbers of added and removed lines. For any other call
 * all regular files of the workspace are compared before and after: a file whose inode, size or
 * change time differs was changed. This also finds changes by other processes. Overlapping calls
 * of a run detect each other through runs/<id>/changing, in which each holds a lock on a byte of
 * its own, and their changes are marked as shared.
 *
 * The comparison leaves out directories named .git, the storage, and other file systems; it is
 * given up above CHANGED_LOOKED files. Links are not followed. Whether HEAD has moved is read
 * directly from files in .git, because git itself would run programs that the repository names.
 */
#ifndef AWF_WORKSPACE_CHANGED_H
#define AWF_WORKSPACE_CHANGED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "json/scan.h"
#include "json/writer.h"

#define CHANGED_LOOKED 20000                 /* most files and directories that are examined */
#define CHANGED_TOLD 200                     /* most files that an event lists */
#define CHANGED_BYTES ((int64_t)64 << 20)    /* largest file whose digest is computed */

struct changed_look;

struct changed {
	int root;                    /* descriptor of the workspace */
	char *path;                  /* path of the one file in it; NULL: all files are compared */
	bool existed;
	struct buffer before;        /* bytes of the file before the call */
	struct changed_look *look;   /* the files before the call; NULL: too many, or only one is
	                                compared */
	char *branch, *head;         /* the branch that HEAD names, and its commit; NULL */
	struct stat storage;         /* is left out */
	int overlap;                 /* descriptor of runs/<id>/changing; -1 */
	off_t place;                 /* this call's byte in that file */
	bool shared;
	struct buffer files;         /* the result: elements of a JSON array */
	int64_t told, more;          /* number of files in `files`, and of further ones */
	int64_t added, removed;      /* lines added to and removed from the one file */
	char *commit;                /* NULL */
};

#define CHANGED_INIT { .root = -1, .overlap = -1 }

/* Called before the call. path: as given to the tool, absolute or relative to the current
 * directory. A file outside of the workspace is not examined; and what cannot be examined is left
 * out: a call does not fail because of this. */
void changed_begin_file(struct changed *c, const char *path);
/* The same for all files. run_directory: runs/<id>. */
void changed_begin_all(struct changed *c, const char *run_directory);
/* Marks the changes as shared: other calls of this process run at the same time. */
void changed_share(struct changed *c);
/* Called after the call. Does nothing if neither of the functions above was called. */
void changed_end(struct changed *c);
/* Adds a file that another program reports as changed; path as for changed_begin_file(). If it is
 * outside of the workspace, only its path is recorded. */
void changed_told(struct changed *c, const char *path);
/* Uses the changes that were recorded for another call instead: payload.changed and related
 * members. */
void changed_take(struct changed *c, struct span payload);
/* Writes the members changed, changed_more and commit; those without a value are left out. */
void changed_write(const struct changed *c, struct writer *w);
void changed_free(struct changed *c);

#endif
