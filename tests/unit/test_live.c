/* run/live: what is written is handed on, however it comes; what cannot be written ends
 * quietly; what lies there and is none is passed over. */
#include "record.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "view/live.h"

#define A "11111111-93d4-4e8f-a6b0-5c1d2e3f4a5b"
#define B "22222222-93d4-4e8f-a6b0-5c1d2e3f4a5b"

/* A run's directory, and who follows it. */
struct bench {
	const char *run;
	struct live_writer writer;
	struct live_follow follow;
	struct buffer told;
};

/* "A:0 text=abc; A:0 restart; A:1 cut; A done; " */
static void
note(void *context, const struct live_news *news)
{
	static const char *const words[] = { [LIVE_RESTARTED] = "restart", [LIVE_CUT] = "cut" };
	struct buffer *told = context;
	char call = strcmp(news->call, A) == 0 ? 'A' : strcmp(news->call, B) == 0 ? 'B' : '?';

	if (news->event == LIVE_DONE) {
		buffer_format(told, "%c done; ", call);
	} else if (news->event == LIVE_APPENDED) {
		buffer_format(told, "%c:%lld %s=", call, (long long)news->turn, live_kinds[news->kind]);
		buffer_append(told, news->text.at, news->text.len);
		buffer_text(told, "; ");
	} else {
		buffer_format(told, "%c:%lld %s; ", call, (long long)news->turn, words[news->event]);
	}
}

static void
bench_open(struct bench *b, const char *name)
{
	*b = (struct bench){ .run = record_path(name) };
	assert_int_equal(mkdir(b->run, 0700), 0);
	live_begin(&b->writer, b->run);
	live_follow_begin(&b->follow, b->run, NULL, note, &b->told);
}

static void
bench_close(struct bench *b)
{
	live_end(&b->writer);
	live_follow_end(&b->follow);
	buffer_free(&b->told);
}

/* What is told now. */
static void
assert_told(struct bench *b, const char *told)
{
	buffer_clear(&b->told);
	live_follow_look(&b->follow);
	assert_string_equal(buffer_string(&b->told), told);
}

static const char *
file_of(const struct bench *b, const char *call)
{
	return memory_format("%s/live/%s", b->run, call);
}

static bool
there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

/* A piece that waits. */
static void
append(struct live_writer *w, const char *text)
{
	live_append(w, LIVE_TEXT, text, strlen(text));
}

/* As if the pause was over. */
static void
flush(struct live_writer *w)
{
	w->since = 1;
	assert_int_equal(live_flush(w), 0);
}

static void
tell(struct live_writer *w, const char *text)
{
	append(w, text);
	flush(w);
}

static void
put(const char *path, const char *text)
{
	record_put(path, text, strlen(text));
}

static void
adds(const char *path, const char *text)
{
	FILE *f = fopen(path, "a");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* ---- writing ---- */

static void
pieces_wait_for_others(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct stat status;
	const char *path;
	struct bench b;
	int64_t due, now;

	(void)state;
	bench_open(&b, "pieces");
	path = file_of(&b, A);
	live_turn(&b.writer, A, 3);
	assert_int_equal(live_flush(&b.writer), 0);
	assert_false(there(record_path("pieces/live")));
	/* What comes before the pause is over is written together. */
	now = clock_monotonic();
	append(&b.writer, "one");
	append(&b.writer, " two\n");
	append(&b.writer, "\"\xc3\xa9\"");
	live_append(&b.writer, LIVE_THINKING, "hm", 2);
	due = live_flush(&b.writer);
	if (due != 0) { /* else the machine was busy for longer than the pause */
		assert_true(due >= now + LIVE_PAUSE_MS && due <= clock_monotonic() + LIVE_PAUSE_MS);
		assert_false(there(record_path("pieces/live")));
		while (clock_monotonic() < due)
			usleep(1000);
		assert_int_equal(live_flush(&b.writer), 0);
		record_load(path, &text);
		assert_string_equal(text.data,
		    "{\"turn\":3,\"kind\":\"text\",\"append\":\"one two\\n\\\"\xc3\xa9\\\"\"}\n"
		    "{\"turn\":3,\"kind\":\"thinking\",\"append\":\"hm\"}\n");
		assert_told(&b, "A:3 text=one two\n\"\xc3\xa9\"; A:3 thinking=hm; ");
	}
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(stat(record_path("pieces/live"), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	live_follow_look(&b.follow);
	live_end(&b.writer);
	assert_false(there(path));
	assert_told(&b, "A done; ");
	buffer_free(&text);
	bench_close(&b);
}

static void
turns_restarts_and_calls(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, "turns");
	live_turn(&b.writer, A, 0);
	tell(&b.writer, "a");
	append(&b.writer, " dropped");
	live_turn(&b.writer, A, 0);
	live_turn(&b.writer, A, 0); /* nothing was said since */
	assert_told(&b, "A:0 text=a; A:0 restart; ");
	tell(&b.writer, "b");
	live_turn(&b.writer, A, 1);
	tell(&b.writer, "c");
	assert_told(&b, "A:0 text=b; A:1 text=c; ");
	/* Another call, as a phase is. */
	live_turn(&b.writer, B, 2);
	assert_told(&b, "A done; ");
	tell(&b.writer, "d");
	assert_told(&b, "B:2 text=d; ");
	live_end(&b.writer);
	assert_told(&b, "B done; ");
	append(&b.writer, "after the end");
	assert_told(&b, "");
	bench_close(&b);
}

/* A turn has at least half of the file; what was cut off is not missed in the next one. */
static void
a_full_file_is_cut(void **state)
{
	char kilobyte[1025];
	struct stat status;
	const char *path;
	struct bench b;
	size_t told = 0;

	(void)state;
	memset(kilobyte, 'x', 1024);
	kilobyte[1024] = '\0';
	bench_open(&b, "full");
	path = file_of(&b, A);
	live_turn(&b.writer, A, 0);
	for (int i = 0; i < 1100; i++)
		tell(&b.writer, kilobyte);
	assert_true(b.writer.cut);
	assert_int_equal(stat(path, &status), 0);
	assert_true(status.st_size <= (off_t)LIVE_LIMIT);
	assert_true(status.st_size > (off_t)LIVE_LIMIT - 2048);
	live_follow_look(&b.follow);
	for (const char *at = b.told.data; (at = strstr(at, kilobyte)) != NULL; at += 1024)
		told++;
	assert_true(told > 900);
	assert_string_equal(b.told.data + b.told.len - strlen("A:0 cut; "), "A:0 cut; ");
	assert_told(&b, "");

	live_turn(&b.writer, A, 1);
	assert_false(there(path));
	tell(&b.writer, "anew");
	buffer_clear(&b.told);
	live_follow_look(&b.follow);
	assert_string_equal(b.told.data, "A:0 restart; A:1 text=anew; ");
	/* A single piece that is too long. */
	for (int i = 0; i < 1100; i++)
		live_append(&b.writer, LIVE_TEXT, kilobyte, 1024);
	flush(&b.writer);
	buffer_clear(&b.told);
	live_follow_look(&b.follow);
	assert_non_null(strstr(b.told.data, "A:1 cut; "));
	bench_close(&b);
}

/* Where it cannot be written: nothing is said, and nothing is left. */
static void
what_fails_ends_quietly(void **state)
{
	struct bench b;
	int status;

	(void)state;
	bench_open(&b, "none");
	live_end(&b.writer);
	live_begin(&b.writer, record_path("nowhere"));
	live_turn(&b.writer, A, 0);
	tell(&b.writer, "x");
	assert_null(b.writer.run_directory);
	live_turn(&b.writer, A, 0);
	tell(&b.writer, "x");
	assert_false(there(record_path("nowhere")));

	/* What has the name is another's, or a link. */
	assert_int_equal(mkdir(record_path("none/live"), 0700), 0);
	put(record_path("other"), "kept");
	assert_int_equal(symlink(record_path("other"), file_of(&b, A)), 0);
	live_end(&b.writer);
	live_begin(&b.writer, b.run);
	live_turn(&b.writer, A, 0);
	tell(&b.writer, "x");
	assert_null(b.writer.run_directory);
	live_end(&b.writer);
	assert_true(there(file_of(&b, A)));
	assert_int_equal(unlink(file_of(&b, A)), 0);

	/* A file that may not grow, as on a full disk. */
	if (fork() == 0) {
		struct rlimit limit = { 100, 100 };

		signal(SIGXFSZ, SIG_IGN);
		live_begin(&b.writer, b.run);
		live_turn(&b.writer, A, 0);
		tell(&b.writer, "it fits");
		if (setrlimit(RLIMIT_FSIZE, &limit) == -1 || !there(file_of(&b, A)))
			_exit(1);
		append(&b.writer, "this, with all that a line has around it, does not, and so there is no half of it");
		b.writer.since = 1;
		live_flush(&b.writer);
		_exit(b.writer.run_directory != NULL || there(file_of(&b, A)) ? 2 : 0);
	}
	wait(&status);
	assert_int_equal(status, 0);
	bench_close(&b);
}

static void
not_of_every_run(void **state)
{
	static char directory[] = "/d";
	struct run run = { .directory = directory, .keep_transcript = true };

	(void)state;
	assert_string_equal(live_place(&run), "/d");
	run.keep_transcript = false;
	assert_null(live_place(&run));
	run.keep_transcript = true;
	run.redaction_mark[0] = 'm';
	assert_null(live_place(&run));
}

/* ---- following ---- */

#define LINE(text) "{\"turn\":0,\"kind\":\"text\",\"append\":\"" text "\"}\n"

/* Cut anywhere, lines come to the same. */
static void
lines_come_in_parts(void **state)
{
	static const char lines[] = LINE("one") "{\"turn\":0,\"restart\":true}\n" LINE("\\u00e9\\n")
	    "{\"turn\":1,\"kind\":\"tool\",\"append\":\"{}\"}\n{\"turn\":1,\"cut\":true}\n";
	struct bench b;

	(void)state;
	bench_open(&b, "parts");
	assert_int_equal(mkdir(record_path("parts/live"), 0700), 0);
	put(file_of(&b, A), "");
	for (const char *at = lines; *at != '\0'; at++) {
		const char one[] = { *at, '\0' };

		adds(file_of(&b, A), one);
		live_follow_look(&b.follow);
	}
	assert_string_equal(b.told.data,
	    "A:0 text=one; A:0 restart; A:0 text=\xc3\xa9\n; A:1 tool={}; A:1 cut; ");
	put(file_of(&b, B), lines);
	buffer_clear(&b.told);
	live_follow_look(&b.follow);
	assert_string_equal(b.told.data,
	    "B:0 text=one; B:0 restart; B:0 text=\xc3\xa9\n; B:1 tool={}; B:1 cut; ");
	bench_close(&b);
}

static void
nonsense_is_passed_over(void **state)
{
	static const char *const lines[] = { "", "null", "[]", "{}", "nonsense", "{\"turn\":0}",
		"{\"turn\":-1,\"kind\":\"text\",\"append\":\"x\"}", "{\"turn\":0,\"kind\":\"text\"}",
		"{\"turn\":\"0\",\"kind\":\"text\",\"append\":\"x\"}",
		"{\"turn\":1e99,\"kind\":\"text\",\"append\":\"x\"}",
		"{\"turn\":0,\"kind\":\"image\",\"append\":\"x\"}",
		"{\"turn\":0,\"kind\":\"text\",\"append\":7}", "{\"turn\":0,\"kind\":\"text\",\"append\":\"\"}",
		"{\"turn\":0,\"kind\":\"text\",\"append\":\"\xff\"}",
		"{\"turn\":0,\"kind\":\"text\",\"append\":\"x\"} more",
		"{\"turn\":0,\"kind\":\"text\",\"append\":\"\\ud800\"}",
		"{\"turn\":0,\"restart\":1}", "{\"turn\":0,\"cut\":\"yes\"}",
		"{\"turn\":0,\"kind\":\"text\",\"append\":\"x" };
	struct buffer text = BUFFER_INIT;
	struct bench b;

	(void)state;
	bench_open(&b, "nonsense");
	assert_int_equal(mkdir(record_path("nonsense/live"), 0700), 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		buffer_format(&text, "%s\n", lines[i]);
	buffer_append(&text, "\0\n\x1b[2J\n", 7);
	for (int i = 0; i < 100000; i++)
		buffer_byte(&text, '[');
	buffer_byte(&text, '\n');
	buffer_text(&text, LINE("sense"));
	record_put(file_of(&b, A), text.data, text.len);
	assert_told(&b, "A:0 text=sense; ");

	/* Nothing beyond the limit is read, be it a line or none. */
	buffer_clear(&text);
	for (size_t i = 0; i < LIVE_LIMIT + 10; i++)
		buffer_byte(&text, ' ');
	buffer_text(&text, "\n" LINE("beyond"));
	record_put(file_of(&b, B), text.data, text.len);
	assert_told(&b, "");
	adds(file_of(&b, B), LINE("more"));
	assert_told(&b, "");
	buffer_free(&text);
	bench_close(&b);
}

/* What else may bear the name of a call, or of the directory. */
static void
only_files_are_followed(void **state)
{
	const char *elsewhere = record_path("elsewhere");
	struct bench b;

	(void)state;
	assert_int_equal(mkdir(elsewhere, 0700), 0);
	put(record_path("elsewhere/" A), LINE("not this"));
	bench_open(&b, "kinds");
	assert_int_equal(symlink(elsewhere, record_path("kinds/live")), 0);
	assert_told(&b, "");
	assert_int_equal(unlink(record_path("kinds/live")), 0);
	put(record_path("kinds/live"), LINE("nor this"));
	assert_told(&b, "");
	assert_int_equal(unlink(record_path("kinds/live")), 0);

	assert_int_equal(mkdir(record_path("kinds/live"), 0700), 0);
	assert_int_equal(symlink(record_path("elsewhere/" A), file_of(&b, A)), 0);
	assert_int_equal(mkfifo(file_of(&b, B), 0600), 0); /* is not waited for */
	put(file_of(&b, "no-id"), LINE("nor this"));
	put(file_of(&b, A ".new"), LINE("nor this"));
	assert_int_equal(mkdir(file_of(&b, OTHER_ID), 0700), 0);
	assert_told(&b, "");
	assert_int_equal(unlink(file_of(&b, A)), 0);
	put(file_of(&b, A), LINE("this"));
	assert_told(&b, "A:0 text=this; ");
	/* The file of one that was followed becomes a link. */
	assert_int_equal(unlink(file_of(&b, A)), 0);
	assert_int_equal(symlink(record_path("elsewhere/" A), file_of(&b, A)), 0);
	assert_told(&b, "A done; ");
	assert_told(&b, "");
	bench_close(&b);
}

static void
files_that_change_otherwise(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, "change");
	assert_int_equal(mkdir(record_path("change/live"), 0700), 0);
	put(file_of(&b, A), LINE("one") LINE("two"));
	assert_told(&b, "A:0 text=one; A:0 text=two; ");
	assert_int_equal(truncate(file_of(&b, A), 0), 0);
	assert_told(&b, "A:0 restart; ");
	adds(file_of(&b, A), LINE("three"));
	assert_told(&b, "A:0 text=three; ");
	put(file_of(&b, B), LINE("another"));
	assert_int_equal(rename(file_of(&b, B), file_of(&b, A)), 0);
	assert_told(&b, "A:0 restart; A:0 text=another; ");

	/* The directory goes, as a run's does that ends, and comes again, as on a resume. */
	assert_int_equal(rename(b.run, record_path("change.gone")), 0);
	assert_told(&b, "A done; ");
	assert_told(&b, "");
	assert_int_equal(mkdir(b.run, 0700), 0);
	assert_int_equal(mkdir(record_path("change/live"), 0700), 0);
	put(file_of(&b, B), LINE("again"));
	assert_told(&b, "B:0 text=again; ");
	bench_close(&b);
}

static void
so_many_calls_and_no_more(void **state)
{
	char id[ID_SIZE];
	struct bench b;

	(void)state;
	bench_open(&b, "many");
	assert_int_equal(mkdir(record_path("many/live"), 0700), 0);
	for (int i = 0; i < LIVE_CALLS_LIMIT + 6; i++) {
		snprintf(id, sizeof id, "%08x-93d4-4e8f-a6b0-5c1d2e3f4a5b", (unsigned)i);
		put(file_of(&b, id), LINE("x"));
	}
	live_follow_look(&b.follow);
	assert_int_equal(b.follow.count, LIVE_CALLS_LIMIT);
	/* Those that go make room. */
	for (int i = 0; i < LIVE_CALLS_LIMIT + 6; i++) {
		snprintf(id, sizeof id, "%08x-93d4-4e8f-a6b0-5c1d2e3f4a5b", (unsigned)i);
		assert_int_equal(unlink(file_of(&b, id)), 0);
	}
	put(file_of(&b, A), LINE("y"));
	live_follow_look(&b.follow);
	buffer_clear(&b.told);
	adds(file_of(&b, A), LINE("z"));
	live_follow_look(&b.follow);
	assert_non_null(strstr(b.told.data, "A:0 text=z; "));
	assert_int_equal(b.follow.count, 1);
	bench_close(&b);
}

/* "RUN step=96; " */
static void
note_items(void *context, const char *run_id, const char *step, int64_t items)
{
	buffer_format(context, "%s %s=%lld; ", run_id, step, (long long)items);
}

static void
how_many_items_a_step_has(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, "items");
	b.follow.items = note_items;
	live_tell_items(&b.writer, "panel:0:0/crunch:0", 96);
	assert_told(&b, "items panel:0:0/crunch:0=96; ");
	assert_told(&b, "");
	live_tell_items(&b.writer, "panel:0:0/crunch:0", 97);
	assert_told(&b, "items panel:0:0/crunch:0=-1; items panel:0:0/crunch:0=97; ");
	live_end(&b.writer);
	assert_told(&b, "items panel:0:0/crunch:0=-1; ");
	/* Who does not want to know it is told nothing. */
	b.follow.items = NULL;
	live_begin(&b.writer, b.run);
	live_tell_items(&b.writer, "a:0", 2);
	put(file_of(&b, A), "{\"items\":3}\n{\"items\":-1,\"step\":\"x\"}\n{\"items\":\"4\",\"step\":\"x\"}\n");
	assert_told(&b, "");
	b.follow.items = note_items;
	live_end(&b.writer);
	assert_told(&b, "items a:0=-1; ");
	/* Where nothing may be written. */
	live_begin(&b.writer, NULL);
	live_tell_items(&b.writer, "a:0", 2);
	assert_told(&b, "");
	bench_close(&b);
}

static const char *wanted;

static bool
is_wanted(const void *context, const char *call)
{
	(void)context;
	return wanted != NULL && strcmp(call, wanted) == 0;
}

/* What nobody looks at is read once, to know what it is, and again when somebody does. */
static void
only_what_is_wanted_is_read(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, "wanted");
	b.follow.wants = is_wanted;
	wanted = NULL;
	assert_int_equal(mkdir(record_path("wanted/live"), 0700), 0);
	put(file_of(&b, A), LINE("one"));
	put(file_of(&b, B), "{\"turn\":0,\"kind\":\"output\",\"of\":\"" OTHER_ID "\",\"name\":\"t\",\"call_id\":\"c\",\"append\":\"x\"}\n");
	live_follow_look(&b.follow);
	adds(file_of(&b, A), LINE("two"));
	adds(file_of(&b, B), LINE("more"));
	assert_told(&b, "");
	wanted = A;
	assert_told(&b, "A:0 text=two; ");
	wanted = OTHER_ID; /* the call whose tool it is */
	adds(file_of(&b, A), LINE("three"));
	assert_told(&b, "B:0 text=more; ");
	/* It is noticed all the same that it is over. */
	wanted = NULL;
	assert_int_equal(unlink(file_of(&b, A)), 0);
	assert_told(&b, "A done; ");
	bench_close(&b);
}

/* The watch wakes for each thing that there is to tell, from before the directory is there. */
static void
a_watch_wakes(void **state)
{
	const char *whole = "A:0 text=one; A:0 text= two; A done; ";
	int64_t begun = clock_monotonic();
	struct watch watch;
	struct bench b;
	int status;

	(void)state;
	bench_open(&b, "watched");
	live_follow_end(&b.follow);
	watch_open(&watch);
	live_follow_begin(&b.follow, b.run, &watch, note, &b.told);
	live_follow_look(&b.follow);
	if (fork() == 0) {
		usleep(20000);
		live_turn(&b.writer, A, 0);
		tell(&b.writer, "one");
		usleep(20000);
		tell(&b.writer, " two");
		usleep(20000);
		live_end(&b.writer);
		_exit(0);
	}
	while (b.told.len < strlen(whole) && clock_monotonic() < begun + 30000) {
		watch_wait(&watch, -1, 30000);
		watch_drain(&watch);
		live_follow_look(&b.follow);
	}
	assert_string_equal(b.told.data, whole);
	wait(&status);
	assert_int_equal(status, 0);
	watch_close(&watch);
	bench_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_wait_for_others),
		cmocka_unit_test(turns_restarts_and_calls),
		cmocka_unit_test(a_full_file_is_cut),
		cmocka_unit_test(what_fails_ends_quietly),
		cmocka_unit_test(not_of_every_run),
		cmocka_unit_test(lines_come_in_parts),
		cmocka_unit_test(nonsense_is_passed_over),
		cmocka_unit_test(only_files_are_followed),
		cmocka_unit_test(files_that_change_otherwise),
		cmocka_unit_test(so_many_calls_and_no_more),
		cmocka_unit_test(a_watch_wakes),
		cmocka_unit_test(how_many_items_a_step_has),
		cmocka_unit_test(only_what_is_wanted_is_read),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
