/* The key's text lies in the destination alone, and is wiped with it. */
#include "destination.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/key_command.h"
#include "api/sigv4.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/merge.h"
#include "json/writer.h"
#include "providers/endpoint_check.h"
#include "transcript/event_keys.h"

#define KEY_LIMIT ((size_t)16 << 10)
#define LEVELS_MOST 8 /* "as" of "as" of … */

int
destination_keys_open(struct destination_keys *k, const struct endpoint *e, struct error *err)
{
	struct span key = span_member(endpoint_text(e), "key"), command = span_member(key, "command");

	*k = (struct destination_keys){ NULL, NULL };
	if (span_type(command) == 'a') {
		k->command = key_command_open(command, key, err);
		return k->command == NULL ? -1 : 0;
	}
	if (span_type(span_member(key, "sigv4")) == 'o') {
		k->sigv4 = sigv4_open(key, err);
		return k->sigv4 == NULL ? -1 : 0;
	}
	return 0;
}

void
destination_keys_close(struct destination_keys *k)
{
	key_command_close(k->command);
	sigv4_close(k->sigv4);
	*k = (struct destination_keys){ NULL, NULL };
}

struct key_command *
destination_key_command(const struct destination_keys *k)
{
	return k->sigv4 != NULL ? sigv4_command(k->sigv4) : k->command;
}

void
destination_begin(struct destination *d, const struct endpoint *e, struct destination_keys *keys,
    const char *model, const char *key_header, bool key_optional)
{
	*d = (struct destination){ .endpoint = e, .keys = keys, .model = model, .key_header = key_header,
		.key_optional = key_optional };
}

static void
destination_wipe(char *text)
{
	if (text != NULL)
		sodium_memzero(text, strlen(text));
	free(text);
}

static void
destination_wipe_list(char **list)
{
	for (char **text = list; text != NULL && *text != NULL; text++)
		sodium_memzero(*text, strlen(*text));
	list_free(list);
}

void
destination_end(struct destination *d)
{
	destination_wipe(d->key);
	destination_wipe_list(d->secrets);
	destination_wipe_list(d->lines);
	for (size_t i = 0; i < sizeof d->paths / sizeof *d->paths; i++)
		free(d->paths[i]);
	free(d->base);
	free(d->place);
	buffer_free(&d->params);
	buffer_free(&d->thinking);
	buffer_free(&d->note);
}

static struct span
destination_member(const struct destination *d, const char *name)
{
	return endpoint_member(d->endpoint, d->model, name);
}

/* Whether a model's name would take a part off the path that it stands in. */
static bool
is_step_of_path(const char *model)
{
	static const char collection[] = "models/";

	if (model != NULL && strncmp(model, collection, sizeof collection - 1) == 0)
		model += sizeof collection - 1;
	return model != NULL && (strcmp(model, ".") == 0 || strcmp(model, "..") == 0);
}

int
destination_find_server(struct destination *d, struct error *err)
{
	char *env = span_text(span_member(endpoint_text(d->endpoint), "base_env"));

	d->base = endpoint_base(d->endpoint, d->model, NULL, &d->users, err);
	d->place = d->base != NULL && !d->users && environment_text(ENDPOINT_VARIABLE) != NULL ?
	    memory_format("base_url of the endpoint %s", endpoint_name(d->endpoint)) :
	    env != NULL ? memory_text(env) : memory_text(endpoint_name(d->endpoint));
	free(env);
	if (d->base != NULL && is_step_of_path(d->model))
		return error_set(err, ERROR_INVALID, KEY_MODEL, "'%s' is no name of a model", d->model);
	return d->base == NULL ? -1 : 0;
}

/* ---- the key ---- */

static void
destination_add_secret(struct destination *d, const char *secret)
{
	if (!list_has(d->secrets, secret))
		list_add(&d->secrets, secret);
}

/* The variable of a text, or of a list of texts, that is set; else, if set is false, the first. */
static char *
variable_of(struct span names, bool set)
{
	char *first = NULL;

	if (span_type(names) == 's')
		return span_text(names);
	for (struct span_walk one = span_walk(names); span_next(&one);) {
		char *name = span_text(one.value);

		if (name != NULL && set && environment_text(name) != NULL) {
			free(first);
			return name;
		}
		if (first == NULL)
			first = name;
		else
			free(name);
	}
	return first;
}

char *
destination_name_key(const struct endpoint *e, bool set)
{
	struct span key = span_member(endpoint_text(e), "key");

	if (span_member(key, "env").at != NULL && span_type(span_member(key, "env")) != '0') {
		char *name = variable_of(span_member(key, "env"), set);

		if (set && name != NULL && environment_text(name) == NULL) {
			free(name);
			return NULL;
		}
		return name;
	}
	if (span_type(span_member(key, "file")) == 's')
		return span_text(span_member(key, "file"));
	if (span_type(span_member(key, "command")) == 'a')
		return span_text(span_element(span_member(key, "command"), 0));
	return NULL;
}

/* The first line of a file that nobody else can read. */
static char *
read_key_file(const char *path, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	/* O_NONBLOCK: a FIFO in its place must not block the program. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), failed = 0;
	char *key = NULL;

	if (fd == -1)
		failed = error_errno(err, ERROR_AUTH, path, "unable to open");
	else if (file_check_private(fd, path, err) == -1)
		failed = -1;
	else if (file_read(fd, &text, KEY_LIMIT) == -1)
		failed = error_errno(err, ERROR_AUTH, path, "unable to read");
	if (failed == 0) {
		key = memory_copy(buffer_string(&text), strcspn(buffer_string(&text), "\r\n"));
		if (*key == '\0') {
			error_set(err, ERROR_AUTH, path, "has no key in its first line");
			free(key);
			key = NULL;
		}
	} else if (err != NULL) {
		err->code = ERROR_AUTH;
	}
	if (text.data != NULL)
		sodium_memzero(text.data, text.len);
	buffer_free(&text);
	file_close(&fd);
	return key;
}

/* A key is not sent where others could read it. */
static int
destination_check_way(const struct destination *d, struct error *err)
{
	return endpoint_key_may_go(d->endpoint, d->base) ? 0 : error_set(err, ERROR_INVALID, d->place,
	    "the key would go to another machine without encryption: take https, or say "
	    "\"insecure\": true in the endpoint's file");
}

int
destination_find_key(struct destination *d, struct error *err)
{
	struct span key = span_member(endpoint_text(d->endpoint), "key"), env = span_member(key, "env");
	char *place = destination_name_key(d->endpoint, true);
	const char *value = NULL;
	int failed = 0;

	/* A key that was refused stays among the secrets. */
	destination_wipe(d->key);
	d->key = NULL;
	if (d->keys->sigv4 != NULL) {
		free(place);
		return destination_check_way(d, err);
	}
	if (d->keys->command != NULL) {
		value = key_command_key(d->keys->command, err);
		failed = value == NULL ? -1 : 0;
	} else if (span_type(span_member(key, "file")) == 's') {
		d->key = read_key_file(place, err);
		failed = d->key == NULL ? -1 : 0;
	} else if (place != NULL) {
		value = environment_text(place);
	}
	if (failed == 0 && value != NULL)
		d->key = memory_text(value);
	if (d->key != NULL)
		destination_add_secret(d, d->key);
	for (const char *at = d->key; failed == 0 && at != NULL && *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			failed = error_set(err, ERROR_AUTH, place,
			    "the key holds a control character (a line end?)");
	if (failed == 0 && d->key != NULL)
		failed = destination_check_way(d, err);
	if (failed == 0 && d->key == NULL && span_type(env) != 0 && span_type(env) != '0' &&
	    !span_true(span_member(key, "optional")) && !(d->users && d->key_optional)) {
		char *name = variable_of(env, false);

		failed = error_set(err, ERROR_AUTH, NULL, "no API key: set %s", name);
		free(name);
	}
	free(place);
	return failed;
}

void
destination_key_refused(struct destination *d)
{
	if (d->keys->command != NULL)
		key_command_refused(d->keys->command, d->key_run);
	if (d->keys->sigv4 != NULL)
		sigv4_refused(d->keys->sigv4, d->key_run);
}

/* ---- parameters ---- */

/* What the endpoint has for a level: of the model's own maps the last that names it, else that of the
 * endpoint. */
static struct span
find_level(const struct destination *d, const char *level)
{
	struct span text = endpoint_text(d->endpoint);
	struct span found = span_path(text, "thinking", level, NULL);

	for (struct span_walk one = span_walk(span_member(text, "models")); span_next(&one);)
		if (endpoint_matches(one.value, d->model)) {
			struct span value = span_path(one.value, "thinking", level, NULL);

			if (value.at != NULL)
				found = value;
		}
	return found;
}

/* Appends a value with what "$effort" and "$tokens" stand for. */
static void
write_level(struct writer *w, struct span value, const char *effort, struct span tokens)
{
	switch (span_type(value)) {
	case 'o':
		writer_object(w);
		for (struct span_walk member = span_walk(value); span_next(&member);) {
			struct buffer key = BUFFER_INIT;

			span_decode(member.key, &key);
			writer_key_quoted(w, buffer_string(&key), key.len);
			buffer_free(&key);
			write_level(w, member.value, effort, tokens);
		}
		writer_object_end(w);
		break;
	case 'a':
		writer_array(w);
		for (struct span_walk element = span_walk(value); span_next(&element);)
			write_level(w, element.value, effort, tokens);
		writer_array_end(w);
		break;
	default:
		if (span_is(value, "$effort"))
			writer_string(w, effort);
		else if (span_is(value, "$tokens"))
			writer_span(w, tokens);
		else
			writer_span(w, value);
	}
}

/* The level that a value of `thinking` is. */
static char *
level_of(struct span value)
{
	switch (span_type(value)) {
	case 's':
		return span_text(value);
	case 't':
		return memory_text("true");
	case 'f':
		return memory_text("false");
	case 'n':
		return memory_text("tokens");
	case 'o':
		return memory_text("object");
	default:
		return NULL;
	}
}

/* The effort that is about a number of tokens. */
static const char *
effort_of(struct span value)
{
	long long tokens = 0;

	span_integer(value, &tokens);
	return tokens <= 2048 ? "low" : tokens <= 8192 ? "medium" : "high";
}

/* Finds what a level is here, by other names of it and by "*", which is all efforts. *level becomes
 * what is looked for at last. */
static struct span
destination_look_level_up(const struct destination *d, char **level, struct span value)
{
	static const char *const efforts[] = { "none", "minimal", "low", "medium", "high", "xhigh",
	    "max", NULL };
	struct span found = find_level(d, *level);
	const char *other = NULL;

	if (found.at == NULL && strcmp(*level, "false") == 0)
		other = "none";
	else if (found.at == NULL && strcmp(*level, "none") == 0 && find_level(d, "false").at != NULL)
		other = "false";
	else if (found.at == NULL && strcmp(*level, "true") == 0)
		other = "medium";
	else if (found.at == NULL && strcmp(*level, "tokens") == 0)
		other = effort_of(value);
	if (other != NULL && (find_level(d, other).at != NULL || find_level(d, "*").at != NULL)) {
		free(*level);
		*level = memory_text(other);
		found = find_level(d, other);
	}
	return found.at == NULL && text_index(*level, efforts) != -1 ? find_level(d, "*") : found;
}

/* Says `thinking` by the endpoint's map. 1: it is said, as a change of the body, or by another level,
 * *value, in memory of its own; 0: the endpoint has no word of it; -1. */
static int
map_thinking(struct destination *d, struct span thinking, char **value, struct error *err)
{
	char *said = level_of(thinking), *level = said == NULL ? NULL : memory_text(said), *as = NULL;
	struct span found = SPAN_NONE;
	struct writer w;
	int result = 0;

	*value = NULL;
	if (said == NULL || level == NULL)
		return 0;
	for (int i = 0; i < LEVELS_MOST; i++) {
		found = destination_look_level_up(d, &level, thinking);
		as = span_text(span_member(found, "as"));
		if (as == NULL)
			break;
		free(level);
		level = as;
	}
	if (as != NULL) { /* level, which is freed below */
		error_set(err, ERROR_DEFINITION, "thinking", "%s has no word of its own for %s: those after "
		    "\"as\" lead around", endpoint_name(d->endpoint), said);
		free(said);
		free(level);
		return -1;
	}
	if (strcmp(said, level) != 0 && strcmp(said, "false") != 0 &&
	    strcmp(said, "true") != 0 && strcmp(said, "tokens") != 0)
		buffer_format(&d->note, "thinking: %s is %s at %s", said, level,
		    endpoint_name(d->endpoint));
	if (span_type(found) == '0' && strcmp(said, "false") == 0) {
		/* Not to think, as far as that can be had. */
		buffer_clear(&d->note);
		buffer_format(&d->note, "thinking: false cannot be said at %s", endpoint_name(d->endpoint));
		result = 1;
	} else if (span_type(found) == '0') {
		result = error_set(err, ERROR_INVALID, "thinking", "%s takes no thinking: %s for %s",
		    endpoint_name(d->endpoint), said, d->model);
	} else if (span_type(found) == 'o') {
		writer_begin(&w, &d->thinking);
		write_level(&w, found, level, thinking);
		result = 1;
	} else if (strcmp(said, level) != 0) {
		bool word = strcmp(level, "true") == 0 || strcmp(level, "false") == 0;

		*value = word ? memory_text(level) : memory_format("\"%s\"", level);
		result = 1;
	}
	free(said);
	free(level);
	return result;
}

/* Of the headers of APIs an agent sets those that the endpoint has not set; all others are the endpoint's
 * alone. */
static int
destination_check_headers(const struct destination *d, struct error *err)
{
	struct span own = span_member(endpoint_text(d->endpoint), "headers");
	char *key = span_text(span_path(endpoint_text(d->endpoint), "key", "header", NULL));
	int failed = 0;

	for (struct span_walk header = span_walk(d->headers); failed == 0 && span_next(&header);) {
		char *name = span_text(header.key);
		bool users = !endpoint_header_is_apis(name, strlen(name)) || (key != NULL &&
		    strncasecmp(key, name, strlen(name)) == 0 && key[strlen(name)] == ':');

		for (struct span_walk one = span_walk(own); span_next(&one);) {
			char *other = span_text(one.key);

			users = users || strcasecmp(other, name) == 0;
			free(other);
		}
		if (users)
			failed = error_set(err, ERROR_INVALID, "headers",
			    "%s is the endpoint's, or could say who asks or where a request goes: it can be set in the "
			    "endpoint's file alone", name);
		else if (span_type(header.value) != 's' && span_type(header.value) != '0')
			failed = error_set(err, ERROR_INVALID, "headers", "%s: expected a text", name);
		free(name);
	}
	free(key);
	return failed;
}

int
destination_take_params(struct destination *d, struct span *params, struct error *err)
{
	struct span thinking = span_member(*params, "thinking");
	char *other = NULL;
	int mapped = thinking.at == NULL ? 0 : map_thinking(d, thinking, &other, err);
	struct writer w;

	d->body = span_member(*params, "body");
	d->headers = span_member(*params, "headers");
	d->timeouts = span_member(*params, "timeouts");
	if (mapped == -1 || destination_check_headers(d, err) != 0) {
		free(other);
		return -1;
	}
	if (mapped == 0 && d->body.at == NULL && d->headers.at == NULL && d->timeouts.at == NULL)
		return 0;
	writer_begin(&w, &d->params);
	writer_object(&w);
	for (struct span_walk param = span_walk(*params); span_next(&param);) {
		static const char *const ours[] = { "body", "headers", "timeouts", NULL };

		if (span_is(param.key, "thinking") && mapped == 1 && other != NULL)
			writer_raw_member(&w, param.key, span_of(other, strlen(other)));
		else if (span_one_of(param.key, ours) == NULL &&
		    !(span_is(param.key, "thinking") && mapped == 1))
			writer_raw_member(&w, param.key, param.value);
	}
	writer_object_end(&w);
	*params = span_of(d->params.data, d->params.len);
	free(other);
	return 0;
}

void
destination_patch(struct buffer *body, struct span patch)
{
	struct buffer changed = BUFFER_INIT;

	if (span_type(patch) != 'o')
		return;
	merge_patch(span_of(body->data, body->len), patch, &changed);
	buffer_free(body);
	*body = changed;
}

/* ---- the request ---- */

/* Appends a path in which {model} stands for the model's name. */
static void
write_path(const struct destination *d, const char *path, bool collections, struct buffer *url)
{
	static const char place[] = "{model}", collection[] = "models/";
	const char *model = d->model != NULL ? d->model : "", *at;

	if (collections && strncmp(model, collection, sizeof collection - 1) == 0)
		model += sizeof collection - 1;
	while ((at = strstr(path, place)) != NULL) {
		buffer_append(url, path, (size_t)(at - path));
		endpoint_escape(url, model);
		path = at + sizeof place - 1;
	}
	buffer_text(url, path);
}

/* path: of the API; said: what the endpoint says in its place, or absent. */
static void
write_url(const struct destination *d, const char *path, struct span said, bool collections,
    struct buffer *url)
{
	size_t len = strcspn(d->base, "?");
	const char *query = d->base + len;
	char *own = span_text(said), separator;

	while (len > 0 && d->base[len - 1] == '/')
		len--;
	buffer_append(url, d->base, len);
	if (own != NULL)
		write_path(d, own, collections, url);
	else
		buffer_text(url, path);
	separator = strchr(buffer_string(url), '?') == NULL ? '?' : '&';
	if (*query == '?' && query[1] != '\0') {
		buffer_byte(url, separator);
		buffer_text(url, query + 1);
		separator = '&';
	}
	for (struct span_walk one = span_walk(destination_member(d, "query")); span_next(&one);) {
		char *name = span_text(one.key), *value = span_text(one.value);

		if (value != NULL) {
			buffer_byte(url, separator);
			endpoint_escape(url, name);
			buffer_byte(url, '=');
			endpoint_escape(url, value);
			separator = '&';
		}
		free(name);
		free(value);
	}
	free(own);
}

void
destination_write_url(const struct destination *d, const char *path, bool collections,
    struct buffer *url)
{
	write_url(d, path, destination_member(d, "path"), collections, url);
}

void
destination_write_models_url(const struct destination *d, const char *path, struct buffer *url)
{
	write_url(d, path, SPAN_NONE, false, url);
}

/* Sets a header, in place of one of its name. text NULL: libcurl sends none of the name. */
static void
set_header(struct destination *d, const char *name, const char *text)
{
	const size_t len = strlen(name);
	char *line = text == NULL ? memory_format("%s:", name) :
	    *text == '\0' ? memory_format("%s;", name) : memory_format("%s: %s", name, text);

	for (char **old = d->lines; old != NULL && *old != NULL; old++)
		if (strncasecmp(*old, name, len) == 0 && ((*old)[len] == ':' || (*old)[len] == ';')) {
			destination_wipe(*old);
			*old = line;
			return;
		}
	list_take(&d->lines, line);
}

static void
set_line(struct destination *d, const char *line)
{
	char *name = memory_copy(line, strcspn(line, ":"));
	const char *value = line + strlen(name);

	value += *value == ':';
	set_header(d, name, value + strspn(value, " "));
	free(name);
}

/* The endpoint's own, and those of the agent. A secret that is not there is not sent. */
static int
set_headers(struct destination *d, struct span headers, bool endpoints, struct error *err)
{
	int failed = 0;

	for (struct span_walk header = span_walk(headers); failed == 0 && span_next(&header);) {
		char *name = span_text(header.key), *text = span_text(header.value);
		char *env = span_text(span_member(header.value, "env"));
		char *prefix = span_text(span_member(header.value, "prefix"));
		const char *value = !endpoints || env == NULL ? NULL : environment_text(env);

		for (const char *at = value; at != NULL && *at != '\0'; at++)
			if ((unsigned char)*at < 0x20 || *at == 0x7f)
				failed = -1;
		if (failed != 0) {
			error_set(err, ERROR_AUTH, env, "it holds a control character (a line end?)");
		} else if (value != NULL) {
			char *whole = memory_format("%s%s", prefix != NULL ? prefix : "", value);

			set_header(d, name, whole);
			destination_add_secret(d, value);
			destination_wipe(whole);
			failed = destination_check_way(d, err);
		} else if (env == NULL) {
			set_header(d, name, text);
		}
		free(name);
		free(text);
		free(env);
		free(prefix);
	}
	return failed;
}

/* Milliseconds of a number of seconds: the agent's, else the endpoint's; 0: neither. */
static int64_t
time_limit(const struct destination *d, const char *name)
{
	struct span said = span_member(d->timeouts, name);
	char text[40];
	size_t len;

	if (span_type(said) != 'n')
		said = span_path(endpoint_text(d->endpoint), "timeouts", name, NULL);
	said = span_trim(said);
	if (span_type(said) != 'n')
		return 0;
	len = said.len < sizeof text ? said.len : sizeof text - 1;
	memcpy(text, said.at, len);
	text[len] = '\0';
	return (int64_t)(strtod(text, NULL) * 1000);
}

/* The file of a member, kept in a place of paths; NULL: none. */
static const char *
keep_path(char **place, struct span value)
{
	free(*place);
	*place = span_text(value);
	return *place;
}

static int
destination_sign(struct destination *d, const struct http_request *request, struct error *err)
{
	const struct sigv4_request signs = {
	    .method = request->method != NULL ? request->method : "POST", .url = request->url,
	    .headers = (const char *const *)(uintptr_t)d->lines, .body = request->body,
	    .body_len = request->body_len, .wall = clock_wall() };
	struct sigv4_signed out;

	if (sigv4_sign(d->keys->sigv4, &signs, &out, err) != 0)
		return -1;
	for (size_t i = 0; out.headers[i] != NULL; i++)
		set_line(d, out.headers[i]);
	for (char **secret = out.secrets; secret != NULL && *secret != NULL; secret++)
		destination_add_secret(d, *secret);
	sigv4_signed_free(&out);
	return 0;
}

int
destination_set_request(struct destination *d, struct http_request *request, const char *header,
    struct error *err)
{
	struct span text = endpoint_text(d->endpoint), tls = span_member(text, "tls");
	char *form = span_text(span_path(text, "key", "header", NULL));
	int failed = 0;

	destination_wipe_list(d->lines);
	d->lines = NULL;
	if (d->key != NULL) {
		const char *begin = form != NULL ? form : d->key_header;
		char *line = memory_format("%s%s", begin, d->key);

		set_line(d, line);
		destination_wipe(line);
	}
	set_line(d, "content-type: application/json");
	if (header != NULL)
		set_line(d, header);
	free(form);
	failed = set_headers(d, span_member(text, "headers"), true, err);
	if (failed == 0)
		failed = set_headers(d, d->headers, false, err);
	if (failed == 0 && d->keys->sigv4 != NULL)
		failed = destination_sign(d, request, err);
	d->key_run = d->keys->command != NULL ? key_command_runs(d->keys->command) :
	    d->keys->sigv4 != NULL ? sigv4_runs(d->keys->sigv4) : 0;

	d->way = (struct http_way){ .connect_ms = time_limit(d, "connect"),
		.first_ms = time_limit(d, "first"), .ca = keep_path(&d->paths[0], span_member(tls, "ca")),
		.certificate = keep_path(&d->paths[1], span_member(tls, "cert")),
		.key = keep_path(&d->paths[2], span_member(tls, "key")),
		.socket = keep_path(&d->paths[3], span_member(text, "unix")) };
	request->idle_timeout_ms = time_limit(d, "idle");
	request->way = &d->way;
	/* A secret that is not encrypted does not leave this machine by a proxy, which could be another. */
	request->direct = d->way.socket != NULL || (d->secrets != NULL && endpoint_url_is_direct(d->base));
	request->headers = (const char *const *)(uintptr_t)d->lines;
	return failed;
}
