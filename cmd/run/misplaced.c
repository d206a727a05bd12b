/*
 * Options of awf-run behind the workflow are the workflow's arguments. Where a script for a
 * shell takes no arguments, they were meant for awf-run. What a script takes is read from
 * its text, generously: whoever writes $1 anywhere, or reads in another file, may.
 */
#include "run/job.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "io/file.h"

#define SCRIPT_LIMIT ((size_t)16 << 20)

/* The option of awf-run that a word is; NULL: none. */
static const struct option_spec *
option_of(const char *word)
{
	size_t len;

	if (word[0] != '-' || word[1] == '\0')
		return NULL;
	len = strcspn(word + 2, "=");
	for (const struct option_spec *s = run_options; s->id != OPTION_END; s++)
		if (s->name != NULL && (word[1] == '-' ? strlen(s->name) == len && memcmp(s->name, word + 2, len) == 0
		    : word[1] == s->letter && word[2] == '\0'))
			return s;
	return NULL;
}

/* A word at the beginning of a command. */
static bool
is_command(const char *text, const char *at, const char *word)
{
	static const char *const before[] = { "while", "until", "if", "elif", "then", "else", "do", "!" };
	size_t len = strlen(word);

	if (strncmp(at, word, len) != 0 || (at[len] != ' ' && at[len] != '\t' && at[len] != '\n' &&
	    at[len] != ';' && at[len] != '\0'))
		return false;
	if (at > text && (at[-1] == ' ' || at[-1] == '\t')) {
		while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
			at--;
		/* "while getopts", "if shift": the word before it begins a command as well. */
		for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
			len = strlen(before[i]);
			if ((size_t)(at - text) >= len && memcmp(at - len, before[i], len) == 0 &&
			    is_command(text, at - len, before[i]))
				return true;
		}
	}
	return at == text || strchr("\n;&|({", at[-1]) != NULL;
}

static bool
takes_arguments(const char *text)
{
	for (const char *at = text; *at != '\0'; at++) {
		if (*at == '$') {
			const char *name = at + 1 + (at[1] == '{');

			/* The length of one, "${#1}"; "${#}" is their number. */
			name += at[1] == '{' && *name == '#' && name[1] != '}';
			if (*name == '@' || *name == '*' || *name == '#' || (*name >= '1' && *name <= '9') ||
			    strncmp(name, "argv", 4) == 0 || strncmp(name, "BASH_ARG", 8) == 0)
				return true;
		} else if (is_command(text, at, "shift") || is_command(text, at, "getopts") ||
		    is_command(text, at, ".") || is_command(text, at, "source") ||
		    is_command(text, at, "eval")) {
			return true;
		} else if (is_command(text, at, "for")) {
			/* "for x; do", "for x do": over the arguments. */
			const char *after = at + strcspn(at, " \t");

			after += strspn(after, " \t");
			while (isalnum((unsigned char)*after) || *after == '_')
				after++;
			after += strspn(after, " \t");
			if (*after == ';' || *after == '\n' || strncmp(after, "do", 2) == 0)
				return true;
		}
	}
	return false;
}

void
job_tell_misplaced(const struct job *j)
{
	static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash" };
	const struct workflow *w = &j->workflow;
	const struct option_spec *option = NULL;
	struct buffer text = BUFFER_INIT;
	struct error err = ERROR_INIT;
	char *const *word;
	bool shell = false;

	if (w->script < 1 || w->sha256[0] == '\0')
		return;
	for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
		shell |= strcmp(path_base(w->argv[0]), shells[i]) == 0;
	for (word = w->argv + w->script + 1; shell && *word != NULL && strcmp(*word, "--") != 0; word++)
		if ((option = option_of(*word)) != NULL)
			break;
	if (option == NULL)
		return;
	if (file_load(w->argv[w->script], SCRIPT_LIMIT, &text, NULL) == 0 &&
	    strlen(buffer_string(&text)) == text.len && !takes_arguments(buffer_string(&text))) {
		char *name = memory_copy(*word, strcspn(*word, "="));
		const char *value = (*word)[strlen(name)] == '=' ? "=…" :
		    option->argument != NULL && option->argument[0] != '[' ? " …" : "";

		error_set(&err, ERROR_USAGE, name, "stands behind the workflow, which takes no "
		    "arguments; put it before: " PROGRAM " %s%s %s", name, value, w->argv[w->script]);
		job_warn(&err);
		free(name);
	}
	buffer_free(&text);
}
