/* What tests of records share: a directory, files in it, transcripts. */
#ifndef AWF_TESTS_RECORD_H
#define AWF_TESTS_RECORD_H

#include <unistd.h>

#include "unit.h"

#include "base/buffer.h"
#include "base/digest.h"
#include "base/memory.h"
#include "io/file.h"

#define RUN_ID "0b7a1c52-93d4-4e8f-a6b0-5c1d2e3f4a5b"
#define OTHER_ID "6f9619ff-8b86-4011-b42d-00c04fc964ff"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static char record_directory[64];
static struct record_path {
	struct record_path *next;
	char text[];
} *record_paths; /* that were asked for: all freed at the end */

static inline int
record_setup(void **state)
{
	(void)state;
	return unit_make_directory(record_directory, "record");
}

static inline int
record_teardown(void **state)
{
	(void)state;
	char *command = memory_format("rm -rf %s", record_directory);
	int status = system(command);

	free(command);
	while (record_paths != NULL) {
		struct record_path *next = record_paths->next;

		free(record_paths);
		record_paths = next;
	}
	return status;
}

/* Path of a file in the directory. */
static inline const char *
record_path(const char *name)
{
	const size_t size = sizeof record_directory + 1 + strlen(name);
	struct record_path *path = memory_alloc(sizeof *path + size);

	snprintf(path->text, size, "%s/%s", record_directory, name);
	path->next = record_paths;
	record_paths = path;
	return path->text;
}

static inline void
record_put(const char *path, const char *bytes, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline void
record_load(const char *path, struct buffer *out)
{
	struct error err;

	buffer_clear(out);
	assert_int_equal(file_load(path, (size_t)1 << 30, out, &err), 0);
}

/* Appends a whole line (LF included) with a chain of zeros. */
static inline void
record_line(struct buffer *out, long seq, const char *members)
{
	buffer_format(out, "{\"seq\":%ld,%s,\"prev\":\"" ZEROS "\"}\n", seq, members);
}

#endif
