/*
 * Dates are computed in days, by the 400 years after which the Gregorian calendar repeats, in years
 * that begin in March, so that the leap day is the last day: no loop, no table, no time zone of the
 * C library. The date of the last text is cached, since most texts are of one day. Amounts are read
 * as integers, never as floating point: 1.1s is 1100 ms.
 */
#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/invariant.h"

#define SECOND 1000000LL /* in microseconds */
#define DAY 86400LL      /* in seconds */
/* so that a time plus a duration cannot overflow */
#define DURATION_LIMIT (INT64_MAX / 4)

int64_t
clock_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * SECOND + t->tv_nsec / 1000;
}

int64_t
clock_wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return clock_of(&t);
}

int64_t
clock_monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
put_digits(char *out, unsigned value, unsigned count)
{
	while (count-- > 0) {
		out[count] = (char)('0' + value % 10);
		value /= 10;
	}
}

/* Days since 1970-01-01 of a date in the proleptic Gregorian calendar; years begin in March, so
 * that the leap day is the last day. */
static int64_t
days_from_date(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * 146097 + day_of_era - 719468;
}

/* Whether the text of a time reads back as the same time. */
static bool
text_reads_back(const char *text, int64_t wall)
{
	int64_t read;

	return strlen(text) == CLOCK_TEXT_SIZE - 1 && clock_parse(text, 0, &read) == 0 && read == wall;
}

char *
clock_text(int64_t wall, char out[CLOCK_TEXT_SIZE])
{
	static _Thread_local int64_t cached_day = INT64_MIN;
	static _Thread_local char text[] = "0000-00-00T00:00:00.000000Z";
	const int64_t first = -62167219200 * SECOND; /* year 0 */
	const int64_t last = 253402300800 * SECOND - 1; /* end of year 9999 */
	int64_t seconds, day;
	unsigned of_day;

	wall = wall < first ? first : wall > last ? last : wall;
	seconds = (wall - first) / SECOND; /* counted from year 0, so that nothing is negative */
	day = seconds / DAY;
	of_day = (unsigned)(seconds % DAY);
	if (day != cached_day) {
		/* The date of a day counted from 0000-03-01, as days_from_date() counts. */
		int64_t z = day + first / SECOND / DAY + 719468;
		int64_t era = (z >= 0 ? z : z - 146096) / 146097;
		int64_t doe = z - era * 146097;
		int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
		int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
		int64_t mp = (5 * doy + 2) / 153;
		int64_t month = mp < 10 ? mp + 3 : mp - 9;

		put_digits(text, (unsigned)(yoe + era * 400 + (month <= 2)), 4);
		put_digits(text + 5, (unsigned)month, 2);
		put_digits(text + 8, (unsigned)(doy - (153 * mp + 2) / 5 + 1), 2);
		cached_day = day;
	}
	put_digits(text + 11, of_day / 3600, 2);
	put_digits(text + 14, of_day / 60 % 60, 2);
	put_digits(text + 17, of_day % 60, 2);
	put_digits(text + 20, (unsigned)((wall - first) % SECOND), 6);
	INVARIANT(text_reads_back(text, wall));
	return memcpy(out, text, sizeof text);
}

int
clock_local(int64_t wall, struct tm *local)
{
	int64_t fraction = (wall % SECOND + SECOND) % SECOND;
	time_t seconds = (time_t)((wall - fraction) / SECOND);

	INVARIANT(fraction >= 0 && fraction < SECOND);

	localtime_r(&seconds, local);
	return (int)(fraction / 1000);
}

/* Parses exactly count digits at *at, as a number in [min, max]. */
static bool
clock_parse_digits(const char **at, int count, int64_t min, int64_t max, int64_t *value)
{
	*value = 0;
	for (; count > 0; count--, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		*value = *value * 10 + (**at - '0');
	}
	return *value >= min && *value <= max;
}

static bool
clock_parse_byte(const char **at, const char *any_of)
{
	if (**at == '\0' || !strchr(any_of, **at))
		return false;
	(*at)++;
	return true;
}

static bool
clock_parse_date(const char **at, int64_t *days)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64_t year, month, day;
	bool leap;

	if (!clock_parse_digits(at, 4, 0, 9999, &year) || !clock_parse_byte(at, "-") ||
	    !clock_parse_digits(at, 2, 1, 12, &month) || !clock_parse_byte(at, "-") ||
	    !clock_parse_digits(at, 2, 1, 31, &day))
		return false;
	leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	if (day > lengths[month - 1] + (month == 2 && leap))
		return false;
	*days = days_from_date(year, month, day);
	return true;
}

static bool
parse_instant(const char *at, int64_t *wall)
{
	int64_t days, hour, minute, second, fraction = 0, unit = SECOND / 10, sign;
	int64_t east_hours = 0, east_minutes = 0;

	if (!clock_parse_date(&at, &days))
		return false;
	if (*at == '\0') {
		*wall = days * DAY * SECOND;
		return true;
	}
	/* A second of 60 is a leap second: it counts as the first of the next minute. */
	if (!clock_parse_byte(&at, "Tt ") || !clock_parse_digits(&at, 2, 0, 23, &hour) ||
	    !clock_parse_byte(&at, ":") || !clock_parse_digits(&at, 2, 0, 59, &minute) ||
	    !clock_parse_byte(&at, ":") || !clock_parse_digits(&at, 2, 0, 60, &second))
		return false;
	/* Parse ".123456789": to microseconds; further digits are dropped. */
	if (clock_parse_byte(&at, ".")) {
		if (*at < '0' || *at > '9')
			return false;
		for (; *at >= '0' && *at <= '9'; at++, unit /= 10)
			fraction += unit * (*at - '0');
	}
	/* Parse "Z", or the offset east of UTC, such as "+01:30". */
	sign = *at == '-' ? -1 : 1;
	if (!clock_parse_byte(&at, "Zz") &&
	    (!clock_parse_byte(&at, "+-") || !clock_parse_digits(&at, 2, 0, 23, &east_hours) ||
	    !clock_parse_byte(&at, ":") || !clock_parse_digits(&at, 2, 0, 59, &east_minutes)))
		return false;
	if (*at != '\0')
		return false;
	*wall = (days * DAY + hour * 3600 + minute * 60 + second -
	    sign * (east_hours * 3600 + east_minutes * 60)) * SECOND + fraction;
	return true;
}

static const struct {
	const char *name;
	int64_t ms;
} units[] = {
	{"ms", 1},
	{"s", 1000},
	{"m", 60 * 1000LL},
	{"h", 3600 * 1000LL},
	{"d", DAY * 1000},
	{"w", 7 * DAY * 1000},
};

/* Parses a decimal number and a unit, as milliseconds; bare is the unit of a number without one (0:
 * such a number is refused). */
static int
parse_amount(const char *text, int64_t bare, int64_t *ms)
{
	int64_t whole = 0, fraction = 0, scale = 1, unit = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (whole > (INT64_MAX - 9) / 10)
			return -1;
		whole = whole * 10 + (*at - '0');
	}
	if (at == text)
		return -1;
	if (*at == '.') {
		const char *point = at++;

		for (; *at >= '0' && *at <= '9'; at++) {
			if (scale < SECOND) {
				fraction = fraction * 10 + (*at - '0');
				scale *= 10;
			}
		}
		if (at == point + 1)
			return -1;
	}
	if (*at == '\0')
		unit = bare;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(units[i].name, at) == 0)
			unit = units[i].ms;
	if (unit <= 0 || whole > DURATION_LIMIT / unit - 1)
		return -1;
	*ms = whole * unit + fraction * unit / scale;
	INVARIANT(*ms >= 0 && *ms <= DURATION_LIMIT);
	return 0;
}

/* Parses "09:30" or "09:30:00" up to the end of the text. */
static bool
clock_parse_day_time(const char *at, struct tm *local)
{
	int64_t hour, minute, second = 0;

	if (!clock_parse_digits(&at, 2, 0, 23, &hour) || !clock_parse_byte(&at, ":") ||
	    !clock_parse_digits(&at, 2, 0, 59, &minute) ||
	    (clock_parse_byte(&at, ":") && !clock_parse_digits(&at, 2, 0, 59, &second)) || *at != '\0')
		return false;
	local->tm_hour = (int)hour;
	local->tm_min = (int)minute;
	local->tm_sec = (int)second;
	local->tm_isdst = -1; /* mktime() finds out */
	return true;
}

/* Parses an instant whose seconds may be left out: "2026-12-24T09:30Z". */
static bool
clock_parse_minute(const char *text, int64_t *wall)
{
	char full[40];
	size_t minute = strlen("2026-12-24T09:30");

	if (parse_instant(text, wall))
		return true;
	if (strlen(text) < minute || strlen(text) + strlen(":00") >= sizeof full)
		return false;
	snprintf(full, sizeof full, "%.*s:00%s", (int)minute, text, text + minute);
	return parse_instant(full, wall);
}

int
clock_parse_coming(const char *text, int64_t now, int64_t *wall)
{
	const char *at = text;
	struct tm local;
	int64_t days;

	clock_local(now, &local);
	if (clock_parse_day_time(text, &local)) {
		*wall = (int64_t)mktime(&local) * SECOND;
		if (*wall <= now) {
			clock_local(now, &local);
			clock_parse_day_time(text, &local);
			local.tm_mday++;
			*wall = (int64_t)mktime(&local) * SECOND;
		}
		return 0;
	}
	if (!clock_parse_date(&at, &days))
		return -1;
	local = (struct tm){ .tm_year = atoi(text) - 1900, .tm_mon = atoi(text + 5) - 1,
		.tm_mday = atoi(text + 8), .tm_isdst = -1 };
	if (*at != '\0' && !(clock_parse_byte(&at, "Tt ") && clock_parse_day_time(at, &local)))
		return clock_parse_minute(text, wall) ? 0 : -1;
	*wall = (int64_t)mktime(&local) * SECOND;
	return 0;
}

int
duration_parse(const char *text, int64_t *ms)
{
	return parse_amount(text, 1000, ms);
}

int
clock_parse(const char *text, int64_t now, int64_t *wall)
{
	int64_t age;

	if (parse_instant(text, wall))
		return 0;
	if (parse_amount(text, 0, &age) < 0 || age > INT64_MAX / 1000)
		return -1;
	*wall = now - age * 1000;
	return 0;
}

char *
duration_text(int64_t ms, char *out, size_t size)
{
	long long s = ms / 1000;

	if (ms < 0)
		ms = s = 0;
	if (ms < 1000)
		snprintf(out, size, "%dms", (int)ms);
	else if (s < 60)
		snprintf(out, size, "%lld.%ds", s, (int)(ms / 100 % 10));
	else if (s < 3600)
		snprintf(out, size, "%lldm%02llds", s / 60, s % 60);
	else if (s < DAY)
		snprintf(out, size, "%lldh%02lldm", s / 3600, s / 60 % 60);
	else
		snprintf(out, size, "%lldd%02lldh", s / DAY, s / 3600 % 24);
	return out;
}
