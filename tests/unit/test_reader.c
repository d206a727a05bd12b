/* transcript/reader and transcript/window: lines of a file that grows and shrinks. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "json/scan.h"
#include "transcript/event.h"
#include "transcript/reader.h"

static struct error err;

static void
open_reader(struct reader *r, const char *path)
{
	if (reader_open(r, path, &err) == -1)
		fail_msg("%s: %s", err.place, err.message);
}

static void
append(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(file_write(fd, bytes, len), 0);
	close(fd);
}

/* The next line is text; NULL: there is none. */
static void
expect(struct reader *r, const char *text)
{
	const char *line;
	size_t len;
	int result = reader_next(r, &line, &len, &err);

	assert_int_equal(result, text != NULL);
	if (text == NULL)
		return;
	assert_int_equal(len, strlen(text));
	assert_memory_equal(line, text, len);
}

static void
test_lines_as_they_come(void **state)
{
	const char *path = record_path("grows");
	struct reader r;

	(void)state;
	record_put(path, "one\n\ntwo\nthr", 12);
	open_reader(&r, path);
	expect(&r, "one");
	assert_int_equal(r.line_start, 0);
	expect(&r, "");
	expect(&r, "two");
	assert_int_equal(r.line_start, 5);
	expect(&r, NULL);
	assert_int_equal(reader_unfinished(&r), 3);
	append(path, "ee\nfour\n", 8);
	expect(&r, "three");
	assert_int_equal(reader_unfinished(&r), 0);
	expect(&r, "four");
	expect(&r, NULL);
	reader_seek(&r, 5);
	expect(&r, "two");
	reader_close(&r);
}

/* What stood after the last LF may be replaced by something else. */
static void
test_torn_tail_is_read_again(void **state)
{
	const char *path = record_path("torn");
	struct reader r;

	(void)state;
	record_put(path, "one\ntorn and long", 17);
	open_reader(&r, path);
	expect(&r, "one");
	expect(&r, NULL);
	assert_int_equal(truncate(path, 4), 0);
	expect(&r, NULL);
	append(path, "two\n", 4);
	expect(&r, "two");
	reader_close(&r);
}

static void
test_shorter_file(void **state)
{
	const char *path = record_path("shorter");
	struct reader r;

	(void)state;
	record_put(path, "one\ntwo\nthree\n", 14);
	open_reader(&r, path);
	expect(&r, "one");
	expect(&r, "two");
	expect(&r, "three");
	assert_int_equal(truncate(path, 10), 0);
	expect(&r, NULL);
	assert_int_equal(r.position, 8);
	append(path, "e\n", 2);
	expect(&r, "the");
	assert_int_equal(truncate(path, 0), 0);
	expect(&r, NULL);
	append(path, "new\n", 4);
	expect(&r, "new");
	reader_close(&r);
}

/* Cut after its end was seen and before it is read. */
static void
test_cut_while_reading(void **state)
{
	const char *path = record_path("cut");
	struct buffer file = BUFFER_INIT;
	struct reader r;
	const char *line;
	size_t len;

	(void)state;
	buffer_text(&file, "one\n");
	memset(buffer_reserve(&file, 3 << 20), 'x', 3 << 20);
	file.len += 3 << 20;
	buffer_text(&file, "\ntwo\n");
	record_put(path, file.data, file.len);
	open_reader(&r, path);
	expect(&r, "one");
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(reader_next(&r, &line, &len, &err), 0);
	assert_int_equal(reader_next(&r, &line, &len, &err), 0);
	assert_int_equal(r.position, 4);
	append(path, "y\n", 2);
	assert_int_equal(reader_next(&r, &line, &len, &err), 1);
	assert_int_equal(len, 97);
	/* the same size again, but without the LF that was there */
	record_put(path, file.data, file.len);
	reader_seek(&r, 0);
	expect(&r, "one");
	file.data[file.len - 1] = file.data[4 + (3 << 20)] = 'z';
	record_put(path, file.data, file.len);
	assert_int_equal(reader_next(&r, &line, &len, &err), 0);
	assert_int_equal(reader_next(&r, &line, &len, &err), 0);
	/* Backwards it finds nothing then, and is at the end of what is there. */
	reader_seek(&r, 0);
	record_put(path, "one\ntwo\n", 8);
	assert_int_equal(reader_seek_last(&r, 0, &err), 0);
	assert_int_equal(truncate(path, 5), 0);
	assert_int_equal(reader_previous(&r, &line, &len, &err), 0);
	assert_int_equal(reader_next(&r, &line, &len, &err), 0);
	assert_int_equal(r.position, 4);
	buffer_free(&file);
	reader_close(&r);
}

/* Lines of every length around the sizes that are read at once. */
static void
test_lengths(void **state)
{
	static const size_t lengths[] = { 0, 1, 16383, 16384, 1048575, 1048576, 1048577, 3145728, 5 };
	const size_t count = sizeof lengths / sizeof lengths[0];
	const char *path = record_path("lengths");
	struct buffer file = BUFFER_INIT;
	struct reader r;
	const char *line;
	size_t len;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		memset(buffer_reserve(&file, lengths[i]), 'a' + (int)i, lengths[i]);
		file.len += lengths[i];
		buffer_byte(&file, '\n');
	}
	record_put(path, file.data, file.len);
	open_reader(&r, path);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(reader_next(&r, &line, &len, &err), 1);
		assert_int_equal(len, lengths[i]);
		assert_memory_equal(line, file.data + r.line_start, len + 1);
	}
	assert_int_equal(reader_next(&r, &line, &len, &err), 0);
	for (size_t i = count; i > 0; i--) {
		assert_int_equal(reader_previous(&r, &line, &len, &err), 1);
		assert_int_equal(len, lengths[i - 1]);
		assert_memory_equal(line, file.data + r.line_start, len + 1);
		assert_int_equal(r.position, r.line_start);
	}
	assert_int_equal(reader_previous(&r, &line, &len, &err), 0);
	assert_int_equal(r.position, 0);
	for (size_t i = count; i > 0; i--) {
		assert_int_equal(reader_seek_last(&r, (int64_t)(count - i) + 1, &err), 0);
		assert_int_equal(reader_next(&r, &line, &len, &err), 1);
		assert_int_equal(len, lengths[i - 1]);
	}
	buffer_free(&file);
	reader_close(&r);
}

static void
test_line_above_limit(void **state)
{
	const char *path = record_path("huge");
	struct reader r;
	const char *line;
	size_t len;

	(void)state;
	record_put(path, "one\n", 4);
	assert_int_equal(truncate(path, (off_t)SCAN_LINE_LIMIT + 100), 0);
	append(path, "\n", 1);
	open_reader(&r, path);
	expect(&r, "one");
	assert_int_equal(reader_next(&r, &line, &len, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	assert_non_null(strstr(err.message, "byte 4 "));
	assert_in_range(r.chunk.bytes.capacity, 0, 1 << 20); /* it is not held */
	append(path, "two\n", 4);
	assert_int_equal(reader_seek_last(&r, 0, &err), 0);
	assert_int_equal(reader_previous(&r, &line, &len, &err), 1);
	err = (struct error)ERROR_INIT;
	assert_int_equal(reader_previous(&r, &line, &len, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	assert_non_null(strstr(err.message, "byte 4 "));
	assert_in_range(r.chunk.bytes.capacity, 0, 1 << 20);
	reader_close(&r);

	/* The longest that there may be is no error, either way. */
	record_put(path, "one\n", 4);
	assert_int_equal(truncate(path, (off_t)SCAN_LINE_LIMIT + 4), 0);
	append(path, "\n", 1);
	open_reader(&r, path);
	expect(&r, "one");
	assert_int_equal(reader_next(&r, &line, &len, &err), 1);
	assert_int_equal(len, SCAN_LINE_LIMIT);
	window_forget(&r.chunk);
	assert_int_equal(reader_previous(&r, &line, &len, &err), 1);
	assert_int_equal(len, SCAN_LINE_LIMIT);
	assert_int_equal(r.position, 4);
	reader_close(&r);
	unlink(path);
}

#define LINES 200

/* A transcript whose lines have many lengths; every 7th has no seq. */
static void
make_uneven(const char *path)
{
	struct buffer file = BUFFER_INIT;

	for (long seq = 1; seq <= LINES; seq++) {
		if (seq % 7 == 0)
			buffer_text(&file, "damaged\n");
		buffer_format(&file, "{\"seq\":%ld,\"x\":\"%0*d\"}\n", seq, (int)(seq * 7919 % 3000 + 1), 0);
	}
	buffer_text(&file, "{\"seq\":9999,\"x\":");
	record_put(path, file.data, file.len);
	buffer_free(&file);
}

static void
test_seek_after(void **state)
{
	const char *path = record_path("uneven");
	struct reader r;
	const char *line;
	size_t len;

	(void)state;
	make_uneven(path);
	open_reader(&r, path);
	for (long seq = -1; seq <= LINES + 1; seq++) {
		char head[32];
		assert_int_equal(reader_seek_after(&r, seq, &err), 0);
		int got = reader_next(&r, &line, &len, &err);
		if (got == 1 && line[0] == 'd')
			got = reader_next(&r, &line, &len, &err);
		assert_int_equal(got, seq < LINES);
		if (got == 0)
			continue;
		snprintf(head, sizeof head, "{\"seq\":%ld,", seq < 0 ? 1 : seq + 1);
		if (strncmp(line, head, strlen(head)) != 0)
			fail_msg("after %ld comes %.20s", seq, line);
	}
	reader_close(&r);
}

/* The n-th second of a time. */
static const char *
second(long n, char text[CLOCK_TEXT_SIZE])
{
	return clock_text(INT64_C(1795248000000000) + n * INT64_C(1000000), text);
}

/* Three lines for each second, of many lengths. Of each 7 one does not tell its time, or is one
 * as big as many; one in the middle of each 100 tells a wrong one, if any do. */
static void
make_timed(const char *path, long wrong_by)
{
	struct buffer file = BUFFER_INIT;
	char time[CLOCK_TEXT_SIZE];

	for (long seq = 1; seq <= 3 * LINES; seq++) {
		if (seq % 7 == 0)
			buffer_format(&file, "{\"seq\":%ld,\"x\":\"%0*d\",\"timestamp\":\"%s\"}\n", seq,
			    seq % 70 == 0 ? 100000 : 1, 0, second(0, time));
		buffer_format(&file, "{\"seq\":%ld,\"timestamp\":\"%s\",\"x\":\"%0*d\"}\n", seq,
		    second(seq % 100 == 50 ? seq / 3 + wrong_by : seq / 3, time),
		    (int)(seq * 7919 % 3000 + 1), 0);
	}
	record_put(path, file.data, file.len);
	buffer_free(&file);
}

/* The seq of the first line from where the reader is that has the time, 0: none has. */
static int64_t
first_since(struct reader *r, const char *time)
{
	const char *line;
	size_t len;
	int64_t seq = 0;

	while (reader_next(r, &line, &len, &err) == 1) {
		struct span told = event_time(line, len);

		if (told.at != NULL && memcmp(told.at, time, told.len) >= 0 && event_seq(line, len, &seq))
			return seq;
	}
	return 0;
}

static void
test_seek_since(void **state)
{
	static const long wrong_by[] = { 0, 1000, -1000 };
	const char *path = record_path("timed"), *line;
	char time[CLOCK_TEXT_SIZE];
	struct reader r;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof wrong_by / sizeof *wrong_by; i++) {
		make_timed(path, wrong_by[i]);
		open_reader(&r, path);
		for (long n = 0; n <= LINES + 1; n++) {
			int64_t found, all;

			assert_int_equal(reader_seek_since(&r, second(n + 2000, time), &err), 0);
			assert_true(wrong_by[i] > 0 || reader_next(&r, &line, &len, &err) == 0);
			assert_int_equal(reader_seek_since(&r, second(n, time), &err), 0);
			/* Exactly there where all is right: no line before is of that time or later, and
			 * the first that tells is. */
			if (wrong_by[i] == 0 && n > 0 && n <= LINES) {
				assert_int_equal(reader_next(&r, &line, &len, &err), 1);
				if (event_time(line, len).at == NULL)
					assert_int_equal(reader_next(&r, &line, &len, &err), 1);
				assert_memory_equal(event_time(line, len).at, time, CLOCK_TEXT_SIZE - 1);
				assert_int_equal(reader_seek_since(&r, time, &err), 0);
			}
			/* A line that tells a wrong time hides none that follow, or go before. */
			found = first_since(&r, time);
			reader_seek(&r, 0);
			all = first_since(&r, time);
			if (wrong_by[i] <= 0 ? found != all :
			    n <= LINES && (found == 0 || found > 3 * n + 1))
				fail_msg("wrong by %ld, since %s: %lld, not %lld", wrong_by[i], time,
				    (long long)found, (long long)all);
		}
		reader_close(&r);
	}
}

static void
test_seek_without_lines(void **state)
{
	static const char *const files[] = { "", "{\"seq\":1,\"x", "\n\n\n", "a\nb\n" };
	const char *path = record_path("odd");
	struct reader r;

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		record_put(path, files[i], strlen(files[i]));
		open_reader(&r, path);
		assert_int_equal(reader_seek_after(&r, 5, &err), 0);
		assert_int_equal(r.position, 0);
		assert_int_equal(reader_seek_since(&r, "2026-11-21T00:00:00.000000Z", &err), 0);
		assert_int_equal(r.position, 0);
		assert_int_equal(reader_seek_last(&r, 100, &err), 0);
		assert_int_equal(r.position, 0);
		reader_close(&r);
	}
}

static void
test_seek_last(void **state)
{
	const char *path = record_path("last");
	struct reader r;

	(void)state;
	record_put(path, "one\ntwo\nthree\nunfin", 19);
	open_reader(&r, path);
	assert_int_equal(reader_seek_last(&r, 2, &err), 0);
	expect(&r, "two");
	expect(&r, "three");
	expect(&r, NULL);
	assert_int_equal(reader_seek_last(&r, 0, &err), 0);
	expect(&r, NULL);
	assert_int_equal(reader_seek_last(&r, 9, &err), 0);
	expect(&r, "one");
	reader_close(&r);
}

static void
test_what_cannot_be_opened(void **state)
{
	struct reader r;
	const char *fifo = record_path("fifo"), *link = record_path("link");

	(void)state;
	record_put(record_path("target"), "x\n", 2);
	assert_int_equal(symlink(record_path("target"), link), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	const char *const paths[] = { record_path("none"), record_directory, fifo, link };
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		assert_int_equal(reader_open(&r, paths[i], &err), -1);
		reader_close(&r);
		assert_int_equal(err.code, ERROR_SYSTEM);
		assert_string_equal(err.place, paths[i]);
	}
}

/* A descriptor that cannot be read stands for a failing disk. */
static void
test_failing_reads(void **state)
{
	const char *path = record_path("unreadable");
	struct reader r;
	const char *line;
	size_t len;

	(void)state;
	record_put(path, "one\ntwo\n", 8);
	open_reader(&r, path);
	close(r.fd);
	r.fd = r.chunk.fd = open(path, O_WRONLY);
	assert_int_equal(reader_next(&r, &line, &len, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.place, path);
	assert_int_equal(reader_seek_after(&r, 1, &err), -1);
	assert_int_equal(reader_seek_since(&r, "2026-11-21T00:00:00.000000Z", &err), -1);
	assert_int_equal(reader_seek_last(&r, 1, &err), -1);
	reader_seek(&r, 4);
	assert_int_equal(reader_previous(&r, &line, &len, &err), -1);
	assert_int_equal(reader_unfinished(&r), 0);
	reader_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_as_they_come),
		cmocka_unit_test(test_torn_tail_is_read_again),
		cmocka_unit_test(test_shorter_file),
		cmocka_unit_test(test_cut_while_reading),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_line_above_limit),
		cmocka_unit_test(test_seek_after),
		cmocka_unit_test(test_seek_since),
		cmocka_unit_test(test_seek_without_lines),
		cmocka_unit_test(test_seek_last),
		cmocka_unit_test(test_what_cannot_be_opened),
		cmocka_unit_test(test_failing_reads),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
