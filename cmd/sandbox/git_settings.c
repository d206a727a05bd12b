/*
 * A parser for the whole syntax of git-config(1). It stops where git would stop with an error, and
 * ignores the rest. A condition of includeIf always counts as true.
 */
#include "sandbox/git_settings.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "isolate/git_config.h"
#include "sandbox/examine.h"

#define FILE_LIMIT ((size_t)4 << 20)
#define FILES_LIMIT 1000
#define VARIABLES_LIMIT 1000

struct reader {
	struct git_settings *settings;
	const char *path;
	const char *at, *end;
};

/* Replaces "~/" with the home directory. To be freed by the caller; NULL: git would resolve the
 * value in another way. */
static char *
git_settings_expand_home(const char *value)
{
	if (strncmp(value, "~/", 2) == 0)
		return path_home() == NULL ? NULL : path_join(path_home(), value + 2);
	if (*value == '~' || strncmp(value, "%(prefix)/", 10) == 0 || *value == '\0')
		return NULL;
	return memory_text(value);
}

static void
add_path(char ***list, const char *value)
{
	char *path = git_settings_expand_home(value);

	if (path != NULL && !list_has(*list, path))
		list_add(list, path);
	free(path);
}

/* Adds the words of a command, separated at every character at which some shell would
 * separate them. */
static void
add_words(struct git_settings *s, const char *value)
{
	static const char between[] = " \t\n\r;|&()<>\"'`=";
	static const char *const homes[] = { "$HOME/", "${HOME}/" };

	for (size_t len; *value != '\0'; value += len) {
		char *word, *expanded;

		value += strspn(value, between);
		len = strcspn(value, between);
		word = memory_copy(value, len);
		for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
			if (strncmp(word, homes[i], strlen(homes[i])) == 0) {
				expanded = memory_format("~/%s", word + strlen(homes[i]));
				free(word);
				word = expanded;
			}
		if (len > 0 && *word != '-' && strstr(word, "://") == NULL &&
		    strpbrk(word, "$*?%") == NULL)
			add_path(&s->words, word);
		free(word);
	}
}

static bool
is_include(const char *key)
{
	return strcmp(key, "include.path") == 0 ||
	    (strncmp(key, "includeif.", 10) == 0 && text_ends(key, ".path"));
}

/* key: in lower case except for its subsection. path: the file that contains the setting;
 * NULL: none. */
static void
git_settings_add(struct git_settings *s, const char *path, const char *key, const char *value)
{
	/* Values that are one path; and values that name data, which sandboxed
	 * programs may write. */
	static const char *const files[] = { "core.hookspath", "init.templatedir", NULL };
	static const char *const data[] = { "core.attributesfile", "core.excludesfile",
		"commit.template", "blame.ignorerevsfile", "mailmap.file", NULL };
	char *directory = path == NULL ? NULL : path_directory(path), *included = NULL, *whole;

	if (is_include(key)) {
		whole = git_settings_expand_home(value);
		if (whole != NULL && (*whole == '/' || directory != NULL))
			included = *whole == '/' ? memory_text(whole) : path_join(directory, whole);
		free(whole);
		if (included != NULL) {
			add_path(&s->paths, included);
			git_settings_read(s, included);
		}
		free(included);
	} else if (strncmp(key, "alias.", 6) == 0) {
		if (*value == '!') /* without "!" an alias stands for a command of git */
			add_words(s, value + 1);
	} else if (text_index(key, files) != -1) {
		add_path(&s->paths, value);
	} else if (text_index(key, data) != -1) {
		add_path(&s->data, value);
	} else if (strcmp(key, "core.worktree") != 0 && !git_config_is_plain(key)) {
		add_words(s, value + (*value == '!'));
	}
	free(directory);
}

/* ---- the syntax ---- */

static int
git_settings_next_byte(struct reader *r)
{
	if (r->at < r->end && *r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n')
		r->at++;
	return r->at < r->end ? (unsigned char)*r->at++ : EOF;
}

static void
add_lower(struct buffer *b, int c)
{
	buffer_byte(b, (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
}

static bool
is_of_name(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    c == '-';
}

/* Reads a section header, after '[', up to ']'. */
static bool
read_section(struct reader *r, struct buffer *section)
{
	int c;

	buffer_clear(section);
	while (is_of_name(c = git_settings_next_byte(r)) || c == '.')
		add_lower(section, c);
	while (c == ' ' || c == '\t')
		c = git_settings_next_byte(r);
	if (c == '"') {
		buffer_byte(section, '.');
		while ((c = git_settings_next_byte(r)) != '"') {
			if (c == '\\')
				c = git_settings_next_byte(r);
			if (c == EOF || c == '\n')
				return false;
			buffer_byte(section, (char)c);
		}
		c = git_settings_next_byte(r);
	}
	return c == ']';
}

/* Reads a value, after '=', up to the end of a line that does not end in a backslash. */
static bool
read_value(struct reader *r, struct buffer *value)
{
	bool quoted = false, comment = false;
	size_t len = 0; /* without trailing blanks */
	int c;

	while ((c = git_settings_next_byte(r)) != EOF && c != '\n') {
		if (comment || (!quoted && (c == '#' || c == ';'))) {
			comment = true;
		} else if (c == '"') {
			quoted = !quoted;
			len = value->len;
		} else if (c == '\\') {
			c = git_settings_next_byte(r);
			if (c == '\n')
				continue;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' :
			    c == '\\' || c == '"' ? c : EOF;
			if (c == EOF)
				return false;
			buffer_byte(value, (char)c);
			len = value->len;
		} else if (quoted || (c != ' ' && c != '\t')) {
			buffer_byte(value, (char)c);
			len = value->len;
		} else if (value->len > 0) {
			buffer_byte(value, (char)c);
		}
	}
	value->len = len;
	return !quoted;
}

static void
read_settings(struct reader *r)
{
	struct buffer section = BUFFER_INIT, key = BUFFER_INIT, value = BUFFER_INIT;
	bool good = true;
	int c;

	if (r->end - r->at >= 3 && memcmp(r->at, "\357\273\277", 3) == 0)
		r->at += 3;
	while (good && (c = git_settings_next_byte(r)) != EOF) {
		if (c == '#' || c == ';') {
			while ((c = git_settings_next_byte(r)) != EOF && c != '\n')
				continue;
		} else if (c == '[') {
			good = read_section(r, &section);
		} else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
			good = section.len > 0 && is_of_name(c);
			buffer_clear(&key);
			buffer_clear(&value);
			buffer_append(&key, buffer_string(&section), section.len);
			buffer_byte(&key, '.');
			for (; is_of_name(c); c = git_settings_next_byte(r))
				add_lower(&key, c);
			while (c == ' ' || c == '\t')
				c = git_settings_next_byte(r);
			if (c == '=')
				good = good && read_value(r, &value);
			else
				good = good && (c == '\n' || c == EOF);
			if (good) {
				char *text = memory_copy(buffer_string(&value), value.len);

				git_settings_add(r->settings, r->path, buffer_string(&key), text);
				free(text);
			}
		}
	}
	buffer_free(&section);
	buffer_free(&key);
	buffer_free(&value);
}

/* ---- files ---- */

void
git_settings_read(struct git_settings *s, const char *path)
{
	struct buffer text = BUFFER_INIT;
	struct reader r = { .settings = s, .path = path };
	struct stat st;
	int fd;

	/* Each file is read once, so cycles end; git itself stops at a depth of ten. */
	if (list_has(s->read, path) || list_count(s->read) == FILES_LIMIT)
		return;
	list_add(&s->read, path);
	/* Whatever kind of file it is, opening must not wait. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1) {
		examine_note_error(AT_FDCWD, path);
	} else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		file_close(&fd);
	} else if (file_read(fd, &text, FILE_LIMIT) != 0) {
		examine_note_error(AT_FDCWD, path);
	} else {
		r.at = buffer_string(&text);
		r.end = r.at + text.len;
		read_settings(&r);
	}
	file_close(&fd);
	buffer_free(&text);
}

/* Settings of the user: the file may be a link into the workspace. */
static void
read_users(struct git_settings *s, const char *path)
{
	add_path(&s->paths, path);
	git_settings_read(s, path);
}

static void
read_below(struct git_settings *s, const char *directory, const char *name)
{
	char *path = directory == NULL || *directory != '/' ? NULL : path_join(directory, name);

	if (path != NULL)
		read_users(s, path);
	free(path);
}

/* The key in lower case except for the subsection; to be freed by the caller. */
static char *
name_of(const char *text)
{
	const char *first = strchr(text, '.'), *last = strrchr(text, '.');
	char *name = memory_text(text);

	for (char *at = name; *at != '\0'; at++) {
		const char *from = text + (at - name);

		if ((first == NULL || from < first || from > last) && *at >= 'A' && *at <= 'Z')
			*at = (char)(*at - 'A' + 'a');
	}
	return name;
}

/* Reads GIT_CONFIG_COUNT and the variables GIT_CONFIG_KEY_n and GIT_CONFIG_VALUE_n. */
static void
read_environment(struct git_settings *s)
{
	const char *count = environment_text("GIT_CONFIG_COUNT"), *key, *value;
	const long n = count == NULL ? 0 : strtol(count, NULL, 10);
	char variable[48], *name;

	for (long i = 0; i < n && i < VARIABLES_LIMIT; i++) {
		snprintf(variable, sizeof variable, "GIT_CONFIG_KEY_%ld", i);
		key = environment_text(variable);
		snprintf(variable, sizeof variable, "GIT_CONFIG_VALUE_%ld", i);
		value = environment_text(variable);
		if (key != NULL && value != NULL) {
			name = name_of(key);
			git_settings_add(s, NULL, name, value);
			free(name);
		}
	}
}

void
git_settings_read_users(struct git_settings *s, const char *home)
{
	static const char *const systems[] = { "/etc/gitconfig", "/usr/local/etc/gitconfig",
		"/opt/homebrew/etc/gitconfig", NULL };
	const char *const given[] = { environment_text("GIT_CONFIG_SYSTEM"),
		environment_text("GIT_CONFIG_GLOBAL") };
	const char *const homes[] = { path_home(), home };

	for (size_t i = 0; systems[i] != NULL; i++)
		git_settings_read(s, systems[i]);
	for (size_t i = 0; i < sizeof given / sizeof *given; i++)
		if (given[i] != NULL && *given[i] == '/')
			read_users(s, given[i]);
	read_below(s, environment_text("XDG_CONFIG_HOME"), "git/config");
	for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
		read_below(s, homes[i], ".config/git/config");
		read_below(s, homes[i], ".gitconfig");
	}
	read_environment(s);
}

void
git_settings_free(struct git_settings *s)
{
	list_free(s->paths);
	list_free(s->words);
	list_free(s->data);
	list_free(s->read);
	*s = (struct git_settings){ NULL, NULL, NULL, NULL };
}
