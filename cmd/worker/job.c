/*
 * Taking a job means: make its directory, lock `out` in it, write the id of its run, and rename the
 * file into the directory, in this order. A process killed in between leaves a directory without a
 * job, which the next one to take that job finds. A directory may be moved away between being
 * opened and locked: its name tells.
 */
#include "worker/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/writer.h"
#include "model/summary.h"

#define RUNNING "running"
#define WOKEN "woken"
#define SAME_NAME_MOST 100000

int
spool_open(struct spool *s, const char *root, struct error *err)
{
	static const char *const places[] = { RUNNING, "done", "failed", "waiting" };
	int failed = directory_make(root, 0700, err);
	char *absolute = realpath(root, NULL);

	if (failed == 0 && absolute == NULL)
		failed = error_errno(err, ERROR_SYSTEM, root, "unable to find");
	*s = (struct spool){ absolute, absolute == NULL ? NULL : path_join(absolute, RUNNING) };
	for (size_t i = 0; failed == 0 && i < sizeof places / sizeof *places; i++) {
		char *path = path_join(absolute, places[i]);

		failed = directory_make(path, 0700, err);
		free(path);
	}
	return failed;
}

void
spool_close(struct spool *s)
{
	free(s->root);
	free(s->running);
	*s = (struct spool){ NULL, NULL };
}

/* ---- listing ---- */

struct found {
	char *name;
	struct timespec came;    /* ctime: when it was renamed to its name */
};

static int
by_coming(const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	if (left->came.tv_sec != right->came.tv_sec)
		return left->came.tv_sec < right->came.tv_sec ? -1 : 1;
	if (left->came.tv_nsec != right->came.tv_nsec)
		return left->came.tv_nsec < right->came.tv_nsec ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* Adds the names of all entries of a type; there may be many. */
static int
add_names(const char *directory, mode_t type, char ***names, struct error *err)
{
	DIR *opened = opendir(directory);
	struct found *list = NULL;
	const struct dirent *entry;
	struct stat status;
	size_t count = 0, had;

	if (opened == NULL)
		return error_errno(err, ERROR_SYSTEM, directory, "unable to read the directory");
	while ((entry = readdir(opened)) != NULL) {
		if (*entry->d_name == '.' || text_ends(entry->d_name, ".tmp") ||
		    fstatat(dirfd(opened), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == -1 ||
		    (status.st_mode & S_IFMT) != type)
			continue;
		list = memory_array(list, count + 1, sizeof *list);
		list[count++] = (struct found){ memory_text(entry->d_name), status.st_ctim };
	}
	closedir(opened);
	if (count > 0)
		qsort(list, count, sizeof *list, by_coming);
	had = list_count(*names);
	*names = memory_array(*names, had + count + 1, sizeof **names);
	for (size_t i = 0; i < count; i++)
		(*names)[had + i] = list[i].name;
	(*names)[had + count] = NULL;
	free(list);
	return 0;
}

int
spool_names(const struct spool *s, char ***names, struct error *err)
{
	*names = memory_zero(1, sizeof **names);
	return add_names(s->running, S_IFDIR, names, err) == -1 ||
	    add_names(s->root, S_IFREG, names, err) == -1 ? -1 : 0;
}

/* ---- taking ---- */

char *
job_file(const struct job *j, const char *name)
{
	return path_join(j->directory, name);
}

static bool
has_file(const struct job *j, const char *name)
{
	char *path = job_file(j, name);
	bool has = access(path, F_OK) == 0;

	free(path);
	return has;
}

/* Makes the job's directory, and locks `out` in it. 1; 0: another process has it; -1. */
static int
lock_directory(struct job *j, struct error *err)
{
	char *path = job_file(j, "out");
	int result = 0;

	if (mkdir(j->directory, 0700) == -1 && errno != EEXIST)
		result = error_errno(err, ERROR_SYSTEM, j->directory, "unable to make the directory");
	else if ((j->out = file_open_plain(path, O_RDWR | O_CREAT | O_APPEND, 0600)) != -1)
		result = lock_file_take(j->out) == 0 && lock_named(j->out, path);
	else if (errno != ENOENT)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	if (result == -1)
		rmdir(j->directory); /* if this process has just made it */
	free(path);
	return result;
}

/* Reads the id of its run, if it was written. */
static bool
job_read_run(struct job *j)
{
	char *path = job_file(j, "run");
	struct buffer text = BUFFER_INIT;
	struct error none;
	bool found = access(path, F_OK) == 0 && file_load(path, 4096, &text, &none) == 0 &&
	    text.len == ID_SIZE && text.data[ID_SIZE - 1] == '\n' && id_valid(text.data, ID_SIZE - 1);

	if (found) {
		memcpy(j->run_id, text.data, ID_SIZE - 1);
		j->run_id[ID_SIZE - 1] = '\0';
	}
	buffer_free(&text);
	free(path);
	return found;
}

/* Writes a file of the job, and syncs it. */
static int
job_write_file(const struct job *j, const char *name, const char *text, size_t len,
    struct error *err)
{
	char *path = job_file(j, name);
	struct replacement r;
	int result = replacement_open(&r, path, 0600, err);

	if (result == 0 && file_write(r.fd, text, len) == -1) {
		result = error_errno(err, ERROR_SYSTEM, path, "unable to write");
		replacement_abandon(&r);
	} else if (result == 0) {
		result = replacement_commit(&r, true, err);
	}
	free(path);
	return result;
}

static int
write_run(struct job *j, struct error *err)
{
	char text[ID_SIZE + 1];

	id_new(j->run_id);
	snprintf(text, sizeof text, "%s\n", j->run_id);
	return job_write_file(j, "run", text, ID_SIZE, err);
}

/* Removes the directory of a job that was not taken after all. */
static void
remove_directory(const struct job *j)
{
	static const char *const files[] = { "run", "out" };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char *path = job_file(j, files[i]);

		unlink(path);
		free(path);
	}
	rmdir(j->directory);
}

/* Renames the file into the directory. 1; 0: it no longer exists, or is still being written; -1. */
static int
move_in(const struct spool *s, struct job *j, struct error *err)
{
	char *from = path_join(s->root, j->name), *to = job_file(j, "job");
	int fd = file_open_plain(from, O_RDONLY, 0), result = 0;

	/* An unreadable file is taken: its run will report that. */
	if (fd == -1 ? errno != ENOENT : lock_written(fd) != 1) {
		result = !job_read_run(j) ? write_run(j, err) : 0;
		if (result == 0 && rename(from, to) == 0)
			result = 1;
		else if (result == 0 && errno != ENOENT)
			result = error_errno(err, ERROR_SYSTEM, from, "unable to take");
	}
	file_close(&fd);
	free(from);
	free(to);
	if (result == 1 && directory_sync(j->directory, err) == -1)
		result = -1;
	return result;
}

char *
job_status(const struct job *j, const struct storage *storage, int *exit_code)
{
	char *path = storage_transcript(storage, j->run_id), *status = NULL;
	struct summary summary;
	struct error none;
	int64_t code = -1;

	if (access(path, F_OK) == 0 && summary_read_ends(&summary, path, &none) == 0) {
		status = memory_text(summary.status);
		code = summary.exit_code;
		summary_free(&summary);
	}
	free(path);
	if (exit_code != NULL)
		*exit_code = (int)code;
	return status != NULL ? status : memory_text("");
}

/* Decides what to do with a job that was taken before. One that had ended and was moved back to
 * running/ is resumed. Returns 1; 0: its run lives elsewhere; -1. */
static int
job_choose_next_state(struct job *j, const struct storage *storage, struct error *err)
{
	char *status;
	int result = 1;

	if (!job_read_run(j))
		return write_run(j, err) == -1 ? -1 : 1;
	status = job_status(j, storage, NULL);
	if (strcmp(status, "running") == 0)
		result = 0;
	else if (strcmp(status, "success") == 0)
		j->next = JOB_HAS_ENDED;
	else if (strcmp(status, "died") == 0 || strcmp(status, "cancelled") == 0)
		j->next = JOB_GOES_ON;
	else if (*status != '\0')
		j->next = has_file(j, "outcome") ? JOB_GOES_ON : JOB_HAS_ENDED;
	if (result == 1 && has_file(j, WOKEN)) {
		char *path = job_file(j, WOKEN);

		j->woken = j->next == JOB_GOES_ON;
		unlink(path);
		free(path);
	}
	free(status);
	return result;
}

int
job_take(const struct spool *s, const struct storage *storage, const char *name, struct job *j,
    struct error *err)
{
	int result;

	*j = (struct job){ .name = memory_text(name), .directory = path_join(s->running, name),
		.out = -1, .next = JOB_BEGINS };
	result = lock_directory(j, err);
	if (result == 1 && has_file(j, "job")) {
		result = job_choose_next_state(j, storage, err);
	} else if (result == 1) {
		result = move_in(s, j, err);
		if (result != 1 && !has_file(j, "job"))
			remove_directory(j);
	}
	if (result != 1)
		job_let_go(j);
	return result;
}

/* ---- its end ---- */

int
job_finish(const struct spool *s, struct job *j, const char *status, int exit_code,
    struct error *err)
{
	const char *place = strcmp(status, "success") == 0 ? "done" :
	    strcmp(status, "waiting") == 0 ? "waiting" : "failed";
	struct buffer text = BUFFER_INIT;
	char time[CLOCK_TEXT_SIZE];
	struct writer w;
	size_t len;
	int result;

	writer_begin(&w, &text);
	writer_object(&w);
	writer_member_string(&w, "job", j->name);
	writer_member_string(&w, "status", status);
	if (exit_code >= 0)
		writer_member_integer(&w, "exit_code", exit_code);
	writer_member_string(&w, "run_id", j->run_id);
	writer_member_string(&w, "ended", clock_text(clock_wall(), time));
	writer_object_end(&w);
	buffer_byte(&text, '\n');
	result = job_write_file(j, "outcome", text.data, text.len, err);
	buffer_free(&text);
	/* rename(2) does not replace a directory that is not empty. */
	for (int i = 0; result == 0; i++) {
		char number[16] = "", *to;

		/* In a name of maximum length the number replaces the end. */
		if (i > 0)
			snprintf(number, sizeof number, ".%d", i);
		len = strlen(j->name);
		if (len + strlen(number) > NAME_MAX)
			len = utf8_whole(j->name, NAME_MAX - strlen(number));
		to = memory_format("%s/%s/%.*s%s", s->root, place, (int)len, j->name, number);
		bool moved = rename(j->directory, to) == 0;

		if (!moved && ((errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) ||
		    i == SAME_NAME_MOST))
			result = error_errno(err, ERROR_SYSTEM, to, "unable to move what has ended");
		if (moved) {
			free(j->directory);
			j->directory = to;
			break;
		}
		free(to);
	}
	return result;
}

int
waiting_jobs(const struct spool *s, struct waiting_job **jobs, size_t *count, struct error *err)
{
	char **names = memory_zero(1, sizeof *names), *directory = path_join(s->root, "waiting");
	int failed = add_names(directory, S_IFDIR, &names, err);

	*jobs = NULL;
	*count = 0;
	for (char **name = names; failed == 0 && *name != NULL; name++) {
		struct job j = { .directory = path_join(directory, *name), .out = -1 };

		if (job_read_run(&j)) {
			*jobs = memory_array(*jobs, *count + 1, sizeof **jobs);
			(*jobs)[*count].name = memory_text(*name);
			memcpy((*jobs)[(*count)++].run_id, j.run_id, ID_SIZE);
		}
		free(j.directory);
	}
	list_free(names);
	free(directory);
	return failed;
}

void
waiting_jobs_free(struct waiting_job *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(jobs[i].name);
	free(jobs);
}

int
job_wake(const struct spool *s, const char *name, struct error *err)
{
	char *from = memory_format("%s/waiting/%s", s->root, name), *to = path_join(s->running, name);
	char *mark = path_join(from, WOKEN);
	int fd = file_open_plain(mark, O_WRONLY | O_CREAT, 0600);
	int result = fd != -1 && rename(from, to) == 0 ? 1 :
	    errno == EEXIST || errno == ENOTEMPTY || errno == ENOENT ? 0 :
	    error_errno(err, ERROR_SYSTEM, from, "unable to move the job");

	file_close(&fd);
	if (result != 1)
		unlink(mark);
	free(mark);
	free(from);
	free(to);
	return result;
}

void
job_let_go(struct job *j)
{
	file_close(&j->out);
	free(j->name);
	free(j->directory);
	*j = (struct job){ .out = -1 };
}
