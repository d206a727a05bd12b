/*
 * It is written to a file in the run's directory, and becomes a blob by rename when its
 * digest, which is its name, is known. A run that is killed leaves none: the attempt that
 * goes on prints again.
 */
#include "run/printed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "transcript/blob.h"

#define SPOOL "stdout"
#define CHUNK ((size_t)256 << 10)

static int
unable_to_keep(const struct printed *p, struct error *err)
{
	return error_errno(err, ERROR_SYSTEM, p->path, "unable to keep stdout");
}

/* Whether stderr goes there too: in the order in which it is written, which nobody is
 * to change. */
static bool
shared(const struct stat *out)
{
	struct stat other;

	return fstat(STDERR_FILENO, &other) == 0 && other.st_dev == out->st_dev &&
	    other.st_ino == out->st_ino;
}

int
printed_begin(struct printed *p, const char *directory, struct error *err)
{
	struct stat st;

	*p = (struct printed)PRINTED_INIT;
	if (fstat(STDOUT_FILENO, &st) != 0 || shared(&st))
		return 0;
	if (S_ISREG(st.st_mode))
		p->start = (fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) != 0 ? st.st_size :
		    lseek(STDOUT_FILENO, 0, SEEK_CUR);
	else if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		p->relayed = true;
	else
		return 0;
	p->path = path_join(directory, SPOOL);
	p->spool = file_open_plain(p->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (p->spool < 0)
		return unable_to_keep(p, err);
	digest_begin(&p->digest);
	p->kept = true;
	return 0;
}

int
printed_add(struct printed *p, const void *bytes, size_t len, struct error *err)
{
	if (!p->kept)
		return 0;
	if (file_write(p->spool, bytes, len) != 0) {
		p->kept = false;
		return unable_to_keep(p, err);
	}
	digest_add(&p->digest, bytes, len);
	p->bytes += (int64_t)len;
	return 0;
}

/* What the workflow has written to a file, which this process may only write: by its name
 * in /proc. One that cannot be read is not kept. */
static int
copy_file(struct printed *p, struct error *err)
{
	char *name = memory_format("/proc/self/fd/%d", STDOUT_FILENO), *bytes;
	int fd = open(name, O_RDONLY | O_CLOEXEC), failed = 0;
	off_t at = p->start;
	ssize_t got = 0;

	free(name);
	if (fd < 0) {
		p->kept = false;
		return 0;
	}
	bytes = memory_alloc(CHUNK);
	while (failed == 0 && (got = pread(fd, bytes, CHUNK, at)) > 0) {
		failed = printed_add(p, bytes, (size_t)got, err);
		at += got;
	}
	if (got < 0)
		p->kept = false;
	free(bytes);
	close(fd);
	return failed;
}

int
printed_finish(struct printed *p, const struct transcript *t, char sha256[DIGEST_SIZE],
    struct error *err)
{
	int failed = 0;

	if (p->kept && !p->relayed)
		failed = copy_file(p, err);
	if (failed != 0 || !p->kept)
		return failed;
	digest_end(&p->digest, sha256);
	return blob_take(t->blobs, p->path, p->spool, t->sync != SYNC_NONE, sha256, err);
}

void
printed_close(struct printed *p)
{
	if (p->spool >= 0)
		close(p->spool);
	free(p->path);
	*p = (struct printed)PRINTED_INIT;
}
