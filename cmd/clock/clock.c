/*
 * A library that is preloaded into programs: shifts the time of day that they see to another day,
 * month, year, weekday and hour. awf-verify --determinism uses it for the second replay.
 *
 * If a program waits until a time that it has computed from the shifted clock, the time is shifted
 * back before the system call: that is assumed if it is more than half of the shift ahead. Clocks
 * that count from boot, and the times of files, are not changed. AWF's own programs see the real
 * time, as their timestamps are not compared.
 */
#define _GNU_SOURCE /* RTLD_NEXT, dlvsym */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SHIFT ((time_t)401 * 86400 + (time_t)7 * 3600 + (time_t)11 * 60)

static bool
is_own(void)
{
	static int own = -1;
	char path[PATH_MAX];
	ssize_t len;
	const char *base;

	if (own != -1)
		return own == 1;
	len = readlink("/proc/self/exe", path, sizeof path - 1);
	path[len > 0 ? len : 0] = '\0';
	base = strrchr(path, '/');
	own = base != NULL && (strncmp(base, "/awf-", 5) == 0 || strcmp(base, "/awf") == 0);
	return own == 1;
}

/* Of pthread functions the oldest version would be found otherwise. */
static void *
clock_next_symbol(const char *name)
{
#ifdef __GLIBC__
	void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");

	if (found != NULL)
		return found;
#endif
	return dlsym(RTLD_NEXT, name);
}

#define NEXT(type, name, parameters) \
	static type(*function) parameters; \
	if (function == NULL) \
		*(void **)&function = clock_next_symbol(#name)

static bool
tells_day(clockid_t clock)
{
	return (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI) &&
	    !is_own();
}

int
clock_gettime(clockid_t clock, struct timespec *at)
{
	NEXT(int, clock_gettime, (clockid_t, struct timespec *));
	int failed = function(clock, at);

	if (failed == 0 && tells_day(clock))
		at->tv_sec += SHIFT;
	return failed;
}

int
gettimeofday(struct timeval *restrict at, void *restrict zone)
{
	NEXT(int, gettimeofday, (struct timeval *restrict, void *restrict));
	int failed = function(at, zone);

	if (failed == 0 && tells_day(CLOCK_REALTIME))
		at->tv_sec += SHIFT;
	return failed;
}

time_t
time(time_t *at)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (at != NULL)
		*at = now.tv_sec;
	return now.tv_sec;
}

int
timespec_get(struct timespec *at, int base)
{
	NEXT(int, timespec_get, (struct timespec *, int));
	int got = function(at, base);

	if (got == TIME_UTC && tells_day(CLOCK_REALTIME))
		at->tv_sec += SHIFT;
	return got;
}

/* ---- waiting until a time of day ---- */

/* The time as the kernel has it. */
static const struct timespec *
put_back(const struct timespec *until, struct timespec *real)
{
	struct timespec now;

	if (until == NULL || !tells_day(CLOCK_REALTIME) || clock_gettime(CLOCK_REALTIME, &now) != 0 ||
	    until->tv_sec < now.tv_sec - SHIFT / 2)
		return until;
	*real = *until;
	real->tv_sec -= SHIFT;
	return real;
}

int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
	struct timespec real;
	NEXT(int, clock_nanosleep, (clockid_t, int, const struct timespec *, struct timespec *));

	return function(clock, flags, (flags & TIMER_ABSTIME) != 0 && tells_day(clock) ?
	    put_back(until, &real) : until, left);
}

int
pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
    const struct timespec *restrict until)
{
	struct timespec real;
	NEXT(int, pthread_cond_timedwait, (pthread_cond_t *restrict, pthread_mutex_t *restrict,
	    const struct timespec *restrict));

	return function(condition, mutex, put_back(until, &real));
}

int
pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until)
{
	struct timespec real;
	NEXT(int, pthread_mutex_timedlock, (pthread_mutex_t *restrict, const struct timespec *restrict));

	return function(mutex, put_back(until, &real));
}

int
pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict until)
{
	struct timespec real;
	NEXT(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t *restrict,
	    const struct timespec *restrict));

	return function(lock, put_back(until, &real));
}

int
pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict until)
{
	struct timespec real;
	NEXT(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t *restrict,
	    const struct timespec *restrict));

	return function(lock, put_back(until, &real));
}

int
sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
	struct timespec real;
	NEXT(int, sem_timedwait, (sem_t *restrict, const struct timespec *restrict));

	return function(semaphore, put_back(until, &real));
}

int
timer_settime(timer_t timer, int flags, const struct itimerspec *restrict value,
    struct itimerspec *restrict before)
{
	struct itimerspec real = *value;
	NEXT(int, timer_settime, (timer_t, int, const struct itimerspec *restrict,
	    struct itimerspec *restrict));

	if ((flags & TIMER_ABSTIME) != 0)
		real.it_value = *put_back(&value->it_value, &real.it_value);
	return function(timer, flags, &real, before);
}

int
timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *before)
{
	struct itimerspec real = *value;
	NEXT(int, timerfd_settime, (int, int, const struct itimerspec *, struct itimerspec *));

	if ((flags & TFD_TIMER_ABSTIME) != 0)
		real.it_value = *put_back(&value->it_value, &real.it_value);
	return function(fd, flags, &real, before);
}
