/* The files are small, and written in place: one that is cut off counts as one without failures. */
#include "storage/resumes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/scan.h"
#include "json/writer.h"
#include "proc/environment.h"
#include "proc/libexec.h"
#include "proc/process.h"

#define LINE_MOST 8192

char *
resumes_directory(const struct storage *s)
{
	return path_join(s->root, "resumes");
}

static char *
resumes_path(const struct storage *s, const char *run_id)
{
	char *directory = resumes_directory(s), *path = path_join(directory, run_id);

	free(directory);
	return path;
}

int
resumes_add(const struct storage *s, const char *run_id, struct error *err)
{
	char *directory = resumes_directory(s), *path = resumes_path(s, run_id);
	int failed = storage_make_directory(directory, !s->disposable, err), fd = -1;

	if (failed == 0 && (fd = file_open_plain(path, O_WRONLY | O_CREAT, 0600)) == -1)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to make");
	file_close(&fd);
	free(path);
	free(directory);
	return failed;
}

void
resumes_remove(const struct storage *s, const char *run_id)
{
	char *path = resumes_path(s, run_id);

	unlink(path);
	free(path);
}

void
resumes_tell(const struct storage *s, const char *run_id)
{
	char *path = resumes_path(s, run_id);
	int fd = file_open_plain(path, O_WRONLY | O_TRUNC, 0);

	if (fd != -1)
		(void)!futimens(fd, NULL); /* also if it was empty before */
	file_close(&fd);
	free(path);
}

void
resumes_read_failures(const struct storage *s, const char *run_id, struct resume_failures *f)
{
	char *path = resumes_path(s, run_id), text[CLOCK_TEXT_SIZE];
	struct buffer line = BUFFER_INIT;
	long long count = 0;
	struct error none;
	struct span all;
	size_t bad;

	*f = (struct resume_failures){ .count = 0 };
	if (file_load(path, LINE_MOST, &line, &none) == 0 && line.len > 0 &&
	    scan_within(line.data, line.len, SCAN_LINE_DEPTH, &bad) == NULL) {
		all = span_trim(span_of(line.data, line.len));
		if (span_integer(span_member(all, "failures"), &count) && count > 0 && count <= RESUME_FAILURES_MOST) {
			f->count = count;
			f->message = span_text(span_member(all, "message"));
			if (span_copy(span_member(all, "next"), text, sizeof text) &&
			    clock_parse(text, 0, &f->next) != 0)
				f->next = 0;
		}
	}
	buffer_free(&line);
	free(path);
}

int
resumes_write_failures(const struct storage *s, const char *run_id, const struct resume_failures *f,
    struct error *err)
{
	char *path = resumes_path(s, run_id), text[CLOCK_TEXT_SIZE];
	int fd = file_open_plain(path, O_WRONLY | O_TRUNC, 0), failed = 0;
	struct buffer line = BUFFER_INIT;
	struct writer w;

	INVARIANT(f->count > 0 && f->count <= RESUME_FAILURES_MOST);
	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_integer(&w, "failures", f->count);
	if (f->next != 0)
		writer_member_string(&w, "next", clock_text(f->next, text));
	writer_member_string(&w, "message", f->message);
	writer_object_end(&w);
	buffer_byte(&line, '\n');
	if (fd == -1 || file_write(fd, line.data, line.len) == -1)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	file_close(&fd);
	buffer_free(&line);
	free(path);
	return failed;
}

int
resumes_take_lock(const struct storage *s)
{
	char *path = resumes_path(s, ".lock");
	int fd = file_open_plain(path, O_RDWR | O_CREAT, 0600), why;

	if (fd != -1 && lock_file_take_range(fd, LOCK_WHOLE) == -1) {
		why = errno;
		file_close(&fd);
		errno = why;
	}
	free(path);
	return fd;
}

bool
resumes_are_served(const struct storage *s)
{
	/* The lock is not taken: a resumer that begins at this moment would find it taken. */
	char *path = resumes_path(s, ".lock");
	int fd = file_open_plain(path, O_RDONLY, 0);
	bool served = fd != -1 && lock_file_look_range(fd, LOCK_WHOLE) == 1;

	file_close(&fd);
	free(path);
	return served;
}

int
resumes_start_resumer(const struct storage *s, int *parent, struct error *err)
{
	char *worker = libexec_sibling("awf-worker");
	char *argv[] = { worker, (char *)"--resumer=0", NULL };
	struct environment environment;
	struct process_spec spec = { .argv = argv, .in = PROCESS_PIPE, .out = PROCESS_NULL,
		.err = PROCESS_INHERIT, .group = true };
	struct process process;
	int failed;

	environment_begin(&environment);
	environment_set(&environment, "AWF_STORAGE", s->root);
	spec.environment = environment.list;
	failed = process_start(&process, &spec, NULL, err);
	if (failed == 0)
		*parent = process.in;
	environment_free(&environment);
	free(worker);
	return failed;
}
