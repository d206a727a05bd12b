/*
 * All records have the same length, so that each is a range of a file, with a lock (fcntl(2)) on
 * its bytes. A lock far beyond them makes processes register one after another. State, mark and
 * reason are overwritten in place by one small pwrite(). A record whose lock is free is read again,
 * because its process may have ended between reading the record and looking at the lock. At top
 * level there is a file for each name, and the occurrence of a process is the position of its
 * record. Processes inside of calls share one file for many calls; to find the last occurrence of a
 * name, its records are searched from the end. The file is named after the call, with its numbers
 * divided by 16, so that 16 of them share a file. A process that asks about calls inside of its own
 * call therefore never needs the file in which it is registered itself.
 */
#include "storage/roster.h"

#include <assert.h>
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
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "storage/run_lock.h"
#include "storage/storage.h"

/* Length of the record of a process: state, mark, pid, its stdout, a reason, key of its enclosing
 * call, occurrence, name, LF. */
#define RECORD 320
#define RECORD_BEGUN 'B'
#define RECORD_ENDED 'E'
#define RECORD_ENDED_EMPTY 'N' /* ended successfully without printing anything */
#define RECORD_TRIED 't'       /* mark of a process whose death does not matter (--try); otherwise
                                  '-' */
#define RECORD_STDOUT 14       /* offset of its stdout in a record */
#define STDOUT_SIZE 49
#define RECORD_REASON (RECORD_STDOUT + STDOUT_SIZE) /* offset of the error of the machine, or
                                                       blanks */
#define REASON_SIZE 64
#define RECORD_CALL (RECORD_REASON + REASON_SIZE + 1)
#define CALL_SIZE (ROSTER_CALL - 1)
#define RECORD_OCCURRENCE (RECORD_CALL + CALL_SIZE + 1)
#define OCCURRENCE_SIZE 20
#define RECORD_NAME (RECORD_OCCURRENCE + OCCURRENCE_SIZE + 1)
#define NAME_SIZE (RECORD - RECORD_NAME - 1)
#define BEGIN_LOCK ((off_t)1 << 40) /* byte that is locked while a process registers */
/* More processes would reach that byte; or, with 32 bits, exceed a long. */
#define OCCURRENCE_LIMIT (BEGIN_LOCK / RECORD < LONG_MAX ? BEGIN_LOCK / RECORD : LONG_MAX)
#define FILE_NAME_LIMIT 200
#define ENCLOSED '+'           /* first byte of the name of a file for calls; no step's name begins
                                  with it */
#define TOGETHER 16            /* how many numbers of calls share a file */

/* Where the processes directly inside a call ("": at top level) are registered. */
struct place {
	char call[ROSTER_CALL]; /* key of the call, as in the records */
	char *file;             /* name of the file; NULL: top level, the file has the process's
	                           name */
};

/* A file is named after the call, with "+" for slashes, and each number divided by TOGETHER; a name
 * that is too long is replaced by its digest. */
static void
place_find(struct place *p, const char *enclosing)
{
	char digest[DIGEST_SIZE];
	struct buffer name = BUFFER_INIT;

	memcpy(p->call, digest_sha256(enclosing, strlen(enclosing), digest), CALL_SIZE);
	p->call[CALL_SIZE] = '\0';
	p->file = NULL;
	if (*enclosing == '\0')
		return;
	for (const char *at = enclosing; *at != '\0';) {
		char *end = NULL;
		long number = *at == ':' ? strtol(at + 1, &end, 10) : 0;

		if (end != NULL && end > at + 1) {
			buffer_format(&name, ":%ld", number / TOGETHER);
			at = end;
		} else {
			buffer_byte(&name, *at == '/' ? ENCLOSED : *at);
			at++;
		}
	}
	p->file = memory_format("%c%s", ENCLOSED, name.len > FILE_NAME_LIMIT ?
	    digest_sha256(name.data, name.len, digest) : name.data);
	buffer_free(&name);
}

/* The bytes of a record whose lock shows that its process lives. */
static struct lock_range
record_range(off_t at)
{
	return (struct lock_range){ at, RECORD };
}

/* Identifies a pipe or socket by a text that is the same at both ends; "" for anything else. */
static void
name_pipe(int fd, char text[STDOUT_SIZE])
{
	struct stat st;

	text[0] = '\0';
	if (fd >= 0 && fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		snprintf(text, STDOUT_SIZE, "%llx.%llx", (unsigned long long)st.st_dev,
		    (unsigned long long)st.st_ino);
}

/* Goes through those records of a file that have this call and name (NULL: any). */
struct scan {
	int fd;
	const char *call, *name;
	off_t at;              /* offset of the record that was found last */
	off_t next;            /* offset of the next record */
	size_t count, looked;  /* records in the buffer, and how many of them were examined */
	char records[RECORD * 32];
};

static void
scan_begin(struct scan *s, int fd, const char *call, const char *name)
{
	s->fd = fd;
	s->call = call;
	s->name = name;
	s->next = 0;
	s->count = s->looked = 0;
}

/* Whether a record matches. One that was not written completely does, too, since its call and name
 * are not known. */
static bool
record_is(const char *record, const char *call, const char *name)
{
	size_t len = name != NULL ? strlen(name) : 0;

	return record[RECORD - 1] != '\n' ||
	    ((call == NULL || memcmp(record + RECORD_CALL, call, CALL_SIZE) == 0) &&
	    (name == NULL || (memcmp(record + RECORD_NAME, name, len) == 0 &&
	    record[RECORD_NAME + len] == ' ')));
}

/* The next record that matches; NULL: there are none. */
static const char *
scan_next(struct scan *s)
{
	for (;;) {
		const char *record = s->records + RECORD * s->looked;

		if (s->looked == s->count) {
			ssize_t got = pread(s->fd, s->records, sizeof s->records, s->next);

			if (got <= 0)
				return NULL;
			memset(s->records + got, 0, sizeof s->records - (size_t)got);
			s->count = ((size_t)got + RECORD - 1) / RECORD;
			s->looked = 0;
			record = s->records;
		}
		INVARIANT(s->looked < s->count && s->next % RECORD == 0);
		s->at = s->next;
		s->next += RECORD;
		s->looked++;
		if (record_is(record, s->call, s->name))
			return record;
	}
}

/* Copies a field of a record, without the blanks at its end. */
static void
read_field(const char *record, size_t at, size_t size, char *text)
{
	memcpy(text, record + at, size);
	while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\0'))
		size--;
	text[size] = '\0';
}

static long
read_occurrence(const char *record)
{
	char text[OCCURRENCE_SIZE + 1];

	read_field(record, RECORD_OCCURRENCE, OCCURRENCE_SIZE, text);
	return strtol(text, NULL, 10);
}

/* How many processes with this name have begun in the call, among the records before end. The last
 * of their records has the number, so usually only the end of the file is read. -1 with errno. */
static long
next_occurrence(int fd, off_t end, const char *call, const char *name)
{
	char records[RECORD * 32];
	long unknown = 0; /* incomplete records, which may be of this name */

	while (end > 0) {
		off_t from = end > (off_t)sizeof records ? end - (off_t)sizeof records : 0;
		ssize_t got = pread(fd, records, (size_t)(end - from), from);

		if (got == -1)
			return -1;
		memset(records + got, 0, sizeof records - (size_t)got);
		for (size_t i = (size_t)(end - from) / RECORD; i-- > 0;) {
			const char *record = records + RECORD * i;

			if (!record_is(record, call, name))
				continue;
			if (record[RECORD - 1] == '\n')
				return read_occurrence(record) + 1 + unknown;
			unknown++;
		}
		end = from;
	}
	return unknown;
}

/* The offset of the record with this occurrence; -1: there is none. */
static off_t
find_record(int fd, const char *call, const char *name, long occurrence)
{
	const char *record;
	struct scan scan;

	scan_begin(&scan, fd, call, name);
	while ((record = scan_next(&scan)) != NULL)
		if (record[RECORD - 1] == '\n' && read_occurrence(record) == occurrence)
			return scan.at;
	return -1;
}

/* Appends the record of a process to its file. -1 with errno. */
static int
roster_append_record(struct roster *r, const struct roster_entry *e)
{
	const struct lock_range begin = { BEGIN_LOCK, 1 };
	char record[RECORD * 2], out[STDOUT_SIZE];
	ssize_t put = -1;
	struct stat st;
	int cause, len;

	if (lock_wait(r->fd, begin, NULL) == -1)
		return -1;
	if (fstat(r->fd, &st) == 0) {
		/* If a process was killed while it registered, the file may end with a part of a
		 * record: begin after it. */
		const off_t at = (st.st_size + RECORD - 1) / RECORD * RECORD;

		r->occurrence = *r->enclosing == '\0' ? (long)(at / RECORD) :
		    next_occurrence(r->fd, at, r->call, r->name);
		name_pipe(e->out, out);
		len = snprintf(record, sizeof record, "%c%c %-10ld %-*s%*s %s %-*ld %-*s\n", RECORD_BEGUN,
		    e->tried ? RECORD_TRIED : '-', (long)getpid(), STDOUT_SIZE, out, REASON_SIZE,
		    "", r->call, OCCURRENCE_SIZE, r->occurrence, NAME_SIZE, r->name);
		INVARIANT(len == RECORD && record[RECORD - 1] == '\n');
		INVARIANT(at % RECORD == 0);
		if (r->occurrence >= 0 && lock_take(r->fd, record_range(at)) == 0)
			put = pwrite(r->fd, record, RECORD, at);
		if (put == RECORD)
			r->record = at;
		else if (put >= 0)
			errno = ENOSPC; /* or a limit; only writing the rest would show which */
	}
	cause = errno;
	lock_release(r->fd, begin);
	errno = cause;
	return put == RECORD ? 0 : -1;
}

int
roster_begin(struct roster *r, const char *run_directory, const struct roster_entry *e,
    struct error *err)
{
	const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
	struct place place;
	int result = 0;
	char *path;

	assert(strlen(e->name) < NAME_SIZE);
	place_find(&place, e->enclosing);
	*r = (struct roster){ .directory = path_join(run_directory, "roster"),
		.enclosing = memory_text(e->enclosing), .name = memory_text(e->name),
		.file = place.file != NULL ? place.file : memory_text(e->name), .record = -1 };
	memcpy(r->call, place.call, sizeof r->call);
	path = path_join(r->directory, r->file);

	/* The first process of a run makes the directory. */
	r->fd = open(path, flags, 0600);
	if (r->fd == -1 && errno == ENOENT && (mkdir(r->directory, 0700) == 0 || errno == EEXIST))
		r->fd = open(path, flags, 0600);
	if (r->fd == -1)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to open the roster");
	else if (roster_append_record(r, e) == -1)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to enter the roster");
	if (result == -1 && !e->tried && !e->owner)
		run_lock_fail(run_directory, err);
	free(path);
	return result;
}

void
roster_look(struct roster *r, const char *run_directory)
{
	*r = (struct roster){ .directory = path_join(run_directory, "roster"),
		.enclosing = memory_text(""), .name = memory_text(""), .file = memory_text(""),
		.fd = -1, .record = -1, .occurrence = -1 };
}

static void
enter_end(struct roster *r, char state)
{
	if (r->fd == -1 || r->record == -1)
		return;
	INVARIANT((off_t)r->record % RECORD == 0);
	/* If this fails, the process counts as dead, which is safe. */
	if (pwrite(r->fd, &state, 1, (off_t)r->record) == 1)
		r->record = -1;
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

	if (r->fd == -1 || r->record == -1)
		return;
	/* Use the first of these that fits: the place with the message, only the message, the end
	 * of the message (such as errno's text). */
	if (strlen(text) > REASON_SIZE)
		text = why->message;
	if (strlen(text) > REASON_SIZE && (last = strrchr(text, ':')) != NULL && last[1] == ' ')
		text = last + 2;
	snprintf(reason, sizeof reason, "%.*s", REASON_SIZE,
	    *text != '\0' ? text : error_name(why->code));
	reason[utf8_whole(reason, strlen(reason))] = '\0';
	INVARIANT(strlen(reason) <= REASON_SIZE && (off_t)r->record % RECORD == 0);
	/* If this fails, the process counts as dead for unknown reasons. */
	if (pwrite(r->fd, reason, strlen(reason), (off_t)r->record + RECORD_REASON) > 0)
		r->record = -1;
}

/* Whether the process of a record has begun and not ended, and its lock is free. own: offset of
 * this process's own record in this file, or -1. */
static bool
record_dead(int fd, off_t at, off_t own)
{
	char state;

	if (at == own || pread(fd, &state, 1, at) != 1 || state != RECORD_BEGUN)
		return false;
	if (lock_look(fd, record_range(at), NULL) != 0)
		return false;
	/* The process may have ended just before its lock was looked at. */
	return pread(fd, &state, 1, at) == 1 && state == RECORD_BEGUN;
}

static bool
record_ended(int fd, off_t at, off_t own)
{
	char state;

	return at != own && pread(fd, &state, 1, at) == 1 &&
	    (state == RECORD_ENDED || state == RECORD_ENDED_EMPTY);
}

/* Calls is() for the record of the process that made a call, "ENCLOSING/NAME:OCC:ITEM". False if
 * the text is no call. */
static bool
ask_record(struct roster *r, const char *call, bool (*is)(int fd, off_t at, off_t own))
{
	const char *item = strrchr(call, ':'), *at = item, *slash;
	char *key, *enclosing, *name, *path, *end;
	struct place place;
	long occurrence;
	bool own, so = false;
	off_t record;
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
	slash = strrchr(key, '/');
	enclosing = memory_copy(key, slash != NULL ? (size_t)(slash - key) : 0);
	name = memory_text(slash != NULL ? slash + 1 : key);
	place_find(&place, enclosing);
	path = path_join(r->directory, place.file != NULL ? place.file : name);
	own = strcmp(path_base(path), r->file) == 0;
	fd = own ? r->fd : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd != -1) {
		record = place.file == NULL ? (off_t)occurrence * RECORD :
		    find_record(fd, place.call, name, occurrence);
		so = record != -1 && is(fd, record, own ? (off_t)r->record : -1);
	}
	if (fd != -1 && !own)
		close(fd);
	free(path);
	free(place.file);
	free(name);
	free(enclosing);
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

/* Iterates over the files in which processes are registered. */
struct files {
	int own;             /* this process's own file comes first, and is not closed; -1: none */
	char *path;          /* then this file of calls; NULL: none */
	DIR *dir;            /* then the files in this directory; NULL: none */
	bool all;            /* include files of calls */
	const char *besides; /* except this file; NULL */
	int flags, fd;
};

/* Selects the file with processes directly inside of a call of a run; *call gets the key of the
 * call. */
static void
files_of_call(struct files *f, const char *run_directory, const char *enclosing, int flags,
    char call[ROSTER_CALL])
{
	char *directory = path_join(run_directory, "roster");
	struct place place;

	place_find(&place, enclosing);
	memcpy(call, place.call, ROSTER_CALL);
	*f = (struct files){ .own = -1, .fd = -1, .flags = flags };
	if (place.file != NULL)
		f->path = path_join(directory, place.file);
	else
		f->dir = storage_opendir(directory);
	free(place.file);
	free(directory);
}

/* Selects the files with processes inside of the call in which this process is. */
static void
files_beside(struct files *f, const struct roster *r)
{
	*f = (struct files){ .own = r->fd, .fd = -1, .flags = O_RDONLY, .besides = r->file };
	if (*r->enclosing == '\0')
		f->dir = storage_opendir(r->directory);
}

/* Opens the next file; -1: there is none. */
static int
files_next(struct files *f)
{
	const int flags = f->flags | O_CLOEXEC | O_NOFOLLOW;
	struct dirent *entry;

	if (f->fd == -1 && f->own != -1)
		return f->fd = f->own;
	if (f->fd != f->own)
		file_close(&f->fd);
	f->fd = -1;
	f->own = -1;
	if (f->path != NULL) {
		f->fd = open(f->path, flags);
		free(f->path);
		f->path = NULL;
	}
	while (f->fd == -1 && f->dir != NULL && (entry = readdir(f->dir)) != NULL)
		if (*entry->d_name != '.' && (f->all || *entry->d_name != ENCLOSED) &&
		    (f->besides == NULL || strcmp(entry->d_name, f->besides) != 0))
			f->fd = openat(dirfd(f->dir), entry->d_name, flags);
	return f->fd;
}

static void
files_close(struct files *f)
{
	if (f->fd != f->own)
		file_close(&f->fd);
	free(f->path);
	if (f->dir != NULL)
		closedir(f->dir);
}

/* The error of the machine because of which the process of a record died; "" if not known. The
 * record is read again, because the reason is written just before the lock is released. */
static void
read_reason(int fd, off_t at, char reason[ROSTER_REASON])
{
	ssize_t got = pread(fd, reason, REASON_SIZE, at + RECORD_REASON);

	while (got > 0 && reason[got - 1] == ' ')
		got--;
	reason[got > 0 ? got : 0] = '\0';
}

/* The record of the next process in the scan that has died, except those with --try; NULL: there is
 * none. */
static const char *
next_died(struct scan *s, off_t own)
{
	const char *record;

	while ((record = scan_next(s)) != NULL)
		if (record[1] != RECORD_TRIED && record_dead(s->fd, s->at, own))
			break;
	return record;
}

/* Finds a process in a call that has died: the first whose reason is known, else the first. own:
 * record of this process, which is skipped. */
static bool
find_died(struct files *f, const char *call, off_t own, const char *enclosing,
    struct roster_death *death)
{
	char reason[ROSTER_REASON], name[NAME_SIZE + 1];
	const char *record;
	struct scan scan;
	bool any = false;

	*death->reason = '\0';
	while (*death->reason == '\0' && files_next(f) != -1) {
		scan_begin(&scan, f->fd, call, NULL);
		while (*death->reason == '\0' &&
		    (record = next_died(&scan, f->fd == f->own ? own : -1)) != NULL) {
			read_reason(f->fd, scan.at, reason);
			if (any && *reason == '\0')
				continue;
			any = true;
			read_field(record, RECORD_NAME, NAME_SIZE, name);
			snprintf(death->process, sizeof death->process, "%s%s%s:%ld", enclosing,
			    *enclosing != '\0' ? "/" : "", name, read_occurrence(record));
			memcpy(death->reason, reason, sizeof reason);
		}
	}
	return any;
}

bool
roster_died(const char *run_directory, const char *enclosing, struct roster_death *death)
{
	char call[ROSTER_CALL];
	struct files files;
	bool died;

	files_of_call(&files, run_directory, enclosing, O_RDONLY, call);
	died = find_died(&files, call, -1, enclosing, death);
	files_close(&files);
	return died;
}

bool
roster_entered(const char *run_directory, const char *enclosing)
{
	char call[ROSTER_CALL];
	struct files files;
	struct scan scan;
	bool any = false;

	files_of_call(&files, run_directory, enclosing, O_RDONLY, call);
	while (!any && files_next(&files) != -1) {
		scan_begin(&scan, files.fd, call, NULL);
		any = scan_next(&scan) != NULL;
	}
	files_close(&files);
	return any;
}

bool
roster_died_beside(const struct roster *r, struct roster_death *death)
{
	struct files files;
	bool died;

	files_beside(&files, r);
	died = find_died(&files, r->call, (off_t)r->record, r->enclosing, death);
	files_close(&files);
	return died;
}

void
roster_forgive(const char *run_directory, const char *enclosing)
{
	const char tried = RECORD_TRIED;
	char call[ROSTER_CALL];
	struct files files;
	struct scan scan;

	files_of_call(&files, run_directory, enclosing, O_RDWR, call);
	while (files_next(&files) != -1) {
		scan_begin(&scan, files.fd, call, NULL);
		while (next_died(&scan, -1) != NULL)
			if (pwrite(files.fd, &tried, 1, scan.at + 1) != 1)
				break; /* the process still counts as dead, which is safe */
	}
	files_close(&files);
}

/* Finds out from a file what happened to the processes that write to a pipe. */
static void
roster_scan_upstream(struct scan *s, off_t own, const char *pipe, struct upstream *u)
{
	char name[NAME_SIZE + 1], reason[ROSTER_REASON] = "";
	const size_t len = strlen(pipe);
	const char *record;

	while ((record = scan_next(s)) != NULL) {
		if (s->at == own || memcmp(record + RECORD_STDOUT, pipe, len) != 0 ||
		    record[RECORD_STDOUT + len] != ' ')
			continue;
		u->known = true;
		u->all_empty = u->all_empty && record[0] == RECORD_ENDED_EMPTY;
		if (u->died || record[0] != RECORD_BEGUN || !record_dead(s->fd, s->at, own))
			continue;
		u->died = true;
		read_field(record, RECORD_NAME, NAME_SIZE, name);
		u->relayed = strcmp(name, ROSTER_INPUT) == 0;
		if (u->relayed)
			read_reason(s->fd, s->at, reason);
		if (*reason != '\0')
			snprintf(u->process, sizeof u->process, "%s", reason);
		else
			snprintf(u->process, sizeof u->process, "%s:%ld", name, read_occurrence(record));
	}
}

void
roster_upstream(const struct roster *r, int in, struct upstream *u)
{
	char pipe[STDOUT_SIZE];
	struct files files;
	struct scan scan;

	*u = (struct upstream){ .all_empty = true };
	name_pipe(in, pipe);
	if (*pipe != '\0') {
		files_beside(&files, r);
		while (files_next(&files) != -1) {
			scan_begin(&scan, files.fd, r->call, NULL);
			roster_scan_upstream(&scan, files.fd == files.own ? (off_t)r->record : -1,
			    pipe, u);
		}
		files_close(&files);
	}
	u->all_empty = u->all_empty && u->known;
}

bool
roster_all_ended(const struct roster *r, const char *name)
{
	bool beside = *r->enclosing != '\0', ended = false, all = true;
	char *path = path_join(r->directory, name);
	const char *record;
	struct scan scan;
	int fd = -1;

	/* If the name is that of this process, which has not ended, the answer is no. */
	if (strcmp(name, r->name) != 0)
		fd = beside ? r->fd : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	scan_begin(&scan, fd, r->call, name);
	while (fd != -1 && (record = scan_next(&scan)) != NULL) {
		ended = true;
		all = all && record[0] != RECORD_BEGUN;
	}
	if (fd != -1 && !beside)
		close(fd);
	free(path);
	return ended && all;
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
		roster_close(writer); /* only a process without its lock counts as dead */
	}
	return why.code == ERROR_NONE;
}

/* A name is reported once for each file, as many processes may have it. */
bool
roster_busy(const char *run_directory, struct buffer *names)
{
	char *directory = path_join(run_directory, "roster"), name[NAME_SIZE + 1];
	struct files files = { .own = -1, .fd = -1, .all = true, .flags = O_RDONLY };
	const char *record;
	struct scan scan;
	bool any = false;

	files.dir = storage_opendir(directory);
	while ((!any || names != NULL) && files_next(&files) != -1) {
		scan_begin(&scan, files.fd, NULL, NULL);
		while ((record = scan_next(&scan)) != NULL && (record[0] != RECORD_BEGUN ||
		    lock_look(files.fd, record_range(scan.at), NULL) != 1))
			continue;
		if (record == NULL)
			continue;
		read_field(record, RECORD_NAME, NAME_SIZE, name);
		if (names != NULL)
			buffer_format(names, "%s%s", any ? ", " : "", name);
		any = true;
	}
	files_close(&files);
	free(directory);
	return any;
}

void
roster_close(struct roster *r)
{
	if (r->fd != -1)
		close(r->fd);
	r->fd = -1;
	free(r->directory);
	free(r->enclosing);
	free(r->name);
	free(r->file);
	r->directory = r->enclosing = r->name = r->file = NULL;
}
