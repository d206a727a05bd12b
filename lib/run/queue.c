/*
 * fcntl(2) locks, tried again every few milliseconds for `lock`, as a wait for one has no
 * time limit. The states of a ticket are words of one length, so that it is changed by one
 * write in place. Lists look without `lock`: they only tell.
 */
#include "run/queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "json/writer.h"

#define LOCK_PAUSE_NS 2000000
#define NUMBER_DIGITS 19
#define TICKET_LIMIT 96          /* of what stands before its JSON */
#define TOLD_LIMIT ((size_t)64 << 10)

/* All of one length, so that a ticket is changed by one write in place. */
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

static char *
in_queue(const struct queue *q, const char *name)
{
	return path_join(q->directory, name);
}

static int
make_directories(const struct queue *q, struct error *err)
{
	char *queues = path_directory(q->directory);
	int failed = storage_make_directory(queues, false, err) != 0 ? -1 :
	    storage_make_directory(q->directory, false, err);

	free(queues);
	return failed;
}

/* 1: locked; 0: another has the lock, or it went away; -1. */
static int
try_lock(struct queue *q, const char *path, struct error *err)
{
	int fd;

	if (make_directories(q, err) != 0)
		return -1;
	fd = file_open_plain(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, ERROR_SYSTEM, path, "unable to open");
	if (lock_take(fd, LOCK_WHOLE) == 0 && lock_named(fd, path)) {
		q->lock = fd;
		return 1;
	}
	close(fd);
	return 0;
}

int
queue_lock(struct queue *q, struct error *err)
{
	const struct timespec pause = { 0, LOCK_PAUSE_NS };
	int64_t deadline = clock_monotonic() + QUEUE_LOCK_MS;
	char *path = in_queue(q, "lock");
	int got;

	while ((got = try_lock(q, path, err)) == 0 && clock_monotonic() < deadline)
		nanosleep(&pause, NULL);
	if (got == 0)
		error_set(err, ERROR_SYSTEM, path, "unable to lock the queue within %d s",
		    QUEUE_LOCK_MS / 1000);
	free(path);
	return got == 1 ? 0 : -1;
}

void
queue_unlock(struct queue *q)
{
	if (q->lock >= 0)
		close(q->lock);
	q->lock = -1;
}

static struct queue_entry *
add_entry(struct queue *q)
{
	q->others = memory_array(q->others, q->count + 1, sizeof *q->others);
	memset(&q->others[q->count], 0, sizeof *q->others);
	return &q->others[q->count++];
}

/* The number of a ticket by its name; 0: it is none. */
static long long
ticket_number(const char *name)
{
	if (strspn(name, "0123456789") != NUMBER_DIGITS || name[NUMBER_DIGITS] != '\0')
		return 0;
	return strtoll(name, NULL, 10);
}

/* What a ticket says. One that cannot be read counts all the same: it is locked. */
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

/* Removes a ticket that nobody holds. */
static int
clear_ticket(struct queue *q, int fd, const char *path, struct error *err)
{
	struct queue_entry entry = { .number = 0 };

	read_ticket(fd, &entry);
	memcpy(q->gone, entry.run_id, sizeof q->gone);
	return unlink(path) == 0 ? 0 : error_errno(err, ERROR_SYSTEM, path, "unable to remove");
}

/* Takes in a ticket, or removes it if nobody holds it. */
static int
look_at_ticket(struct queue *q, const char *name, struct error *err)
{
	long long number = ticket_number(name);
	char *path;
	pid_t pid;
	int fd, failed = 0;

	if (number == 0 || (q->ticket >= 0 && number == q->number))
		return 0;
	path = in_queue(q, name);
	fd = file_open_plain(path, O_RDONLY, 0);
	if (fd < 0) {
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	} else if (lock_look(fd, LOCK_WHOLE, &pid) == 1) {
		struct queue_entry *entry = add_entry(q);

		read_ticket(fd, entry);
		entry->number = number;
		entry->pid = pid;
		q->last = number > q->last ? number : q->last;
	} else {
		failed = clear_ticket(q, fd, path, err);
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return failed;
}

static int
by_number(const void *a, const void *b)
{
	const struct queue_entry *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

int
queue_look(struct queue *q, struct error *err)
{
	DIR *directory = storage_opendir(q->directory);
	struct dirent *found;
	int failed = 0;

	q->count = 0;
	q->last = 0;
	q->gone[0] = '\0';
	if (directory == NULL)
		return error_errno(err, ERROR_SYSTEM, q->directory, "unable to read the directory");
	while (failed == 0 && (found = readdir(directory)) != NULL)
		failed = look_at_ticket(q, found->d_name, err);
	closedir(directory);
	if (q->count > 0)
		qsort(q->others, q->count, sizeof *q->others, by_number);
	return failed;
}

static bool
has_ticket(const struct queue *q, const char *run_id)
{
	if (q->ticket >= 0 && strcmp(q->run_id, run_id) == 0)
		return true;
	for (size_t i = 0; i < q->count; i++)
		if (strcmp(q->others[i].run_id, run_id) == 0)
			return true;
	return false;
}

int
queue_look_at_runs(struct queue *q, struct error *err)
{
	char *path = path_join(q->storage->root, "runs");
	DIR *directory = storage_opendir(path);
	struct dirent *found;
	pid_t pid;
	int failed = 0;

	if (directory == NULL && errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to read the directory");
	free(path);
	if (directory == NULL)
		return failed;
	while ((found = readdir(directory)) != NULL) {
		const char *id = found->d_name;

		if (!id_valid(id, strlen(id)) || has_ticket(q, id) ||
		    !storage_run_owner(q->storage, id, &pid) ||
		    !storage_run_named(q->storage, id, q->name))
			continue;
		struct queue_entry *entry = add_entry(q);

		memcpy(entry->run_id, id, sizeof entry->run_id);
		entry->pid = pid;
		entry->state = QUEUE_RUNNING;
	}
	closedir(directory);
	if (q->count > 0)
		qsort(q->others, q->count, sizeof *q->others, by_number);
	return 0;
}

static int
write_ticket(struct queue *q, enum queue_state state, const char *run_id, struct error *err)
{
	char *text = memory_format("%s %s %s %s\n", states[state], run_id, q->policy,
	    q->told != NULL ? q->told : "{}");
	int failed = 0;

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

	q->number = q->last + 1;
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

/* Whoever has opened the lock in there looks at its name again. */
static void
remove_empty(struct queue *q)
{
	struct error none;
	char *lock;

	if (queue_look(q, &none) != 0 || q->count > 0)
		return;
	lock = in_queue(q, "lock");
	unlink(lock);
	rmdir(q->directory);
	free(lock);
}

static void
give_back(struct queue *q)
{
	struct error none;
	bool locked = queue_lock(q, &none) == 0;
	char *path = ticket_path(q);

	unlink(path);
	free(path);
	close(q->ticket);
	q->ticket = -1;
	if (locked)
		remove_empty(q);
	queue_unlock(q);
}

void
queue_close(struct queue *q)
{
	if (q->ticket >= 0)
		give_back(q);
	queue_unlock(q);
	free(q->others);
	free(q->directory);
	free(q->name);
	free(q->told);
	*q = (struct queue){ .lock = -1, .ticket = -1 };
}

/* ---- lists ---- */

struct queued_runs {
	struct queued *list;
	size_t count;
};

/* The JSON of a ticket; one without it tells nothing. */
static void
read_told(int fd, struct queued *run)
{
	struct buffer text = BUFFER_INIT;
	const char *json;

	run->name = NULL;
	if (file_read(fd, &text, TOLD_LIMIT) == 0 &&
	    (json = memchr(buffer_string(&text), '{', text.len)) != NULL) {
		struct span told = span_trim(span_of(json, text.len - (size_t)(json - text.data)));

		run->name = span_text(span_member(told, "name"));
		run->child = span_true(span_member(told, "child"));
	}
	if (run->name == NULL)
		run->name = memory_text("");
	buffer_free(&text);
}

static void
list_ticket(struct queued_runs *runs, const char *path)
{
	int fd = file_open_plain(path, O_RDONLY, 0);
	struct queue_entry entry = { .number = 0 };
	struct stat status;
	pid_t pid;

	if (fd < 0)
		return;
	if (lock_look(fd, LOCK_WHOLE, &pid) == 1 && fstat(fd, &status) == 0) {
		read_ticket(fd, &entry);
		if (entry.state == QUEUE_WAITING) {
			struct queued run = { .pid = pid, .came = (int64_t)status.st_mtim.tv_sec * 1000000 +
			    status.st_mtim.tv_nsec / 1000 };

			memcpy(run.run_id, entry.run_id, sizeof run.run_id);
			read_told(fd, &run);
			runs->list = memory_array(runs->list, runs->count + 1, sizeof *runs->list);
			runs->list[runs->count++] = run;
		}
	}
	close(fd);
}

/* One that goes away meanwhile has nobody who waits. */
static void
list_queue(struct queued_runs *runs, const char *path)
{
	DIR *directory = storage_opendir(path);
	struct dirent *found;

	if (directory == NULL)
		return;
	while ((found = readdir(directory)) != NULL)
		if (ticket_number(found->d_name) != 0) {
			char *ticket = path_join(path, found->d_name);

			list_ticket(runs, ticket);
			free(ticket);
		}
	closedir(directory);
}

static int
by_coming(const void *a, const void *b)
{
	const struct queued *left = a, *right = b;

	return (left->came < right->came) - (left->came > right->came);
}

int
queued_list(const struct storage *s, struct queued **list, size_t *count, struct error *err)
{
	struct queued_runs runs = { NULL, 0 };
	char *queues = path_join(s->root, "queues");
	DIR *directory = storage_opendir(queues);
	struct dirent *found;
	int failed = 0;

	if (directory == NULL && errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, queues, "unable to read the directory");
	while (directory != NULL && (found = readdir(directory)) != NULL)
		if (found->d_name[0] != '.') {
			char *path = path_join(queues, found->d_name);

			list_queue(&runs, path);
			free(path);
		}
	if (directory != NULL)
		closedir(directory);
	free(queues);
	if (runs.count > 0)
		qsort(runs.list, runs.count, sizeof *runs.list, by_coming);
	*list = runs.list;
	*count = runs.count;
	return failed;
}

void
queued_free(struct queued *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].name);
	free(list);
}
