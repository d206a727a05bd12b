/*
 * Each kind of file is checked completely by a rule of its own, with a size limit; a file that
 * cannot be parsed counts as leading outside.
 */
#include "sandbox/repository_data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "isolate/git_index.h"
#include "isolate/git_names.h"
#include "sandbox/examine.h"
#include "sandbox/repositories.h"

#define REF_LIMIT ((size_t)4 << 10)
#define SHA1_LENGTH 20
#define SHA256_LENGTH 32

/* Returns false if it is not a file, cannot be read, or is too large; a missing file counts as
 * empty. */
static bool
load_data(int at, const char *name, struct buffer *content, size_t limit)
{
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	bool whole = fd == -1 ? errno == ENOENT : fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	if (fd == -1)
		examine_note_error(at, name);
	if (whole && fd != -1 && file_read(fd, content, limit) != 0) {
		examine_note_error(at, name);
		whole = false;
	}
	file_close(&fd);
	return whole;
}

/* ---- the index ---- */

/* Whether a configuration sets a setting to a value, in the form that git writes. section:
 * "[core]". */
static bool
is_said(char *text, const char *section, const char *name, const char *value)
{
	char *rest = text, *line, *setting = memory_format("%s = %s", name, value);
	bool inside = false, said = false;

	if (strstr(text, "\\\n") != NULL || strstr(text, "\\\r\n") != NULL)
		rest = NULL;
	while (rest != NULL && (line = strsep(&rest, "\n")) != NULL) {
		const char *word = line + strspn(line, " \t");

		if (*word == '[')
			inside = strcasecmp(word, section) == 0;
		else if (inside && strncasecmp(word, name, strlen(name)) == 0 && strchr("= \t", word[strlen(name)]) != NULL)
			said = strcasecmp(word, setting) == 0;
	}
	free(setting);
	return said;
}

/* The same for a file. */
static bool
is_said_in(int at, const char *file, const char *section, const char *name, const char *value)
{
	struct buffer text = BUFFER_INIT;
	bool said;

	if (!load_data(at, file, &text, (size_t)1 << 20))
		buffer_clear(&text);
	buffer_append(&text, "", 1);
	said = is_said(text.data, section, name, value);
	buffer_free(&text);
	return said;
}

size_t
repository_object_name_length(int at, bool linked)
{
	return is_said_in(at, linked ? "../../config" : "config", "[extensions]", "objectformat", "sha256") ?
	    SHA256_LENGTH : SHA1_LENGTH;
}

static const char core[] = "[core]", sparse_name[] = "sparsecheckout", sparse_value[] = "true";

bool
repository_config_is_sparse(const char *text)
{
	char *copy = memory_text(text);
	const bool is = is_said(copy, core, sparse_name, sparse_value);

	free(copy);
	return is;
}

static bool
is_sparse(int at, bool linked)
{
	return is_said_in(at, linked ? "../../config" : "config", core, sparse_name, sparse_value) ||
	    is_said_in(at, "config.worktree", core, sparse_name, sparse_value);
}

struct index_look {
	bool plain;
	int hiding;            /* the flags that hide changes of a path */
	struct buffer *hidden;
};

/* Checks a path of an index. In a split index "" stands for a path in its other file, in a sparse
 * index "PATH/" for a directory. */
static void
repository_data_check_path(void *context, const char *path, int flags)
{
	struct index_look *look = context;
	size_t len = strlen(path);
	char *text = memory_copy(path, len > 0 && path[len - 1] == '/' ? len - 1 : len);

	look->plain = look->plain && (len == 0 || git_path_is_plain(text));
	if ((flags & look->hiding) != 0)
		buffer_append(look->hidden, path, strlen(path) + 1);
	free(text);
}

static bool
is_index_plain(int at, const char *name, bool linked, struct buffer *hidden)
{
	struct index_look look = { true, GIT_INDEX_ASSUMED | (is_sparse(at, linked) ? 0 : GIT_INDEX_SKIPPED), hidden };
	struct buffer content = BUFFER_INIT;
	bool known = load_data(at, name, &content, REPOSITORY_DATA_LIMIT) &&
	    git_index_read(buffer_string(&content), content.len, repository_object_name_length(at, linked),
	    repository_data_check_path, &look) != -1;

	buffer_free(&content);
	return known && look.plain;
}

/* ---- refs ---- */

/* A symbolic ref must not point to something that was set aside, since that is not checked
 * again. */
static bool
is_ref_name_plain(const char *name)
{
	return git_ref_is_plain(name) && strstr(name, REPOSITORY_ASIDE "/") == NULL && !text_ends(name, REPOSITORY_ASIDE);
}

/* invalid: also accept the target that git writes into HEAD if refs have another format. */
static bool
is_ref_plain(int at, const char *name, bool invalid)
{
	static const char word[] = "ref:";
	struct buffer content = BUFFER_INIT;
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char start[sizeof word - 1];
	ssize_t len = fd == -1 ? -1 : pread(fd, start, sizeof start, 0);
	bool plain = len >= 0;
	const char *target;

	if (len < 0)
		examine_note_error(at, name);
	file_close(&fd);
	if (len == (ssize_t)sizeof start && memcmp(start, word, sizeof start) == 0) {
		plain = load_data(at, name, &content, REF_LIMIT) && memchr(buffer_string(&content), '\0', content.len) == NULL;
		while (content.len > 0 && strchr(" \t\r\n\v\f", content.data[content.len - 1]) != NULL)
			content.data[--content.len] = '\0';
		target = buffer_string(&content) + (content.len < sizeof start ? content.len : sizeof start);
		target += strspn(target, " \t\r\n\v\f");
		plain = plain && (is_ref_name_plain(target) || (invalid && strcmp(target, "refs/heads/.invalid") == 0));
	}
	buffer_free(&content);
	return plain;
}

bool
repository_ref_is_plain(int at, const char *name)
{
	struct stat st;

	if (text_ends(name, ".lock")) /* a lock file, which git does not read */
		return true;
	return git_ref_part_is_plain(name, strlen(name)) && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && is_ref_plain(at, name, false)));
}

/* Each line is "OBJECT-NAME REF", a comment, or the target of a tag ("^OBJECT-NAME"). */
static bool
are_packed_refs_plain(int at, const char *name, struct buffer *replacing)
{
	struct buffer content = BUFFER_INIT;
	bool plain = load_data(at, name, &content, REPOSITORY_DATA_LIMIT) && memchr(buffer_string(&content), '\0', content.len) == NULL;
	/* the text of a buffer ends with a NUL */
	char *rest = content.len == 0 ? NULL : content.data, *line, *ref;

	while (plain && rest != NULL && (line = strsep(&rest, "\n")) != NULL) {
		size_t len = strspn(line, "0123456789abcdefABCDEF");

		ref = line[len] == ' ' ? line + len + 1 : NULL;
		plain = *line == '#' || *line == '^' || (*line == '\0' && rest == NULL) ||
		    (ref != NULL && is_ref_name_plain(ref));
		if (ref != NULL && strncmp(ref, REPLACING_REFS, strlen(REPLACING_REFS)) == 0) {
			buffer_format(replacing, "%s %.*s", ref, (int)len, line);
			buffer_append(replacing, "", 1);
		}
	}
	buffer_free(&content);
	return plain;
}

/* ---- conflicts ---- */

/* MERGE_RR: the recorded resolution that git writes into each file, "ID TAB PATH NUL". */
static bool
are_resolutions_plain(int at, const char *name)
{
	struct buffer content = BUFFER_INIT;
	bool plain = load_data(at, name, &content, REPOSITORY_DATA_LIMIT);

	for (size_t start = 0; plain && start < content.len;) {
		const char *entry = content.data + start, *end = memchr(entry, '\0', content.len - start);
		const char *tab = end == NULL ? NULL : memchr(entry, '\t', (size_t)(end - entry));

		plain = tab != NULL && strspn(entry, "0123456789abcdef.") == (size_t)(tab - entry) && git_path_is_plain(tab + 1);
		start += end == NULL ? 0 : (size_t)(end - entry) + 1;
	}
	buffer_free(&content);
	return plain;
}

/* ---- files by name ---- */

static bool
is_name_of_ref(const char *name)
{
	static const char *const refs[] = { "AUTO_MERGE", "BISECT_EXPECTED_REV", "MERGE_AUTOSTASH", "NOTES_MERGE_PARTIAL",
		"NOTES_MERGE_REF", NULL };

	return text_ends(name, "HEAD") || text_index(name, refs) != -1;
}

bool
repository_data_is_index(const char *name)
{
	return strcmp(name, "index") == 0 || strncmp(name, "index.", 6) == 0 || strncmp(name, "next-index-", 11) == 0 ||
	    strncmp(name, "sharedindex.", 12) == 0;
}

bool
repository_data_is_plain(int at, const char *name, bool linked, struct buffer *hidden)
{
	if (text_ends(name, ".lock")) /* a lock file, which git does not read */
		return true;
	if (repository_data_is_index(name))
		return is_index_plain(at, name, linked, hidden);
	if (strcmp(name, "packed-refs") == 0)
		return are_packed_refs_plain(at, name, hidden);
	if (strcmp(name, "MERGE_RR") == 0)
		return are_resolutions_plain(at, name);
	return !is_name_of_ref(name) || is_ref_plain(at, name, strcmp(name, "HEAD") == 0);
}

bool
repository_data_is_needed(const char *name)
{
	return strcmp(name, "HEAD") == 0 || strcmp(name, "index") == 0 || strcmp(name, "packed-refs") == 0;
}
