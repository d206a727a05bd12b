/*
 * A script is identified by device and inode, since a file may have several names. A child run
 * copies its parent's lines, so one small file is enough, however deep the run is nested.
 */
#include "storage/lineage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "io/file.h"

#define LINEAGE_FILE "lineage"
#define SIZE_LIMIT ((size_t)4096) /* largest file */

/* Reads the lines of the file; false if one is not valid. */
static bool
lineage_parse_lines(struct lineage *l, char *text)
{
	for (char *end; *text != '\0'; text = end + 1) {
		struct ancestor *run = &l->runs[l->count];
		unsigned long long device, inode;

		end = strchr(text, '\n');
		if (end == NULL)
			return false;
		*end = '\0';
		if (l->count > LINEAGE_LIMIT || strlen(text) < ID_SIZE || !id_valid(text, ID_SIZE - 1) ||
		    sscanf(text + ID_SIZE - 1, " %llu %llu", &device, &inode) != 2)
			return false;
		memcpy(run->run_id, text, ID_SIZE - 1);
		run->device = (dev_t)device;
		run->inode = (ino_t)inode;
		l->count++;
	}
	return true;
}

int
lineage_read(struct lineage *l, const char *run_directory, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	char *path = path_join(run_directory, LINEAGE_FILE);
	int fd = file_open_plain(path, O_RDONLY, 0), failed = 0;

	memset(l, 0, sizeof *l);
	if (fd < 0 && errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	if (fd >= 0 && file_read(fd, &text, SIZE_LIMIT) != 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to read");
	else if (fd >= 0 && text.len > 0 && !lineage_parse_lines(l, text.data))
		failed = error_set(err, ERROR_SYSTEM, path, "is damaged");
	if (fd >= 0)
		close(fd);
	buffer_free(&text);
	free(path);
	return failed;
}

int
lineage_add(struct lineage *l, const char *run_id, const char *script, struct error *err)
{
	struct ancestor *run = &l->runs[l->count];
	struct stat status;

	if (l->count > LINEAGE_LIMIT)
		return error_set(err, ERROR_USAGE, NULL, "runs are nested more than %d deep: the outermost "
		    "is %s", LINEAGE_LIMIT, l->runs[0].run_id);
	memset(run, 0, sizeof *run);
	memcpy(run->run_id, run_id, ID_SIZE);
	if (script != NULL && stat(script, &status) == 0) {
		run->device = status.st_dev;
		run->inode = status.st_ino;
	}
	for (size_t i = 0; i < l->count; i++)
		if (run->inode != 0 && l->runs[i].inode == run->inode && l->runs[i].device == run->device)
			return error_set(err, ERROR_USAGE, script, "a workflow cannot start itself inside of "
			    "itself: run %s around this one runs it", l->runs[i].run_id);
	l->count++;
	return 0;
}

size_t
lineage_depth(const struct lineage *l)
{
	return l->count > 0 ? l->count - 1 : 0;
}

int
lineage_write(const struct lineage *l, const char *run_directory, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	char *path = path_join(run_directory, LINEAGE_FILE);
	int fd = file_open_plain(path, O_WRONLY | O_CREAT | O_EXCL, 0600), failed = 0;

	for (size_t i = 0; i < l->count; i++)
		buffer_format(&text, "%s %llu %llu\n", l->runs[i].run_id,
		    (unsigned long long)l->runs[i].device, (unsigned long long)l->runs[i].inode);
	if (fd < 0 || file_write(fd, buffer_string(&text), text.len) != 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	if (fd >= 0)
		close(fd);
	buffer_free(&text);
	free(path);
	return failed;
}
