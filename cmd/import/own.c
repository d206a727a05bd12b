/* A blob has to be there before the line that names it is. */
#include "import/own.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "ingest/blobs.h"
#include "io/file.h"
#include "io/path.h"
#include "json/line_input.h"
#include "storage/storage.h"
#include "transcript/blob.h"
#include "transcript/event.h"

#define BLOB_BYTES ((int64_t)1 << 30)
#define PIECE ((size_t)64 << 10)

/* A blob of a run; one that is not there is missing here, too. */
static int
own_take_blob(const struct ingest_input *in, const char *directory, const char *run_id, const char *name,
    struct error *err)
{
	const struct blob_upload_spec spec = { .storage = in->ingest->storage, .sender = in->spec.sender, .run_id = run_id,
		.sha256 = name, .size = -1, .limit = BLOB_BYTES, .quota = BLOB_BYTES };
	char *path = memory_format("%s/../blobs/%s/%s", directory, run_id, name), *here = storage_blobs(in->ingest->storage, run_id),
	    *there = path_join(here, name), *piece = NULL;
	int fd = access(there, F_OK) == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC), failed = 0;
	struct blob_upload upload;
	ssize_t got = 0;

	if (fd != -1) {
		failed = blob_upload_begin(&upload, &spec, err);
		piece = memory_array(NULL, PIECE, 1);
		while (failed == 0 && (got = read(fd, piece, PIECE)) > 0)
			failed = blob_upload_feed(&upload, piece, (size_t)got, err);
		if (failed == 0 && got == -1)
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to read");
		if (failed == 0)
			failed = blob_upload_end(&upload, err);
		blob_upload_abandon(&upload);
	}
	file_close(&fd);
	free(piece);
	free(there);
	free(here);
	free(path);
	return failed;
}

static int
own_take_line(struct ingest_input *in, const char *directory, const char *line, size_t len, struct error *err)
{
	char **names = blobs_named(line, len), run_id[ID_SIZE];
	struct event_view view;
	int failed = 0;

	if (names != NULL && event_view(line, len, &view) == 0 && event_copy_id(view.run_id, run_id))
		for (char **name = names; failed == 0 && *name != NULL; name++)
			failed = blob_name_valid(*name) ? own_take_blob(in, directory, run_id, *name, err) : 0;
	list_free(names);
	if (failed == 0 && (ingest_feed(in, line, len) != 0 || ingest_feed(in, "\n", 1) != 0)) {
		*err = in->refusal.error;
		failed = -1;
	}
	return failed;
}

int
own_read(struct ingest_input *in, const char *path, int64_t *others, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), got;
	char *directory = path_directory(path);
	struct line_input input;
	const char *line;
	size_t len;

	*others = 0;
	if (fd == -1) {
		free(directory);
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	}
	line_input_begin(&input, fd, path);
	while ((got = line_input_next(&input, &line, &len, err)) == 1) {
		if (!event_line_whole(line, len, NULL))
			(*others)++;
		else if (own_take_line(in, directory, line, len, err) != 0)
			break;
	}
	line_input_free(&input);
	file_close(&fd);
	free(directory);
	return got == 0 ? 0 : -1;
}
