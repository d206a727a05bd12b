#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define NOW INT64_C(1795335330123456) /* 2026-11-22T08:15:30.123456Z */
#define HOUR INT64_C(3600000000)

static const struct {
	int64_t wall;
	const char *text;
} instants[] = {
	{0, "1970-01-01T00:00:00.000000Z"},
	{-1, "1969-12-31T23:59:59.999999Z"},
	{NOW, "2026-11-22T08:15:30.123456Z"},
	{NOW + 1, "2026-11-22T08:15:30.123457Z"},
	{INT64_C(951782399999999), "2000-02-28T23:59:59.999999Z"},
	{INT64_C(951782400000000), "2000-02-29T00:00:00.000000Z"},
	{INT64_C(4107542400000000), "2100-03-01T00:00:00.000000Z"},
	{INT64_C(253402300799999999), "9999-12-31T23:59:59.999999Z"},
	{INT64_C(-62167219200000000), "0000-01-01T00:00:00.000000Z"},
};

static void
texts_go_both_ways(void **state)
{
	char text[CLOCK_TEXT_SIZE];
	struct tm local;
	int64_t wall;

	(void)state;
	for (size_t i = 0; i < COUNT(instants); i++) {
		assert_string_equal(clock_text(instants[i].wall, text), instants[i].text);
		assert_int_equal(clock_parse(instants[i].text, NOW, &wall), 0);
		assert_true(wall == instants[i].wall);
	}
	/* Half a second before the year 1970 began, in local time. */
	assert_int_equal(setenv("TZ", "UTC0", 1), 0);
	assert_int_equal(clock_local(-500000, &local), 500);
	assert_int_equal(local.tm_sec, 59);
	assert_int_equal(local.tm_year, 69);
	assert_string_equal(clock_text(INT64_MAX, text), "9999-12-31T23:59:59.999999Z");
	assert_string_equal(clock_text(INT64_MIN, text), "0000-01-01T00:00:00.000000Z");
}

static void
every_day_of_four_centuries(void **state)
{
	char text[CLOCK_TEXT_SIZE], before[CLOCK_TEXT_SIZE] = "";
	int64_t wall;

	(void)state;
	for (int64_t day = -80000; day < 70000; day++) {
		clock_text(day * 24 * HOUR, text);
		assert_true(strcmp(before, text) < 0);
		assert_int_equal(clock_parse(text, 0, &wall), 0);
		assert_true(wall == day * 24 * HOUR);
		memcpy(before, text, sizeof text);
	}
}

static void
parses(void **state)
{
	static const struct {
		const char *text;
		int64_t wall;
	} rows[] = {
		{"1970-01-01", 0},
		{"1970-01-02", 24 * HOUR},
		{"1970-01-01T01:00:00Z", HOUR},
		{"1970-01-01t01:00:00z", HOUR},
		{"1970-01-01 01:00:00Z", HOUR},
		{"1970-01-01T01:00:00+01:00", 0},
		{"1970-01-01T00:00:00-01:30", HOUR + HOUR / 2},
		{"1970-01-01T00:00:00.5Z", 500000},
		{"1970-01-01T00:00:00.1234567890Z", 123456},
		{"1969-12-31T23:59:60Z", 0},
		{"0s", NOW},
		{"2d", NOW - 48 * HOUR},
		{"90m", NOW - 90 * HOUR / 60},
		{"1.5h", NOW - HOUR * 3 / 2},
		{"1w", NOW - 7 * 24 * HOUR},
		{"500ms", NOW - 500000},
	};
	static const char *const wrong[] = {
		"", "x", "2", "d", "-2d", "2x", "2 d", "2dd", "1970", "1970-13-01", "1970-00-01",
		"1970-02-29", "2100-02-29", "1970-04-31", "1970-01-00", "1970-01-01T", "1970-01-01T01:00:00",
		"1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z",
		"1970-01-01T00:00:00.Z", "1970-01-01T00:00:00+0100", "1970-01-01T00:00:00+24:00",
		"1970-01-01T00:00:00Zx", "1970-1-1", "99999999999999999999d", "1.d", ".5d",
		"9223372036854775d", "9223372036854775s",
	};
	int64_t wall;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (clock_parse(rows[i].text, NOW, &wall) != 0 || wall != rows[i].wall)
			fail_msg("%s", rows[i].text);
	}
	for (size_t i = 0; i < COUNT(wrong); i++)
		if (clock_parse(wrong[i], NOW, &wall) != -1)
			fail_msg("accepted: %s", wrong[i]);
}

static void
durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: refused */
	} rows[] = {
		{"30", 30000}, {"0", 0}, {"500ms", 500}, {"20m", 1200000}, {"2h", 7200000},
		{"1.5s", 1500}, {"0.25", 250}, {"1.0005s", 1000}, {"3d", 259200000},
		{"1w", 604800000}, {"0.0001h", 360}, {"", -1}, {"s", -1}, {"-1", -1}, {"+1", -1},
		{"1e3", -1}, {"1 s", -1}, {"1sec", -1}, {"1.", -1}, {".5", -1}, {"1..5", -1},
		{"9223372036854775807", -1}, {"9223372036854775807d", -1},
		{"99999999999999999999999", -1}, {"1S", -1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t ms = -7;
		int status = duration_parse(rows[i].text, &ms);

		if (status != (rows[i].ms < 0 ? -1 : 0) || (status == 0 && ms != rows[i].ms))
			fail_msg("'%s': %d, %lld", rows[i].text, status, (long long)ms);
	}
}

static void
duration_texts(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{0, "0ms"}, {-5, "0ms"}, {350, "350ms"}, {999, "999ms"}, {1000, "1.0s"},
		{1290, "1.2s"}, {59999, "59.9s"}, {60000, "1m00s"}, {185000, "3m05s"},
		{3599999, "59m59s"}, {7800000, "2h10m"}, {90000000, "1d01h"},
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(duration_text(rows[i].ms, text, sizeof text), rows[i].text);
}

static void
clocks_run(void **state)
{
	int64_t wall = clock_wall(), monotonic = clock_monotonic();

	(void)state;
	assert_true(wall > INT64_C(1600000000000000));
	assert_true(clock_monotonic() >= monotonic);
	assert_true(monotonic >= 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_go_both_ways),
		cmocka_unit_test(every_day_of_four_centuries),
		cmocka_unit_test(parses),
		cmocka_unit_test(durations),
		cmocka_unit_test(duration_texts),
		cmocka_unit_test(clocks_run),
	};

	return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}
