/*
 * Definition files: what a run or a step is made of, as `files` of its record tells it:
 * the workflow's script; the files of agents, prompts, tools, skills and schemas. Their
 * bytes are kept in blobs of the run before the event that names them, once for each
 * digest, so that a recording tells what was run when the files have long changed.
 *
 * What is not kept: anything of a masked run, whose files alone are named; executables
 * above DEFINITION_EXECUTABLE_LIMIT, and files that their owner says are not to be, of
 * which the digest is recorded.
 *
 * A digest is remembered in the run's directory, by the file's device, inode, size and
 * times: a step that starts again asks the kernel for these, and reads nothing.
 */
#ifndef AWF_TRANSCRIPT_DEFINITION_FILE_H
#define AWF_TRANSCRIPT_DEFINITION_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"
#include "json/writer.h"

struct run;

#define DEFINITION_EXECUTABLE_LIMIT ((int64_t)1 << 20)
#define DEFINITION_FILE_LIMIT ((size_t)256 << 20) /* of any that is kept */

/* One element of `files`, as it was recorded. */
struct definition_file {
	char *path;                /* absolute, without "." and ".." */
	char *config;              /* its path in the user's configuration; NULL: not there */
	char sha256[DIGEST_SIZE];  /* "": not recorded */
	bool kept;                 /* in a blob of that name */
	bool executable;
};

/* Writes an element: the path (absolute) and what its bytes are, which are kept. */
int definition_file_keep(const struct run *r, const char *path, struct writer *w,
    struct error *err);
/* Likewise, but the bytes are not kept: they may hold secrets. */
int definition_file_digest(const struct run *r, const char *path, struct writer *w,
    struct error *err);
/* An element that is the path alone: of what comes along with AWF. */
void definition_file_name(const char *path, struct writer *w);

/* Reads an element; a string is a path alone. False if it is none, or names no absolute
 * path. */
bool definition_file_read(struct definition_file *f, struct span element);
void definition_file_free(struct definition_file *f);
/* Whether the file at path has its bytes. */
bool definition_file_is_at(const struct definition_file *f, const char *path);

/* The files that a recording names, the latest of each path. */
struct definition_files {
	struct definition_file *list;
	size_t count;
};
#define DEFINITION_FILES_INIT { NULL, 0 }
/* Adds one in place of another of that path; takes it over. */
void definition_files_put(struct definition_files *files, const struct definition_file *file);
/* Adds those of a payload: the later of one path counts, or the first. */
void definition_files_add(struct definition_files *files, struct span payload);
void definition_files_begin(struct definition_files *files, struct span payload);
/* The one of that path; NULL. */
const struct definition_file *definition_files_find(const struct definition_files *files,
    const char *path);
/* All that the transcript at path names. */
int definition_files_load(struct definition_files *files, const char *path, struct error *err);
void definition_files_free(struct definition_files *files);

#endif
