/*
 * fcntl(2) locks. `lock` is tried again every few milliseconds, since waiting for a lock has no
 * time limit. The states of a ticket are words of one length, so that one write in place changes
 * it. Listings read without `lock`: they are for information only.
 */
#include "storage/queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/writer.h"

#define LOCK_PAUSE_NS 2000000
#define NUMBER_DIGITS 19
#define TICKET_LIMIT 96          /* length of a ticket before its JSON */
#define TOLD_LIMIT ((size_t)64 << 10)

static const char *const states[] = { "waiting", "running", "ending " };

void
queue_open(struct queue *q, const struct storage *s, const char *name)
{
	char digest[DIGEST_SIZE];

	*q = (struct queue){ .storage = s, .name = memory_text(name), .lock = -1, .ticket = -1 };
	digest_sha256(name, strlen(name), digest);
	q->directory = memory_format("%s/queues/%s", s->root, digest);
}

void
queue_tell(struct queue *q, const char *name, bool child)
{
	struct buffer text = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &text);
	writer_object(&w);
	writer_member_string(&w, "name", name);
	writer_member_bool(&w, "child", child);
	writer_object_end(&w);
	free(q->told);
	q->told = buffer_take(&text);
}

int
queue_lock(struct queue *q, struct error *err)
{
	const struct timespec pause = { 0, LOCK_PAUSE_NS };
	int64_t deadline = clock_monotonic() + QUEUE_LOCK_MS;
	char *queues = path_directory(q->directory), *path = path_join(q->directory, "lock");
	int fd, failed = 0;

	for (;;) {
		failed = storage_make_directory(queues, false, err) != 0 ? -1 :
		    storage_make_directory(q->directory, false, err);
		if (failed != 0)
			break;
		fd = file_open_plain(path, O_RDWR | O_CREAT, 0600);
		if (fd < 0 && errno != ENOENT) {
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
			break;
		}
		if (fd >= 0 && lock_take(fd, LOCK_WHOLE) == 0 && lock_named(fd, path)) {
			q->lock = fd;
			break;
		}
		/* Another process has the lock, or the file was removed and made again: try
		 * again. */
		file_close(&fd);
		if (clock_monotonic() >= deadline) {
			failed = error_set(err, ERROR_SYSTEM, path,
			    "unable to lock the queue within %d s", QUEUE_LOCK_MS / 1000);
			break;
		}
		nanosleep(&pause, NULL);
	}
	free(path);
	free(queues);
	return failed;
}

void
queue_unlock(struct queue *q)
{
	file_close(&q->lock);
}

static void
add_entry(struct queue *q, const struct queue_entry *entry)
{
	q->others = memory_array(q->others, q->count + 1, sizeof *q->others);
	q->others[q->count++] = *entry;
}

/* The number that is a ticket's name; 0: it is no ticket. */
static long long
ticket_number(const char *name)
{
	if (strspn(name, "0123456789") != NUMBER_DIGITS || name[NUMBER_DIGITS] != '\0')
		return 0;
	return strtoll(name, NULL, 10);
}

/* Reads a ticket. If it cannot be read, it counts nevertheless, since it is locked. */
static void
read_ticket(int fd, struct queue_entry *entry)
{
	char text[TICKET_LIMIT + 1], state[8] = "", id[ID_SIZE] = "", policy[16] = "";
	ssize_t got = pread(fd, text, TICKET_LIMIT, 0);

	text[got > 0 ? got : 0] = '\0';
	entry->state = QUEUE_RUNNING;
	if (sscanf(text, "%7s %36s %15s", state, id, policy) != 3 || !id_valid(id, strlen(id)))
		return;
	memcpy(entry->run_id, id, sizeof id);
	memcpy(entry->policy, policy, sizeof policy);
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		if (strncmp(states[i], state, strlen(state)) == 0)
			entry->state = (enum queue_state)i;
}

static int
by_number(const void *a, const void *b)
{
	const struct queue_entry *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

/* Checks the order of the others that queue.h promises: first those without a ticket, then by
 * number; and that this process is not among them. */
static bool
queue_others_hold(const struct queue *q)
{
	for (size_t i = 0; i < q->count; i++) {
		const long long number = q->others[i].number;

		if (number < 0 || number > q->last || (number > 0 && q->ticket >= 0 && number == q->number))
			return false;
		if (i > 0 && number < q->others[i - 1].number)
			return false;
	}
	return true;
}

int
queue_look(struct queue *q, struct error *err)
{
	DIR *directory = storage_opendir(q->directory);
	struct dirent *found;
	int failed = 0;

	INVARIANT(q->lock >= 0);
	q->count = 0;
	q->last = 0;
	q->gone[0] = '\0';
	if (directory == NULL)
		return error_errno(err, ERROR_SYSTEM, q->directory, "unable to read the directory");
	while (failed == 0 && (found = readdir(directory)) != NULL) {
		struct queue_entry entry = { .number = ticket_number(found->d_name) };
		char *path;
		int fd;

		if (entry.number == 0 || (q->ticket >= 0 && entry.number == q->number))
			continue;
		path = path_join(q->directory, found->d_name);
		fd = file_open_plain(path, O_RDONLY, 0);
		if (fd < 0) {
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
		} else if (lock_look(fd, LOCK_WHOLE, &entry.pid) == 1) {
			read_ticket(fd, &entry);
			add_entry(q, &entry);
			q->last = entry.number > q->last ? entry.number : q->last;
		} else {
			/* Nobody has locked it, so its process has ended. */
			read_ticket(fd, &entry);
			memcpy(q->gone, entry.run_id, sizeof q->gone);
			if (unlink(path) != 0)
				failed = error_errno(err, ERROR_SYSTEM, path, "unable to remove");
		}
		file_close(&fd);
		free(path);
	}
	closedir(directory);
	if (q->count > 0)
		qsort(q->others, q->count, sizeof *q->others, by_number);
	INVARIANT(queue_others_hold(q));
	return failed;
}

int
queue_look_at_runs(struct queue *q, struct error *err)
{
	const size_t with_ticket = q->count;
	const struct dirent *found;
	DIR *directory;

	INVARIANT(q->lock >= 0);
	if (storage_names(q->storage, "runs", &directory, err) != 0)
		return -1;
	while (directory != NULL && (found = readdir(directory)) != NULL) {
		struct queue_entry entry = { .state = QUEUE_RUNNING };
		const char *id = found->d_name;
		bool known = q->ticket >= 0 && strcmp(q->run_id, id) == 0;

		for (size_t i = 0; i < with_ticket && !known; i++)
			known = strcmp(q->others[i].run_id, id) == 0;
		if (known || !id_valid(id, strlen(id)) ||
		    !storage_run_owner(q->storage, id, &entry.pid) ||
		    !storage_run_named(q->storage, id, q->name))
			continue;
		memcpy(entry.run_id, id, sizeof entry.run_id);
		add_entry(q, &entry);
	}
	if (directory != NULL)
		closedir(directory);
	if (q->count > 0)
		qsort(q->others, q->count, sizeof *q->others, by_number);
	INVARIANT(queue_others_hold(q));
	return 0;
}

static int
write_ticket(struct queue *q, enum queue_state state, const char *run_id, struct error *err)
{
	char *text = memory_format("%s %s %s %s\n", states[state], run_id, q->policy,
	    q->told != NULL ? q->told : "{}");
	int failed = 0;

	/* A ticket is changed under the lock, in place, by a text of the same length. */
	INVARIANT(q->lock >= 0 && q->ticket >= 0);
	INVARIANT(strlen(states[state]) == strlen(states[QUEUE_WAITING]));
	INVARIANT(q->run_id[0] != '\0' && strcmp(run_id, q->run_id) == 0);
	if (lseek(q->ticket, 0, SEEK_SET) != 0 || file_write(q->ticket, text, strlen(text)) != 0)
		failed = error_errno(err, ERROR_SYSTEM, q->directory, "unable to write a ticket");
	free(text);
	return failed;
}

static char *
ticket_path(const struct queue *q)
{
	return memory_format("%s/%0*lld", q->directory, NUMBER_DIGITS, q->number);
}

int
queue_draw(struct queue *q, enum queue_state state, const char *run_id, const char *policy,
    struct error *err)
{
	char *path;
	int failed = 0;

	INVARIANT(q->lock >= 0 && q->ticket < 0);
	if (q->last == LLONG_MAX)
		return error_set(err, ERROR_SYSTEM, q->directory, "a file there has the name of the last ticket "
		    "that there can be, and is locked: end the process that holds it");
	q->number = q->last + 1;
	INVARIANT(q->count == 0 || q->others[q->count - 1].number < q->number);
	snprintf(q->policy, sizeof q->policy, "%s", policy);
	snprintf(q->run_id, sizeof q->run_id, "%s", run_id);
	path = ticket_path(q);
	q->ticket = file_open_plain(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (q->ticket < 0 || lock_take(q->ticket, LOCK_WHOLE) != 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to draw a ticket");
	else
		failed = write_ticket(q, state, run_id, err);
	if (failed != 0 && q->ticket >= 0) {
		unlink(path);
		close(q->ticket);
		q->ticket = -1;
	}
	free(path);
	return failed;
}

int
queue_sign(struct queue *q, enum queue_state state, const char *run_id, struct error *err)
{
	snprintf(q->run_id, sizeof q->run_id, "%s", run_id);
	return write_ticket(q, state, run_id, err);
}

void
queue_close(struct queue *q)
{
	struct error none;
	char *path;

	if (q->ticket >= 0) {
		bool locked = queue_lock(q, &none) == 0;

		path = ticket_path(q);
		unlink(path);
		free(path);
		file_close(&q->ticket);
		/* The last process removes the directory. A process that had opened the lock file
		 * before will notice that its name is gone. */
		if (locked && queue_look(q, &none) == 0 && q->count == 0) {
			path = path_join(q->directory, "lock");
			unlink(path);
			rmdir(q->directory);
			free(path);
		}
	}
	queue_unlock(q);
	free(q->others);
	free(q->directory);
	free(q->name);
	free(q->told);
	*q = (struct queue){ .lock = -1, .ticket = -1 };
}

/* ---- lists ---- */

/* Reads a ticket whose process is alive. If it has no JSON, details are not known. */
static bool
read_live_ticket(const char *path, struct queued *run, enum queue_state *state)
{
	int fd = file_open_plain(path, O_RDONLY, 0);
	struct queue_entry entry = { .state = QUEUE_ENDING };
	struct buffer text = BUFFER_INIT;
	struct span told = SPAN_NONE;
	struct stat status;
	const char *json;
	bool alive;

	if (fd < 0)
		return false;
	alive = lock_look(fd, LOCK_WHOLE, &entry.pid) == 1 && fstat(fd, &status) == 0;
	if (alive) {
		read_ticket(fd, &entry);
		if (file_read(fd, &text, TOLD_LIMIT) == 0 &&
		    (json = memchr(buffer_string(&text), '{', text.len)) != NULL)
			told = span_trim(span_of(json, text.len - (size_t)(json - text.data)));
		*run = (struct queued){ .name = span_text(span_member(told, "name")),
			.child = span_true(span_member(told, "child")), .pid = entry.pid,
			.came = clock_of(&status.st_mtim) };
		memcpy(run->run_id, entry.run_id, sizeof run->run_id);
		if (run->name == NULL)
			run->name = memory_text("");
		*state = entry.state;
	}
	buffer_free(&text);
	close(fd);
	return alive;
}

static int
by_coming(const void *a, const void *b)
{
	const struct queued *left = a, *right = b;

	return (left->came < right->came) - (left->came > right->came);
}

/* Lists the tickets of all queues that are in one of two states; run_id: only those of this run, or
 * NULL. */
static int
queued_read(const struct storage *s, const char *run_id, enum queue_state one,
    enum queue_state other, struct queued **list, size_t *count, struct error *err)
{
	const struct dirent *found, *ticket;
	struct queued run;
	DIR *directory, *queue;
	int failed = storage_names(s, "queues", &directory, err);

	*list = NULL;
	*count = 0;
	while (directory != NULL && (found = readdir(directory)) != NULL) {
		char *path;

		if (found->d_name[0] == '.')
			continue;
		path = memory_format("%s/queues/%s", s->root, found->d_name);
		/* If the directory is removed meanwhile, nobody is waiting in it. */
		queue = storage_opendir(path);
		while (queue != NULL && (ticket = readdir(queue)) != NULL) {
			enum queue_state state;
			char *in = path_join(path, ticket->d_name);
			bool live = ticket_number(ticket->d_name) != 0 &&
			    read_live_ticket(in, &run, &state);

			free(in);
			if (!live)
				continue;
			if ((state != one && state != other) ||
			    (run_id != NULL && strcmp(run.run_id, run_id) != 0)) {
				free(run.name);
				continue;
			}
			*list = memory_array(*list, *count + 1, sizeof **list);
			(*list)[(*count)++] = run;
		}
		if (queue != NULL)
			closedir(queue);
		free(path);
	}
	if (directory != NULL)
		closedir(directory);
	if (*count > 0)
		qsort(*list, *count, sizeof **list, by_coming);
	return failed;
}

int
queued_list(const struct storage *s, struct queued **list, size_t *count, struct error *err)
{
	return queued_read(s, NULL, QUEUE_WAITING, QUEUE_WAITING, list, count, err);
}

bool
queued_find(const struct storage *s, const char *run_id, struct queued *run)
{
	struct queued *list;
	struct error ignored;
	size_t count;
	bool found;

	found = queued_read(s, run_id, QUEUE_WAITING, QUEUE_RUNNING, &list, &count, &ignored) == 0 &&
	    count > 0;
	if (found) {
		*run = list[0];
		run->name = memory_text(list[0].name);
	}
	queued_free(list, count);
	return found;
}

void
queued_free(struct queued *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].name);
	free(list);
}
