/*
 * Records of one length, so that an occurrence is a place in the file, and locks on just
 * those bytes (fcntl(2)). A lock far behind them makes begins come one after another. State,
 * mark and reason are overwritten in place by one small pwrite(). A record is read again
 * after its lock was found free: its process may have ended between the two looks.
 */
#include "run/roster.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/text.h"
#include "run/run_lock.h"
#include "run/storage.h"

#define RECORD 128         /* bytes of one process: state, mark, pid, its stdout, a reason, LF */
#define RECORD_BEGUN 'B'
#define RECORD_ENDED 'E'
#define RECORD_ENDED_EMPTY 'N' /* well, having printed nothing */
#define RECORD_TRIED 't'       /* the mark, else '-' */
#define RECORD_STDOUT 14       /* where a record names it */
#define STDOUT_SIZE 49
#define RECORD_REASON (RECORD_STDOUT + STDOUT_SIZE) /* why the machine failed it; blank */
#define REASON_SIZE (RECORD - RECORD_REASON - 1)
#define BEGIN_LOCK ((off_t)1 << 40) /* begins come one after another */
/* More processes have no place before that, or, with 32 bits, no number. */
#define OCCURRENCE_LIMIT (BEGIN_LOCK / RECORD < LONG_MAX ? BEGIN_LOCK / RECORD : LONG_MAX)
#define FILE_NAME_LIMIT 200
#define ENCLOSED '+'           /* begins a directory's name; no step's name has it */

/* The directory of the processes in an enclosing call: slashes of the chain become "+";
 * a chain too long for a file name stands as its digest. */
static char *
enclosed_path(const char *directory, const char *enclosing)
{
	char digest[DIGEST_SIZE], *name, *path;

	if (*enclosing == '\0')
		return memory_text(directory);
	if (strlen(enclosing) > FILE_NAME_LIMIT)
		enclosing = digest_sha256(enclosing, strlen(enclosing), digest);
	name = memory_format("%c%s", ENCLOSED, enclosing);
	for (char *at = name; *at != '\0'; at++)
		if (*at == '/')
			*at = ENCLOSED;
	path = path_join(directory, name);
	free(name);
	return path;
}

/* The file of a key, ENCLOSING/NAME. */
static char *
key_path(const char *directory, const char *key)
{
	const char *slash = strrchr(key, '/'), *name = slash != NULL ? slash + 1 : key;
	char *enclosing = memory_copy(key, slash != NULL ? (size_t)(slash - key) : 0);
	char *enclosed = enclosed_path(directory, enclosing), digest[DIGEST_SIZE], *path;

	if (strlen(name) > FILE_NAME_LIMIT)
		name = digest_sha256(name, strlen(name), digest);
	path = path_join(enclosed, name);
	free(enclosed);
	free(enclosing);
	return path;
}

/* By which the process of a record is known to live. */
static struct lock_range
record_range(off_t at)
{
	return (struct lock_range){ at, RECORD };
}

/* What a pipe or socket is known by on both of its sides; "" for anything else. */
static void
name_pipe(int fd, char text[STDOUT_SIZE])
{
	struct stat st;

	text[0] = '\0';
	if (fd >= 0 && fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		snprintf(text, STDOUT_SIZE, "%llx.%llx", (unsigned long long)st.st_dev,
		    (unsigned long long)st.st_ino);
}

int
roster_begin(struct roster *r, const char *run_directory, const struct roster_entry *e,
    struct error *err)
{
	const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
	const struct lock_range begin = { BEGIN_LOCK, 1 };
	char record[RECORD * 2], out[STDOUT_SIZE], *path, *enclosed;
	struct stat st;
	off_t at = 0;
	int result;

	r->directory = path_join(run_directory, "roster");
	r->key = *e->enclosing != '\0' ? memory_format("%s/%s", e->enclosing, e->name) :
	    memory_text(e->name);
	path = key_path(r->directory, r->key);

	/* The first process of a run, or of a call, makes the directory. */
	r->fd = open(path, flags, 0600);
	if (r->fd == -1 && errno == ENOENT) {
		enclosed = path_directory(path);
		if (mkdir(enclosed, 0700) == -1 && errno == ENOENT &&
		    mkdir(r->directory, 0700) == 0)
			mkdir(enclosed, 0700);
		else if (errno == EEXIST)
			mkdir(enclosed, 0700); /* another made it meanwhile */
		free(enclosed);
		r->fd = open(path, flags, 0600);
	}
	if (r->fd == -1) {
		result = error_errno(err, ERROR_SYSTEM, path, "unable to open the roster");
		if (!e->tried)
			run_lock_fail(run_directory, err);
		free(path);
		return result;
	}

	/* A killed begin may have left part of a record. */
	result = lock_wait(r->fd, begin, NULL);
	if (result == 0 && (result = fstat(r->fd, &st)) == 0) {
		at = (st.st_size + RECORD - 1) / RECORD * RECORD;
		result = lock_take(r->fd, record_range(at));
	}
	if (result == 0) {
		name_pipe(e->out, out);
		snprintf(record, sizeof record, "%c%c %-10ld %-*s%*s\n", RECORD_BEGUN,
		    e->tried ? RECORD_TRIED : '-', (long)getpid(), STDOUT_SIZE, out, REASON_SIZE,
		    "");
		result = pwrite(r->fd, record, RECORD, at) == RECORD ? 0 : -1;
	}
	if (result == 0)
		r->occurrence = (long)(at / RECORD);
	else
		error_errno(err, ERROR_SYSTEM, path, "unable to enter the roster");
	lock_release(r->fd, begin);
	free(path);
	return result;
}

void
roster_look(struct roster *r, const char *run_directory)
{
	*r = (struct roster){ .directory = path_join(run_directory, "roster"),
		.key = memory_text(""), .fd = -1, .occurrence = -1 };
}

static void
enter_end(struct roster *r, char state)
{
	if (r->fd == -1 || r->occurrence < 0)
		return;
	/* A failure here leaves the process dead in the roster: the safe side. */
	if (pwrite(r->fd, &state, 1, (off_t)r->occurrence * RECORD) == 1)
		r->occurrence = -1;
}

void
roster_end(struct roster *r)
{
	enter_end(r, RECORD_ENDED);
}

void
roster_end_empty(struct roster *r)
{
	enter_end(r, RECORD_ENDED_EMPTY);
}

void
roster_fail(struct roster *r, const struct error *why)
{
	char whole[sizeof why->place + sizeof why->message + 4], reason[REASON_SIZE + 1];
	const char *text = error_text(why, whole, sizeof whole), *last;

	if (r->fd == -1 || r->occurrence < 0)
		return;
	/* The place with the message, or the message alone, or what stands last in it, as is
	 * errno's text: what fits. */
	if (strlen(text) > REASON_SIZE)
		text = why->message;
	if (strlen(text) > REASON_SIZE && (last = strrchr(text, ':')) != NULL && last[1] == ' ')
		text = last + 2;
	snprintf(reason, sizeof reason, "%.*s", REASON_SIZE,
	    *text != '\0' ? text : error_name(why->code));
	reason[utf8_whole(reason, strlen(reason))] = '\0';
	/* A failure here leaves a process that died for reasons unknown. */
	if (pwrite(r->fd, reason, strlen(reason),
	    (off_t)r->occurrence * RECORD + RECORD_REASON) > 0)
		r->occurrence = -1;
}

/* Whether a record has begun, not ended, and nobody holds its lock. own is the
 * occurrence of this process in this file, -1 if it has none. */
static bool
record_dead(int fd, long occurrence, long own)
{
	const off_t at = (off_t)occurrence * RECORD;
	char state;

	if (occurrence == own || pread(fd, &state, 1, at) != 1 || state != RECORD_BEGUN)
		return false;
	if (lock_look(fd, record_range(at), NULL) != 0)
		return false;
	/* It may have ended between the two looks. */
	return pread(fd, &state, 1, at) == 1 && state == RECORD_BEGUN;
}

static bool
record_ended(int fd, long occurrence, long own)
{
	char state;

	return occurrence != own && pread(fd, &state, 1, (off_t)occurrence * RECORD) == 1 &&
	    (state == RECORD_ENDED || state == RECORD_ENDED_EMPTY);
}

/* What is so of the record of the process of a call, "ENCLOSING/NAME:OCC:ITEM": the occurrence in
 * the file of its key. False for a text that is no call. */
static bool
ask_record(struct roster *r, const char *call, bool (*is)(int fd, long occurrence, long own))
{
	const char *item = strrchr(call, ':'), *at = item;
	char *key, *path, *end;
	long occurrence;
	bool so = false;
	int fd;

	if (item == NULL || item == call)
		return false;
	for (at--; at > call && *at != ':'; at--)
		continue;
	if (*at != ':' || at == call)
		return false;
	occurrence = strtol(at + 1, &end, 10);
	if (end != item || occurrence < 0 || occurrence >= (long)OCCURRENCE_LIMIT ||
	    strstr(call, "..") != NULL)
		return false;

	key = memory_copy(call, (size_t)(at - call));
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

/* The next process of a file, from this one on, that died and was not only tried; -1:
 * there is none. */
static long
file_died(int fd, long occurrence)
{
	char record[RECORD];

	for (; pread(fd, record, RECORD, (off_t)occurrence * RECORD) > 1; occurrence++)
		if (record[1] != RECORD_TRIED && record_dead(fd, occurrence, -1))
			return occurrence;
	return -1;
}

/* Opens the next file of a directory, which may be none, but for that of the name besides
 * (NULL: there is none); -1 at the end. */
static int
next_file(DIR *dir, const char *besides, int flags, const char **name)
{
	struct dirent *entry;
	int fd = -1;

	while (fd == -1 && dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || entry->d_name[0] == ENCLOSED ||
		    (besides != NULL && strcmp(entry->d_name, besides) == 0))
			continue;
		fd = openat(dirfd(dir), entry->d_name, flags | O_CLOEXEC | O_NOFOLLOW);
		*name = entry->d_name;
	}
	return fd;
}

static DIR *
open_enclosed(const char *run_directory, const char *enclosing)
{
	char *directory = path_join(run_directory, "roster");
	char *path = enclosed_path(directory, enclosing);
	DIR *dir = storage_opendir(path);

	free(path);
	free(directory);
	return dir;
}

/* Why the machine failed the process of a record; "" if that is not known. */
static void
read_reason(int fd, long occurrence, char reason[ROSTER_REASON])
{
	ssize_t got = pread(fd, reason, REASON_SIZE, (off_t)occurrence * RECORD + RECORD_REASON);

	while (got > 0 && reason[got - 1] == ' ')
		got--;
	reason[got > 0 ? got : 0] = '\0';
}

static void
name_death(struct roster_death *death, const char *enclosing, const char *name, long occurrence)
{
	snprintf(death->process, sizeof death->process, "%s%s%s:%ld", enclosing,
	    *enclosing != '\0' ? "/" : "", name, occurrence);
}

/* Of the processes in a directory, but for those of the name besides: one whose reason is
 * known, else the first. */
static bool
directory_died(DIR *dir, const char *besides, const char *enclosing, struct roster_death *death)
{
	char reason[ROSTER_REASON];
	const char *name;
	bool any = false;
	int fd;

	*death->reason = '\0';
	while (*death->reason == '\0' && (fd = next_file(dir, besides, O_RDONLY, &name)) != -1) {
		for (long died = file_died(fd, 0); died != -1 && *death->reason == '\0';
		    died = file_died(fd, died + 1)) {
			read_reason(fd, died, reason);
			if (any && *reason == '\0')
				continue;
			any = true;
			name_death(death, enclosing, name, died);
			memcpy(death->reason, reason, sizeof reason);
		}
		close(fd);
	}
	return any;
}

bool
roster_died(const char *run_directory, const char *enclosing, struct roster_death *death)
{
	DIR *dir = open_enclosed(run_directory, enclosing);
	bool died = dir != NULL && directory_died(dir, NULL, enclosing, death);

	if (dir != NULL)
		closedir(dir);
	return died;
}

void
roster_forgive(const char *run_directory, const char *enclosing)
{
	const char tried = RECORD_TRIED;
	DIR *dir = open_enclosed(run_directory, enclosing);
	const char *name;
	long died;
	int fd;

	while ((fd = next_file(dir, NULL, O_RDWR, &name)) != -1) {
		for (died = file_died(fd, 0); died != -1; died = file_died(fd, died + 1))
			if (pwrite(fd, &tried, 1, (off_t)died * RECORD + 1) != 1)
				break; /* it counts then: the safe side */
		close(fd);
	}
	if (dir != NULL)
		closedir(dir);
}

/* What became of those in a file that write to a pipe; own: the occurrence of this
 * process in it, -1 if it has none. */
static void
look_upstream(int fd, long own, const char *pipe, const char *name, struct upstream *u)
{
	const size_t len = strlen(pipe);
	char records[RECORD * 128], reason[ROSTER_REASON] = "";
	long occurrence = 0;
	ssize_t got;

	while ((got = pread(fd, records, sizeof records, (off_t)occurrence * RECORD)) >= RECORD)
		for (const char *at = records; at + RECORD <= records + got;
		    at += RECORD, occurrence++) {
			if (occurrence == own || memcmp(at + RECORD_STDOUT, pipe, len) != 0 ||
			    at[RECORD_STDOUT + len] != ' ')
				continue;
			u->known = true;
			u->all_empty = u->all_empty && at[0] == RECORD_ENDED_EMPTY;
			if (u->died || at[0] != RECORD_BEGUN || !record_dead(fd, occurrence, own))
				continue;
			u->died = true;
			u->relayed = strcmp(name, ROSTER_INPUT) == 0;
			if (u->relayed)
				read_reason(fd, occurrence, reason);
			if (*reason != '\0')
				snprintf(u->process, sizeof u->process, "%s", reason);
			else
				snprintf(u->process, sizeof u->process, "%s:%ld", name, occurrence);
		}
}

/* Where this process is: the call around it, the directory of that, its name, and that of
 * its own file, which is not to be opened a second time. */
struct own_place {
	char *enclosing, *path;
	const char *name, *file;
	DIR *dir;
};

static void
own_place_open(struct own_place *p, const struct roster *r)
{
	const char *slash = strrchr(r->key, '/');
	char *directory;

	p->enclosing = memory_copy(r->key, slash != NULL ? (size_t)(slash - r->key) : 0);
	p->name = slash != NULL ? slash + 1 : r->key;
	p->path = key_path(r->directory, r->key);
	p->file = path_base(p->path);
	directory = path_directory(p->path);
	p->dir = storage_opendir(directory);
	free(directory);
}

static void
own_place_close(struct own_place *p)
{
	if (p->dir != NULL)
		closedir(p->dir);
	free(p->path);
	free(p->enclosing);
}

bool
roster_died_beside(const struct roster *r, struct roster_death *death)
{
	long died = file_died(r->fd, 0);
	struct own_place own;
	bool so;

	own_place_open(&own, r);
	while (died != -1 && died == r->occurrence)
		died = file_died(r->fd, died + 1);
	so = died != -1;
	if (so) {
		name_death(death, own.enclosing, own.name, died);
		read_reason(r->fd, died, death->reason);
	} else if (own.dir != NULL) {
		so = directory_died(own.dir, own.file, own.enclosing, death);
	}
	own_place_close(&own);
	return so;
}

bool
roster_all_ended(const struct roster *r, const char *name)
{
	struct own_place own;
	bool ended = false, all = true;
	char state;
	int fd;

	own_place_open(&own, r);
	/* Its own name has a process that lives. */
	fd = own.dir == NULL || strcmp(own.file, name) == 0 ? -1 :
	    openat(dirfd(own.dir), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	for (off_t at = 0; fd != -1 && pread(fd, &state, 1, at) == 1; at += RECORD) {
		ended = true;
		all = all && state != RECORD_BEGUN;
	}
	if (fd != -1)
		close(fd);
	own_place_close(&own);
	return ended && all;
}

void
roster_upstream(const struct roster *r, int in, struct upstream *u)
{
	char pipe[STDOUT_SIZE];
	struct own_place own;
	const char *name;
	int fd;

	*u = (struct upstream){ .all_empty = true };
	name_pipe(in, pipe);
	if (*pipe != '\0') {
		own_place_open(&own, r);
		look_upstream(r->fd, r->occurrence, pipe, own.file, u);
		while ((fd = next_file(own.dir, own.file, O_RDONLY, &name)) != -1) {
			look_upstream(fd, -1, pipe, name, u);
			close(fd);
		}
		own_place_close(&own);
	}
	u->all_empty = u->all_empty && u->known;
}

bool
roster_relayed(const struct roster *r, int in, bool any_byte, struct roster *writer)
{
	struct roster_death death;
	struct upstream u;
	struct error why = ERROR_INIT;

	roster_upstream(r, in, &u);
	if (u.died)
		error_set(&why, ERROR_UPSTREAM_INCOMPLETE, NULL, "%s", u.process);
	else if (!any_byte && !u.known && roster_died_beside(r, &death))
		error_set(&why, ERROR_UPSTREAM_INCOMPLETE, NULL, "%s", death.process);
	else if (!any_byte && u.all_empty)
		roster_end_empty(writer);
	else
		roster_end(writer);
	if (why.code != ERROR_NONE) {
		roster_fail(writer, &why);
		roster_close(writer); /* it is dead only without its lock */
	}
	return why.code == ERROR_NONE;
}

/* Whether a file in the directory has a process that lives and has not ended; of all, if they are
 * to be named. */
static void
directory_busy(DIR *dir, struct buffer *names, bool *any)
{
	char record[RECORD];
	const char *name;
	int fd;

	while ((fd = next_file(dir, NULL, O_RDONLY, &name)) != -1) {
		bool busy = false;

		for (off_t at = 0; !busy && pread(fd, record, RECORD, at) > 0; at += RECORD)
			busy = record[0] == RECORD_BEGUN &&
			    lock_look(fd, record_range(at), NULL) == 1;
		if (busy && names != NULL)
			buffer_format(names, "%s%s", *any ? ", " : "", name);
		*any |= busy;
		close(fd);
	}
}

bool
roster_busy(const char *run_directory, struct buffer *names)
{
	char *directory = path_join(run_directory, "roster"), *path;
	DIR *dir = storage_opendir(directory), *enclosed;
	struct dirent *entry;
	bool busy = false;

	if (dir != NULL) {
		directory_busy(dir, names, &busy);
		rewinddir(dir);
		while ((!busy || names != NULL) && (entry = readdir(dir)) != NULL) {
			if (entry->d_name[0] != ENCLOSED)
				continue;
			path = path_join(directory, entry->d_name);
			enclosed = storage_opendir(path);
			free(path);
			if (enclosed == NULL)
				continue;
			directory_busy(enclosed, names, &busy);
			closedir(enclosed);
		}
		closedir(dir);
	}
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
