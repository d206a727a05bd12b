/* Seals and checkpoints: whatever is done to a sealed transcript is found by who has the
 * public key, and going back to an earlier seal by who has kept a checkpoint. */
#include "record.h"

#include <fcntl.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/stat.h>

#include "transcript/checkpoint.h"
#include "transcript/seal.h"
#include "transcript/transcript.h"
#include "transcript/verify.h"

static struct seal_key key, other_key;
static const char *key_path, *transcript_path;

static struct span
text_span(const char *text)
{
	return span_of(text, strlen(text));
}

static void
append(struct transcript *t, enum event_type type, const char *parent, const char *payload,
    const struct seal_key *seal, char id[ID_SIZE])
{
	struct event e = { .type = type, .path = type == EVENT_STEP_STARTED ||
		type == EVENT_STEP_COMPLETED ? "a" : "", .parent_event_id = parent,
		.payload = text_span(payload), .seal = seal };
	struct error err = ERROR_INIT;

	if (transcript_append(t, &e, &err) != 0)
		fail_msg("%s", err.message);
	memcpy(id, e.id, ID_SIZE);
}

static void
append_end(struct transcript *t, const char *started, const struct seal_key *seal)
{
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	char id[ID_SIZE];

	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, "status", "success");
	if (seal != NULL)
		seal_write(&w, seal);
	writer_object_end(&w);
	append(t, EVENT_RUN_COMPLETED, started, payload.data, seal, id);
	buffer_free(&payload);
}

/* Attempts 1, 2 …, one for each key, NULL: not sealed; one call in each. */
static void
make_transcript(const struct seal_key *const *seals, size_t count)
{
	struct transcript t;
	struct error err = ERROR_INIT;
	char started[ID_SIZE], call[ID_SIZE], payload[256];

	unlink(transcript_path);
	assert_int_equal(transcript_create(&t, transcript_path, "", RUN_ID, &err), 0);
	for (size_t i = 0; i < count; i++) {
		snprintf(payload, sizeof payload, "{\"name\":\"w\",\"kind\":\"workflow\",\"awf_version\":"
		    "\"0.1.0\",\"format\":1,\"attempt\":%zu}", i + 1);
		append(&t, EVENT_RUN_STARTED, NULL, payload, NULL, started);
		append(&t, EVENT_STEP_STARTED, started,
		    "{\"name\":\"a\",\"kind\":\"command\",\"call\":\"a:0:0\"}", NULL, call);
		append(&t, EVENT_STEP_COMPLETED, call,
		    "{\"name\":\"a\",\"kind\":\"command\",\"call\":\"a:0:0\",\"result\":\"x\"}", NULL, call);
		append_end(&t, started, seals[i]);
	}
	transcript_close(&t);
}

static struct verify_report
verify(const char *public_key, const struct checkpoints *checkpoints)
{
	const struct verify_spec spec = { .seal_key = public_key, .checkpoints = checkpoints };
	struct verify_report report;
	struct error err = ERROR_INIT;

	if (verify_transcript(transcript_path, &spec, &report, &err) != 0)
		fail_msg("%s: %s", err.place, err.message);
	return report;
}

static int
set_up(void **state)
{
	struct error err = ERROR_INIT;
	const char *directory;

	if (record_setup(state) != 0 || setenv("AWF_SYNC", "none", 1) != 0)
		return -1;
	directory = record_path("transcripts");
	transcript_path = record_path("transcripts/" RUN_ID ".jsonl");
	key_path = record_path("key");
	if (mkdir(directory, 0700) != 0 || seal_key_make(key_path, &err) != 0 ||
	    seal_key_make(record_path("other"), &err) != 0 ||
	    seal_key_load(&key, key_path, &err) != 0 ||
	    seal_key_load(&other_key, record_path("other"), &err) != 0)
		return -1;
	return 0;
}

static void
a_seal_by_the_key_is_asked_for_and_found(void **state)
{
	static const struct {
		const struct seal_key *seals[3];
		size_t attempts;
		bool any, by_key; /* is it without fault, without --key and with it? */
		const char *message;
	} cases[] = {
		{ { &key }, 1, true, true, "" },
		{ { NULL }, 1, true, false, "not sealed: the last line is no run.completed with a seal" },
		{ { &other_key }, 1, true, false, "sealed by another key: " },
		{ { &key, &key }, 2, true, true, "" },
		{ { NULL, &key }, 2, true, true, "" },
		{ { &other_key, &key }, 2, true, true, "" },
		{ { &key, NULL }, 2, true, false, "not sealed: " },
		{ { &key, &other_key }, 2, true, false, "sealed by another key: " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct verify_report report;

		make_transcript(cases[i].seals, cases[i].attempts);
		assert_int_equal(verify(NULL, NULL).faulty, !cases[i].any);
		report = verify(key.public_key, NULL);
		assert_int_equal(report.faulty, !cases[i].by_key);
		if (!report.faulty)
			continue;
		assert_int_equal(report.rule, VERIFY_SEAL);
		assert_int_equal(report.line, cases[i].attempts * 4);
		assert_memory_equal(report.fault.message, cases[i].message, strlen(cases[i].message));
	}
}

/* Puts other bytes at a place of the file. */
static void
put(int fd, const char *bytes, size_t len, size_t at)
{
	assert_int_equal(pwrite(fd, bytes, len, (off_t)at), len);
}

static void
every_bit_is_sealed(void **state)
{
	static const struct seal_key *const seals[] = { &key };
	struct buffer text = BUFFER_INIT;
	int fd;

	(void)state;
	make_transcript(seals, 1);
	record_load(transcript_path, &text);
	fd = open(transcript_path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (size_t bit = 0; bit < text.len * 8; bit++) {
		char byte = (char)(text.data[bit / 8] ^ (1 << bit % 8));

		put(fd, &byte, 1, bit / 8);
		if (!verify(key.public_key, NULL).faulty)
			fail_msg("bit %zu passes", bit);
		put(fd, &text.data[bit / 8], 1, bit / 8);
	}
	assert_false(verify(key.public_key, NULL).faulty);
	close(fd);
	buffer_free(&text);
}

/* What a cut of two sealed attempts leaves, at every byte: only at the end of the
 * first one is there a seal, and there a checkpoint tells. */
static void
every_cut_is_found(void **state)
{
	static const struct seal_key *const seals[] = { &key, &key };
	struct buffer text = BUFFER_INIT;
	struct verify_report whole;
	struct checkpoint checkpoint;
	struct checkpoints checkpoints = { (char *)(uintptr_t)"heads", &checkpoint, 1 };
	size_t passed = 0;

	(void)state;
	make_transcript(seals, 2);
	record_load(transcript_path, &text);
	whole = verify(key.public_key, NULL);
	memcpy(checkpoint.run_id, whole.run_id, ID_SIZE);
	memcpy(checkpoint.digest, whole.head, DIGEST_SIZE);
	checkpoint.seq = whole.lines;
	assert_false(verify(key.public_key, &checkpoints).faulty);
	for (size_t len = text.len; len-- > 0;) {
		struct verify_report report;

		assert_int_equal(truncate(transcript_path, (off_t)len), 0);
		passed += !verify(key.public_key, NULL).faulty;
		report = verify(NULL, &checkpoints);
		if (!report.faulty)
			fail_msg("cut to %zu bytes it passes", len);
		if (report.rule == VERIFY_CHECKPOINTS && report.lines > 0)
			assert_non_null(strstr(report.fault.message, "lines were cut off"));
	}
	assert_int_equal(passed, 1);
	buffer_free(&text);
}

/* A run that was done again under the same id, with the same key. */
static void
another_transcript_has_not_the_head(void **state)
{
	static const struct seal_key *const seals[] = { &key, &key };
	struct verify_report report;
	struct checkpoint list[2];
	struct checkpoints checkpoints = { (char *)(uintptr_t)"heads", list, 2 };

	(void)state;
	make_transcript(seals, 1);
	report = verify(NULL, NULL);
	for (size_t i = 0; i < 2; i++) {
		memcpy(list[i].run_id, i == 0 ? OTHER_ID : RUN_ID, ID_SIZE);
		memcpy(list[i].digest, report.head, DIGEST_SIZE);
		list[i].seq = report.lines;
	}
	assert_false(verify(key.public_key, &checkpoints).faulty);
	make_transcript(seals, 2);
	report = verify(key.public_key, &checkpoints);
	assert_true(report.faulty && report.rule == VERIFY_CHECKPOINTS);
	assert_string_equal(report.fault.message,
	    "the digest at heads:2 is not that of line 4: the transcript is not the one it was");
	checkpoints.count = 1;
	report = verify(key.public_key, &checkpoints);
	assert_true(report.faulty && report.rule == VERIFY_CHECKPOINTS);
	assert_string_equal(report.fault.message, "no head of run " RUN_ID " is in heads");
}

/* A seal that does not fit its line is found without knowing whose it should be. */
static void
a_changed_seal_is_found_without_a_key(void **state)
{
	static const struct seal_key *const seals[] = { &key };
	struct buffer text = BUFFER_INIT;
	char *at;

	(void)state;
	make_transcript(seals, 1);
	record_load(transcript_path, &text);
	at = strstr(text.data, key.public_key);
	assert_non_null(at);
	memcpy(at, other_key.public_key, DIGEST_SIZE - 1);
	record_put(transcript_path, text.data, text.len);
	assert_int_equal(verify(NULL, NULL).rule, VERIFY_SEAL);
	record_load(transcript_path, &text);
	memcpy(strstr(text.data, "success"), "timeout", 7);
	record_put(transcript_path, text.data, text.len);
	assert_true(verify(NULL, NULL).faulty);
	buffer_free(&text);
}

static void
key_files_are_checked(void **state)
{
	static const struct { const char *bytes; mode_t mode; const char *message; } cases[] = {
		{ NULL, 0600, "unable to open the key" },
		{ "", 0600, "holds no secret key" },
		{ "awf-secret-key-ed25519 00\n", 0600, "holds no secret key" },
		{ "awf-secret-key-ed25519 " ZEROS, 0600, "holds no secret key" },
		{ "awf-secret-key-ed25519 " ZEROS "\n", 0600, NULL },
		{ "awf-secret-key-ed25519 " ZEROS "\n", 0640, "is open to others; run: chmod 600 " },
		{ "awf-secret-key-ed25519 " ZEROS "\n", 0604, "is open to others" },
		{ "awf-secret-key-ed25519 " ZEROS "\nx", 0600, "holds no secret key" },
		{ "awf-secret-key-ed25519 A" ZEROS, 0600, "holds no secret key" },
		{ "other-secret-key-ed25519 " ZEROS "\n", 0600, "holds no secret key" },
		{ ZEROS "\n", 0600, "holds no secret key" },
	};
	const char *path = record_path("tried");

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct seal_key tried;
		struct error err = ERROR_INIT;

		if (cases[i].bytes != NULL) {
			record_put(path, cases[i].bytes, strlen(cases[i].bytes));
			assert_int_equal(chmod(path, cases[i].mode), 0);
		}
		assert_int_equal(seal_key_load(&tried, path, &err), cases[i].message == NULL ? 0 : -1);
		if (cases[i].message == NULL)
			continue;
		assert_int_equal(err.code, ERROR_SYSTEM);
		assert_string_equal(err.place, path);
		if (strstr(err.message, cases[i].message) == NULL)
			fail_msg("case %zu: %s", i, err.message);
	}
	struct error err = ERROR_INIT;
	assert_int_equal(seal_key_load(&key, "/", &err), -1);
	assert_non_null(strstr(err.message, "neither a regular file nor a pipe"));
#ifdef __linux__
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
	assert_int_equal(seal_key_load(&key, key_path, &err), 0);
	assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
#endif
	assert_int_equal(seal_key_load(&key, key_path, &err), 0);
}

/* Neither file of a pair is written over, and none is left without the other. */
static void
keys_are_never_overwritten(void **state)
{
	const char *secret = record_path("new"), *public = record_path("new.pub");
	struct buffer before = BUFFER_INIT, after = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct stat status;

	(void)state;
	assert_int_equal(seal_key_make(secret, &err), 0);
	assert_int_equal(stat(secret, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	record_load(secret, &before);
	assert_int_equal(seal_key_make(secret, &err), -1);
	assert_int_equal(unlink(public), 0);
	assert_int_equal(seal_key_make(secret, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(access(public, F_OK), -1);
	record_load(secret, &after);
	assert_string_equal(before.data, after.data);
	assert_int_equal(unlink(secret), 0);
	record_put(public, "x", 1);
	assert_int_equal(seal_key_make(secret, &err), -1);
	assert_int_equal(access(secret, F_OK), -1);
	assert_int_equal(seal_key_make(record_path("no/such/key"), &err), -1);
	buffer_free(&before);
	buffer_free(&after);
}

static void
public_keys_are_digits_or_a_file(void **state)
{
	char found[DIGEST_SIZE];
	struct error err = ERROR_INIT;
	const char *file = memory_format("%s.pub", key_path);

	(void)state;
	assert_int_equal(seal_public_key(key.public_key, found, &err), 0);
	assert_string_equal(found, key.public_key);
	memset(found, 0, sizeof found);
	assert_int_equal(seal_public_key(file, found, &err), 0);
	assert_string_equal(found, key.public_key);
	assert_int_equal(seal_public_key(key_path, found, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_null(strstr(err.message, "ed25519"));
	assert_int_equal(seal_public_key(record_path("none"), found, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
}

static void
files_of_heads_are_checked(void **state)
{
	static const struct { const char *bytes; int count, bad; } cases[] = {
		{ "", 0, 0 },
		{ RUN_ID " 4 " ZEROS "\n", 1, 0 },
		{ RUN_ID " 4 " ZEROS "\n" OTHER_ID " 12 " ZEROS, 2, 0 },
		{ RUN_ID " 4 " ZEROS "\n\n", 0, 2 },
		{ RUN_ID " 0 " ZEROS "\n", 0, 1 },
		{ RUN_ID " -1 " ZEROS "\n", 0, 1 },
		{ RUN_ID " 4.5 " ZEROS "\n", 0, 1 },
		{ RUN_ID "  4 " ZEROS "\n", 0, 1 },
		{ RUN_ID " 4 " ZEROS "0\n", 0, 1 },
		{ RUN_ID " 4 " ZEROS " x\n", 0, 1 },
		{ RUN_ID " 4\n", 0, 1 },
		{ RUN_ID "\n", 0, 1 },
		{ "0" RUN_ID " 4 " ZEROS "\n", 0, 1 },
	};
	const char *path = record_path("heads");

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct checkpoints checkpoints;
		struct error err = ERROR_INIT;
		char *place = memory_format("%s:%d", path, cases[i].bad);

		record_put(path, cases[i].bytes, strlen(cases[i].bytes));
		if (checkpoints_load(&checkpoints, path, &err) != (cases[i].bad ? -1 : 0))
			fail_msg("case %zu: %s", i, err.message);
		if (cases[i].bad) {
			assert_int_equal(err.code, ERROR_USAGE);
			assert_string_equal(err.place, place);
		} else {
			assert_int_equal(checkpoints.count, cases[i].count);
			checkpoints_free(&checkpoints);
		}
		free(place);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seal_by_the_key_is_asked_for_and_found),
		cmocka_unit_test(every_bit_is_sealed),
		cmocka_unit_test(every_cut_is_found),
		cmocka_unit_test(another_transcript_has_not_the_head),
		cmocka_unit_test(a_changed_seal_is_found_without_a_key),
		cmocka_unit_test(key_files_are_checked),
		cmocka_unit_test(keys_are_never_overwritten),
		cmocka_unit_test(public_keys_are_digits_or_a_file),
		cmocka_unit_test(files_of_heads_are_checked),
	};

	return cmocka_run_group_tests(tests, set_up, record_teardown);
}
