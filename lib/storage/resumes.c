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

#define RESUMES "resumes"
#define FAILURES_MOST 8192
#define LOCK_MS 10000

char *
resumes_directory(const struct storage *s)
{
	return path_join(s->root, RESUMES);
}

static char *
resumes_path(const struct storage *s, const char *run_id)
{
	return storage_file(s, RESUMES, run_id);
}

int
resumes_add(const struct storage *s, const char *run_id, struct error *err)
{
	char *path = resumes_path(s, run_id);
	int fd = storage_open_file(s, path, O_WRONLY, err), failed = fd == -1 ? -1 : 0;

	file_close(&fd);
	free(path);
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
	int fd = file_open_plain(path, O_WRONLY, 0);

	if (fd != -1) {
		lock_file_within(fd, LOCK_MS);
		(void)!ftruncate(fd, 0);
		(void)!futimens(fd, NULL); /* also if it was empty before */
	}
	file_close(&fd);
	free(path);
}

static void
resumes_parse_failures(const struct buffer *line, struct resume_failures *f)
{
	char text[CLOCK_TEXT_SIZE];
	struct span all;
	size_t bad;

	*f = (struct resume_failures){ .count = 0 };
	if (line->len == 0 || scan_within(line->data, line->len, SCAN_LINE_DEPTH, &bad) != NULL)
		return;
	all = span_trim(span_of(line->data, line->len));
	if (span_integer(span_member(all, "failures"), &f->count) && f->count > 0 && f->count <= RESUME_FAILURES_MOST)
		f->message = span_text(span_member(all, "message"));
	else
		f->count = 0;
	if (span_copy(span_member(all, "next"), text, sizeof text) && clock_parse(text, 0, &f->next) != 0)
		f->next = 0;
}

void
resumes_read_failures(const struct storage *s, const char *run_id, struct resume_failures *f)
{
	char *path = resumes_path(s, run_id);
	struct buffer line = BUFFER_INIT;
	struct error none;

	if (file_load(path, FAILURES_MOST, &line, &none) != 0)
		buffer_clear(&line);
	resumes_parse_failures(&line, f);
	buffer_free(&line);
	free(path);
}

/* Replaces the line of the open file. */
static int
resumes_write_failures(int fd, const char *path, const struct resume_failures *f, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	char text[CLOCK_TEXT_SIZE];
	struct writer w;
	int failed = 0;

	INVARIANT(f->count > 0 && f->count <= RESUME_FAILURES_MOST);
	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_integer(&w, "failures", f->count);
	if (f->next != 0)
		writer_member_string(&w, "next", clock_text(f->next, text));
	writer_member_string(&w, "message", f->message);
	writer_object_end(&w);
	buffer_byte(&line, '\n');
	if (ftruncate(fd, 0) == -1 || lseek(fd, 0, SEEK_SET) == -1 || file_write(fd, line.data, line.len) == -1)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	buffer_free(&line);
	return failed;
}

int
resumes_add_failure(const struct storage *s, const char *run_id, const char *message,
    int64_t (*next)(long long count), struct resume_failures *f, struct error *err)
{
	char *path = resumes_path(s, run_id);
	struct buffer line = BUFFER_INIT;
	int fd = file_open_plain(path, O_RDWR, 0), failed = 0;

	if (fd == -1 || lock_file_within(fd, LOCK_MS) == -1 || file_read(fd, &line, FAILURES_MOST) == -1)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to read");
	resumes_parse_failures(&line, f);
	free(f->message);
	f->message = memory_text(message);
	if (f->count < RESUME_FAILURES_MOST)
		f->count++;
	f->next = next(f->count);
	if (failed == 0)
		failed = resumes_write_failures(fd, path, f, err);
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
