/* If the argument is a directory, its latest run is used, or the only one. */
#include "rerun/found_run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/id.h"
#include "base/memory.h"
#include "io/file.h"

#define PLACES "replays"

/* The directory's only run, or its latest. */
static int
found_run_find_in_directory(struct found_run *f, const char *directory, struct error *err)
{
	struct run_entry *runs;
	struct run_ref ref;
	size_t count;
	int failed = 0;

	f->storage.root = realpath(directory, NULL);
	if (f->storage.root == NULL)
		return error_errno(err, ERROR_SYSTEM, directory, "unable to find it");
	if (storage_resolve(&f->storage, NULL, &ref, NULL) == 0) {
		f->transcript = memory_text(ref.path);
		run_ref_free(&ref);
		return 0;
	}
	if (storage_list(&f->storage, &runs, &count, err) != 0)
		return -1;
	if (count == 1)
		f->transcript = storage_transcript(&f->storage, runs[0].run_id);
	else
		failed = error_set(err, ERROR_USAGE, directory, count == 0 ?
		    "no transcript is there (transcripts/*.jsonl)" :
		    "there are several runs, and none of them is marked as the latest: name the "
		    "file of one");
	free(runs);
	return failed;
}

/* Sets the transcript, and the storage that contains it. */
int
found_run_find(struct found_run *f, const struct storage *storage, const char *argument,
    struct error *err)
{
	struct run_ref ref;
	char *directory;

	memset(f, 0, sizeof *f);
	if (argument != NULL && path_is_directory(argument))
		return found_run_find_in_directory(f, argument, err);
	if (storage_resolve(storage, argument, &ref, err) != 0)
		return -1;
	f->transcript = realpath(ref.path, NULL);
	if (f->transcript == NULL) {
		error_errno(err, ERROR_SYSTEM, ref.path, "unable to find it");
	} else {
		directory = path_directory(f->transcript);
		if (strcmp(path_base(directory), "transcripts") == 0)
			f->storage.root = path_directory(directory);
		free(directory);
	}
	run_ref_free(&ref);
	return f->transcript == NULL ? -1 : 0;
}

char *
found_run_make_place(const struct storage *storage, struct error *err)
{
	char *parent = path_join(storage->root, PLACES), *place, id[ID_SIZE];

	if (directory_make(parent, 0700, err) != 0) {
		free(parent);
		return NULL;
	}
	place = path_join(parent, id_new(id));
	free(parent);
	if (mkdir(place, 0700) == 0)
		return place;
	error_errno(err, ERROR_SYSTEM, place, "unable to make the directory");
	free(place);
	return NULL;
}
