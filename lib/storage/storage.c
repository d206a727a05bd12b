/*
 * To open a file, its directory is opened first, without following a link of that name; then the
 * file, which must be a regular file: a link or FIFO that somebody has put there is refused. Runs
 * are found by reading the directory; there is no index that could be wrong.
 */
#include "storage/storage.h"

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
#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/scan.h"
#include "transcript/event_keys.h"
#include "transcript/layout.h"
#include "transcript/transcript.h"

#define SUFFIX ".jsonl"
#define SUFFIX_LEN (sizeof SUFFIX - 1)
#define PREFIX_MIN 4
#define SHORT_ID 8
#define FIRST_LINE_LIMIT ((size_t)1 << 20)
#define NAMES_SUGGESTED 1000 /* newest runs whose names are compared with a misspelt one */

int
storage_locate(struct storage *s, struct error *err)
{
	const char *given = environment_text("AWF_STORAGE");
	const char *data = environment_text("XDG_DATA_HOME");
	const char *home = path_home();
	char here[PATH_MAX];

	*s = (struct storage){ .root = NULL };
	if (given != NULL && *given == '/')
		s->root = memory_text(given);
	else if (given != NULL && getcwd(here, sizeof here) == NULL)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to find the current directory");
	else if (given != NULL)
		s->root = path_join(here, given);
	else if (data != NULL && *data == '/')
		s->root = path_join(data, "awf");
	else if (home != NULL)
		s->root = path_join(home, ".local/share/awf");
	else
		return error_set(err, ERROR_SYSTEM, "HOME", "%s, so there is no place for runs: "
		    "set AWF_STORAGE", environment_text("HOME") == NULL ? "not set" :
		    "not an absolute path, which would name another place in each directory");
	return 0;
}

void
storage_close(struct storage *s)
{
	free(s->root);
	s->root = NULL;
}

char *
storage_transcript(const struct storage *s, const char *run_id)
{
	return layout_transcript(s->root, run_id);
}

char *
storage_blobs(const struct storage *s, const char *run_id)
{
	return layout_blobs(s->root, run_id);
}

char *
storage_pruned(const struct storage *s, const char *run_id)
{
	return memory_format("%s/transcripts/%s.pruned", s->root, run_id);
}

char *
storage_run_directory(const struct storage *s, const char *run_id)
{
	return memory_format("%s/runs/%s", s->root, run_id);
}

char *
storage_snapshot(const struct storage *s, const char *run_id)
{
	return memory_format("%s/snapshots/%s", s->root, run_id);
}

char *
storage_input(const struct storage *s, const char *run_id)
{
	return memory_format("%s/inputs/%s", s->root, run_id);
}

char *
storage_file(const struct storage *s, const char *directory, const char *name)
{
	return memory_format("%s/%s/%s", s->root, directory, name);
}

DIR *
storage_opendir(const char *path)
{
	int fd = file_open_plain(path, O_RDONLY | O_DIRECTORY, 0);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;

	if (directory == NULL && fd >= 0)
		close(fd);
	return directory;
}

int
storage_names(const struct storage *s, const char *name, DIR **directory, struct error *err)
{
	char *path = path_join(s->root, name);
	int failed = 0;

	*directory = storage_opendir(path);
	if (*directory == NULL && errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to read the directory");
	free(path);
	return failed;
}

int
storage_set_latest(const struct storage *s, const char *run_id, struct error *err)
{
	char *latest = path_join(s->root, "latest");
	char *temporary = memory_format("%s/.latest.%s", s->root, run_id);
	char *target = memory_format("transcripts/%s" SUFFIX, run_id);
	int failed = 0;

	/* Another process that sets `latest` at the same time may have renamed this temporary link:
	 * then `latest` is set. */
	unlink(temporary); /* left by an attempt that was killed here */
	if ((symlink(target, temporary) != 0 && errno != EEXIST) ||
	    (rename(temporary, latest) != 0 && errno != ENOENT)) {
		failed = error_errno(err, ERROR_SYSTEM, latest, "unable to point it to this run");
		unlink(temporary);
	}
	free(target);
	free(temporary);
	free(latest);
	return failed;
}

/* Copies the run id of "<run-id>.jsonl"; false if name has another form. */
static bool
transcript_name(const char *name, char run_id[ID_SIZE])
{
	size_t len = strlen(name);

	if (len != ID_SIZE - 1 + SUFFIX_LEN || !id_valid(name, ID_SIZE - 1) ||
	    strcmp(name + ID_SIZE - 1, SUFFIX) != 0)
		return false;
	memcpy(run_id, name, ID_SIZE - 1);
	run_id[ID_SIZE - 1] = '\0';
	return true;
}

/* Reads the beginning of a transcript, at most limit bytes, up to its first LF. */
static int
read_first_line(const char *path, size_t limit, struct buffer *line)
{
	int fd = file_open_plain(path, O_RDONLY, 0);
	ssize_t got = -1;

	if (fd < 0)
		return -1;
	while (line->len < limit) {
		const char *end;

		got = read(fd, buffer_reserve(line, 4096), 4096);
		if (got <= 0)
			break;
		end = memchr(line->data + line->len, '\n', (size_t)got);
		line->len += (size_t)got;
		if (end != NULL) {
			line->len = (size_t)(end - line->data);
			break;
		}
	}
	close(fd);
	return got < 0 ? -1 : 0;
}

int64_t
storage_run_started(const struct storage *s, const char *run_id)
{
	static const char head[] = "{\"" KEY_SEQ "\":1,\"" KEY_TIMESTAMP "\":\"";
	char *path = storage_transcript(s, run_id);
	struct buffer line = BUFFER_INIT;
	struct stat status;
	int64_t started = 0;
	char *end;

	if (read_first_line(path, 1, &line) == 0 && line.len > sizeof head &&
	    memcmp(line.data, head, sizeof head - 1) == 0 &&
	    (end = memchr(line.data + sizeof head - 1, '"', line.len - (sizeof head - 1))) != NULL) {
		*end = '\0';
		if (clock_parse(line.data + sizeof head - 1, 0, &started) != 0)
			started = 0;
	}
	if (started == 0 && lstat(path, &status) == 0)
		started = clock_of(&status.st_mtim);
	buffer_free(&line);
	free(path);
	return started;
}

bool
storage_next_run(DIR *directory, char run_id[ID_SIZE])
{
	const struct dirent *found;

	while (directory != NULL && (found = readdir(directory)) != NULL)
		if (transcript_name(found->d_name, run_id))
			return true;
	if (directory != NULL)
		closedir(directory);
	return false;
}

static int
newest_first(const void *a, const void *b)
{
	const struct run_entry *left = a, *right = b;

	if (left->started != right->started)
		return left->started < right->started ? 1 : -1;
	return strcmp(left->run_id, right->run_id);
}

int
storage_list(const struct storage *s, struct run_entry **entries, size_t *count,
    struct error *err)
{
	struct run_entry entry, *list = NULL;
	size_t capacity = 0;
	DIR *directory;

	*entries = NULL;
	*count = 0;
	if (storage_names(s, "transcripts", &directory, err) != 0)
		return -1;
	while (storage_next_run(directory, entry.run_id)) {
		if (*count == capacity) {
			capacity = capacity == 0 ? 64 : capacity * 2;
			list = memory_array(list, capacity, sizeof *list);
		}
		entry.started = storage_run_started(s, entry.run_id);
		list[(*count)++] = entry;
	}
	if (*count > 0)
		qsort(list, *count, sizeof *list, newest_first);
	*entries = list;
	return 0;
}

int
storage_count(const struct storage *s, size_t *count, struct error *err)
{
	char run_id[ID_SIZE];
	DIR *directory;

	*count = 0;
	if (storage_names(s, "transcripts", &directory, err) != 0)
		return -1;
	while (storage_next_run(directory, run_id))
		++*count;
	return 0;
}

static void
ref_in_storage(struct run_ref *ref, const struct storage *s, const char *run_id)
{
	ref->path = storage_transcript(s, run_id);
	memcpy(ref->run_id, run_id, ID_SIZE);
	ref->in_storage = true;
}

static int
resolve_latest(const struct storage *s, struct run_ref *ref, struct error *err)
{
	static const char prefix[] = "transcripts/";
	char *latest = path_join(s->root, "latest");
	char target[sizeof prefix + ID_SIZE + SUFFIX_LEN + 1], run_id[ID_SIZE];
	ssize_t len = readlink(latest, target, sizeof target - 1);
	int failed = 0;

	if (len < 0 && errno == ENOENT)
		failed = error_set(err, ERROR_USAGE, "@", "there is no run yet in %s", s->root);
	else if (len < 0)
		failed = error_errno(err, ERROR_SYSTEM, latest, "unable to read the link");
	else {
		target[len] = '\0';
		if (strncmp(target, prefix, sizeof prefix - 1) == 0 &&
		    transcript_name(target + sizeof prefix - 1, run_id))
			ref_in_storage(ref, s, run_id);
		else
			failed = error_set(err, ERROR_SYSTEM, latest,
			    "does not point to a transcript of this storage");
	}
	free(latest);
	return failed;
}

static char *
first_name(const char *path)
{
	struct buffer line = BUFFER_INIT;
	char *name = NULL;
	size_t bad;

	if (read_first_line(path, FIRST_LINE_LIMIT, &line) == 0 &&
	    scan_within(buffer_string(&line), line.len, SCAN_LINE_DEPTH, &bad) == NULL)
		name = span_text(span_path(span_of(line.data, line.len), KEY_PAYLOAD, KEY_NAME, NULL));
	buffer_free(&line);
	return name;
}

char *
storage_run_name(const struct storage *s, const char *run_id)
{
	char *kept = storage_transcript(s, run_id);
	char *unkept = memory_format("%s/runs/%s/%s" SUFFIX, s->root, run_id, run_id);
	char *name = first_name(kept);

	if (name == NULL)
		name = first_name(unkept);
	free(unkept);
	free(kept);
	return name;
}

bool
storage_run_named(const struct storage *s, const char *run_id, const char *name)
{
	char *its = storage_run_name(s, run_id);
	bool named = its != NULL && strcmp(its, name) == 0;

	free(its);
	return named;
}

bool
storage_run_elsewhere(const struct storage *s, const char *run_id)
{
	char *path = layout_origin(s->root, run_id);
	struct stat status;
	bool there = lstat(path, &status) == 0;

	free(path);
	return there;
}

/* Finds the latest run that was recorded here and has this name, or the name of the workflow file
 * NAME.awf: a user who has just run that means this run, even if other runs had the name before. */
static int
resolve_name(const struct storage *s, const char *name, struct run_ref *ref, struct error *err)
{
	char *file = memory_format("%s" WORKFLOW_SUFFIX, name), *meant, *hint;
	char **names = memory_zero(1, sizeof *names);
	struct run_entry *entries;
	size_t count;

	if (storage_list(s, &entries, &count, err) != 0) {
		free(file);
		free(names);
		return -1;
	}
	for (size_t i = 0; i < count && ref->path == NULL; i++) {
		meant = storage_run_name(s, entries[i].run_id);
		if (meant != NULL && (strcmp(meant, name) == 0 || strcmp(meant, file) == 0) &&
		    !storage_run_elsewhere(s, entries[i].run_id))
			ref_in_storage(ref, s, entries[i].run_id);
		if (meant != NULL && i < NAMES_SUGGESTED)
			list_take(&names, meant);
		else
			free(meant);
	}
	if (ref->path == NULL) {
		hint = text_hint(name, (const char *const *)(uintptr_t)names);
		error_set(err, ERROR_USAGE, NULL, "@%s: no run of this name in %s%s", name, s->root,
		    *hint != '\0' ? hint : " (awf-tail --list shows what there is)");
		free(hint);
	}
	list_free(names);
	free(entries);
	free(file);
	return ref->path != NULL ? 0 : -1;
}

int
storage_resolve(const struct storage *s, const char *argument, struct run_ref *ref,
    struct error *err)
{
	char found[3][ID_SIZE];
	struct stat status, a, b;
	size_t count = 0;
	DIR *directory;

	*ref = (struct run_ref){ .path = NULL };
	if (argument == NULL || strcmp(argument, "@") == 0)
		return resolve_latest(s, ref, err);
	if (*argument == '@')
		return resolve_name(s, argument + 1, ref, err);

	if (strchr(argument, '/') == NULL && strlen(argument) >= PREFIX_MIN) {
		if (storage_names(s, "transcripts", &directory, err) != 0)
			return -1;
		while (storage_next_run(directory, found[2]))
			if (strncmp(found[2], argument, strlen(argument)) == 0 && count < 2)
				memcpy(found[count++], found[2], ID_SIZE);
		ref->ambiguous = count == 2;
		if (ref->ambiguous)
			return error_set(err, ERROR_USAGE, argument,
			    "begins several run ids (%s, %s): give more of it", found[0], found[1]);
		if (count == 1) {
			ref_in_storage(ref, s, found[0]);
			return 0;
		}
	}

	if (stat(argument, &status) != 0 && strstr(argument, "://") != NULL)
		return error_set(err, ERROR_USAGE, argument, "runs of a server are for awf-tail and "
		    "awf-replay alone");
	if (stat(argument, &status) != 0)
		return errno == ENOENT || errno == ENOTDIR ? error_set(err, ERROR_USAGE, argument,
		    "no such file, and no run whose id begins so in %s (awf-tail --list shows what there "
		    "is; @NAME is the latest of a name)", s->root) :
		    error_errno(err, ERROR_USAGE, argument, "unable to look at it");
	if (S_ISDIR(status.st_mode)) {
		/* Such as a recording that was exported. */
		char *latest = path_join(argument, "latest");
		const bool is_storage = stat(latest, &status) == 0;

		free(latest);
		return error_set(err, ERROR_USAGE, argument, "a directory, not a transcript%s",
		    is_storage ? ": latest in it is one" : "");
	}
	if (!S_ISREG(status.st_mode)) /* a pipe has a path, too, such as /dev/fd/63, but it has no
	                                 storage */
		return error_set(err, ERROR_SYSTEM, argument, "is no regular file");
	/* Transcripts are not opened through links; but if the user names a link, its target is
	 * used. */
	ref->path = lstat(argument, &status) == 0 && S_ISLNK(status.st_mode) ?
	    realpath(argument, NULL) : NULL;
	if (ref->path == NULL)
		ref->path = memory_text(argument);
	/* The file may be in a storage, with a run's id as its name. */
	if (transcript_name(path_base(ref->path), ref->run_id)) {
		char *parent = path_directory(ref->path), *own = path_join(s->root, "transcripts");

		ref->in_storage = stat(parent, &a) == 0 && stat(own, &b) == 0 &&
		    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
		free(own);
		free(parent);
	}
	if (!ref->in_storage)
		ref->run_id[0] = '\0';
	return 0;
}

void
run_ref_free(struct run_ref *ref)
{
	free(ref->path);
	ref->path = NULL;
}

const char *
storage_short_id(const struct storage *s, const char *run_id, char out[ID_SIZE])
{
	char other[ID_SIZE];
	size_t len = SHORT_ID;
	DIR *directory;

	if (storage_names(s, "transcripts", &directory, NULL) != 0)
		len = strlen(run_id);
	while (storage_next_run(directory, other))
		while (strcmp(other, run_id) != 0 && run_id[len] != '\0' &&
		    strncmp(other, run_id, len) == 0)
			len++;
	snprintf(out, ID_SIZE, "%.*s", (int)len, run_id);
	return out;
}

bool
storage_run_owner(const struct storage *s, const char *run_id, pid_t *pid)
{
	return layout_run_owner(s->root, run_id, pid);
}

bool
storage_run_alive(const struct storage *s, const char *run_id)
{
	return layout_run_alive(s->root, run_id);
}

bool
transcript_alive(const char *path, const char *run_id)
{
	/* It is transcripts/<id>.jsonl, or, if it is not kept, runs/<id>/<id>.jsonl. */
	static const char *const roots[] = { "..", "../.." };
	char *directory = path_directory(path);
	bool alive = false;

	for (size_t i = 0; i < sizeof roots / sizeof *roots && !alive; i++) {
		char *root = path_join(directory, roots[i]);
		const struct storage storage = { .root = root };

		alive = run_id[0] != '\0' && storage_run_alive(&storage, run_id);
		free(root);
	}
	free(directory);
	return alive;
}

char *
transcript_blobs(const char *path, const char *run_id)
{
	char *directory = path_directory(path), *blobs;

	if (strcmp(path_base(directory), run_id) == 0)
		blobs = path_join(directory, "blobs");
	else
		blobs = memory_format("%s/../blobs/%s", directory, run_id);
	free(directory);
	return blobs;
}
