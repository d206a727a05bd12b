/*
 * The file is only appended to, under a lock of the whole of it (fcntl(2)). Who takes the
 * lock reads on from where it stopped, and has all lines in a map, so a provider reads each
 * line once however many answers are given.
 */
#include "given.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/lock.h"
#include "run/storage.h"

#define FILE_NAME "given"
#define FILE_LIMIT ((size_t)64 << 20)
#define LINE_SIZE (DIGEST_SIZE + 24)

/* The file of the run in the environment; NULL if there is no such run. */
static char *
file_of_run(void)
{
	const char *run_id = getenv("AWF_RUN_ID");
	struct storage storage;
	char *directory, *path;

	if (run_id == NULL || !id_valid(run_id, strlen(run_id)) ||
	    storage_locate(&storage, NULL) != 0)
		return NULL;
	directory = storage_run_directory(&storage, run_id);
	path = path_join(directory, FILE_NAME);
	free(directory);
	storage_close(&storage);
	return path;
}

int
given_open(struct given *g, struct error *err)
{
	char *path = file_of_run();
	int result = 0;

	*g = (struct given){ .fd = -1, .seen = MAP_INIT };
	if (path == NULL)
		return 0;
	g->fd = file_open_plain(path, O_RDWR | O_CREAT | O_APPEND, 0600);
	if (g->fd == -1 && errno != ENOENT)
		result = error_errno(err, ERROR_INVALID, path, "unable to open");
	free(path);
	return result;
}

/* Takes in the lines after those that are known. */
static int
read_lines(struct given *g)
{
	struct buffer text = BUFFER_INIT;
	const char *line, *lf;
	int result;

	if (lseek(g->fd, g->position, SEEK_SET) == -1)
		return -1;
	result = file_read(g->fd, &text, FILE_LIMIT);
	for (line = buffer_string(&text); (lf = strchr(line, '\n')) != NULL; line = lf + 1) {
		map_put(&g->seen, line, (size_t)(lf - line), 1);
		g->position += lf - line + 1;
	}
	buffer_free(&text);
	return result;
}

int
given_lock(struct given *g, struct error *err)
{
	if (g->fd == -1 || (lock_wait(g->fd, LOCK_WHOLE, NULL) == 0 && read_lines(g) == 0))
		return 0;
	error_errno(err, ERROR_INVALID, FILE_NAME, "unable to read what was given in this run");
	given_unlock(g);
	return -1;
}

static size_t
make_line(const char key[DIGEST_SIZE], size_t number, char line[LINE_SIZE])
{
	return (size_t)snprintf(line, LINE_SIZE, "%s %zu\n", key, number);
}

bool
given_has(const struct given *g, const char key[DIGEST_SIZE], size_t number)
{
	char line[LINE_SIZE];
	size_t len = make_line(key, number, line);

	return map_get(&g->seen, line, len - 1) != NULL;
}

int
given_add(struct given *g, const char key[DIGEST_SIZE], size_t number, struct error *err)
{
	char line[LINE_SIZE];
	size_t len = make_line(key, number, line);

	map_put(&g->seen, line, len - 1, 1);
	if (g->fd == -1 || file_write(g->fd, line, len) == 0)
		return 0;
	return error_errno(err, ERROR_INVALID, FILE_NAME, "unable to note what is given");
}

void
given_unlock(struct given *g)
{
	if (g->fd != -1)
		lock_release(g->fd, LOCK_WHOLE);
}

void
given_close(struct given *g)
{
	if (g->fd != -1)
		close(g->fd);
	g->fd = -1;
	map_free(&g->seen);
}
