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
#include <stdlib.h>
#include <string.h>
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
#include "providers/endpoint_check.h"

#define FILE_LIMIT ((size_t)1 << 20)
#define FILE_END ".json"

struct endpoint {
	char *name;
	bool users;
	struct buffer text;
};

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
	for (char *at = base; failed == 0 && at != NULL && (at = strchr(at, '{')) != NULL;) {
		size_t len = strcspn(++at, "}");
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
	*e = NULL;
	return name_valid(name) ? endpoint_read(e, name, true, err) : 0;
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
