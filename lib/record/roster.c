#include "record/roster.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "record/storage.h"

#define RECORD 32          /* bytes of one process: a state, its pid, LF */
#define RECORD_BEGUN 'B'
#define RECORD_ENDED 'E'
/* Serialises begins; far behind every record. */
#define BEGIN_LOCK ((off_t)1 << 40)
#define FILE_NAME_LIMIT 200

/* File of a key: slashes of the chain become "+", which no name contains; a chain
 * too long for a file name stands as its digest. */
static char *
key_path(const char *directory, const char *key)
{
	char name[DIGEST_SIZE];
	char *path, *base;

	if (strlen(key) > FILE_NAME_LIMIT)
		return path_join(directory, digest_sha256(key, strlen(key), name));
	path = path_join(directory, key);
	base = path + strlen(path) - strlen(key);
	for (; *base != '\0'; base++)
		if (*base == '/')
			*base = '+';
	return path;
}

static int
lock_bytes(int fd, int command, short type, off_t start, off_t len, struct flock *lock)
{
	struct flock own;

	if (lock == NULL)
		lock = &own;
	memset(lock, 0, sizeof *lock);
	lock->l_type = type;
	lock->l_whence = SEEK_SET;
	lock->l_start = start;
	lock->l_len = len;
	while (fcntl(fd, command, lock) == -1)
		if (errno != EINTR)
			return -1;
	return 0;
}

/* Appends this process's record and locks it. -1 with errno. */
static int
enter_record(struct roster *r)
{
	char record[RECORD + 1];
	struct stat st;
	off_t at;

	if (fstat(r->fd, &st) == -1)
		return -1;
	/* A killed begin may have left part of a record. */
	at = (st.st_size + RECORD - 1) / RECORD * RECORD;
	if (lock_bytes(r->fd, F_SETLK, F_WRLCK, at, RECORD, NULL) == -1)
		return -1;
	snprintf(record, sizeof record, "%c %-*ld\n", RECORD_BEGUN, RECORD - 3, (long)getpid());
	if (pwrite(r->fd, record, RECORD, at) != RECORD)
		return -1;
	r->occurrence = (long)(at / RECORD);
	return 0;
}

/* Opens the file of a key; the first process of a run makes the directory. */
static int
open_file(const char *directory, const char *path)
{
	const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
	int fd = open(path, flags, 0600);

	if (fd != -1 || errno != ENOENT)
		return fd;
	if (mkdir(directory, 0700) == -1 && errno != EEXIST)
		return -1;
	return open(path, flags, 0600);
}

int
roster_begin(struct roster *r, const char *run_directory, const char *enclosing,
    const char *name, struct error *err)
{
	char *path;
	int result;

	r->directory = path_join(run_directory, "roster");
	r->key = *enclosing != '\0' ? memory_format("%s/%s", enclosing, name) : memory_text(name);
	path = key_path(r->directory, r->key);
	r->fd = open_file(r->directory, path);
	if (r->fd == -1) {
		result = error_errno(err, ERROR_SYSTEM, path, "unable to open the roster");
		free(path);
		return result;
	}
	result = lock_bytes(r->fd, F_SETLKW, F_WRLCK, BEGIN_LOCK, 1, NULL);
	if (result == 0)
		result = enter_record(r);
	if (result == -1)
		error_errno(err, ERROR_SYSTEM, path, "unable to enter the roster");
	lock_bytes(r->fd, F_SETLK, F_UNLCK, BEGIN_LOCK, 1, NULL);
	free(path);
	return result;
}

void
roster_end(struct roster *r)
{
	const char state = RECORD_ENDED;

	if (r->fd == -1 || r->occurrence < 0)
		return;
	/* A failure here leaves the process dead in the roster: the safe side. */
	if (pwrite(r->fd, &state, 1, (off_t)r->occurrence * RECORD) == 1)
		r->occurrence = -1;
}

/* Whether a record has begun, not ended, and nobody holds its lock. own is the
 * occurrence of this process in this file, -1 if it has none. */
static bool
record_dead(int fd, long occurrence, long own)
{
	const off_t at = (off_t)occurrence * RECORD;
	struct flock lock;
	char state;

	if (occurrence == own || pread(fd, &state, 1, at) != 1 || state != RECORD_BEGUN)
		return false;
	if (lock_bytes(fd, F_GETLK, F_WRLCK, at, 1, &lock) == -1 || lock.l_type != F_UNLCK)
		return false;
	/* It may have ended between the two looks. */
	return pread(fd, &state, 1, at) == 1 && state == RECORD_BEGUN;
}

/* Splits "ENCLOSING/NAME:OCC:ITEM" into its key and occurrence; -1 if the text is
 * no call. The key is in memory of its own. */
static long
parse_call(const char *call, char **key)
{
	const char *item = strrchr(call, ':'), *occurrence;
	char *end;
	long number;

	if (item == NULL || item == call)
		return -1;
	for (occurrence = item - 1; occurrence > call && *occurrence != ':'; occurrence--)
		;
	if (*occurrence != ':' || occurrence == call)
		return -1;
	number = strtol(occurrence + 1, &end, 10);
	if (end != item || number < 0 || number >= BEGIN_LOCK / RECORD || strstr(call, "..") != NULL)
		return -1;
	*key = memory_copy(call, (size_t)(occurrence - call));
	return number;
}

static bool
record_ended(int fd, long occurrence, long own)
{
	char state;

	return occurrence != own && pread(fd, &state, 1, (off_t)occurrence * RECORD) == 1 &&
	    state == RECORD_ENDED;
}

/* What is so of the record of a call's process. */
static bool
ask_record(struct roster *r, const char *call, bool (*is)(int fd, long occurrence, long own))
{
	char *key, *path;
	long occurrence = parse_call(call, &key);
	bool so = false;
	int fd;

	if (occurrence < 0)
		return false;
	if (strcmp(key, r->key) == 0) {
		so = is(r->fd, occurrence, r->occurrence);
	} else {
		path = key_path(r->directory, key);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd != -1) {
			so = is(fd, occurrence, -1);
			close(fd);
		}
		free(path);
	}
	free(key);
	return so;
}

bool
roster_dead(struct roster *r, const char *call)
{
	return ask_record(r, call, record_dead);
}

bool
roster_ended(struct roster *r, const char *call)
{
	return ask_record(r, call, record_ended);
}

/* Whether a file of the roster has a process that lives and has not ended. */
static bool
file_busy(int fd)
{
	char record[RECORD];
	struct flock lock;
	off_t at;

	for (at = 0; pread(fd, record, RECORD, at) > 0; at += RECORD) {
		if (record[0] != RECORD_BEGUN)
			continue;
		if (lock_bytes(fd, F_GETLK, F_WRLCK, at, 1, &lock) == 0 && lock.l_type != F_UNLCK)
			return true;
	}
	return false;
}

/* The last process of a file that died, -1 if a later one ended or none died. */
static long
file_died(int fd)
{
	char state;
	long occurrence, died = -1;

	for (occurrence = 0; pread(fd, &state, 1, (off_t)occurrence * RECORD) == 1; occurrence++) {
		if (state == RECORD_ENDED)
			died = -1;
		else if (record_dead(fd, occurrence, -1))
			died = occurrence;
	}
	return died;
}

/* Opens the next file of a roster; -1 at the end. */
static int
next_file(const char *directory, DIR *dir, const char **name)
{
	struct dirent *entry;
	char *path;
	int fd = -1;

	while (fd == -1 && dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		path = path_join(directory, entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		free(path);
		*name = entry->d_name;
	}
	return fd;
}

bool
roster_died(const char *run_directory, char *process, size_t size)
{
	char *directory = path_join(run_directory, "roster");
	DIR *dir = storage_opendir(directory);
	const char *name;
	long died = -1;
	int fd;

	while (died == -1 && (fd = next_file(directory, dir, &name)) != -1) {
		/* What is enclosed is for the call around it to answer for. */
		if (name_valid(name))
			died = file_died(fd);
		if (died != -1)
			snprintf(process, size, "%s:%ld", name, died);
		close(fd);
	}
	if (dir != NULL)
		closedir(dir);
	free(directory);
	return died != -1;
}

bool
roster_busy(const char *run_directory, struct buffer *names)
{
	char *directory = path_join(run_directory, "roster");
	DIR *dir = storage_opendir(directory);
	const char *name;
	bool busy = false;
	int fd;

	while ((fd = next_file(directory, dir, &name)) != -1) {
		if (file_busy(fd)) {
			if (names != NULL)
				buffer_format(names, "%s%s", busy ? ", " : "", name);
			busy = true;
		}
		close(fd);
	}
	if (dir != NULL)
		closedir(dir);
	free(directory);
	return busy;
}

void
roster_close(struct roster *r)
{
	if (r->fd != -1)
		close(r->fd);
	r->fd = -1;
	free(r->directory);
	free(r->key);
	r->directory = r->key = NULL;
}
