/*
 * A word is examined as a whole, and in the pieces into which a shell, or a program with options,
 * may split it. A piece that is no file costs only some calls of stat().
 */
#include "definitions/trust_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"

enum {
	INTERPRETERS = 5    /* most interpreters of interpreters; the kernel has the same limit */
};

struct search {
	const struct trust_command *command;
	const char *within;
	char *path;             /* PATH, in which programs are searched for */
	char **files, **links;
};

static void search_text(struct search *s, const char *text, int depth);

/* Finds the interpreter of a script. */
static void
search_first_line(struct search *s, const char *path, int depth)
{
	char *interpreter = depth > 0 ? file_interpreter(path) : NULL;

	if (interpreter != NULL)
		search_text(s, interpreter, depth - 1);
	free(interpreter);
}

/* Notes the links on the way of a path. */
static void
search_links(struct search *s, const char *path)
{
	for (const char *end = path; *end != '\0';) {
		char *part, *above, *real, *link;
		struct stat status;

		end += 1 + strcspn(end + 1, "/");
		part = memory_copy(path, (size_t)(end - path));
		if (lstat(part, &status) == 0 && S_ISLNK(status.st_mode)) {
			above = path_directory(part);
			real = realpath(above, NULL);
			link = real == NULL ? NULL : path_join(real, path_base(part));
			if (link != NULL && path_within(link, s->within) && !list_has(s->links, link))
				list_add(&s->links, link);
			free(link);
			free(real);
			free(above);
		}
		free(part);
	}
}

static void
search_path(struct search *s, const char *path, int depth)
{
	char *real = realpath(path, NULL);
	struct stat status;

	if (real != NULL && strcmp(real, path) != 0)
		search_links(s, path);
	if (real != NULL && path_within(real, s->within) && stat(real, &status) == 0 &&
	    list_count(s->files) < TRUST_FILES_MOST && S_ISREG(status.st_mode) && !list_has(s->files, real)) {
		list_add(&s->files, real);
		search_first_line(s, real, depth);
	}
	free(real);
}

/* Examines a path, relative to the command's directory and to that of its definition; or the name
 * of a program. */
static void
search_name(struct search *s, const char *name, int depth)
{
	const char *const from[] = { s->command->directory, s->command->beside, s->within };
	char *path;

	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "/") == 0)
		return;
	for (size_t i = 0; *name != '/' && i < sizeof from / sizeof *from; i++) {
		path = path_join(from[i], name);
		search_path(s, path, depth);
		free(path);
	}
	if (*name == '/')
		search_path(s, name, depth);
	if (strchr(name, '/') != NULL)
		return;
	path = path_search(s->path, name);
	if (path != NULL)
		search_path(s, path, depth);
	free(path);
}

/* Examines a text and its pieces. */
static void
search_text(struct search *s, const char *text, int depth)
{
	static const char separators[] = " \t\r\n;|&<>()[]{}'\"`$,:=@";
	char *copy = memory_text(text), *rest = copy, *piece;

	search_name(s, text, depth);
	while ((piece = strsep(&rest, separators)) != NULL) {
		const char *glued = *piece == '-' && piece[1] != '-' && piece[1] != '\0' ? piece + 2 : NULL;

		if (*piece == '\0')
			continue;
		search_name(s, piece, depth);
		if (glued != NULL)
			search_name(s, glued, depth); /* -r./x */
	}
	free(copy);
}

/* PATH as the command sees it: relative directories in it are relative to the command's directory.
 * To be freed by the caller. */
static char *
path_of(const struct trust_command *command)
{
	const char *list = command->path != NULL ? command->path : getenv("PATH"), *part;
	struct buffer path = BUFFER_INIT;
	size_t len;

	while (list != NULL && (part = text_part(&list, ':', &len)) != NULL) {
		if (len > 0 && *part != '/')
			buffer_format(&path, "%s/", command->directory);
		buffer_format(&path, "%.*s:", (int)len, part);
	}
	return buffer_take(&path);
}

void
trust_files_find(struct trust_files *found, const struct trust_command *command, const char *within)
{
	struct search s = { .command = command, .within = within, .path = path_of(command) };

	for (char *const *word = command->words; word != NULL && *word != NULL; word++)
		search_text(&s, *word, INTERPRETERS);
	for (char *const *value = command->values; value != NULL && *value != NULL; value++)
		search_text(&s, *value, INTERPRETERS);
	free(s.path);
	*found = (struct trust_files){ s.files, s.links };
}

/* ---- command lines that read only what they name ---- */

/* Interpreters: each reads the file that its first word names, after options that consist of these
 * letters and have no argument; with -f, the file that follows. */
static const struct {
	const char *name, *letters;
	bool by_f;
} interpreters[] = {
	{ "sh", "efux", false },
	{ "bash", "efux", false },
	{ "dash", "efux", false },
	{ "python", "", false },
	{ "python3", "", false },
	{ "node", "", false },
	{ "perl", "", false },
	{ "ruby", "", false },
	{ "jq", "cenrsS", true },
	{ "awk", "", true },
};

/* The first word after an interpreter's options, which is its script; NULL: the words have another
 * form. The array ends with NULL, in whose place the kernel would insert the script's name. */
static char *const *
script_word(size_t interpreter, char *const *words)
{
	const char *letters = interpreters[interpreter].letters;
	bool named = !interpreters[interpreter].by_f;

	for (; *words != NULL && **words == '-'; words++) {
		const bool is_f = interpreters[interpreter].by_f && strcmp(*words, "-f") == 0;

		/* After -f comes the script. */
		if ((named && interpreters[interpreter].by_f) || (!is_f && ((*words)[1] == '\0' ||
		    (*words)[1 + strspn(*words + 1, letters)] != '\0')))
			return NULL;
		named = named || is_f;
	}
	return named ? words : NULL;
}

/* The interpreter of that name; -1: none. */
static int
interpreter_find(const char *name)
{
	for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++)
		if (strcmp(path_base(name), interpreters[i].name) == 0)
			return (int)i;
	return -1;
}

/* The path that a word names, relative to the command's directory and to that of its definition,
 * with links resolved; to be freed by the caller. NULL: it does not exist. */
static char *
word_path(const struct search *s, const char *word)
{
	const char *const from[] = { s->command->directory, s->command->beside };
	char *real = *word == '/' ? realpath(word, NULL) : NULL;

	for (size_t i = 0; *word != '/' && real == NULL && i < sizeof from / sizeof *from; i++) {
		char *path = path_join(from[i], word);

		real = realpath(path, NULL);
		free(path);
	}
	return real;
}

/* The program that a word names, to be freed by the caller. */
static char *
program_path(const struct search *s, const char *word)
{
	char *found = strchr(word, '/') != NULL ? word_path(s, word) : path_search(s->path, word), *real;

	if (found == NULL || strchr(word, '/') != NULL)
		return found;
	real = realpath(found, NULL);
	free(found);
	return real;
}

static bool
is_file_of(const struct search *s, const char *path)
{
	struct stat status;

	return path != NULL && path_within(path, s->within) && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Whether a file is run by itself, or by a known interpreter. */
static bool
script_is_plain(const struct search *s, const char *path, int depth)
{
	char *line = file_interpreter(path), **words = NULL, *program = NULL, *const *script;
	bool plain = line == NULL;
	size_t at = 0;
	int known;

	if (line != NULL) {
		for (char *blank = line; *blank != '\0'; blank++)
			if (*blank == '\t')
				*blank = ' ';
		words = list_split(line, ' ');
	}
	/* The kernel passes everything after the program as one word. */
	if (words != NULL && list_count(words) > 1 && strcmp(words[0], "/usr/bin/env") == 0)
		at = strcmp(words[1], "-S") == 0 && words[2] != NULL ? 2 : list_count(words) == 2 ? 1 : 0;
	if (words != NULL && depth > 0 && (at == 2 || list_count(words) <= 2) &&
	    (program = program_path(s, words[at])) != NULL) {
		known = interpreter_find(words[at]);
		if (is_file_of(s, program))
			plain = words[at + 1] == NULL && script_is_plain(s, program, depth - 1);
		else if (known != -1 && (script = script_word((size_t)known, words + at + 1)) != NULL)
			plain = *script == NULL;
	}
	free(program);
	list_free(words);
	free(line);
	return plain;
}

/* Whether a piece of a word does not name a directory here, or anything through a link. */
static bool
piece_is_plain(const struct search *s, const char *piece)
{
	char *path = word_path(s, piece);
	const bool plain = path == NULL || is_file_of(s, path) ||
	    (!path_within(path, s->within) && !path_within(s->within, path));

	free(path);
	return plain;
}

/* Whether a word after the script consists only of plain characters, and no piece of it names a
 * directory here, or anything through a link: then it is known which files it can name. */
static bool
argument_is_plain(const struct search *s, const char *word)
{
	char *copy = memory_text(word), *rest = copy, *piece;
	bool plain = *word != '\0' && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789@%_+=:,./-")] == '\0' && piece_is_plain(s, word);

	while (plain && (piece = strsep(&rest, "=:,@")) != NULL)
		plain = *piece == '\0' || (piece_is_plain(s, piece) &&
		    (*piece != '-' || piece[1] == '\0' || piece[2] == '\0' || piece_is_plain(s, piece + 2)));
	free(copy);
	return plain;
}

/* Examines the words in order: a script or program of the directory, perhaps after an
 * interpreter. */
static bool
words_are_plain(const struct search *s, char *const *words)
{
	char *program = words == NULL || *words == NULL ? NULL : program_path(s, *words), *script = NULL;
	int known = program == NULL ? -1 : interpreter_find(*words);
	/* The name of a tool's program may come from the model: then there is no such program. */
	bool plain = program == NULL && words != NULL && *words != NULL && strchr(*words, '/') != NULL;

	if (plain) {
		words += list_count(words);
	} else if (is_file_of(s, program)) {
		plain = script_is_plain(s, program, INTERPRETERS);
		words++;
	} else if (known != -1 && !path_within(program, s->within)) {
		words = script_word((size_t)known, words + 1);
		script = words == NULL || *words == NULL ? NULL : word_path(s, *words);
		plain = is_file_of(s, script);
		words += plain;
	}
	for (; plain && *words != NULL; words++)
		plain = argument_is_plain(s, *words);
	free(script);
	free(program);
	return plain;
}

bool
trust_command_is_plain(const struct trust_command *command, const char *within)
{
	struct search s = { .command = command, .within = within };
	char **words = NULL;
	bool plain;

	if (command->shaped || command->words == NULL || *command->words == NULL)
		return false;
	s.path = path_of(command);
	/* A text for the shell that consists only of plain words, as in agent files. */
	if (list_count(command->words) == 3 && strcmp(command->words[0], "sh") == 0 &&
	    strcmp(command->words[1], "-c") == 0)
		words = list_words(command->words[2]);
	plain = words_are_plain(&s, words != NULL ? words : command->words);
	list_free(words);
	free(s.path);
	return plain;
}

void
trust_files_find_one(struct trust_files *found, const char *path, const char *within)
{
	struct search s = { .within = within };
	char here[PATH_MAX];
	char *whole = *path == '/' || getcwd(here, sizeof here) == NULL ? memory_text(path) :
	    path_join(here, path);

	search_path(&s, whole, 0);
	free(whole);
	*found = (struct trust_files){ s.files, s.links };
}
