/*
 * Definition files: the files that a run or a step uses, listed in `files` of its record: the
 * workflow's script; the files of agents, prompts, tools, skills and schemas; and the files of the
 * workspace that its commands run. Their bytes are stored in blobs of the run before the event
 * that names them, once for each digest, so that the recording has them even after the files have
 * changed.
 */
#ifndef AWF_TRANSCRIPT_DEFINITION_FILE_H
#define AWF_TRANSCRIPT_DEFINITION_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"
#include "transcript/event.h"

#define DEFINITION_FILE_LIMIT ((size_t)256 << 20) /* largest file that is stored */

/* An element of `files`, as it was recorded. */
struct definition_file {
	char *path;                /* absolute path without "." and ".." */
	char *config;              /* path inside the user's configuration directory; NULL: it is
	                              not there */
	char sha256[DIGEST_SIZE];  /* "": not recorded */
	bool kept;                 /* its bytes are in the blob named by sha256 */
	bool executable;
	bool program;              /* a command runs it: it is not part of the call's definition */
};

/* Reads an element; a string is only a path. False if it is not an element, or its path is not
 * absolute. */
bool definition_file_read(struct definition_file *f, struct span element);
void definition_file_free(struct definition_file *f);
/* Whether the file at path has the recorded bytes. */
bool definition_file_is_at(const struct definition_file *f, const char *path);

/* The files that a recording names: the latest version of each path, and the earlier versions
 * with other bytes. */
struct definition_files {
	struct definition_file *list, *replaced;
	size_t count, replaced_count;
};
#define DEFINITION_FILES_INIT { NULL, NULL, 0, 0 }
/* Adds a file, replacing another one with its path; takes ownership of its members. */
void definition_files_put(struct definition_files *files, const struct definition_file *file);
/* Adds the files of a payload. If a path occurs again, _add keeps the later file,
 * _begin the first. */
void definition_files_add(struct definition_files *files, struct span payload);
void definition_files_begin(struct definition_files *files, struct span payload);
/* The file with a path; NULL if there is none. */
const struct definition_file *definition_files_find(const struct definition_files *files,
    const char *path);
/* Adds the files of an event, if it names any. */
void definition_files_take(struct definition_files *files, const struct event_view *event);
void definition_files_free(struct definition_files *files);

#endif
