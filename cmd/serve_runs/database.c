/*
 * The lock on the directory belongs to this process. awf-mirror, its child, which copies the
 * database into the directory, has a lock of its own there, since it may live a little longer than
 * this process.
 */
#include "serve_runs/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "ingest/database_url.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/scan.h"
#include "proc/libexec.h"
#include "proc/peer.h"
#include "serve_runs/log.h"

#define MIRROR "awf-mirror"
#define SHIP "awf-ship"
#define SHORT_DIGEST 32   /* digits of the digest in the directory's name */
#define SLOTS 1000        /* awf-serve processes for one database, of one user on one machine */

/* ---- the directory ---- */

/* Locks the first directory that no other process has locked. */
static int
database_lock_slot(struct database *d, const char *base, struct error *err)
{
	for (int i = 0; i < SLOTS; i++) {
		char *directory = memory_format("%s/%d", base, i), *lock = path_join(directory, "lock");
		int failed = directory_make(directory, 0700, err);

		if (failed == 0) {
			d->lock = file_open_plain(lock, O_RDWR | O_CREAT, 0600);
			if (d->lock == -1)
				failed = error_errno(err, ERROR_SYSTEM, lock, "unable to open");
			else if (lock_file_take(d->lock) == 0)
				d->directory = memory_text(directory);
			else if (errno != EWOULDBLOCK)
				failed = error_errno(err, ERROR_SYSTEM, lock, "unable to lock");
		}
		free(lock);
		free(directory);
		if (failed != 0 || d->directory != NULL)
			return failed;
		file_close(&d->lock);
	}
	return error_set(err, ERROR_SYSTEM, base, "the whole cache is in use");
}

static int
find_directory(struct database *d, struct error *err)
{
	const char *cache = environment_text("XDG_CACHE_HOME"), *home = path_home();
	struct buffer name = BUFFER_INIT;
	char digest[DIGEST_SIZE], *base;
	int failed;

	if ((cache == NULL || *cache != '/') && home == NULL)
		return error_set(err, ERROR_SYSTEM, "--db", "there is no place for a copy: neither "
		    "XDG_CACHE_HOME nor HOME names one");
	if (database_identity(d->url, &name, err) != 0)
		return -1;
	digest_sha256(name.data, name.len, digest);
	base = cache != NULL && *cache == '/' ? memory_format("%s/awf/db/%.*s", cache, SHORT_DIGEST, digest) :
	    memory_format("%s/.cache/awf/db/%.*s", home, SHORT_DIGEST, digest);
	failed = database_lock_slot(d, base, err);
	free(base);
	buffer_free(&name);
	return failed;
}

/* Uploads that an earlier process has left here are in the database, or were never acknowledged:
 * they can be removed. */
static int
make_storages(const struct database *d, struct storage *served, struct storage *outgoing,
    struct error *err)
{
	char *record = path_join(d->directory, "record"), *out = path_join(d->directory, "outgoing");
	int failed = copytree_remove(out, err) == 0 && storage_prepare_at(served, record, err) == 0 &&
	    storage_prepare_at(outgoing, out, err) == 0 ? 0 : -1;

	outgoing->disposable = true;
	free(out);
	free(record);
	return failed;
}

int
database_open(struct database *d, const char *url, struct storage *served,
    struct storage *outgoing, struct error *err)
{
	const char *sync = getenv("AWF_SYNC");
	struct error none;
	char *filter, *list;

	*d = (struct database){ .url = url, .lock = -1, .output.fd = -1 };
	filter = libexec_filter(MIRROR, url, "--db", err);
	if (filter == NULL)
		return -1;
	free(filter);
	d->shipper = libexec_filter(SHIP, url, "--db", &none);
	list = libexec_path();
	d->program = path_search(list, MIRROR);
	free(list);
	if (d->program == NULL)
		return error_set(err, ERROR_SYSTEM, MIRROR, "is not where AWF's own programs are");
	if (find_directory(d, err) != 0 || make_storages(d, served, outgoing, err) != 0)
		return -1;
	d->sync = sync != NULL ? memory_text(sync) : NULL;
	setenv("AWF_SYNC", "none", 1);
	return 0;
}

/* ---- awf-mirror ---- */

static int database_start_mirror(struct database *d, struct error *err);

static void
start_again(struct loop_timer *timer)
{
	struct database *d = (struct database *)(void *)((char *)timer - offsetof(struct database, again));
	struct error err = ERROR_INIT;

	if (database_start_mirror(d, &err) != 0) {
		log_warn(&err);
		loop_set(d->loop, &d->again, SERVER_RETRY_MS);
	}
}

static void
database_read_line(struct database *d, struct span line)
{
	static const char *const names[] = { "connected", "runs", "behind", "refused" };
	long long figures[3] = { 0 };
	struct span values[4];
	size_t bad;

	if (scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) != NULL || span_type(line) != 'o')
		return;
	span_members(line, names, 4, values);
	for (size_t i = 0; i < 3; i++)
		span_integer(values[i + 1], &figures[i]);
	d->connected = span_true(values[0]);
	d->runs = figures[0];
	d->behind = figures[1];
	d->refused = figures[2];
}

static void
database_unwatch_mirror(struct database *d)
{
	if (d->output.fd != -1)
		loop_remove(d->loop, &d->output);
	d->output.fd = -1;
	d->connected = false;
}

static void
output_ready(struct loop_source *source, uint32_t events)
{
	struct database *d = (struct database *)(void *)((char *)source - offsetof(struct database, output));
	struct span line;
	int got, status;

	(void)events;
	do {
		got = peer_receive(d->mirror);
		while (peer_line(d->mirror, &line) == 1)
			database_read_line(d, line);
	} while (got == 1);
	if (got == 0)
		return;
	database_unwatch_mirror(d);
	status = process_exit_code(peer_end(d->mirror));
	/* It has printed the reason on standard error itself. */
	if (status == STATUS_USAGE || status == STATUS_DEFINITION)
		d->failed(d, status);
	else
		loop_set(d->loop, &d->again, SERVER_RETRY_MS);
}

static int
database_start_mirror(struct database *d, struct error *err)
{
	char *argv[] = { d->program, (char *)d->url, d->directory, NULL };
	const struct process_spec spec = { .argv = argv, .err = PROCESS_INHERIT };

	d->mirror->end_ms = FETCHER_END_MS;
	if (peer_start(d->mirror, &spec, err) != 0)
		return -1;
	d->output = (struct loop_source){ .fd = d->mirror->process.out, .ready = output_ready };
	if (loop_add(d->loop, &d->output, EPOLLIN, err) == 0)
		return 0;
	d->output.fd = -1;
	peer_end(d->mirror);
	return -1;
}

int
database_begin(struct database *d, struct loop *loop, struct error *err)
{
	d->loop = loop;
	d->mirror = memory_zero(1, sizeof *d->mirror);
	d->again.due = start_again;
	return database_start_mirror(d, err);
}

void
database_close(struct database *d)
{
	if (d->loop != NULL) {
		loop_unset(d->loop, &d->again);
		database_unwatch_mirror(d);
	}
	if (d->mirror != NULL && d->mirror->process.pid != 0)
		peer_end(d->mirror);
	if (d->mirror != NULL)
		peer_free(d->mirror);
	free(d->mirror);
	file_close(&d->lock);
	free(d->directory);
	free(d->program);
	free(d->shipper);
	free(d->sync);
}
