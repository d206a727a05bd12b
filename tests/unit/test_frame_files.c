/* Files in frames: which are found, which are taken, and where they go. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/copytree.h"
#include "io/file.h"
#include "proc/frame.h"
#include "proc/frame_files.h"

static char place[] = "/tmp/awf-files-XXXXXX";

static int
set_up(void **state)
{
	(void)state;
	return mkdtemp(place) == NULL || chdir(place) != 0 || mkdir("kept", 0700) != 0 ||
	    mkdir("here", 0700) != 0;
}

static int
tear_down(void **state)
{
	struct error err;

	(void)state;
	return chdir("/") != 0 || copytree_remove(place, &err) != 0;
}

static void
begin(struct files_in *f, char *const *patterns)
{
	files_in_begin(f, open("kept", O_RDONLY | O_DIRECTORY | O_CLOEXEC), patterns);
}

/* Takes the frame of a file. */
static int
take(struct files_in *f, const char *path, long long bytes, struct error *err)
{
	struct buffer line = BUFFER_INIT, encoded = BUFFER_INIT;
	int result;

	base64_encode(path, strlen(path), &encoded);
	buffer_format(&line, "{\"type\":\"file\",\"data\":\"%s\",\"mode\":438,\"bytes\":%lld}",
	    buffer_string(&encoded), bytes);
	result = files_in_take(f, span_of(line.data, line.len), err);
	buffer_free(&line);
	buffer_free(&encoded);
	return result;
}

static int
take_data(struct files_in *f, const char *text, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	int result;

	frame_bytes(&line, "data", text, strlen(text));
	result = files_in_take(f, span_of(line.data, line.len - 1), err);
	buffer_free(&line);
	return result;
}

static void
clear_kept(void)
{
	struct error err;

	assert_int_equal(copytree_remove("kept", &err), 0);
	assert_int_equal(mkdir("kept", 0700), 0);
}

static void
what_leads_elsewhere_or_was_not_asked_for_is_refused(void **state)
{
	static const char *const paths[] = { "/etc/passwd", "../x", "a/../../x", "a/..", ".", "./x", "a//b",
		"a/", "", "b", "a/b/c", ".hidden", NULL };
	char pattern[2][8] = { "a/*", "x*" };
	char *patterns[] = { pattern[0], pattern[1], NULL };
	struct files_in f;
	struct error err;

	(void)state;
	begin(&f, patterns);
	for (size_t i = 0; paths[i] != NULL; i++) {
		assert_int_equal(take(&f, paths[i], 0, &err), -1);
		assert_string_equal(err.message, "was not asked for");
	}
	assert_int_equal(take(&f, "a/b", 0, &err), 1);
	assert_int_equal(take(&f, "a/b", 0, &err), -1); /* twice */
	files_in_free(&f);
	files_in_begin(&f, -1, NULL);
	assert_int_equal(take(&f, "x", 0, &err), -1);
	files_in_free(&f);
	clear_kept();
}

static void
there_is_a_limit(void **state)
{
	struct files_in f;
	struct error err;

	(void)state;
	begin(&f, NULL);
	assert_int_equal(take(&f, "x", FRAME_FILES_BYTES + 1, &err), -1);
	assert_string_equal(err.message, "is too much: no more than 10000 files, and 1024 MiB in all");
	assert_int_equal(take(&f, "x", -1, &err), -1);
	f.count = FRAME_FILES;
	assert_int_equal(take(&f, "x", 1, &err), -1);
	files_in_free(&f);
	clear_kept();
}

static void
more_or_fewer_bytes_than_were_said_are_a_broken_frame(void **state)
{
	struct files_in f;
	struct error err;

	(void)state;
	begin(&f, NULL);
	assert_int_equal(take_data(&f, "x", &err), -1);
	assert_int_equal(take(&f, "a", 3, &err), 1);
	assert_int_equal(take_data(&f, "xy", &err), 1);
	assert_int_equal(take(&f, "b", 3, &err), -1);
	assert_int_equal(take_data(&f, "xyz", &err), -1);
	assert_int_equal(files_in_take(&f, span_of("{\"type\":\"ping\"}", 15), &err), 0);
	files_in_free(&f);
	clear_kept();
}

static void
they_are_placed_below_the_directory_alone(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct files_in f;
	struct error err;
	int here = open("here", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	begin(&f, NULL);
	assert_int_equal(take(&f, "a/b/c", 2, &err), 1);
	assert_int_equal(take_data(&f, "hi", &err), 1);
	assert_int_equal(files_in_place(&f, here, &err), 0);
	assert_int_equal(file_load("here/a/b/c", 100, &text, &err), 0);
	assert_string_equal(text.data, "hi");
	files_in_free(&f);
	/* A link out of it, where a directory was. */
	clear_kept();
	assert_int_equal(symlink("/tmp", "here/out"), 0);
	begin(&f, NULL);
	assert_int_equal(take(&f, "out/awf-must-not-be", 0, &err), 1);
	assert_int_equal(files_in_place(&f, here, &err), -1);
	assert_int_equal(access("/tmp/awf-must-not-be", F_OK), -1);
	files_in_free(&f);
	clear_kept();
	close(here);
	buffer_free(&text);
}

static void
what_was_sent_has_the_same_digest_where_it_comes(void **state)
{
	char pattern[] = "s*", *patterns[] = { pattern, NULL };
	char sent[DIGEST_SIZE], taken[DIGEST_SIZE];
	struct buffer frames = BUFFER_INIT;
	struct files_out out;
	struct files_in in;
	struct error err;
	int more, fd = open("sent", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(file_write(fd, "some bytes", 10), 0);
	close(fd);
	assert_int_equal(files_out_begin(&out, patterns, &err), 0);
	while ((more = files_out_next(&out, &frames, &err)) == 1)
		;
	assert_int_equal(more, 0);
	begin(&in, NULL);
	for (char *at = frames.data, *end; *at != '\0'; at = end + 1) {
		end = strchr(at, '\n');
		assert_int_equal(files_in_take(&in, span_of(at, (size_t)(end - at)), &err), 1);
	}
	assert_string_equal(digest_end(&out.digest, sent), digest_end(&in.digest, taken));
	assert_string_equal(in.paths[0], "sent");
	files_out_free(&out);
	files_in_free(&in);
	buffer_free(&frames);
	/* One that became shorter on the way. */
	assert_int_equal(files_out_begin(&out, patterns, &err), 0);
	assert_int_equal(files_out_next(&out, &frames, &err), 1);
	assert_int_equal(truncate("sent", 0), 0);
	assert_int_equal(files_out_next(&out, &frames, &err), -1);
	assert_string_equal(err.message, "became shorter while it was read");
	files_out_free(&out);
	buffer_free(&frames);
	clear_kept();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_leads_elsewhere_or_was_not_asked_for_is_refused),
		cmocka_unit_test(there_is_a_limit),
		cmocka_unit_test(more_or_fewer_bytes_than_were_said_are_a_broken_frame),
		cmocka_unit_test(they_are_placed_below_the_directory_alone),
		cmocka_unit_test(what_was_sent_has_the_same_digest_where_it_comes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
