/*
 * The command is a subprocess (proc/subprocess.h), whose stderr is used for the error. Its output
 * is kept whole, and members are looked up in it when needed.
 */
#include "api/key_command.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "proc/descendants.h"
#include "proc/interrupts.h"
#include "proc/provider_variables.h"
#include "proc/subprocess.h"

extern char **environ;

enum { FAILED_MS = 500, TIMEOUT_SECONDS = 30, REFRESH_SECONDS = 300, EARLIER_SECONDS = 60 };

#define SECOND INT64_C(1000000) /* of clock_wall() */

struct key_command {
	char **argv;
	long long timeout, refresh;  /* seconds */
	struct buffer said;          /* its output, trimmed; empty: none, or no longer valid */
	char *key;                   /* the key in it; NULL: not looked up yet */
	unsigned runs;               /* so many outputs were valid */
	struct error failed;         /* why the last run gave none */
	int64_t failed_at;           /* monotonic ms; 0: it did not fail */
	int64_t said_at, until;      /* wall clock: when it was printed, and until when it is valid */
	bool runs_now;
	bool settled;                /* false: its end holds for all who have waited for it */
	struct subprocess run;
	char **environment;          /* of run */
};

static void
key_command_forget(struct key_command *k)
{
	if (k->key != NULL)
		sodium_memzero(k->key, strlen(k->key));
	free(k->key);
	k->key = NULL;
	if (k->said.data != NULL)
		sodium_memzero(k->said.data, k->said.capacity);
	buffer_free(&k->said);
}

/* Reads a number of seconds, 0 to a day. */
static int
read_seconds(struct span object, const char *name, long long *seconds, struct error *err)
{
	struct span value = span_member(object, name);

	if (value.at == NULL || span_type(value) == '0')
		return 0;
	if (!span_integer(value, seconds) || *seconds < 0 || *seconds > 86400)
		return error_set(err, ERROR_DEFINITION, name,
		    "expected a whole number of seconds, at most 86400");
	return 0;
}

static int
read_argv(struct key_command *k, struct span command, struct error *err)
{
	size_t count = 0;

	if (span_type(command) != 'a' || span_element(command, 0).at == NULL)
		return error_set(err, ERROR_DEFINITION, "command",
		    "expected a list of texts: the program and its arguments");
	for (struct span_walk word = span_walk(command); span_next(&word);) {
		char *text = span_text(word.value);

		if (text == NULL)
			return error_set(err, ERROR_DEFINITION, "command", "expected a list of texts");
		k->argv = memory_array(k->argv, count + 2, sizeof *k->argv);
		k->argv[count++] = text;
		k->argv[count] = NULL;
	}
	/* Do not run a program from a project's directory. */
	if (k->argv[0][0] == '\0' || (strchr(k->argv[0], '/') != NULL && k->argv[0][0] != '/'))
		return error_set(err, ERROR_DEFINITION, "command",
		    "expected the name of a program in $PATH, or an absolute path");
	return 0;
}

struct key_command *
key_command_open(struct span command, struct span key, struct error *err)
{
	struct key_command *k = memory_zero(1, sizeof *k);

	k->timeout = TIMEOUT_SECONDS;
	k->refresh = REFRESH_SECONDS;
	k->settled = true;
	if (read_argv(k, command, err) != 0 ||
	    read_seconds(key, "timeout", &k->timeout, err) != 0 ||
	    read_seconds(key, "refresh", &k->refresh, err) != 0) {
		key_command_close(k);
		return NULL;
	}
	if (k->timeout == 0)
		k->timeout = TIMEOUT_SECONDS;
	return k;
}

/* Reads a number, or a string that contains one. False: it is neither. */
static bool
read_number(struct span value, double *number)
{
	struct buffer text = BUFFER_INIT;
	char *end;
	bool is;

	if (span_type(value) != 'n' && span_type(value) != 's')
		return false;
	span_plain(value, &text);
	*number = strtod(buffer_string(&text), &end);
	is = text.len > 0 && *end == '\0' && isfinite(*number) && *number >= 0 && *number < 1e12;
	buffer_free(&text);
	return is;
}

/* When an answer that was printed at `now` expires; 0: it does not say. */
static int64_t
read_expiry(struct span answer, int64_t now)
{
	static const char *const names[] = { "expires_on", "Expiration", "expiration", "expiry" };
	double number;
	int64_t wall = 0;

	if (read_number(span_member(answer, "expires_in"), &number))
		return now + (int64_t)(number * (double)SECOND);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct span value = span_member(answer, names[i]);
		char *text;

		if (read_number(value, &number))
			return (int64_t)(number * (double)SECOND);
		text = span_text(value);
		/* Reject an age such as "2d", which clock_parse() would accept. */
		if (text != NULL && strchr(text, '-') != NULL && clock_parse(text, now, &wall) == 0) {
			free(text);
			return wall;
		}
		free(text);
	}
	return 0;
}

/* Checks the output, and determines how long it is valid. */
static int
key_command_take(struct key_command *k, const char *name, struct error *err)
{
	struct span said = span_of(buffer_string(&k->said), k->said.len);
	bool object = said.len > 0 && *said.at == '{';
	int64_t expiry = 0;
	size_t bad;

	k->said_at = clock_wall();
	if (said.len == 0)
		return error_set(err, ERROR_AUTH, NULL, "the command for the key, %s, printed nothing", name);
	if (object && scan_check(said.at, said.len, &bad) != NULL)
		return error_set(err, ERROR_AUTH, NULL,
		    "the command for the key, %s, printed what begins with { and is no JSON", name);
	if (object)
		expiry = read_expiry(said, k->said_at);
	for (size_t i = 0; !object && i < said.len; i++) {
		if (said.at[i] == '\n')
			return error_set(err, ERROR_AUTH, NULL,
			    "the command for the key, %s, printed more than one line", name);
		if ((unsigned char)said.at[i] < 0x20 || said.at[i] == 0x7f)
			return error_set(err, ERROR_AUTH, NULL,
			    "the command for the key, %s, printed a control character", name);
	}
	if (expiry != 0)
		k->until = expiry - EARLIER_SECONDS * SECOND;
	else
		k->until = k->refresh == 0 ? INT64_MAX : k->said_at + k->refresh * SECOND;
	return 0;
}

/* The environment of the command: the variables that key_command_reads() allows, the same in a run
 * and outside of one. */
static char **
key_command_environment(void)
{
	char **list = NULL;

	for (char **variable = environ; variable != NULL && *variable != NULL; variable++)
		if (key_command_reads(*variable))
			list_add(&list, *variable);
	return list != NULL ? list : memory_zero(1, sizeof *list);
}

static const char *
key_command_name(const struct key_command *k)
{
	const char *slash = strrchr(k->argv[0], '/');

	return slash == NULL ? k->argv[0] : slash + 1;
}

static void
key_command_begin(struct key_command *k)
{
	const char *home = environment_text("HOME");

	key_command_forget(k);
	descendants_adopt();
	k->failed_at = 0;
	k->environment = key_command_environment();
	k->run = (struct subprocess){ .argv = k->argv, .name = key_command_name(k),
	    .environment = k->environment, .directory = home != NULL && *home == '/' ? home : "/",
	    .timeout_ms = k->timeout * 1000, .output_limit = KEY_COMMAND_OUTPUT_LIMIT, .quiet = true };
	k->runs_now = true;
	subprocess_begin(&k->run);
}

/* What its end means: 0, or why there is no key. */
static int
key_command_conclude(struct key_command *k, struct error *err)
{
	const struct error *failed = &k->run.error;
	const char *name = key_command_name(k);
	char text[sizeof failed->place + sizeof failed->message + 4];
	struct span said;

	if (failed->code == ERROR_CANCELLED || failed->code == ERROR_DOWNSTREAM_CLOSED) {
		*err = *failed;
		return -1;
	}
	if (failed->code != ERROR_NONE)
		return error_set(err, ERROR_AUTH, NULL, "the command for the key failed: %s%s%s",
		    failed->place[0] == '\0' ? name : "", failed->place[0] == '\0' ? ": " : "",
		    error_text(failed, text, sizeof text));
	said = span_trim(span_of(buffer_string(&k->run.output), k->run.output.len));
	buffer_append(&k->said, said.at, said.len);
	return key_command_take(k, name, err);
}

/* It has ended. */
static void
key_command_end(struct key_command *k)
{
	if (key_command_conclude(k, &k->failed) == 0) {
		k->runs++;
	} else {
		key_command_forget(k);
		k->failed_at = clock_monotonic();
	}
	if (k->run.output.data != NULL)
		sodium_memzero(k->run.output.data, k->run.output.capacity);
	subprocess_free(&k->run);
	for (char **variable = k->environment; *variable != NULL; variable++)
		sodium_memzero(*variable, strlen(*variable));
	list_free(k->environment);
	k->runs_now = false;
}

/* Waits for its end. */
static void
key_command_wait(struct key_command *k)
{
	const struct interrupts stdout_gone = { NULL, 1 }, *interrupts = &stdout_gone;
	struct pollfd fds[1 + KEY_COMMAND_FDS];
	struct error why;
	int64_t deadline;

	while (subprocess_poll(&k->run, fds + 1, &deadline)) {
		if (interrupts_wait(interrupts, fds, 1 + KEY_COMMAND_FDS, deadline, &why) == -1) {
			subprocess_cancel(&k->run, &why);
			interrupts = NULL;
		}
		subprocess_serve(&k->run, fds + 1);
	}
	key_command_end(k);
}

void
key_command_close(struct key_command *k)
{
	if (k == NULL)
		return;
	if (k->runs_now) {
		struct error why = ERROR_INIT;

		error_set(&why, ERROR_CANCELLED, NULL, "cancelled");
		subprocess_cancel(&k->run, &why);
		key_command_wait(k);
	}
	key_command_forget(k);
	for (size_t i = 0; k->argv != NULL && k->argv[i] != NULL; i++)
		free(k->argv[i]);
	free(k->argv);
	free(k);
}

/* Whether it has printed a key that is still valid. If the clock was set back, it is not. */
static bool
key_command_is_valid(const struct key_command *k)
{
	const int64_t now = clock_wall();

	return k->said.len > 0 && (!k->settled || (now < k->until && now >= k->said_at));
}

/* Whether it has failed just now: requests that arrived while it ran fail with it, not one after the
 * other. */
static bool
key_command_has_failed(const struct key_command *k)
{
	return k->failed_at != 0 && (!k->settled || clock_monotonic() - k->failed_at < FAILED_MS);
}

bool
key_command_ready(struct key_command *k)
{
	if (key_command_is_valid(k) || (!k->runs_now && key_command_has_failed(k)))
		return true;
	if (!k->runs_now)
		key_command_begin(k);
	return false;
}

bool
key_command_poll(struct key_command *k, struct pollfd fds[KEY_COMMAND_FDS], int64_t *deadline)
{
	if (!k->runs_now)
		return false;
	if (!subprocess_poll(&k->run, fds, deadline))
		*deadline = clock_monotonic();
	return true;
}

bool
key_command_serve(struct key_command *k, const struct pollfd fds[KEY_COMMAND_FDS])
{
	struct pollfd next[KEY_COMMAND_FDS];
	int64_t deadline;

	subprocess_serve(&k->run, fds);
	if (subprocess_poll(&k->run, next, &deadline))
		return false;
	key_command_end(k);
	k->settled = false;
	return true;
}

void
key_command_settle(struct key_command *k)
{
	k->settled = true;
}

/* Runs the command, unless its last output is still valid. */
static int
key_command_refresh(struct key_command *k, struct error *err)
{
	if (!key_command_ready(k))
		key_command_wait(k);
	/* Of a run that has just ended what it printed is used, also if it has expired. */
	if (k->said.len > 0)
		return 0;
	*err = k->failed;
	return -1;
}

struct span
key_command_object(struct key_command *k, struct error *err)
{
	if (key_command_refresh(k, err) != 0)
		return SPAN_NONE;
	if (k->said.data[0] != '{') {
		error_set(err, ERROR_AUTH, NULL, "the command for the key, %s, printed no JSON object",
		    k->argv[0]);
		return SPAN_NONE;
	}
	return span_of(k->said.data, k->said.len);
}

/* What it printed has no key. */
static const char *
key_command_fail(struct key_command *k, const struct error *err)
{
	k->failed = *err;
	k->failed_at = clock_monotonic();
	key_command_forget(k);
	return NULL;
}

const char *
key_command_key(struct key_command *k, struct error *err)
{
	static const char *const names[] = { "token", "access_token", "accessToken" };
	struct span said;

	if (key_command_refresh(k, err) != 0)
		return NULL;
	said = span_of(k->said.data, k->said.len);
	if (k->key == NULL && *said.at != '{')
		k->key = memory_copy(said.at, said.len);
	for (size_t i = 0; k->key == NULL && i < sizeof names / sizeof names[0]; i++)
		k->key = span_text(span_member(said, names[i]));
	for (const char *at = k->key; at != NULL && *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f) {
			error_set(err, ERROR_AUTH, NULL,
			    "the command for the key, %s, printed a key with a control character",
			    k->argv[0]);
			return key_command_fail(k, err);
		}
	if (k->key == NULL || *k->key == '\0') {
		error_set(err, ERROR_AUTH, NULL,
		    "the command for the key, %s, printed JSON without a token", k->argv[0]);
		return key_command_fail(k, err);
	}
	return k->key;
}

unsigned
key_command_runs(const struct key_command *k)
{
	return k->runs;
}

void
key_command_refused(struct key_command *k, unsigned run)
{
	if (run == k->runs)
		key_command_forget(k);
}
