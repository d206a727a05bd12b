/*
 * The writer collects pieces of text while they are of the same kind, so that one write mostly
 * makes one line. The follower checks whether each file has grown, and only then opens it; a line
 * without its LF is read again when it is complete. A file that replaces another, or that has
 * become shorter, is read from the start.
 */
#include "view/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/writer.h"
#include "storage/storage.h"

#define CUT_ROOM 64 /* room at the end of a file for a line that says "cut" or "restart" */
/* Keys in a line. */
#define TURN "turn"
#define KIND "kind"
#define APPEND "append"
#define RESTART "restart"
#define CUT "cut"
#define OF "of"
#define NAME "name"
#define CALL_ID "call_id"
#define STEP "step"
#define ITEMS "items"

const char *const live_kinds[] = { [LIVE_TEXT] = "text", [LIVE_THINKING] = "thinking",
	[LIVE_TOOL] = "tool", [LIVE_OUTPUT] = "output", [LIVE_KINDS] = NULL };

/* ---- writing ---- */

const char *
live_place(const struct run *r)
{
	return *r->redaction_mark != '\0' || !r->keep_transcript ? NULL : r->directory;
}

void
live_begin(struct live_writer *w, const char *run_directory)
{
	*w = (struct live_writer){ .run_directory = run_directory, .fd = -1 };
}

static void
remove_file(struct live_writer *w)
{
	if (w->fd == -1)
		return;
	unlink(w->path);
	file_close(&w->fd);
	w->size = 0;
}

/* Creates the file, and its directory if this is the first call of the run with a file. O_EXCL
 * neither follows a link nor opens a file that another process made. */
static int
make_file(struct live_writer *w)
{
	static const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC;
	char *directory;

	free(w->path);
	w->path = memory_format("%s/" LIVE_DIRECTORY "/%s", w->run_directory, w->call);
	w->fd = open(w->path, flags, 0600);
	if (w->fd == -1 && errno == ENOENT) {
		directory = path_directory(w->path);
		if (mkdir(directory, 0700) == 0 || errno == EEXIST)
			w->fd = open(w->path, flags, 0600);
		free(directory);
	}
	return w->fd == -1 ? -1 : 0;
}

/* Writes a line that says "restart" or "cut" (what) about the turn. */
static void
live_write_flag_line(struct live_writer *w, const char *what)
{
	struct writer writer;

	writer_begin(&writer, &w->lines);
	writer_object(&writer);
	writer_member_integer(&writer, TURN, w->turn);
	writer_member_bool(&writer, what, true);
	writer_object_end(&writer);
	buffer_byte(&w->lines, '\n');
}

static void
end_line(struct live_writer *w)
{
	struct writer writer;

	if (w->text.len == 0)
		return;
	writer_begin(&writer, &w->lines);
	writer_object(&writer);
	writer_member_integer(&writer, TURN, w->turn);
	writer_member_string(&writer, KIND, live_kinds[w->kind]);
	if (w->source.of != NULL) {
		writer_member_string(&writer, OF, w->source.of);
		writer_member_string(&writer, NAME, w->source.name);
		writer_member_string(&writer, CALL_ID, w->source.call_id);
	}
	writer_key(&writer, APPEND);
	writer_bytes(&writer, w->text.data, w->text.len);
	writer_object_end(&writer);
	buffer_byte(&w->lines, '\n');
	buffer_clear(&w->text);
}

/* If writing fails, nothing more is written; a line that was written in part goes away with the
 * file. */
static void
write_lines(struct live_writer *w)
{
	if ((w->fd == -1 && make_file(w) == -1) ||
	    file_write(w->fd, w->lines.data, w->lines.len) == -1) {
		remove_file(w);
		w->run_directory = NULL;
	}
	w->size += w->lines.len;
	INVARIANT(w->run_directory == NULL || (w->fd != -1 && w->size <= LIVE_LIMIT));
	buffer_clear(&w->lines);
}

void
live_turn(struct live_writer *w, const char *call, int64_t turn)
{
	bool same = strcmp(w->call, call) == 0;
	bool restarts = same && w->turn == turn && w->said;

	if (w->run_directory == NULL)
		return;
	buffer_clear(&w->text);
	buffer_clear(&w->lines);
	memcpy(w->call, call, sizeof w->call);
	w->turn = turn;
	w->said = w->cut = false;
	if (!same || w->size > LIVE_LIMIT / 2) {
		remove_file(w);
	} else if (restarts) {
		live_write_flag_line(w, RESTART);
		write_lines(w);
	}
}

void
live_append(struct live_writer *w, enum live_kind kind, const char *text, size_t len)
{
	if (w->run_directory == NULL || w->cut || len == 0)
		return;
	if (w->text.len == 0 && w->lines.len == 0)
		w->since = clock_monotonic();
	if (kind != w->kind)
		end_line(w);
	INVARIANT(w->text.len == 0 || kind == w->kind);
	w->kind = kind;
	buffer_append(&w->text, text, len);
	live_flush(w);
}

int64_t
live_flush(struct live_writer *w)
{
	if (w->text.len == 0 && w->lines.len == 0)
		return 0;
	if (clock_monotonic() < w->since + LIVE_PAUSE_MS)
		return w->since + LIVE_PAUSE_MS;
	end_line(w);
	if (w->size + w->lines.len > LIVE_LIMIT - CUT_ROOM) {
		buffer_clear(&w->lines);
		live_write_flag_line(w, CUT);
		w->cut = true;
	}
	write_lines(w);
	w->said = true;
	return 0;
}

void
live_end(struct live_writer *w)
{
	remove_file(w);
	free(w->path);
	buffer_free(&w->text);
	buffer_free(&w->lines);
	live_begin(w, NULL);
}

void
live_tell_items(struct live_writer *w, const char *step, int64_t items)
{
	struct writer writer;
	char id[ID_SIZE];

	if (w->run_directory == NULL)
		return;
	live_turn(w, id_new(id), 0);
	writer_begin(&writer, &w->lines);
	writer_object(&writer);
	writer_member_string(&writer, STEP, step);
	writer_member_integer(&writer, ITEMS, items);
	writer_object_end(&writer);
	buffer_byte(&w->lines, '\n');
	write_lines(w);
}

/* ---- the output of programs ---- */

/* Whether a follower holds the directory, or that cannot be known. */
static bool
live_is_watched(const char *run_directory)
{
	int fd = open(run_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const bool watched = fd != -1 && flock(fd, LOCK_EX | LOCK_NB) != 0;

	if (fd != -1)
		close(fd);
	return watched;
}

void
live_output_begin(struct live_output *o, const char *run_directory, const char *id,
    const struct live_source *source)
{
	*o = (struct live_output){ .secrets = NULL };
	live_begin(&o->writer, run_directory);
	live_turn(&o->writer, id, 0);
	if (source != NULL)
		o->writer.source = *source;
}

void
live_output_hide(struct live_output *o, const char *secret)
{
	if (secret == NULL || *secret == '\0')
		return;
	o->secrets = memory_array(o->secrets, o->secret_count + 1, sizeof *o->secrets);
	o->secrets[o->secret_count++] = secret;
}

void
live_output_add(void *context, const char *piece, size_t len)
{
	struct live_output *o = context;
	size_t drop;

	if (o->writer.run_directory == NULL || len == 0)
		return;
	if (len > LIVE_OUTPUT_LIMIT) {
		piece += len - LIVE_OUTPUT_LIMIT;
		len = LIVE_OUTPUT_LIMIT;
		o->dropped = true;
	}
	drop = o->tail.len + len > LIVE_OUTPUT_LIMIT ? o->tail.len + len - LIVE_OUTPUT_LIMIT : 0;
	o->dropped = o->dropped || drop > 0;
	buffer_drop(&o->tail, drop);
	if (o->tail.len == 0 && o->next == 0)
		o->next = clock_monotonic() + LIVE_PAUSE_MS;
	buffer_append(&o->tail, piece, len);
}

/* How much of the tail can be written: whole characters; and if there are secrets, none of which has a
 * blank in it, whole words. */
static size_t
live_output_whole(const struct live_output *o)
{
	size_t len = utf8_whole(o->tail.data, o->tail.len);

	while (o->secret_count > 0 && len > 0 && strchr(" \t\r\n", o->tail.data[len - 1]) == NULL)
		len--;
	return len;
}

int64_t
live_output_flush(void *context)
{
	struct live_output *o = context;
	const int64_t now = clock_monotonic();
	size_t len;

	if (o->tail.len == 0 || o->writer.run_directory == NULL)
		return 0;
	if (now < o->next)
		return o->next;
	if (!live_is_watched(o->writer.run_directory))
		return o->next = now + LIVE_UNWATCHED_MS;
	o->next = now + LIVE_PAUSE_MS;
	len = live_output_whole(o);
	if (len == 0)
		return 0;
	for (size_t i = 0; i < o->secret_count; i++) {
		if (o->dropped)
			text_hide_rest(o->tail.data, len, o->secrets[i]);
		text_hide(o->tail.data, len, o->secrets[i]);
	}
	if (o->writer.size > LIVE_LIMIT / 2)
		live_turn(&o->writer, o->writer.call, o->writer.turn + 1);
	live_append(&o->writer, LIVE_OUTPUT, o->tail.data, len);
	o->writer.since = now - LIVE_PAUSE_MS; /* it was collected for that long here */
	live_flush(&o->writer);
	buffer_drop(&o->tail, len);
	o->dropped = false;
	return o->tail.len > 0 && o->secret_count == 0 ? o->next : 0;
}

void
live_output_end(struct live_output *o)
{
	live_end(&o->writer);
	buffer_free(&o->tail);
	free(o->secrets);
}

/* ---- following ---- */

/* A call that has a file. */
struct live_followed {
	char id[ID_SIZE];
	dev_t device;
	ino_t inode;
	off_t size;           /* size when the file was last read */
	off_t told_to;        /* offset of the first line that was not reported */
	int64_t turn;         /* turn of the line that was last reported */
	bool told;            /* something was reported */
	bool there;           /* its file was there when the directory was last read */
	enum live_kind kind;  /* of the last text */
	struct live_source source; /* allocated; of NULL: it has none */
	char *step;           /* it tells how many items this step has; NULL */
};

static void
live_free_source(struct live_followed *c)
{
	free((char *)(uintptr_t)c->source.of);
	free((char *)(uintptr_t)c->source.name);
	free((char *)(uintptr_t)c->source.call_id);
	c->source = (struct live_source){ NULL, NULL, NULL };
}

/* Keeps the source of a line, which each line of a call names. */
static void
live_set_source(struct live_followed *c, struct span line)
{
	if (c->source.of != NULL)
		return;
	c->source = (struct live_source){ span_text(span_member(line, OF)), span_text(span_member(line, NAME)),
		span_text(span_member(line, CALL_ID)) };
	if (c->source.of != NULL && (!id_valid(c->source.of, strlen(c->source.of)) || c->source.name == NULL ||
	    c->source.call_id == NULL))
		live_free_source(c);
}

void
live_follow_begin(struct live_follow *f, const char *run_directory, struct watch *watch,
    void (*told)(void *context, const struct live_news *news), void *context)
{
	*f = (struct live_follow){ .run_directory = memory_text(run_directory),
	    .path = path_join(run_directory, LIVE_DIRECTORY), .watch = watch, .told = told,
	    .context = context };
}

static void
live_pass_news(struct live_follow *f, struct live_followed *c, struct live_news news)
{
	news.call = c->id;
	news.source = c->source.of != NULL ? &c->source : NULL;
	news.kind = c->kind;
	news.turn = c->turn;
	c->told = news.event != LIVE_DONE;
	f->told(f->context, &news);
}

/* Reports how many items a step has; -1: it tells that no more. */
static void
live_pass_items(const struct live_follow *f, const struct live_followed *c, int64_t items)
{
	const char *slash = strrchr(f->run_directory, '/');

	if (f->items != NULL && c->step != NULL)
		f->items(f->context, slash != NULL ? slash + 1 : f->run_directory, c->step, items);
}

/* Reports how many items a step has. False: the line tells something else. */
static bool
live_read_items(struct live_follow *f, struct live_followed *c, struct span line)
{
	long long items;

	if (!span_integer(span_member(line, ITEMS), &items))
		return false;
	if (items >= 0) {
		live_pass_items(f, c, -1);
		free(c->step);
		c->step = span_text(span_member(line, STEP));
		live_pass_items(f, c, items);
	}
	return true;
}

/* Reports the contents of a line, if it is a valid one. */
static void
live_read_line(struct live_follow *f, struct live_followed *c, struct span line)
{
	struct buffer text = BUFFER_INIT;
	const char *kind;
	long long turn;
	size_t bad;

	if (scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) != NULL || live_read_items(f, c, line) ||
	    !span_integer(span_member(line, TURN), &turn) || turn < 0)
		return;
	if (span_true(span_member(line, RESTART))) {
		c->turn = turn;
		live_pass_news(f, c, (struct live_news){ .event = LIVE_RESTARTED });
	} else if (span_true(span_member(line, CUT))) {
		c->turn = turn;
		live_pass_news(f, c, (struct live_news){ .event = LIVE_CUT });
	} else if ((kind = span_one_of(span_member(line, KIND), live_kinds)) != NULL) {
		span_decode(span_member(line, APPEND), &text);
		if (text.len > 0) {
			struct live_news news = { .event = LIVE_APPENDED,
				.text = span_of(text.data, text.len) };

			c->kind = 0;
			while (live_kinds[c->kind] != kind)
				c->kind++;
			live_set_source(c, line);
			c->turn = turn;
			live_pass_news(f, c, news);
		}
		buffer_free(&text);
	}
}

/* Reports the complete lines between c->told_to and the offset `size`; fd is the call's file, or
 * one that has replaced it. */
static void
live_read_lines(struct live_follow *f, struct live_followed *c, int fd, off_t size)
{
	struct buffer text = BUFFER_INIT;
	size_t want = (size_t)(size - c->told_to), taken = 0;
	struct stat status;
	const char *lf;
	ssize_t got = 1;

	if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode) || status.st_dev != c->device ||
	    status.st_ino != c->inode)
		return;
	for (buffer_reserve(&text, want); text.len < want && got > 0;) {
		got = pread(fd, text.data + text.len, want - text.len, c->told_to + (off_t)text.len);
		text.len += got > 0 ? (size_t)got : 0;
	}
	while (taken < text.len &&
	    (lf = memchr(text.data + taken, '\n', text.len - taken)) != NULL) {
		size_t end = (size_t)(lf - text.data);

		live_read_line(f, c, span_of(text.data + taken, end - taken));
		taken = end + 1;
	}
	c->size = c->told_to + (off_t)text.len;
	c->told_to += (off_t)taken;
	buffer_free(&text);
}

/* Reports the lines that were added to a call's file. False if the file does not exist. */
static bool
live_read_call(struct live_follow *f, struct live_followed *c)
{
	const int directory = dirfd(f->directory);
	struct stat status;
	off_t size;
	int fd;

	if (fstatat(directory, c->id, &status, AT_SYMLINK_NOFOLLOW) == -1 ||
	    !S_ISREG(status.st_mode))
		return false;
	size = status.st_size < (off_t)LIVE_LIMIT ? status.st_size : (off_t)LIVE_LIMIT;
	if (status.st_dev != c->device || status.st_ino != c->inode || size < c->size) {
		c->device = status.st_dev;
		c->inode = status.st_ino;
		c->size = c->told_to = 0;
		if (c->told)
			live_pass_news(f, c, (struct live_news){ .event = LIVE_RESTARTED });
	}
	if (size == c->size)
		return true;
	fd = openat(directory, c->id, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd != -1) { /* if the file disappears meanwhile, the next look reports that */
		live_read_lines(f, c, fd, size);
		close(fd);
	}
	return true;
}

/* Removes a call whose file is gone. */
static void
live_forget_call(struct live_follow *f, size_t at)
{
	struct live_followed *c = &f->calls[at];

	if (c->told)
		live_pass_news(f, c, (struct live_news){ .event = LIVE_DONE });
	live_pass_items(f, c, -1);
	free(c->step);
	live_free_source(c);
	f->count--;
	memmove(c, c + 1, (f->count - at) * sizeof *c);
}

static void
close_directory(struct live_follow *f)
{
	if (f->directory != NULL)
		closedir(f->directory);
	f->directory = NULL;
}

/* Whether the path still leads to the open directory: a run's directory is removed with the run,
 * and a resumed run makes a new one. */
static bool
live_directory_is_current(const struct live_follow *f)
{
	struct stat named, opened;

	return f->directory != NULL && lstat(f->path, &named) == 0 &&
	    fstat(dirfd(f->directory), &opened) == 0 && named.st_dev == opened.st_dev &&
	    named.st_ino == opened.st_ino;
}

/* Opens the directory if it exists. Otherwise watches for it, then tries again, in case it was made
 * in between. */
static void
open_directory(struct live_follow *f)
{
	struct error none;

	f->directory = storage_opendir(f->path);
	if (f->directory == NULL && f->watch != NULL &&
	    watch_add(f->watch, f->run_directory, &none) == 0)
		f->directory = storage_opendir(f->path);
	if (f->directory != NULL && f->watch != NULL)
		watch_add_files(f->watch, f->path, &none);
}

/* The index of the call with this id, looked for from an index on; f->count: there is none. */
static size_t
live_find_call(const struct live_follow *f, const char *id, size_t from)
{
	for (size_t i = 0; i < f->count; i++) {
		const size_t at = (from + i) % f->count;

		if (strcmp(f->calls[at].id, id) == 0)
			return at;
	}
	return f->count;
}

/* Adds the calls whose files have appeared, and notes which files are there. Names mostly come in the
 * same order as the last time, so each is looked for behind the one before it. */
static void
read_names(struct live_follow *f)
{
	struct dirent *found;
	size_t at = 0;

	for (size_t i = 0; i < f->count; i++)
		f->calls[i].there = false;
	rewinddir(f->directory);
	while ((found = readdir(f->directory)) != NULL) {
		if (!id_valid(found->d_name, strlen(found->d_name)))
			continue;
		at = live_find_call(f, found->d_name, at);
		if (at == f->count && f->count == LIVE_CALLS_LIMIT)
			continue;
		if (at == f->count) {
			f->calls = memory_array(f->calls, f->count + 1, sizeof *f->calls);
			f->calls[f->count] = (struct live_followed){ .size = 0 };
			memcpy(f->calls[f->count++].id, found->d_name, ID_SIZE);
		}
		f->calls[at++].there = true;
	}
}

/* Whether the text of a call is looked at. What a file is about is known once it has been read. */
static bool
live_is_wanted(const struct live_follow *f, const struct live_followed *c)
{
	return f->wants == NULL || c->told_to == 0 || !c->told ||
	    f->wants(f->context, c->source.of != NULL ? c->source.of : c->id);
}

static void
live_follow_let_go(struct live_follow *f)
{
	if (f->looks != NULL)
		closedir(f->looks);
	f->looks = NULL;
}

/* Holds the run's directory, by which writers know that somebody looks. One may be trying just now
 * whether anybody does: then the next look holds it. */
static void
live_follow_hold(struct live_follow *f)
{
	struct stat opened;

	if (f->looks != NULL && fstat(dirfd(f->looks), &opened) == 0 && opened.st_nlink > 0)
		return;
	live_follow_let_go(f);
	f->looks = storage_opendir(f->run_directory);
	if (f->looks != NULL && flock(dirfd(f->looks), LOCK_SH | LOCK_NB) != 0)
		live_follow_let_go(f);
}

void
live_follow_look(struct live_follow *f)
{
	live_follow_hold(f);
	if (!live_directory_is_current(f)) {
		close_directory(f);
		while (f->count > 0)
			live_forget_call(f, f->count - 1);
		open_directory(f);
	}
	if (f->directory == NULL)
		return;
	read_names(f);
	for (size_t i = f->count; i > 0; i--)
		if (!f->calls[i - 1].there)
			live_forget_call(f, i - 1);
	for (size_t i = f->count; i > 0; i--)
		if (live_is_wanted(f, &f->calls[i - 1]) && !live_read_call(f, &f->calls[i - 1]))
			live_forget_call(f, i - 1);
}

void
live_follow_end(struct live_follow *f)
{
	close_directory(f);
	live_follow_let_go(f);
	for (size_t i = 0; i < f->count; i++) {
		live_free_source(&f->calls[i]);
		free(f->calls[i].step);
	}
	free(f->calls);
	free(f->run_directory);
	free(f->path);
	*f = (struct live_follow){ .calls = NULL };
}
