/*
 * The file is an array of records of one size, none of which crosses a page, so that a process that
 * is killed while it writes one leaves no half of it. A record of an earlier day is used again. What
 * the file says is believed within bounds alone.
 */
#include "limits/day.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/digest.h"
#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/lock.h"
#include "model/price.h"

#define DAY_US (INT64_C(24) * 60 * 60 * 1000000)
#define RECORDS_MOST 65536

struct record {
	int64_t day;          /* since 1970 */
	int64_t spent;
	char name[sizeof ((struct day_sum *)0)->name];
};

struct ledger {
	int fd;
	int64_t day;
	struct record *list;
	size_t count;
};

_Static_assert(4096 % sizeof(struct record) == 0, "a record crosses a page");

static int64_t
day_today(void)
{
	return clock_wall() / DAY_US;
}

/* A name that is too long is known by its digest. */
static void
fit_name(const char *name, char out[sizeof ((struct record *)0)->name])
{
	char sha256[DIGEST_SIZE];
	const size_t len = strlen(name);

	memset(out, 0, sizeof ((struct record *)0)->name);
	if (len >= sizeof ((struct record *)0)->name)
		name = digest_sha256(name, len, sha256);
	snprintf(out, sizeof ((struct record *)0)->name, "%s", name);
}

/* The names for which a request counts, a list: that for all comes first. */
static char **
day_names(const struct day *d, const char *provider, const char *model)
{
	char **names = memory_zero(1, sizeof *names), *name;

	list_add(&names, LIMITS_ALL);
	for (char *const *workflow = d->workflows; workflow != NULL && *workflow != NULL; workflow++) {
		name = memory_format(LIMITS_ALL "%s", *workflow);
		if (!list_has(names, name))
			list_add(&names, name);
		free(name);
	}
	INVARIANT(strcmp(names[0], LIMITS_ALL) == 0);
	list_add(&names, provider);
	name = memory_format("%s/%s", provider, model);
	list_add(&names, name);
	free(name);
	return names;
}

/* ---- the ledger ---- */

static int
read_records(struct ledger *l, const char *path, struct error *err)
{
	const off_t size = lseek(l->fd, 0, SEEK_END);

	l->day = day_today();
	l->list = NULL;
	l->count = size <= 0 ? 0 : (size_t)size / sizeof *l->list;
	if (l->count > RECORDS_MOST)
		l->count = RECORDS_MOST;
	l->list = memory_zero(l->count + 1, sizeof *l->list);
	if (l->count > 0 && pread(l->fd, l->list, l->count * sizeof *l->list, 0) !=
	    (ssize_t)(l->count * sizeof *l->list))
		return error_errno(err, ERROR_SYSTEM, path, "unable to read");
	for (size_t i = 0; i < l->count; i++) {
		struct record *r = &l->list[i];

		if (r->day != l->day || r->spent < 0 || memchr(r->name, '\0', sizeof r->name) == NULL)
			*r = (struct record){ .day = 0 };
	}
	return 0;
}

static void
ledger_close(struct ledger *l)
{
	free(l->list);
	l->list = NULL;
	file_close(&l->fd);
}

/* Opens the ledger, and locks it. */
static int
ledger_open(struct ledger *l, const struct day *d, struct error *err)
{
	char *directory = path_directory(d->path);
	int failed = directory_make(directory, 0700, err);

	*l = (struct ledger){ .fd = -1 };
	if (failed == 0 && (l->fd = file_open_plain(d->path, O_RDWR | O_CREAT, 0600)) == -1)
		failed = error_errno(err, ERROR_SYSTEM, d->path, "unable to open");
	if (failed == 0 && lock_file_within(l->fd, LIMIT_LOCK_MS) == -1)
		failed = error_errno(err, ERROR_SYSTEM, d->path, "unable to lock");
	if (failed == 0)
		failed = read_records(l, d->path, err);
	if (failed != 0)
		ledger_close(l);
	free(directory);
	return failed;
}

/* The record of today for a name; NULL: there is none. */
static struct record *
ledger_find(const struct ledger *l, const char *name)
{
	char fitting[sizeof ((struct record *)0)->name];

	fit_name(name, fitting);
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].day == l->day && strcmp(l->list[i].name, fitting) == 0)
			return &l->list[i];
	return NULL;
}

static int
ledger_add(struct ledger *l, const char *path, const char *name, int64_t amount, struct error *err)
{
	struct record *r = ledger_find(l, name);

	for (size_t i = 0; r == NULL && i < l->count; i++)
		if (l->list[i].day != l->day)
			r = &l->list[i];
	if (r == NULL) {
		if (l->count >= RECORDS_MOST)
			return error_set(err, ERROR_SYSTEM, path, "has no room: remove it, and today counts anew");
		l->list = memory_array(l->list, l->count + 1, sizeof *l->list);
		r = &l->list[l->count++];
		*r = (struct record){ .day = 0 };
	}
	if (r->day != l->day) {
		*r = (struct record){ .day = l->day };
		fit_name(name, r->name);
	}
	/* What was added before midnight is not taken off after it. */
	r->spent = amount < 0 && r->spent < -amount ? 0 : count_add(r->spent, amount);
	INVARIANT(r->spent >= 0 && ledger_find(l, name) == r);
	if (pwrite(l->fd, r, sizeof *r, (off_t)((size_t)(r - l->list) * sizeof *r)) == sizeof *r)
		return 0;
	return error_errno(err, ERROR_SYSTEM, path, "unable to write");
}

static int
add_to_all(struct ledger *l, const struct day *d, char *const *names, int64_t amount, struct error *err)
{
	for (; *names != NULL; names++)
		if (ledger_add(l, d->path, *names, amount, err) != 0)
			return -1;
	return 0;
}

/* ---- limits ---- */

int
day_begin(struct day *d, const char *storage_root, char **workflows, struct error *err)
{
	bool any, wrong;

	*d = (struct day){ .workflows = workflows, .path = path_join(storage_root, DAY_FILE) };
	wrong = limits_file_read(&d->file, err) != 0;
	if (wrong && err->code != ERROR_DEFINITION)
		return -1;
	/* A line that is wrong is told of by each call. */
	any = wrong;
	for (size_t i = 0; i < d->file.count; i++)
		any |= d->file.list[i].limits.cost_per_day >= 0;
	return any;
}

bool
day_limits(const struct day *d, const char *provider, const char *model)
{
	char **names = day_names(d, provider, model);
	bool limited = false;

	for (char **name = names; *name != NULL; name++)
		limited |= limits_file_cost(&d->file, *name) >= 0;
	list_free(names);
	return limited;
}

/* Whether the sum for a name allows a request that costs at least so much. */
static int
check_sum(const char *name, int64_t spent, int64_t limit, int64_t least, const char *agent,
    struct error *err)
{
	char have[MONEY_SIZE], most[MONEY_SIZE], costs[MONEY_SIZE];
	const char *whose = strcmp(name, LIMITS_ALL) == 0 ? "all runs" : name;

	money_text(limit, most);
	if (spent >= limit)
		return error_set(err, ERROR_MAX_COST, agent, "not asked: cost-per-day of %s is reached (%s of %s "
		    "since 00:00 UTC)", whose, money_text(spent, have), most);
	if (least > limit - spent)
		return error_set(err, ERROR_MAX_COST, agent, "not asked: the input alone costs %s or more, and %s of "
		    "cost-per-day %s of %s is left", money_text(least, costs), money_text(limit - spent, have),
		    most, whose);
	INVARIANT(least <= limit - spent && spent < limit);
	return 0;
}

int
day_reserve(const struct day *d, const char *provider, const char *model, int64_t least, bool hold,
    const char *agent, struct error *err)
{
	char **names = day_names(d, provider, model);
	struct ledger l = { .fd = -1 };
	struct limits_file file;
	int result = limits_file_read(&file, err);

	if (result == 0)
		result = ledger_open(&l, d, err);
	for (char **name = names; result == 0 && *name != NULL; name++) {
		const int64_t limit = limits_file_cost(&file, *name);
		const struct record *r = limit >= 0 ? ledger_find(&l, *name) : NULL;

		if (limit >= 0)
			result = check_sum(*name, r != NULL ? r->spent : 0, limit, least, agent, err);
	}
	if (result == 0 && hold && least > 0)
		result = add_to_all(&l, d, names, least, err);
	ledger_close(&l);
	limits_file_free(&file);
	list_free(names);
	return result;
}

int
day_add(const struct day *d, const char *provider, const char *model, int64_t amount, struct error *err)
{
	struct ledger l;
	char **names;
	int result;

	if (amount == 0)
		return 0;
	names = day_names(d, provider, model);
	result = ledger_open(&l, d, err);
	if (result == 0)
		result = add_to_all(&l, d, names, amount, err);
	ledger_close(&l);
	list_free(names);
	return result;
}

void
day_end(struct day *d)
{
	limits_file_free(&d->file);
	list_free(d->workflows);
	free(d->path);
	*d = (struct day){ .path = NULL };
}

int
day_read(const char *storage_root, struct day_sum **sums, size_t *count, struct error *err)
{
	char *path = path_join(storage_root, DAY_FILE);
	struct ledger l = { .fd = file_open_plain(path, O_RDONLY, 0) };
	int result = 0;

	*count = 0;
	if (l.fd == -1 && errno != ENOENT)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	else if (l.fd != -1)
		result = read_records(&l, path, err);
	*sums = memory_zero(l.count + 1, sizeof **sums);
	for (size_t i = 0; result == 0 && i < l.count; i++)
		if (l.list[i].day == l.day) {
			memcpy((*sums)[*count].name, l.list[i].name, sizeof l.list[i].name);
			(*sums)[(*count)++].spent = l.list[i].spent;
		}
	ledger_close(&l);
	free(path);
	return result;
}
