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

#define CHANGED_LOOKED 20000                 /* files and directories in a look */
#define CHANGED_TOLD 200                     /* files that an event names */
#define CHANGED_BYTES ((int64_t)64 << 20)    /* of a file whose digest is computed */

struct changed_look;

struct changed {
	int root;                    /* the workspace */
	char *path;                  /* the one file, relative to it; NULL: all */
	bool existed;
	struct buffer before;        /* its bytes */
	struct changed_look *look;   /* how all was; NULL: too much, or one file */
	char *branch, *head;         /* the branch that HEAD names, and its commit; NULL */
	struct stat storage;         /* which a look leaves out */
	int overlap;                 /* runs/<id>/changing; -1 */
	off_t place;                 /* of this call in it */
	bool shared;
	struct buffer files;         /* the result: elements of a JSON array */
	int64_t told, more;          /* files that it names, and others */
	int64_t added, removed;      /* numbers of lines of the one file */
	char *commit;                /* NULL */
};

#define CHANGED_INIT { .root = -1, .overlap = -1 }

/* Before the call. path: as given to the tool, absolute or relative to the current directory; a
 * file outside of the workspace is not examined. What cannot be examined is left out: a call does
 * not fail because of this. */
void changed_begin_file(struct changed *c, const char *path);
/* run_directory is runs/<id>. */
void changed_begin_all(struct changed *c, const char *run_directory);
/* Other calls of this process run at the same time. */
void changed_share(struct changed *c);
/* After the call. Without a beginning nothing has changed. */
void changed_end(struct changed *c);
/* A file that another program reports as changed; path as for changed_begin_file(). One outside of
 * the workspace is recorded with its path only. */
void changed_told(struct changed *c, const char *path);
/* Takes the recorded changes of another call instead: payload.changed and related members. */
void changed_take(struct changed *c, struct span payload);
/* The members changed, changed_more and commit, as far as there is something to say. */
void changed_write(const struct changed *c, struct writer *w);
void changed_free(struct changed *c);

#endif
