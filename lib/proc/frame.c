/*
 * A sealed line is the 64 digits of the MAC, a space, and the JSON to which it applies, byte for
 * byte. Lists of words, which may not be UTF-8, are sent as base64 of the words with a NUL behind
 * each. The request is sealed with the key that it contains: that does not prove who has sent it,
 * but that it is complete.
 */
#include "proc/frame.h"

#include <sodium/utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "json/writer.h"

#define MAC_LEN (DIGEST_SIZE - 1)

/* ---- all frames ---- */

void
frame_key_new(struct frame_key *key)
{
	unsigned char bytes[DIGEST_BYTES];

	random_bytes(bytes, sizeof bytes);
	hex_encode(bytes, sizeof bytes, key->hex);
	sodium_memzero(bytes, sizeof bytes);
}

static void
make_mac(const struct frame_key *key, const char *json, size_t len, char mac[DIGEST_SIZE])
{
	INVARIANT(strlen(key->hex) == MAC_LEN);
	digest_hmac(key->hex, strlen(key->hex), json, len, mac);
}

void
frame_seal(struct buffer *out, const struct frame_key *key, const struct buffer *json)
{
	char mac[DIGEST_SIZE];

	INVARIANT(json->len > 0 && memchr(json->data, '\n', json->len) == NULL);
	make_mac(key, json->data, json->len, mac);
	buffer_append(out, mac, MAC_LEN);
	buffer_byte(out, ' ');
	buffer_append(out, json->data, json->len);
	buffer_byte(out, '\n');
}

/* The sealed text of a line, if its MAC is right. */
static struct span
sealed_part(struct span line)
{
	if (line.len <= MAC_LEN + 1 || line.at[MAC_LEN] != ' ')
		return SPAN_NONE;
	return span_of(line.at + MAC_LEN + 1, line.len - MAC_LEN - 1);
}

struct span
frame_open(struct span line, const struct frame_key *key)
{
	struct span json = sealed_part(line);
	char mac[DIGEST_SIZE];
	size_t bad;

	if (json.at == NULL)
		return SPAN_NONE;
	make_mac(key, json.at, json.len, mac);
	if (sodium_memcmp(mac, line.at, MAC_LEN) != 0 || scan_check(json.at, json.len, &bad) != NULL)
		return SPAN_NONE;
	return json;
}

bool
frame_is(struct span json, const char *type)
{
	return span_is(span_member(json, "type"), type);
}

/* Begins the object of a frame in an empty buffer. */
static void
frame_begin_object(struct writer *w, struct buffer *json, const char *type)
{
	writer_begin(w, json);
	writer_object(w);
	writer_member_string(w, "type", type);
}

static void
frame_seal_object(struct writer *w, struct buffer *json, struct buffer *out,
    const struct frame_key *key)
{
	writer_object_end(w);
	frame_seal(out, key, json);
	buffer_free(json);
}

void
frame_word(struct buffer *out, const char *type)
{
	buffer_format(out, "{\"type\":\"%s\"}\n", type);
}

void
frame_bytes(struct buffer *out, const char *type, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		size_t part = len < FRAME_BYTES ? len : FRAME_BYTES;

		buffer_format(out, "{\"type\":\"%s\",\"data\":\"", type);
		base64_encode(at, part, out);
		buffer_text(out, "\"}\n");
		at += part;
		len -= part;
	}
}

int
frame_take_bytes(struct span json, struct buffer *out)
{
	struct span data = span_member(json, "data");

	/* base64 has no character that JSON escapes. */
	return span_type(data) != 's' ? -1 : base64_decode(data.at + 1, data.len - 2, out);
}

static void
write_words(struct writer *w, const char *key, char *const *words)
{
	struct buffer text = BUFFER_INIT, encoded = BUFFER_INIT;

	if (words == NULL)
		return;
	for (; *words != NULL; words++)
		buffer_append(&text, *words, strlen(*words) + 1);
	base64_encode(buffer_string(&text), text.len, &encoded);
	writer_member_string(w, key, buffer_string(&encoded));
	buffer_free(&text);
	buffer_free(&encoded);
}

/* NULL: there are none, or they are invalid. */
static char **
read_words(struct span json, const char *key)
{
	struct span value = span_member(json, key);
	struct buffer text = BUFFER_INIT;
	char **words = NULL;

	if (span_type(value) == 's' && base64_decode(value.at + 1, value.len - 2, &text) == 0) {
		words = memory_zero(1, sizeof *words);
		for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1)
			list_add(&words, text.data + at);
	}
	buffer_free(&text);
	return words;
}

static int64_t
read_number(struct span json, const char *key)
{
	long long number = 0;

	span_integer(span_member(json, key), &number);
	return number;
}

/* ---- each of those that are sealed ---- */

void
frame_write_request(struct buffer *out, const struct frame_request *r, struct frame_key *key)
{
	char *directory[] = { r->directory, NULL };
	struct buffer json = BUFFER_INIT;
	struct writer w;

	frame_key_new(key);
	frame_begin_object(&w, &json, "request");
	writer_member_integer(&w, "version", FRAME_VERSION);
	writer_member_string(&w, "key", key->hex);
	write_words(&w, "argv", r->argv);
	write_words(&w, "environment", r->environment);
	write_words(&w, "sandbox", r->sandbox);
	writer_member_bool(&w, "own", r->own);
	write_words(&w, "directory", r->directory != NULL ? directory : NULL);
	writer_member_bool(&w, "apart", r->apart);
	write_words(&w, "fetch", r->fetch);
	writer_member_object(&w, "limits");
	writer_member_integer(&w, "ping_ms", r->ping_ms);
	writer_member_integer(&w, "silent_ms", r->silent_ms);
	writer_member_integer(&w, "grace_ms", r->grace_ms);
	writer_member_integer(&w, "lost_ms", r->lost_ms);
	writer_object_end(&w);
	frame_seal_object(&w, &json, out, key);
}

int
frame_read_request(struct span line, struct frame_request *r, struct frame_key *key,
    struct error *err)
{
	struct span json = sealed_part(line), limits;
	char **directory;
	size_t bad;

	memset(r, 0, sizeof *r);
	key->hex[0] = '\0';
	if (json.at == NULL || scan_check(json.at, json.len, &bad) != NULL || !frame_is(json, "request") ||
	    !span_copy(span_member(json, "key"), key->hex, sizeof key->hex))
		return error_set(err, ERROR_INVALID_INPUT, NULL, "is no request: this program is started by "
		    "awf-step --via");
	if (frame_open(line, key).at == NULL)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "the request was damaged on the way: what "
		    "starts this program is to pass every byte");
	if (read_number(json, "version") != FRAME_VERSION)
		return error_set(err, ERROR_USAGE, NULL, "this awf-exec speaks version %d, not %lld: both ends "
		    "need the same AWF", FRAME_VERSION, (long long)read_number(json, "version"));

	r->argv = read_words(json, "argv");
	r->environment = read_words(json, "environment");
	r->sandbox = read_words(json, "sandbox");
	r->own = span_true(span_member(json, "own"));
	directory = read_words(json, "directory");
	if (directory != NULL && directory[0] != NULL)
		r->directory = memory_text(directory[0]);
	list_free(directory);
	r->apart = span_true(span_member(json, "apart"));
	r->fetch = read_words(json, "fetch");
	limits = span_member(json, "limits");
	r->ping_ms = read_number(limits, "ping_ms");
	r->silent_ms = read_number(limits, "silent_ms");
	r->grace_ms = read_number(limits, "grace_ms");
	r->lost_ms = read_number(limits, "lost_ms");
	if (r->argv != NULL && r->argv[0] != NULL && r->ping_ms > 0 && r->silent_ms > 0 &&
	    r->grace_ms > 0 && r->lost_ms > 0)
		return 0;
	frame_request_free(r);
	return error_set(err, ERROR_USAGE, NULL, "the request lacks a command, or a limit");
}

void
frame_request_free(struct frame_request *r)
{
	list_free(r->argv);
	list_free(r->environment);
	list_free(r->sandbox);
	list_free(r->fetch);
	free(r->directory);
	memset(r, 0, sizeof *r);
}

void
frame_write_hello(struct buffer *out, const struct frame_hello *hello, const struct frame_key *key)
{
	struct buffer json = BUFFER_INIT;
	struct writer w;

	frame_begin_object(&w, &json, "hello");
	writer_member_string(&w, "id", hello->id);
	writer_member_string(&w, "host", hello->host);
	frame_seal_object(&w, &json, out, key);
}

bool
frame_read_hello(struct span json, struct frame_hello *hello)
{
	char *host = span_text(span_member(json, "host"));

	snprintf(hello->host, sizeof hello->host, "%s", host != NULL ? host : "");
	free(host);
	return frame_is(json, "hello") && span_copy(span_member(json, "id"), hello->id, sizeof hello->id);
}

void
frame_write_refused(struct buffer *out, const struct error *why, const struct frame_key *key)
{
	char text[sizeof why->place + sizeof why->message + 4];
	struct buffer json = BUFFER_INIT;
	struct writer w;

	frame_begin_object(&w, &json, "refused");
	writer_member_string(&w, "message", error_text(why, text, sizeof text));
	if (why->code == ERROR_INTERRUPTED)
		writer_member_bool(&w, "interrupted", true);
	frame_seal_object(&w, &json, out, key);
}

bool
frame_read_refused(struct span json, struct error *err)
{
	char *message;

	if (!frame_is(json, "refused"))
		return false;
	message = span_text(span_member(json, "message"));
	if (span_true(span_member(json, "interrupted")))
		error_set(err, ERROR_LOST, NULL, "%s: the command was not "
		    "started", message != NULL ? message : "interrupted");
	else
		error_set(err, ERROR_CANNOT_LAUNCH, NULL, "%s", message != NULL ? message : "refused");
	free(message);
	return true;
}

void
frame_write_go(struct buffer *out, const struct frame_go *go, const struct frame_key *key)
{
	struct buffer json = BUFFER_INIT;
	struct writer w;

	INVARIANT(strlen(go->id) == ID_SIZE - 1 && strlen(go->input_sha256) == DIGEST_SIZE - 1 &&
	    strlen(go->files_sha256) == DIGEST_SIZE - 1);
	frame_begin_object(&w, &json, "go");
	writer_member_string(&w, "id", go->id);
	writer_member_string(&w, "input_sha256", go->input_sha256);
	writer_member_string(&w, "files_sha256", go->files_sha256);
	frame_seal_object(&w, &json, out, key);
}

bool
frame_read_go(struct span json, struct frame_go *go)
{
	return frame_is(json, "go") && span_copy(span_member(json, "id"), go->id, sizeof go->id) &&
	    span_copy(span_member(json, "input_sha256"), go->input_sha256, DIGEST_SIZE) &&
	    span_copy(span_member(json, "files_sha256"), go->files_sha256, DIGEST_SIZE);
}

void
frame_write_end(struct buffer *out, const struct frame_end *end, const struct frame_key *key)
{
	struct buffer json = BUFFER_INIT;
	struct writer w;

	INVARIANT(strlen(end->output_sha256) == DIGEST_SIZE - 1 &&
	    strlen(end->errors_sha256) == DIGEST_SIZE - 1 && strlen(end->files_sha256) == DIGEST_SIZE - 1);
	frame_begin_object(&w, &json, "end");
	writer_member_integer(&w, "exit_code", end->exit_code);
	writer_member_integer(&w, "signal", end->signal_number);
	if (end->error.code != ERROR_NONE) {
		writer_member_object(&w, "error");
		writer_members_error(&w, &end->error);
		writer_member_string(&w, "place", end->error.place);
		writer_object_end(&w);
	}
	writer_member_string(&w, "output_sha256", end->output_sha256);
	writer_member_string(&w, "errors_sha256", end->errors_sha256);
	writer_member_string(&w, "files_sha256", end->files_sha256);
	writer_member_integer(&w, "user_ms", end->user_ms);
	writer_member_integer(&w, "system_ms", end->system_ms);
	writer_member_integer(&w, "max_rss_kib", end->max_rss_kib);
	frame_seal_object(&w, &json, out, key);
}

bool
frame_read_end(struct span json, struct frame_end *end)
{
	struct span error = span_member(json, "error");

	memset(end, 0, sizeof *end);
	if (!frame_is(json, "end") ||
	    !span_copy(span_member(json, "output_sha256"), end->output_sha256, DIGEST_SIZE) ||
	    !span_copy(span_member(json, "errors_sha256"), end->errors_sha256, DIGEST_SIZE) ||
	    !span_copy(span_member(json, "files_sha256"), end->files_sha256, DIGEST_SIZE))
		return false;
	end->exit_code = (int)read_number(json, "exit_code");
	end->signal_number = (int)read_number(json, "signal");
	end->user_ms = read_number(json, "user_ms");
	end->system_ms = read_number(json, "system_ms");
	end->max_rss_kib = read_number(json, "max_rss_kib");
	if (error.at != NULL) {
		char *code = span_text(span_member(error, "code"));
		char *message = span_text(span_member(error, "message"));
		char *place = span_text(span_member(error, "place"));
		enum error_code known = code == NULL ? ERROR_NONE : error_from_name(code, strlen(code));

		error_set(&end->error, known == ERROR_NONE ? ERROR_EXIT_STATUS : known, place, "%s",
		    message != NULL ? message : "failed");
		free(code);
		free(message);
		free(place);
	}
	return true;
}
