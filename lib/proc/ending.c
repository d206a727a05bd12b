/*
 * Marks are files in a directory inside the run's, which is created with the first one: one for the
 * run, one for each call, named by the digest of its id. The directory of an inner run has a link
 * to that of the enclosing run. So a check costs two access() if nothing is nested and nothing is
 * being ended.
 */
#include "proc/ending.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"
#include "io/file.h"

#define MARKS "ending"
#define RUN "run"
#define OUTER "outer"

static char *
mark_path(const char *run_directory, const char *mark)
{
	return memory_format("%s/" MARKS "/%s", run_directory, mark);
}

/* For the first len bytes of a call's id. */
static char *
call_path(const char *run_directory, const char *call, size_t len)
{
	char digest[DIGEST_SIZE];

	digest_sha256(call, len, digest);
	return mark_path(run_directory, digest);
}

/* Frees the path. If the directory cannot be made, only the signals and their grace period are
 * left. */
static void
make_mark(const char *run_directory, char *path)
{
	char *marks = path_join(run_directory, MARKS);
	int fd = -1;

	if (mkdir(marks, 0700) == 0 || path_is_directory(marks))
		fd = file_open_plain(path, O_WRONLY | O_CREAT, 0600);
	if (fd >= 0)
		close(fd);
	free(marks);
	free(path);
}

void
ending_begin(const char *run_directory)
{
	make_mark(run_directory, mark_path(run_directory, RUN));
}

void
ending_begin_call(const char *run_directory, const char *call)
{
	make_mark(run_directory, call_path(run_directory, call, strlen(call)));
}

void
ending_over(const char *run_directory, const char *call)
{
	char *path = call_path(run_directory, call, strlen(call));

	unlink(path);
	free(path);
}

/* Takes the path over. */
static bool
ending_path_exists(char *path)
{
	bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

const char *
ending_begun(const char *run_directory)
{
	const char *call = getenv("AWF_CALL"), *what = NULL;
	char *directory = memory_text(run_directory), *outer;

	for (int depth = 0; what == NULL && depth <= ENDING_DEPTH; depth++) {
		bool marks = ending_path_exists(path_join(directory, MARKS));

		if (marks && ending_path_exists(mark_path(directory, RUN)))
			what = "the run";
		/* For the calls around this process, of which there may be several, from the
		 * outermost on. */
		for (const char *end = call; marks && depth == 0 && what == NULL && end != NULL &&
		    *end != '\0';) {
			end += strcspn(end, "/");
			if (ending_path_exists(call_path(directory, call, (size_t)(end - call))))
				what = "the call around it";
			end += *end == '/';
		}
		outer = path_join(directory, OUTER);
		free(directory);
		directory = outer;
		if (what != NULL || access(directory, F_OK) != 0)
			break;
	}
	free(directory);
	return what;
}

void
ending_inside(const char *run_directory, const char *outer_id)
{
	char *path = path_join(run_directory, OUTER), *target = path_join("..", outer_id);

	if (symlink(target, path) != 0) {
		/* If this fails, it was marked before, or only the signals tell. */
	}
	free(target);
	free(path);
}
