/*
 * A file is parsed and checked (endpoint_check.h), and then text that is merged (json/merge.h). Null
 * at the top takes a member away; deeper it stays, since it means something there: a member of a body
 * or a header that is not to be sent.
 */
#include "providers/endpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/installation.h"
#include "json/merge.h"
#include "json/value.h"
#include "json/writer.h"
#include "proc/api_keys.h"
#include "proc/environment.h"
#include "providers/endpoint_check.h"

#define FILE_LIMIT ((size_t)64 << 10) /* it is passed in the environment */
#define FILE_END ".json"

struct endpoint {
	char *name;
	bool users;
	struct buffer text;
};

/* Those that are called as the programs are which speak to them. */
static const char *const provider_names_of_apis[] = { "openai", "openai-responses", "anthropic", "google",
    NULL };

/* Which of the programs that come with AWF speaks a protocol. */
static const struct {
	const char *protocol, *provider;
} protocols[] = {
	{ "chat", "openai" }, { "responses", "openai-responses" }, { "messages", "anthropic" },
	{ "gemini", "google" }
};

/* ---- files ---- */

static char *
shipped_path(const char *name)
{
	return memory_format("%s/" ENDPOINT_DIRECTORY "/%s" FILE_END, installation_share(), name);
}

/* NULL: there is no home. */
static char *
users_path(const char *name)
{
	char *directory = path_config(ENDPOINT_DIRECTORY);
	char *path = directory == NULL ? NULL : memory_format("%s/%s" FILE_END, directory, name);

	free(directory);
	return path;
}

bool
endpoint_exists(const char *name)
{
	char *paths[2];
	bool exists = false;

	if (!name_valid(name))
		return false;
	paths[0] = users_path(name);
	paths[1] = shipped_path(name);
	for (size_t i = 0; i < 2; i++) {
		exists = exists || (paths[i] != NULL && access(paths[i], F_OK) == 0);
		free(paths[i]);
	}
	return exists;
}

/* Who may write to a file or directory says where the user's keys go. */
static int
endpoint_check_owner(const struct stat *st, const char *path, struct error *err)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return error_set(err, ERROR_SYSTEM, path, "belongs to another user, who could send your "
		    "keys anywhere: make it yours (chown)");
	if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return error_set(err, ERROR_SYSTEM, path, "others may write to it, who could send your "
		    "keys anywhere: chmod go-w");
	return 0;
}

/* Appends a file, checked, as JSON. 1; 0: there is none. */
static int
endpoint_read_file(const char *path, bool users, struct buffer *out, struct error *err)
{
	char *directory = path_directory(path);
	struct buffer text = BUFFER_INIT;
	json_t *value = NULL;
	struct stat st;
	/* O_NONBLOCK: a FIFO in its place must not block the program. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), result = -1;

	if (fd == -1 && (errno == ENOENT || errno == ENOTDIR))
		result = 0;
	else if (fd == -1 || fstat(fd, &st) == -1)
		error_errno(err, ERROR_SYSTEM, path, "unable to open");
	else if (!S_ISREG(st.st_mode))
		error_set(err, ERROR_SYSTEM, path, "is no regular file");
	else if (users && endpoint_check_owner(&st, path, err) != 0)
		;
	else if (users && stat(directory, &st) == 0 && endpoint_check_owner(&st, directory, err) != 0)
		;
	else if (users && file_check_way(path, err) != 0)
		;
	else if (file_read(fd, &text, FILE_LIMIT) == -1)
		error_errno(err, ERROR_SYSTEM, path, "unable to read");
	else
		value = value_parse(buffer_string(&text), text.len, path, ERROR_DEFINITION, err);
	if (value != NULL && endpoint_check_file(value, path, err) == 0) {
		value_write(value, out);
		result = 1;
	}
	json_decref(value);
	buffer_free(&text);
	file_close(&fd);
	free(directory);
	return result;
}

/* Appends the name and the members that are not null. */
static void
write_merged(struct writer *w, const char *name, struct span merged)
{
	writer_object(w);
	writer_member_string(w, "name", name);
	for (struct span_walk member = span_walk(merged); span_next(&member);)
		if (span_type(member.value) != '0')
			writer_raw_member(w, member.key, member.value);
	writer_object_end(w);
}

/* Where a key comes from is one thing: if the user says it, what comes with AWF says it no more.
 * Appends the file without it. */
static void
leave_key_out(struct span shipped, struct span users, struct buffer *out)
{
	static const char *const sources[] = { "env", "file", "command", "sigv4", NULL };
	struct span said = span_member(users, "key");
	bool replaced = false;
	struct writer w;

	for (const char *const *source = sources; *source != NULL; source++)
		replaced = replaced || span_member(said, *source).at != NULL;
	writer_begin(&w, out);
	writer_object(&w);
	for (struct span_walk member = span_walk(shipped); span_next(&member);) {
		if (!replaced || !span_is(member.key, "key")) {
			writer_raw_member(&w, member.key, member.value);
			continue;
		}
		writer_member_object(&w, "key");
		for (struct span_walk part = span_walk(member.value); span_next(&part);)
			if (span_one_of(part.key, sources) == NULL)
				writer_raw_member(&w, part.key, part.value);
		writer_object_end(&w);
	}
	writer_object_end(&w);
}

/* What one file alone cannot tell. */
static int
endpoint_check_merged(const struct endpoint *e, const char *path, struct error *err)
{
	struct span text = endpoint_text(e), variables = span_member(text, "variables");
	char *base = span_text(span_member(text, "base_url"));
	int failed = 0;

	if (span_member(text, "protocol").at == NULL)
		failed = error_set(err, ERROR_DEFINITION, path, "protocol is missing: chat, responses, "
		    "messages or gemini");
	else if (base == NULL && span_member(text, "base_env").at == NULL)
		failed = error_set(err, ERROR_DEFINITION, path, "base_url is missing: where is the server?");
	for (const char *at = base == NULL ? NULL : strchr(base, '{'); failed == 0 && at != NULL;
	    at = strchr(at, '{')) {
		const size_t len = strcspn(++at, "}");
		char *name = memory_copy(at, len);

		if (at[len] == '\0' || (strcmp(name, "model") != 0 && span_member(variables, name).at == NULL))
			failed = error_set(err, ERROR_DEFINITION, path, "base_url: there is no '%s' in variables",
			    name);
		free(name);
	}
	free(base);
	return failed;
}

static int
endpoint_read(struct endpoint **e, const char *name, bool with_users, struct error *err)
{
	char *shipped = shipped_path(name), *users = with_users ? users_path(name) : NULL;
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT, merged = BUFFER_INIT,
	    left = BUFFER_INIT;
	int has_shipped = endpoint_read_file(shipped, false, &first, err);
	int has_users = users == NULL || has_shipped == -1 ? 0 :
	    endpoint_read_file(users, true, &second, err);
	int result = has_shipped == -1 || has_users == -1 ? -1 : has_shipped | has_users;
	struct writer w;

	*e = NULL;
	if (result == 1) {
		*e = memory_zero(1, sizeof **e);
		(*e)->name = memory_text(name);
		(*e)->users = has_users == 1;
		leave_key_out(span_of(buffer_string(&first), first.len),
		    span_of(buffer_string(&second), second.len), &left);
		if (has_users == 1)
			merge_patches(span_of(left.data, left.len), span_of(second.data, second.len), &merged);
		else
			buffer_append(&merged, left.data, left.len);
		writer_begin(&w, &(*e)->text);
		write_merged(&w, name, span_of(merged.data, merged.len));
		if (endpoint_check_merged(*e, has_users == 1 ? users : shipped, err) != 0) {
			endpoint_free(*e);
			*e = NULL;
			result = -1;
		}
	}
	buffer_free(&first);
	buffer_free(&second);
	buffer_free(&left);
	buffer_free(&merged);
	free(shipped);
	free(users);
	return result;
}

int
endpoint_load(struct endpoint **e, const char *name, struct error *err)
{
	int found = name_valid(name) ? endpoint_read(e, name, true, err) : 0;
	char **secrets;

	if (found != 1) {
		*e = NULL;
		return found;
	}
	/* From now on they are kept from programs, and out of messages. */
	secrets = endpoint_secrets(*e);
	api_keys_add(secrets);
	list_free(secrets);
	return 1;
}

int
endpoint_given(struct endpoint **e, const char *name, const char *otherwise, struct error *err)
{
	const char *text = environment_text(ENDPOINT_VARIABLE);
	struct writer w;
	const char *why;
	size_t bad;
	int found;

	*e = NULL;
	if (text == NULL) {
		found = endpoint_read(e, name, false, err);
		if (found != 0)
			return found == 1 ? 0 : -1;
	} else {
		why = scan_check(text, strlen(text), &bad);
		if (why == NULL && span_type(span_of(text, strlen(text))) != 'o')
			why = "expected an object";
		if (why != NULL)
			return error_set(err, ERROR_DEFINITION, ENDPOINT_VARIABLE, "%s", why);
	}
	*e = memory_zero(1, sizeof **e);
	if (text != NULL) {
		buffer_text(&(*e)->text, text);
		(*e)->name = span_text(span_member(endpoint_text(*e), "name"));
	} else {
		writer_begin(&w, &(*e)->text);
		write_merged(&w, name, span_of(otherwise, strlen(otherwise)));
	}
	if ((*e)->name == NULL)
		(*e)->name = memory_text(name);
	return 0;
}

void
endpoint_free(struct endpoint *e)
{
	if (e == NULL)
		return;
	free(e->name);
	buffer_free(&e->text);
	free(e);
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **
endpoint_list(void)
{
	char *directories[] = { path_join(installation_share(), ENDPOINT_DIRECTORY),
	    path_config(ENDPOINT_DIRECTORY) };
	char **names = NULL;

	for (size_t i = 0; i < 2; i++) {
		DIR *directory = directories[i] == NULL ? NULL : opendir(directories[i]);
		struct dirent *entry;

		while (directory != NULL && (entry = readdir(directory)) != NULL) {
			char *name = memory_text(entry->d_name);

			if (text_ends(name, FILE_END)) {
				name[strlen(name) - (sizeof FILE_END - 1)] = '\0';
				if (name_valid(name) && !list_has(names, name))
					list_add(&names, name);
			}
			free(name);
		}
		if (directory != NULL)
			closedir(directory);
		free(directories[i]);
	}
	if (names != NULL)
		qsort(names, list_count(names), sizeof *names, compare_names);
	return names;
}

/* ---- what it says ---- */

const char *
endpoint_name(const struct endpoint *e)
{
	return e->name;
}

bool
endpoint_is_users(const struct endpoint *e)
{
	return e->users;
}

struct span
endpoint_text(const struct endpoint *e)
{
	return span_of(buffer_string(&e->text), e->text.len);
}

static bool
pattern_fits(struct span pattern, const char *model)
{
	char *text = span_text(pattern);
	bool fits = text != NULL && fnmatch(text, model, 0) == 0;

	free(text);
	return fits;
}

bool
endpoint_matches(struct span element, const char *model)
{
	struct span match = span_member(element, "match");
	bool fits = model != NULL && pattern_fits(match, model);

	for (struct span_walk one = span_walk(match); model != NULL && !fits && span_next(&one);)
		fits = pattern_fits(one.value, model);
	return fits;
}

struct span
endpoint_member(const struct endpoint *e, const char *model, const char *key)
{
	struct span found = span_member(endpoint_text(e), key);
	struct span models = span_member(endpoint_text(e), "models");

	for (struct span_walk one = span_walk(models); model != NULL && span_next(&one);) {
		struct span value = span_member(one.value, key);

		if (value.at != NULL && endpoint_matches(one.value, model))
			found = value;
	}
	return span_type(found) == '0' ? SPAN_NONE : found;
}

const char *
endpoint_protocol(const struct endpoint *e, const char *model)
{
	struct span said = endpoint_member(e, model, "protocol");

	for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
		if (span_is(said, protocols[i].protocol))
			return protocols[i].protocol;
	return protocols[0].protocol;
}

const char *
endpoint_provider(const struct endpoint *e, const char *model)
{
	const char *protocol = endpoint_protocol(e, model);
	size_t i = 0;

	while (strcmp(protocols[i].protocol, protocol) != 0)
		i++;
	return protocols[i].provider;
}

/* What is no part of a request stays out: a key or a server that changes loses no work. */
static void
write_definition(const struct endpoint *e, const char *model, struct buffer *out)
{
	static const char *const keys[] = { "schema", "system", "max_tokens", "content", "ids" };
	static const char *const added[] = { "body", "thinking" }; /* all that match count */
	struct span text = endpoint_text(e);
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, "protocol", endpoint_protocol(e, model));
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		writer_member_span(&w, keys[i], endpoint_member(e, model, keys[i]));
	for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
		writer_member_span(&w, added[i], span_member(text, added[i]));
		for (struct span_walk one = span_walk(span_member(text, "models")); span_next(&one);)
			if (endpoint_matches(one.value, model))
				writer_member_span(&w, added[i], span_member(one.value, added[i]));
	}
	writer_object_end(&w);
}

void
endpoint_definition(const struct endpoint *e, const char *model, struct buffer *out)
{
	struct buffer text = BUFFER_INIT, before = BUFFER_INIT;
	struct endpoint *shipped = NULL;

	write_definition(e, model, &text);
	/* A new version of what comes with AWF for these changes nothing: it says what their programs
	 * did before there were endpoints. */
	if (text_index(e->name, provider_names_of_apis) != -1 && e->users)
		endpoint_read(&shipped, e->name, false, NULL);
	if (shipped != NULL)
		write_definition(shipped, model, &before);
	if (text_index(e->name, provider_names_of_apis) == -1 ||
	    (shipped != NULL && !buffer_equal(&text, buffer_string(&before))))
		buffer_append(out, text.data, text.len);
	endpoint_free(shipped);
	buffer_free(&before);
	buffer_free(&text);
}

void
endpoint_digest(const struct endpoint *e, const char *model, char sha256[DIGEST_SIZE])
{
	struct buffer text = BUFFER_INIT;

	endpoint_definition(e, model, &text);
	*sha256 = '\0';
	if (text.len > 0)
		digest_sha256(text.data, text.len, sha256);
	buffer_free(&text);
}

/* ---- the server ---- */

void
endpoint_escape(struct buffer *url, const char *text)
{
	for (; *text != '\0'; text++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", *text) != NULL)
			buffer_byte(url, *text);
		else
			buffer_format(url, "%%%02X", (unsigned)(unsigned char)*text);
}

/* The value of a variable of base_url: a name, or a host as some products want it in theirs, a URL.
 * What could lead to another host than the file says is refused. */
static int
append_variable(const struct endpoint *e, const char *name, const struct keys *keys,
    struct buffer *url, struct error *err)
{
	struct span variable = span_member(span_member(endpoint_text(e), "variables"), name);
	char *env = span_text(span_member(variable, "env")), *text = NULL, *at;
	const char *value = env == NULL ? NULL : keys_value(keys, env);
	int failed = 0;

	text = value != NULL && *value != '\0' ? memory_text(value) :
	    span_text(span_member(variable, "default"));
	at = text;
	if (at != NULL && strncmp(at, "https://", 8) == 0)
		at += 8;
	while (at != NULL && text_ends(at, "/"))
		at[strlen(at) - 1] = '\0';
	if (at == NULL || *at == '\0')
		failed = error_set(err, ERROR_INVALID, e->name, "where is the server? set %s",
		    env != NULL ? env : name);
	else if (at[strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:")] != '\0')
		failed = error_set(err, ERROR_INVALID, env != NULL ? env : e->name,
		    "expected a part of a host's name, or of a path");
	else
		buffer_text(url, at);
	free(text);
	free(env);
	return failed;
}

char *
endpoint_base(const struct endpoint *e, const char *model, const struct keys *keys, bool *users,
    struct error *err)
{
	struct span text = endpoint_text(e);
	char *env = span_text(span_member(text, "base_env")), *base = span_text(span_member(text, "base_url"));
	const char *said = env == NULL ? NULL : keys_value(keys, env), *at = base;
	struct buffer url = BUFFER_INIT;
	int failed = 0;

	*users = said != NULL && *said != '\0';
	if (*users) {
		if (strncmp(said, "http://", 7) != 0 && strncmp(said, "https://", 8) != 0)
			failed = error_set(err, ERROR_INVALID, env,
			    "expected a URL that begins with http:// or https://");
		else
			buffer_text(&url, said);
	} else if (base == NULL) {
		failed = error_set(err, ERROR_INVALID, e->name, "where is the server? set %s",
		    env != NULL ? env : "base_url");
	}
	while (failed == 0 && !*users && at != NULL && *at != '\0') {
		size_t len = strcspn(at, "{");

		buffer_append(&url, at, len);
		at += len;
		if (*at == '{') {
			char *name = memory_copy(at + 1, strcspn(at + 1, "}"));

			at += strcspn(at, "}");
			at += *at == '}';
			if (strcmp(name, "model") == 0)
				endpoint_escape(&url, model != NULL ? model : "");
			else
				failed = append_variable(e, name, keys, &url, err);
			free(name);
		}
	}
	free(env);
	free(base);
	if (failed != 0) {
		buffer_free(&url);
		return NULL;
	}
	while (url.len > 0 && url.data[url.len - 1] == '/')
		url.data[--url.len] = '\0';
	return buffer_take(&url);
}

char *
endpoint_origin(const char *url)
{
	const char *host = strstr(url, "://"), *at;
	size_t len;

	if (host == NULL)
		return memory_text("");
	host += 3;
	len = strcspn(host, "/?#");
	for (at = host; at < host + len; at++)
		if (*at == '@') {
			len -= (size_t)(at + 1 - host);
			host = at + 1;
		}
	return memory_format("%.*s://%.*s", (int)(strstr(url, "://") - url), url, (int)len, host);
}

char *
endpoint_server(const struct endpoint *e, const char *model, const struct keys *keys)
{
	bool users;
	char *base = endpoint_base(e, model, keys, &users, NULL);
	char *origin = base == NULL ? NULL : endpoint_origin(base);

	free(base);
	return origin;
}

bool
endpoint_origin_is_loopback(const char *origin)
{
	const char *host = strstr(origin, "://");
	unsigned part[4];
	char *name;
	size_t len;
	bool is;
	char rest;

	if (host == NULL)
		return false;
	host += 3;
	len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	name = memory_copy(host, strnlen(host, len));
	is = strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
	    (sscanf(name, "%3u.%3u.%3u.%3u%c", &part[0], &part[1], &part[2], &part[3], &rest) == 4 &&
	    part[0] == 127 && part[1] < 256 && part[2] < 256 && part[3] < 256);
	free(name);
	return is;
}

bool
endpoint_url_is_direct(const char *url)
{
	char *origin = endpoint_origin(url);
	const bool direct = strncasecmp(url, "http://", 7) == 0 && endpoint_origin_is_loopback(origin);

	free(origin);
	return direct;
}

bool
endpoint_key_may_go(const struct endpoint *e, const char *url)
{
	struct span text = e == NULL ? SPAN_NONE : endpoint_text(e);

	return strncasecmp(url, "http://", 7) != 0 || endpoint_url_is_direct(url) ||
	    span_true(span_member(text, "insecure")) || span_type(span_member(text, "unix")) == 's';
}

/* ---- variables ---- */

static void
add_names(char ***names, struct span value)
{
	char *name = span_text(value);

	for (struct span_walk one = span_walk(value); span_type(value) == 'a' && span_next(&one);)
		add_names(names, one.value);
	if (name != NULL && !list_has(*names, name))
		list_add(names, name);
	free(name);
}

char **
endpoint_secrets(const struct endpoint *e)
{
	struct span text = endpoint_text(e), key = span_member(text, "key");
	static const char *const aws[] = { "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
	    "AWS_SESSION_TOKEN" };
	char **names = NULL;

	add_names(&names, span_member(key, "env"));
	for (struct span_walk header = span_walk(span_member(text, "headers")); span_next(&header);)
		add_names(&names, span_member(header.value, "env"));
	for (size_t i = 0; span_type(span_member(key, "sigv4")) == 'o' && i < 3; i++)
		if (!list_has(names, aws[i]))
			list_add(&names, aws[i]);
	return names;
}

char **
endpoint_variables(const struct endpoint *e)
{
	struct span text = endpoint_text(e);
	char **names = endpoint_secrets(e);

	add_names(&names, span_member(text, "base_env"));
	for (struct span_walk one = span_walk(span_member(text, "variables")); span_next(&one);)
		add_names(&names, span_member(one.value, "env"));
	return names;
}

bool
endpoint_has_command(const struct endpoint *e)
{
	struct span key = span_member(endpoint_text(e), "key");

	return span_type(span_member(key, "command")) == 'a' ||
	    span_type(span_member(key, "sigv4")) == 'o';
}
