/*
 * A name counts only as a whole word, and in current files not within a line that is a comment.
 * Programs that are too large to be recorded are not searched: they name no steps.
 */
#include "run_resume/file_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "transcript/blob.h"

/* Adds a text and a newline; binary data is skipped, as it has no names. */
static void
file_names_add_text(struct buffer *out, const struct buffer *text)
{
	if (memchr(buffer_string(text), '\0', text->len) != NULL)
		return;
	buffer_append(out, text->data, text->len);
	buffer_byte(out, '\n');
}

/* Adds the lines that are not comments of a shell or of most other languages. */
static void
add_code(struct buffer *out, const struct buffer *text)
{
	const char *rest = buffer_string(text), *line;
	struct buffer code = BUFFER_INIT;
	size_t len;

	while (memchr(buffer_string(text), '\0', text->len) == NULL &&
	    (line = text_part(&rest, '\n', &len)) != NULL) {
		size_t blank = strspn(line, " \t");

		if (blank >= len || line[blank] == '#' || strncmp(line + blank, "//", 2) == 0)
			continue;
		buffer_append(&code, line, len);
		buffer_byte(&code, '\n');
	}
	file_names_add_text(out, &code);
	buffer_free(&code);
}

static void
add_blob(struct buffer *out, const struct definition_file *f, const char *blobs)
{
	struct buffer text = BUFFER_INIT;

	if (f->kept && blob_read(blobs, f->sha256, &text, NULL) == 0)
		file_names_add_text(out, &text);
	buffer_free(&text);
}

void
file_names_read(struct file_names *n, const struct definition_files *files, const char *blobs)
{
	char sha256[DIGEST_SIZE];

	*n = (struct file_names){ .read = true, .edited = files->replaced_count > 0 };
	for (size_t i = 0; i < files->count; i++) {
		const struct definition_file *f = &files->list[i];
		struct buffer text = BUFFER_INIT;
		struct stat status;

		/* A missing file may have been moved, so it does not count as changed. */
		if (f->kept && stat(f->path, &status) == 0 && S_ISREG(status.st_mode) &&
		    file_load(f->path, DEFINITION_FILE_LIMIT, &text, NULL) == 0) {
			if (strcmp(digest_sha256(text.data, text.len, sha256), f->sha256) != 0) {
				n->edited = true;
				add_blob(&n->latest, f, blobs);
			}
			add_code(&n->now, &text);
		}
		buffer_free(&text);
	}
	for (size_t i = 0; n->edited && i < files->replaced_count; i++)
		add_blob(&n->earlier, &files->replaced[i], blobs);
}

static void
add_line(struct buffer *out, const char *text)
{
	buffer_format(out, "%s\n", text);
}

void
file_names_add_texts(struct file_names *n, char *const *recorded, const char *now)
{
	for (; *recorded != NULL; recorded++) {
		if (strcmp(*recorded, now) == 0)
			continue;
		n->edited = true;
		add_line(recorded[1] == NULL ? &n->latest : &n->earlier, *recorded);
	}
	add_line(&n->now, now);
}

void
file_names_add(struct file_names *n, const struct file_names *around)
{
	n->edited |= around->edited;
	buffer_append(&n->earlier, around->earlier.data, around->earlier.len);
	buffer_append(&n->latest, around->latest.data, around->latest.len);
	buffer_append(&n->now, around->now.data, around->now.len);
}

static bool
is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    c == '_' || c == '-' || c == '.';
}

/* Finds name as a whole word, from a position in the text on; NULL: none. */
static const char *
find_word(const char *start, const char *from, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = from; (at = strstr(at, name)) != NULL; at++)
		if ((at == start || !is_of_name(at[-1])) && !is_of_name(at[len]))
			return at;
	return NULL;
}

static bool
has_word(const struct buffer *text, const char *name)
{
	return find_word(buffer_string(text), buffer_string(text), name) != NULL;
}

bool
file_names_calls(const struct file_names *n, const char *name, const char *command)
{
	const char *start = buffer_string(&n->now), *words = command;
	bool found = false;

	for (const char *at = command; *at != '\0' && *at != ' '; at++)
		if (*at == '/')
			words = at + 1;
	for (const char *at = start; !found && *words != '\0' && (at = find_word(start, at, words)) != NULL; at++) {
		const char *begin = at, *end = at + strcspn(at, "\n");
		char *line;

		/* Followed by more arguments it is another command. */
		const char *behind = at + strlen(words);

		behind += strspn(behind, " \t");
		if (*behind != '\0' && strchr("\n'\"`);&|<>\\", *behind) == NULL)
			continue;
		while (begin > start && begin[-1] != '\n')
			begin--;
		line = memory_copy(begin, (size_t)(end - begin));
		found = find_word(line, line, name) != NULL;
		free(line);
	}
	return found;
}

bool
file_names_dropped(const struct file_names *n, const char *name, bool lately)
{
	return (has_word(&n->latest, name) || (!lately && has_word(&n->earlier, name))) &&
	    !has_word(&n->now, name);
}

/* The next word of a text for a shell, without its quotes; false: there is none. Words in a word that is a
 * text itself are not looked at. */
static bool
next_shell_word(const char **at, struct buffer *word)
{
	static const char apart[] = " \t\n;|&()<>";
	char quote = '\0';
	const char *from;

	buffer_clear(word);
	*at += strspn(*at, apart);
	for (from = *at; **at != '\0' && (quote != '\0' || strchr(apart, **at) == NULL); (*at)++) {
		char c = **at;

		if (quote != '\0' ? c == quote : c == '\'' || c == '"') {
			quote = quote != '\0' ? '\0' : c;
			continue;
		}
		if (c == '\\' && quote != '\'' && (*at)[1] != '\0' &&
		    (quote == '\0' || strchr("$`\"\\", (*at)[1]) != NULL))
			c = *++(*at);
		buffer_byte(word, c);
	}
	return *at > from;
}

/* Whether each word of a text stands in the files. */
static bool
has_words(const struct buffer *text, const char *words)
{
	const char *word;
	bool all = true;
	size_t len;

	while (all && (word = text_part(&words, ' ', &len)) != NULL) {
		char *one = memory_copy(word, len);

		all = len == 0 || has_word(text, one);
		free(one);
	}
	return all;
}

/* Whether a word, or what it assigns to a variable, is the text of a command "TEXT NAME ARGUMENT ...", and its
 * arguments are in the files. */
static bool
is_command_of(const struct file_names *n, const struct buffer *word, const char *command, const char *name)
{
	const char *text = buffer_string(word), *assigned = strchr(text, '='), *behind;
	const size_t len = strlen(name);

	if (assigned != NULL && strncmp(command, text, word->len) != 0)
		text = assigned + 1;
	if (*text == '\0' || strncmp(command, text, strlen(text)) != 0)
		return false;
	behind = command + strlen(text);
	return behind[0] == ' ' &&
	    strncmp(behind + 1, name, len) == 0 && (behind[1 + len] == '\0' || behind[1 + len] == ' ') &&
	    has_words(&n->now, behind + 1 + len);
}

bool
file_names_written(const struct file_names *n, const char *command, const char *name)
{
	const char *at = buffer_string(&n->now);
	struct buffer word = BUFFER_INIT;
	bool written = false;

	while (!written && next_shell_word(&at, &word))
		written = is_command_of(n, &word, command, name);
	/* A quote that is none, as in a comment, may hide it. */
	for (at = buffer_string(&n->now); !written && (at = strstr(at, "-c ")) != NULL;) {
		const char *text = at += strlen("-c ");

		written = next_shell_word(&text, &word) && is_command_of(n, &word, command, name);
	}
	buffer_free(&word);
	return written;
}

void
file_names_free(struct file_names *n)
{
	buffer_free(&n->earlier);
	buffer_free(&n->latest);
	buffer_free(&n->now);
	*n = (struct file_names){ .read = false };
}
