/* What the command prints goes into unnamed files, so that neither waits for the other. */
#include "diff/filter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "diff/value.h"
#include "io/file.h"
#include "proc/last_words.h"
#include "proc/process.h"

#define PLACE "--map"
#define ERRORS_MOST ((size_t)1 << 20)

struct uuid
diff_filter_add(struct diff_filter *f, struct span value)
{
	const struct uuid key = diff_value_key(value);

	if (f != NULL && diff_key_is(key) && map_get(&f->numbers, (const char *)&key, sizeof key) == NULL) {
		map_put(&f->numbers, (const char *)&key, sizeof key, f->numbers.count);
		diff_value_json(value, &f->values);
		buffer_byte(&f->values, '\n');
	}
	return key;
}

/* Finds the line of each value in what the command has printed. */
static int
diff_filter_read(struct diff_filter *f, struct error *err)
{
	const char *at = buffer_string(&f->answers), *const stop = at + f->answers.len;
	size_t count = 0;

	f->lines = memory_zero(f->numbers.count + 1, sizeof *f->lines);
	while (at < stop) {
		const char *end = memchr(at, '\n', (size_t)(stop - at));
		struct span line;
		size_t bad;

		end = end != NULL ? end : stop;
		line = span_trim(span_of(at, (size_t)(end - at)));
		if (count == f->numbers.count)
			return error_set(err, ERROR_TOOL, PLACE, "it printed more than the %zu values that it was given",
			    f->numbers.count);
		if (scan_check(line.at, line.len, &bad) != NULL)
			return error_set(err, ERROR_TOOL, PLACE, "line %zu of what it printed is not JSON", count + 1);
		f->lines[count++] = line;
		at = end + 1;
	}
	if (count < f->numbers.count)
		return error_set(err, ERROR_TOOL, PLACE, "it was given %zu values and printed %zu", f->numbers.count, count);
	return 0;
}

/* Starts the command and waits for its end: how long it takes is its user's affair, who can interrupt it. */
static int
diff_filter_start(struct diff_filter *f, int out, int errors, struct error *err)
{
	char *argv[4], how[64];
	struct process_spec spec = { .in = PROCESS_INPUT, .input = buffer_string(&f->values), .input_len = f->values.len,
		.out = out, .err = errors };
	struct buffer words = BUFFER_INIT;
	struct process process;
	int status = 0;

	process_shell(argv, f->command);
	spec.argv = argv;
	if (process_start(&process, &spec, NULL, err) != 0)
		return -1;
	while (waitpid(process.pid, &status, 0) == -1 && errno == EINTR)
		continue;
	if (status == 0)
		return 0;
	error_set(err, ERROR_TOOL, PLACE, "%s", process_status_text(status, how, sizeof how));
	if (lseek(errors, 0, SEEK_SET) == 0 && file_read(errors, &words, ERRORS_MOST) == 0)
		last_words_add(err, buffer_string(&words), words.len);
	buffer_free(&words);
	return -1;
}

int
diff_filter_run(struct diff_filter *f, struct error *err)
{
	const char *directory = environment_text("TMPDIR");
	int out, errors, failed = -1;

	directory = directory != NULL ? directory : "/tmp";
	out = file_open_unnamed(directory);
	errors = file_open_unnamed(directory);
	if (out == -1 || errors == -1)
		error_errno(err, ERROR_SYSTEM, directory, "unable to make a file there");
	else if (diff_filter_start(f, out, errors, err) == 0 && lseek(out, 0, SEEK_SET) == 0)
		failed = file_read_named(out, directory, SIZE_MAX, &f->answers, err);
	if (failed == 0)
		failed = diff_filter_read(f, err);
	file_close(&out);
	file_close(&errors);
	return failed;
}

struct span
diff_filter_value(const struct diff_filter *f, struct span value)
{
	struct uuid key;
	const size_t *number;

	if (f == NULL || f->lines == NULL)
		return value;
	key = diff_value_key(value);
	number = map_get(&f->numbers, (const char *)&key, sizeof key);
	return number != NULL ? f->lines[*number] : value;
}

struct uuid
diff_filter_key(const struct diff_filter *f, struct uuid key)
{
	const size_t *number = map_get(&f->numbers, (const char *)&key, sizeof key);

	return number != NULL ? diff_value_key(f->lines[*number]) : key;
}

void
diff_filter_free(struct diff_filter *f)
{
	map_free(&f->numbers);
	buffer_free(&f->values);
	buffer_free(&f->answers);
	free(f->lines);
}
