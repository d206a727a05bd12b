/*
 * Time: wall clock in microseconds since 1970 (UTC) for records, monotonic
 * milliseconds for waiting, and the texts of both.
 */
#ifndef AWF_BASE_CLOCK_H
#define AWF_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_TEXT_SIZE 28 /* for 2026-11-21T08:15:30.123456Z and a NUL */

int64_t clock_wall(void);      /* microseconds since 1970 */
int64_t clock_monotonic(void); /* milliseconds */
/* A struct timespec, such as a file's time, in microseconds. */
struct timespec;
int64_t clock_of(const struct timespec *t);

/* The time as text: RFC 3339, UTC, six digits of fraction. Returns out. */
char *clock_text(int64_t wall, char out[CLOCK_TEXT_SIZE]);
/* Converts a time, even before 1970, to the user's time zone. Returns the milliseconds within its
 * second. */
struct tm;
int clock_local(int64_t wall, struct tm *local);
/* Parses a time: RFC 3339 with any offset and fraction; a date (midnight UTC); or an age before
 * now, such as "2d" or "90m" (units ms s m h d w). 0, or -1 if it is none of these. */
int clock_parse(const char *text, int64_t now, int64_t *wall);

/* Parses a time that is to come: RFC 3339; a date, or a date and a time without an offset, in the
 * user's time zone; or "09:30" or "09:30:00", the next such time after now. 0, or -1 if it is none of
 * these. */
int clock_parse_coming(const char *text, int64_t now, int64_t *wall);

/* Parses a duration to milliseconds: "30" (seconds), "500ms", "20m", "2h", "1.5s", "3d". 0, or -1
 * if it is no duration, is negative, or does not fit. */
int duration_parse(const char *text, int64_t *ms);
/* Short text for people: "350ms", "1.2s", "3m05s", "2h10m". */
char *duration_text(int64_t ms, char *out, size_t size);

#endif
