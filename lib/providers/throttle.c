/*
 * The file has numbers of this machine only, at fixed offsets; the times of the last calls are a
 * ring behind them, as long as any limit, and behind that is how many tokens were used in each second
 * of the last minute. Its room on disk is allocated at the beginning, so that no later call fails on
 * a full disk.
 *
 * Every change of the file wakes all waiting calls; each then sleeps a little, so that changes at
 * about the same time are handled together. A call that was killed changes nothing, so each also
 * looks from time to time. A call that finds everything free but is not the next lets the earlier
 * ones go first, for a while.
 */
#include "providers/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/lock.h"
#include "model/watch.h"

#define DIRECTORY "limits"
#define FORM "awf-lim1"
#define NUMBERS_MOST ((int64_t)1 << 40)
#define SETTLE_MS 20        /* ms in which changes are collected */

/* Ranges of the file that are locked. */
#define TRIAL ((struct lock_range){ 0, 1 })
#define PLACES 1           /* one for each call in progress, up to LIMITS_AT_ONCE_MOST */
#define QUEUE ((off_t)1 << 20) /* plus the number of a waiting call */

struct state {
	char form[sizeof FORM - 1];
	int64_t drawn;         /* numbers given to waiting calls so far */
	int64_t begun;         /* calls so far; their times are in the ring */
	int64_t failures;      /* consecutive failures that mean that the API is down, */
	int64_t down_since;    /* the time of the first, µs since 1970 */
	int64_t next_trial;    /* of the next trial call, µs since 1970; 0: it is not down */
	int64_t pause_ms;      /* before that */
};

/* Tokens that were used in a second, or the part of a minute that tests take for one. */
struct second {
	int64_t number;        /* since 1970 */
	int64_t tokens;
};
#define SECONDS 60
#define SECOND_US ((int64_t)LIMIT_MINUTE_MS * 1000 / SECONDS)
#define SECONDS_PLACE ((off_t)(sizeof(struct state) + LIMITS_PER_MINUTE_MOST * sizeof(int64_t)))
#define FILE_SIZE (SECONDS_PLACE + (off_t)(SECONDS * sizeof(struct second)))

/* Why a call cannot begin. */
enum obstacle { NOTHING, OTHERS_FIRST, AT_ONCE, PER_MINUTE, TOKENS, DOWN };

static off_t
ring_place(int64_t number)
{
	return (off_t)(sizeof(struct state) +
	    (size_t)(number % LIMITS_PER_MINUTE_MOST) * sizeof(int64_t));
}

/* When a call began, if the ring still has it; 0: it does not, or the value is invalid. */
static int64_t
throttle_read_begin_time(int fd, int64_t number, int64_t now)
{
	int64_t when = 0;

	if (number < 0 || pread(fd, &when, sizeof when, ring_place(number)) != sizeof when ||
	    when > now)
		return 0;
	return when;
}

/* ---- tokens ---- */

static int64_t
throttle_second(int64_t now)
{
	return now / SECOND_US;
}

/* Whether a second is one of the last minute. */
static bool
second_counts(const struct second *s, int64_t now)
{
	const int64_t is = throttle_second(now);

	return s->number > is - SECONDS && s->number <= is && s->tokens > 0;
}

/* The tokens of the last minute; seconds are those of the file. */
static int64_t
throttle_read_tokens(int fd, int64_t now, struct second seconds[SECONDS])
{
	const size_t size = SECONDS * sizeof *seconds;
	int64_t sum = 0;

	if (pread(fd, seconds, size, SECONDS_PLACE) != (ssize_t)size)
		return 0;
	for (size_t i = 0; i < SECONDS; i++)
		if (second_counts(&seconds[i], now))
			sum = count_add(sum, seconds[i].tokens);
	return sum;
}

/* Adds tokens, which may be less than 0, to a second, with the file locked. */
static void
throttle_add_tokens(int fd, int64_t number, int64_t tokens)
{
	const off_t place = SECONDS_PLACE + (off_t)((size_t)(number % SECONDS) * sizeof(struct second));
	struct second s;

	if (pread(fd, &s, sizeof s, place) != sizeof s || s.number != number)
		s = (struct second){ number, 0 };
	s.tokens = tokens < 0 && s.tokens < -tokens ? 0 : count_add(s.tokens, tokens);
	/* What cannot be written is not counted. */
	if (pwrite(fd, &s, sizeof s, place) == -1)
		return;
}

/* When so many tokens are free again that a call can begin, µs; 0: now. A call that is alone may use
 * more than there are. */
static int64_t
throttle_wait_for_tokens(int fd, int64_t limit, int64_t wanted, int64_t now)
{
	struct second seconds[SECONDS];
	int64_t used = throttle_read_tokens(fd, now, seconds);
	const int64_t is = throttle_second(now);

	if (used == 0 || count_add(used, wanted) <= limit)
		return 0;
	for (int64_t number = is - SECONDS + 1; number <= is; number++) {
		const struct second *s = &seconds[number % SECONDS];

		if (s->number == number && second_counts(s, now))
			used -= s->tokens;
		if (used <= 0 || count_add(used, wanted) <= limit)
			return (number + SECONDS) * SECOND_US;
	}
	return (is + SECONDS) * SECOND_US;
}

/* ---- the file ---- */

static char *
file_path(const struct storage *storage, const char *provider)
{
	return memory_format("%s/" DIRECTORY "/%s", storage->root, provider);
}

/* A new file, or one with invalid contents, begins empty. */
static void
read_state(int fd, struct state *s)
{
	if (pread(fd, s, sizeof *s, 0) == sizeof *s && memcmp(s->form, FORM, sizeof s->form) == 0 &&
	    s->drawn >= 0 && s->drawn < NUMBERS_MOST && s->begun >= 0 && s->begun < NUMBERS_MOST &&
	    s->failures >= 0 && s->failures <= NUMBERS_MOST && s->down_since >= 0 && s->next_trial >= 0 &&
	    s->pause_ms >= 0 && s->pause_ms <= DOWN_PAUSE_MOST_MS)
		return;
	memset(s, 0, sizeof *s);
	memcpy(s->form, FORM, sizeof s->form);
}

static bool
is_down(const struct state *s, const struct limits *limits)
{
	return s->next_trial != 0 && limits->down_after > 0;
}

static int
write_state(int fd, const struct state *s, const char *provider, struct error *err)
{
	if (pwrite(fd, s, sizeof *s, 0) == sizeof *s)
		return 0;
	return error_errno(err, ERROR_SYSTEM, provider, "unable to write what its limits count");
}

/* Opens the file, allocates its room, and locks it. */
static int
open_locked(const struct storage *storage, const char *provider, struct error *err)
{
	char *path = file_path(storage, provider), *directory = path_directory(path);
	struct stat status;
	int fd = -1, failed = storage_make_directory(directory, false, err);

	if (failed == 0 && (fd = file_open_plain(path, O_RDWR | O_CREAT, 0600)) == -1)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	if (failed == 0 && lock_file_within(fd, LIMIT_LOCK_MS) == -1)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to lock");
	if (failed == 0 && fstat(fd, &status) == 0 && status.st_size < FILE_SIZE) {
		/* If a file system does not support this, writing allocates the room. */
		errno = posix_fallocate(fd, 0, FILE_SIZE);
		if (errno == ENOSPC || errno == EDQUOT)
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to make");
	}
	if (failed != 0)
		file_close(&fd);
	free(directory);
	free(path);
	return fd;
}

void
throttle_since(struct buffer *out, int64_t down_since)
{
	char text[CLOCK_TEXT_SIZE];

	clock_text(down_since, text);
	buffer_format(out, "since %.8s UTC", text + sizeof "2026-11-21T" - 1);
}

/* ---- waiting ---- */

struct wait {
	struct throttle *throttle;
	const struct throttle_spec *spec;
	bool within;           /* a call within one of an agent CLI: it needs no place */
	int64_t number;        /* place in the queue; 0: none yet */
	enum obstacle obstacle;
	int64_t until;         /* the earliest end of the wait, µs; 0: unknown */
	int64_t down_since;    /* of DOWN */
	int64_t since;         /* monotonic ms */
	int64_t free_since;    /* since when all is free but others were first, monotonic ms; 0:
	                          it is not */
	enum obstacle told;
	int64_t told_until;
	struct watch watch;
};

/* Takes a place among the calls in progress, if one is free. */
static bool
throttle_lock_place(int fd, int at_once, struct lock_range *place)
{
	for (int i = 0; i < at_once; i++) {
		*place = (struct lock_range){ PLACES + i, 1 };
		if (lock_file_take_range(fd, *place) == 0)
			return true;
	}
	return false;
}

/* Whether the call may begin, and what prevents it. If it may, what it needs is locked then. */
static bool
may_begin(struct wait *w, const struct state *s)
{
	struct throttle *t = w->throttle;
	const struct limits *limits = &t->limits;
	const int64_t now = clock_wall();
	const int64_t before = w->number > 0 ? w->number : s->drawn + 1;
	struct lock_range place = { 0, 0 };
	int64_t first;

	w->obstacle = NOTHING;
	w->until = 0;
	w->down_since = s->down_since;
	if (is_down(s, limits) && !w->spec->goes_on) {
		/* A clock that was set back must not make the pause longer. */
		const int64_t left = s->next_trial - now;

		if (lock_file_look_range(t->fd, TRIAL) == 1) {
			w->obstacle = DOWN;
			return false;
		}
		if (left > 0 && left <= DOWN_PAUSE_MOST_MS * 1000LL) {
			w->obstacle = DOWN;
			w->until = s->next_trial;
			return false;
		}
	}
	if (limits->per_minute > 0 && !w->spec->goes_on &&
	    (first = throttle_read_begin_time(t->fd, s->begun - limits->per_minute, now)) != 0 &&
	    now - first < LIMIT_MINUTE_MS * 1000LL) {
		w->obstacle = PER_MINUTE;
		w->until = first + LIMIT_MINUTE_MS * 1000LL;
		return false;
	}
	if (limits->tokens_per_minute > 0 && !w->spec->goes_on && (w->until = throttle_wait_for_tokens(
	    t->fd, limits->tokens_per_minute, t->tokens, now)) != 0) {
		w->obstacle = TOKENS;
		return false;
	}
	if (limits->at_once > 0 && !w->within && !throttle_lock_place(t->fd, limits->at_once,
	    &place)) {
		w->obstacle = AT_ONCE;
		return false;
	}
	if (lock_file_look_range(t->fd, (struct lock_range){ QUEUE, before }) == 1) {
		if (w->free_since == 0)
			w->free_since = clock_monotonic();
		if (clock_monotonic() < w->free_since + LIMIT_PASS_MS) {
			if (place.len > 0)
				lock_file_release_range(t->fd, place);
			w->obstacle = OTHERS_FIRST;
			return false;
		}
	}
	t->trial = is_down(s, limits) && !w->spec->goes_on;
	if (t->trial)
		lock_file_take_range(t->fd, TRIAL);
	return true;
}

/* Begins the call if it may, with the file locked. 1; 0: it has to wait; -1. */
static int
throttle_try_begin(struct wait *w, struct error *err)
{
	struct throttle *t = w->throttle;
	const int64_t now = clock_wall();
	struct state s;

	read_state(t->fd, &s);
	if (may_begin(w, &s)) {
		if (w->spec->goes_on)
			return 1;
		if (pwrite(t->fd, &now, sizeof now, ring_place(s.begun)) != sizeof now)
			return error_errno(err, ERROR_SYSTEM, w->spec->provider,
			    "unable to write what its limits count");
		s.begun++;
		if (t->limits.tokens_per_minute > 0) {
			t->second = throttle_second(now);
			throttle_add_tokens(t->fd, t->second, t->tokens);
		}
		return write_state(t->fd, &s, w->spec->provider, err) == -1 ? -1 : 1;
	}
	INVARIANT(w->obstacle != NOTHING && !t->trial && (w->obstacle != DOWN || is_down(&s, &t->limits)));
	if (w->obstacle != OTHERS_FIRST)
		w->free_since = 0;
	if (w->number > 0)
		return 0;
	w->number = ++s.drawn;
	if (lock_file_take_range(t->fd, (struct lock_range){ QUEUE + (off_t)w->number, 1 }) == -1)
		return error_errno(err, ERROR_SYSTEM, w->spec->provider, "unable to wait in line");
	return write_state(t->fd, &s, w->spec->provider, err);
}

static void
write_reason(const struct wait *w, struct buffer *out)
{
	const struct limits *limits = &w->throttle->limits;

	switch (w->obstacle) {
	case DOWN:
		buffer_text(out, "down ");
		throttle_since(out, w->down_since);
		break;
	case PER_MINUTE:
		buffer_format(out, "%d of %d calls in the last minute", limits->per_minute,
		    limits->per_minute);
		break;
	case TOKENS:
		buffer_format(out, "%d tokens in the last minute", limits->tokens_per_minute);
		break;
	case AT_ONCE:
		buffer_format(out, "%d of %d calls under way", limits->at_once, limits->at_once);
		break;
	case OTHERS_FIRST:
	case NOTHING:
		buffer_text(out, "others are first");
		break;
	}
}

/* Reports a wait that has lasted a while. Obstacles whose numbers change while other calls come
 * and go are reported once. */
static int
throttle_report_wait(struct wait *w, struct error *err)
{
	struct provider_wait wait = { .provider = w->spec->provider };
	struct buffer text = BUFFER_INIT;
	int result;

	if (clock_monotonic() < w->since + LIMIT_TOLD_MS || w->obstacle == OTHERS_FIRST ||
	    (w->told == w->obstacle && (w->obstacle != DOWN || w->until <= w->told_until)))
		return 0;
	w->told = w->obstacle;
	w->told_until = w->until;
	write_reason(w, &text);
	wait.reason = buffer_string(&text);
	wait.delay_ms = w->until == 0 ? 0 : (w->until - clock_wall()) / 1000;
	if (wait.delay_ms < 0)
		wait.delay_ms = 0;
	result = w->spec->told(w->spec->context, &wait, err);
	buffer_free(&text);
	return result;
}

/* Ends the wait without the call: the time is over, or another provider is asked. */
static int
give_up(const struct wait *w, struct error *err)
{
	struct buffer text = BUFFER_INIT;

	write_reason(w, &text);
	error_set(err, w->obstacle == DOWN ? ERROR_OVERLOADED : ERROR_TIMEOUT, w->spec->provider,
	    "was not asked: %s", buffer_string(&text));
	buffer_free(&text);
	return -1;
}

/* Waits until something may have changed. */
static int
sleep_on(struct wait *w, struct error *err)
{
	const struct throttle_spec *spec = w->spec;
	const int64_t now = clock_monotonic();
	int64_t end = now + (w->watch.fd == -1 ? THROTTLE_LOOK_MS : LIMIT_LOOK_MS), left;
	struct pollfd fds[2] = { { .fd = -1 }, { w->watch.fd, POLLIN, 0 } };

	if (w->until != 0) {
		left = (w->until - clock_wall()) / 1000 + 1;
		if (left >= 0 && now + left < end)
			end = now + left;
	}
	if (w->told == NOTHING && now < w->since + LIMIT_TOLD_MS && w->since + LIMIT_TOLD_MS < end)
		end = w->since + LIMIT_TOLD_MS;
	if (spec->deadline != 0 && spec->deadline < end)
		end = spec->deadline;
	if (interrupts_wait(spec->interrupts, fds, 2, end, err) == -1)
		return -1;
	if (fds[1].revents == 0)
		return 0;
	watch_drain(&w->watch);
	return interrupts_sleep(spec->interrupts, SETTLE_MS, err);
}

static int
wait_begin(struct wait *w, struct error *err)
{
	char *path = file_path(w->spec->storage, w->spec->provider);
	int result;

	w->since = clock_monotonic();
	watch_open(&w->watch);
	result = watch_add(&w->watch, path, err);
	free(path);
	return result;
}

/* Begins the call if it is its turn: 1, 0, -1. */
static int
throttle_try_turn(struct wait *w, struct error *err)
{
	int began_it;

	if (lock_file_within(w->throttle->fd, LIMIT_LOCK_MS) == -1)
		return error_errno(err, ERROR_SYSTEM, w->spec->provider, "unable to lock what its limits count");
	began_it = throttle_try_begin(w, err);
	lock_file_release(w->throttle->fd);
	return began_it;
}

/* Ends a wait with this result; 1: the call has begun. Returns it, or -1 if reporting failed. */
static int
wait_end(struct wait *w, int result, struct error *err)
{
	struct provider_wait over = { .provider = w->spec->provider,
		.waited_ms = clock_monotonic() - w->since };
	struct error ignored;

	INVARIANT(w->number > 0 && (result != 1 || w->obstacle == NOTHING));
	if (result == 1)
		lock_file_release_range(w->throttle->fd,
		    (struct lock_range){ QUEUE + (off_t)w->number, 1 });
	if (w->told != NOTHING &&
	    w->spec->told(w->spec->context, &over, result == 1 ? err : &ignored) == -1)
		result = -1;
	watch_close(&w->watch);
	return result;
}

static int
wait_for_room(struct wait *w, struct error *err)
{
	const struct throttle_spec *spec = w->spec;
	int result = wait_begin(w, err);

	while (result == 0) {
		if ((w->obstacle == DOWN && spec->passes) ||
		    (spec->deadline != 0 && clock_monotonic() >= spec->deadline))
			result = give_up(w, err);
		if (result == 0)
			result = throttle_report_wait(w, err);
		if (result == 0)
			result = sleep_on(w, err);
		if (result == 0)
			result = throttle_try_turn(w, err);
	}
	return wait_end(w, result, err);
}

/* Opens the file of a provider that has limits, and begins the call if it may. 1: it has begun,
 * or there are no limits; 0, -1. */
static int
open_and_begin(struct wait *w, struct error *err)
{
	const struct throttle_spec *spec = w->spec;
	const char *within = getenv(THROTTLE_WITHIN);
	struct throttle *t = w->throttle;
	const struct limits *limits;
	struct limits_file file;
	int result = limits_file_read(&file, err);

	*t = THROTTLE_INIT;
	w->within = within != NULL && strcmp(within, spec->provider) == 0;
	limits = result == 0 ? limits_file_find(&file, spec->provider) : NULL;
	if (limits != NULL) {
		t->limits = *limits;
		if (limits->tokens_per_minute > 0 && spec->least_tokens != NULL)
			t->tokens = spec->least_tokens(spec->request);
		t->fd = open_locked(spec->storage, spec->provider, err);
		result = t->fd == -1 ? -1 : throttle_try_begin(w, err);
		if (t->fd != -1)
			lock_file_release(t->fd);
	} else if (result == 0) {
		result = 1;
	}
	limits_file_free(&file);
	return result;
}

int
throttle_enter(struct throttle *t, const struct throttle_spec *spec, struct error *err)
{
	struct wait w = { .throttle = t, .spec = spec };
	int result = open_and_begin(&w, err);

	if (result == 0)
		result = wait_for_room(&w, err);
	if (result == -1)
		file_close(&t->fd);
	return result == -1 ? -1 : 0;
}

/* ---- waiting while doing other things ---- */

struct throttle_waiter {
	struct throttle throttle;
	struct throttle_spec spec;
	struct wait wait;
};

/* The wait is over: 1, -1. */
static int
waiter_end(struct throttle_waiter **w, struct throttle *t, int result, struct error *err)
{
	result = wait_end(&(*w)->wait, result, err);
	if (result == 1)
		*t = (*w)->throttle;
	else
		file_close(&(*w)->throttle.fd);
	free(*w);
	*w = NULL;
	return result;
}

int
throttle_begin(struct throttle *t, const struct throttle_spec *spec, struct throttle_waiter **waiter,
    struct error *err)
{
	struct throttle_waiter *w = memory_zero(1, sizeof *w);
	int result;

	*t = THROTTLE_INIT;
	*waiter = NULL;
	w->spec = *spec;
	w->wait = (struct wait){ .throttle = &w->throttle, .spec = &w->spec, .watch.fd = -1,
		.since = clock_monotonic() };
	result = open_and_begin(&w->wait, err);
	if (result == 0) {
		*waiter = w;
		return 0;
	}
	if (result == 1)
		*t = w->throttle;
	else
		file_close(&w->throttle.fd);
	free(w);
	return result;
}

int
throttle_look_again(struct throttle_waiter **w, struct throttle *t, struct error *err)
{
	int result = throttle_try_turn(&(*w)->wait, err);

	if (result == 0)
		result = throttle_report_wait(&(*w)->wait, err);
	return result == 0 ? 0 : waiter_end(w, t, result, err);
}

void
throttle_desert(struct throttle_waiter **w, struct error *err)
{
	struct error ignored;

	if (*w == NULL)
		return;
	if (err != NULL)
		give_up(&(*w)->wait, err);
	waiter_end(w, NULL, -1, &ignored);
}

/* ---- afterwards ---- */

static void
count_failure(struct state *s, const struct throttle *t)
{
	const int64_t now = clock_wall();

	if (s->failures == 0)
		s->down_since = now;
	s->failures = s->failures < NUMBERS_MOST ? s->failures + 1 : NUMBERS_MOST;
	if (s->next_trial != 0 && t->trial)
		s->pause_ms = s->pause_ms < DOWN_PAUSE_MOST_MS / 2 ? 2 * s->pause_ms : DOWN_PAUSE_MOST_MS;
	else if (s->next_trial == 0 && t->limits.down_after > 0 &&
	    s->failures >= t->limits.down_after)
		s->pause_ms = DOWN_PAUSE_MS;
	else
		return;
	s->next_trial = now + s->pause_ms * 1000;
}

enum throttle_outcome
throttle_outcome(enum error_code code, long status)
{
	switch (code) {
	case ERROR_OVERLOADED:
	case ERROR_NETWORK:
		return THROTTLE_DOWN;
	case ERROR_PROVIDER:
		return status >= 500 ? THROTTLE_DOWN : THROTTLE_UNKNOWN;
	case ERROR_NONE:
	case ERROR_RATE_LIMIT:
	case ERROR_AUTH:
	case ERROR_INVALID:
	case ERROR_CONTEXT_LENGTH:
	case ERROR_REFUSED:
		return THROTTLE_ANSWERED;
	default:
		return THROTTLE_UNKNOWN;
	}
}

/* Waiting calls watch the file, and are woken when it is written; so it is written even if
 * nothing in it has changed. file_close() then releases all locks of this call: first its place
 * among the calls under way, then the lock on the file, so that the next call to read the file
 * finds the place free. */
void
throttle_leave(struct throttle *t, enum throttle_outcome outcome, int64_t tokens)
{
	struct state s;

	if (t->fd == -1)
		return;
	if (lock_file_within(t->fd, LIMIT_LOCK_MS) == 0) {
		read_state(t->fd, &s);
		if (outcome == THROTTLE_DOWN)
			count_failure(&s, t);
		else if (outcome == THROTTLE_ANSWERED)
			s.failures = s.down_since = s.next_trial = s.pause_ms = 0;
		/* The estimate was counted when the call began. The answer says what the call really
		 * used, and the difference is counted now. */
		if (t->limits.tokens_per_minute > 0 && tokens >= 0)
			throttle_add_tokens(t->fd, tokens < t->tokens ? t->second : throttle_second(clock_wall()),
			    tokens - t->tokens);
		write_state(t->fd, &s, NULL, NULL);
	}
	file_close(&t->fd);
}

int
throttle_look(const struct storage *storage, const char *provider, const struct limits *limits,
    struct throttle_use *use, struct error *err)
{
	char *path = file_path(storage, provider);
	int fd = file_open_plain(path, O_RDONLY, 0), result = 0;
	const int64_t now = clock_wall();
	struct second seconds[SECONDS];
	struct state s;

	*use = (struct throttle_use){ .under_way = 0 };
	if (fd == -1 && errno != ENOENT)
		result = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	free(path);
	if (fd == -1)
		return result;
	read_state(fd, &s);
	for (int i = 0; i < limits->at_once; i++)
		use->under_way += lock_file_look_range(fd, (struct lock_range){ PLACES + i, 1 }) == 1;
	while (use->begun < limits->per_minute && use->begun < s.begun &&
	    now - throttle_read_begin_time(fd, s.begun - 1 - use->begun,
	    now) < LIMIT_MINUTE_MS * 1000LL)
		use->begun++;
	use->tokens = throttle_read_tokens(fd, now, seconds);
	use->down = is_down(&s, limits);
	use->down_since = s.down_since;
	close(fd);
	return 0;
}
