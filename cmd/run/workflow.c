/*
 * The #! line is read as the kernel does, so that what will run is known, and recorded,
 * before it starts. Which word of a recorded command line was the script is not recorded: the
 * first three are tried, and the one is taken that is a script in the recorded directory now,
 * first such that would run as it did.
 */
#include "run/workflow.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"

#define SCRIPT_LIMIT ((size_t)16 << 20)
#define SPACE " \t"

/* What the first bytes of a file say. */
struct first_line {
	char *interpreter; /* NULL: the shell */
	char *argument;    /* of the interpreter; NULL: none */
	bool binary;
};

/* argv of up to three leading words (NULL: left out), then words. */
static void
set_argv(struct workflow *w, const char *const lead[3], char *const *words)
{
	size_t count = 0;

	w->argv = memory_zero(list_count(words) + 4, sizeof *w->argv);
	for (int i = 0; i < 3; i++)
		if (lead[i] != NULL)
			w->argv[count++] = memory_text(lead[i]);
	for (; *words != NULL; words++)
		w->argv[count++] = memory_text(*words);
}

/* Whether a word of the line is a path to awf-run, which must not run itself. */
static bool
names_awf_run(const char *line)
{
	while (*(line += strspn(line, SPACE)) != '\0') {
		size_t len = strcspn(line, SPACE);
		char *word = memory_copy(line, len);
		bool found = strcmp(path_base(word), "awf-run") == 0;

		free(word);
		if (found)
			return true;
		line += len;
	}
	return false;
}

/* As the kernel reads it: an interpreter, and all else as one argument. */
static void
read_interpreter(struct first_line *first, const char *at, size_t len)
{
	char *line = memory_copy(at, len), *start = line + strspn(line, SPACE), *rest;

	for (len = strlen(start); len > 0 && strchr(SPACE "\r", start[len - 1]) != NULL; len--)
		start[len - 1] = '\0';
	if (*start != '\0' && !names_awf_run(start)) {
		rest = start + strcspn(start, SPACE);
		first->interpreter = memory_copy(start, (size_t)(rest - start));
		rest += strspn(rest, SPACE);
		if (*rest != '\0')
			first->argument = memory_text(rest);
	}
	free(line);
}

static struct first_line
read_first_line(const struct buffer *script)
{
	struct first_line first = { NULL, NULL, false };
	const char *end;

	if (script->len == 0)
		return first;
	end = memchr(script->data, '\n', script->len);
	if (end == NULL)
		end = script->data + script->len;
	first.binary = memchr(script->data, '\0', (size_t)(end - script->data)) != NULL;
	if (!first.binary && script->len > 2 && memcmp(script->data, "#!", 2) == 0)
		read_interpreter(&first, script->data + 2, (size_t)(end - script->data) - 2);
	return first;
}

static int
set_directory(struct workflow *w, const char *path, struct error *err)
{
	char *absolute = realpath(path, NULL);

	if (absolute == NULL)
		return error_errno(err, ERROR_SYSTEM, path, "unable to find this directory");
	w->directory = absolute;
	return 0;
}

static int
run_script(struct workflow *w, const char *path, const struct buffer *script, char *const *words,
    const char *shell, struct error *err)
{
	struct first_line first = read_first_line(script);
	const char *lead[3] = { first.interpreter, first.argument, path };
	char *parent = path_directory(path);
	int failed = set_directory(w, parent, err);

	if (first.binary) {
		lead[0] = NULL;
	} else {
		digest_sha256(script->data, script->len, w->sha256);
		if (first.interpreter == NULL)
			lead[0] = shell;
	}
	set_argv(w, lead, words + 1);
	w->script = (lead[0] != NULL) + (lead[1] != NULL);
	free(parent);
	free(first.interpreter);
	free(first.argument);
	return failed;
}

/* Whether name is to be taken as a file; what it is otherwise, PATH knows. */
static bool
is_file(const char *name)
{
	struct stat status;

	return strchr(name, '/') != NULL ||
	    (stat(name, &status) == 0 && S_ISREG(status.st_mode) && access(name, R_OK) == 0);
}

static bool
is_in_path(const char *name)
{
	const char *list = getenv("PATH");
	char *found = list == NULL ? NULL : path_search(list, name);
	bool there = found != NULL;

	free(found);
	return there;
}

/* A file that is no regular one, <(…) say, is the shell's to read; one that cannot
 * be read may still run. */
static int
run_unread(struct workflow *w, const char *path, char *const *words, const char *shell,
    struct error *err)
{
	struct stat status;
	bool stream = stat(path, &status) == 0 && !S_ISREG(status.st_mode) &&
	    !S_ISDIR(status.st_mode);
	const char *lead[3] = { stream ? shell : NULL, NULL, path };

	set_argv(w, lead, words + 1);
	w->script = stream ? 1 : 0;
	return set_directory(w, ".", err);
}

/* The file that a name means: here, or around; NULL if PATH is to know it. */
static char *
find_file(struct workflow *w, const char *name, const char *around)
{
	bool slash = strchr(name, '/') != NULL;
	char *path;

	if (is_file(name) && (!slash || *name == '/' || around == NULL || access(name, F_OK) == 0))
		/* Without a slash the shell might look for it in PATH. */
		return slash ? memory_text(name) : path_join(".", name);
	if (around == NULL)
		return NULL;
	path = path_join(around, name);
	if (access(path, F_OK) == 0 && is_file(path) && (slash || !is_in_path(name)))
		return path;
	free(path);
	w->elsewhere = true;
	return slash ? memory_text(name) : NULL;
}

int
workflow_find(struct workflow *w, char *const *words, const char *shell, const char *around,
    struct error *err)
{
	const char *nothing[3] = { NULL, NULL, NULL };
	struct buffer script = BUFFER_INIT;
	struct stat status;
	char *path;
	int failed;

	memset(w, 0, sizeof *w);
	w->script = -1;
	w->name = memory_text(path_base(words[0]));
	path = find_file(w, words[0], around);
	if (path == NULL) {
		set_argv(w, nothing, words);
		return set_directory(w, ".", err);
	}
	if (stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	    file_load(path, SCRIPT_LIMIT, &script, NULL) == 0)
		failed = run_script(w, path, &script, words, shell, err);
	else
		failed = run_unread(w, path, words, shell, err);
	buffer_free(&script);
	free(path);
	return failed;
}

int
workflow_pipeline(struct workflow *w, const char *pipeline, char *const *words,
    const char *shell, struct error *err)
{
	const char *lead[3] = { shell, "-c", pipeline };
	size_t count = list_count(words);
	char **named = memory_zero(count + 2, sizeof *named);

	memset(w, 0, sizeof *w);
	w->script = -1;
	w->name = memory_text("pipeline");
	named[0] = w->name;
	memcpy(named + 1, words, count * sizeof *words);
	set_argv(w, lead, named);
	free(named);
	digest_sha256(pipeline, strlen(pipeline), w->sha256);
	return set_directory(w, ".", err);
}

static void
pin(char **path, const char *here)
{
	char *absolute;

	if (**path == '/')
		return;
	absolute = path_join(here, *path);
	free(*path);
	*path = absolute;
}

int
workflow_pin(struct workflow *w, struct error *err)
{
	char here[PATH_MAX];

	if (getcwd(here, sizeof here) == NULL)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to find the current directory");
	if (strchr(w->argv[0], '/') != NULL)
		pin(&w->argv[0], here);
	if (w->script >= 0)
		pin(&w->argv[w->script], here);
	return 0;
}

static bool
same_argv(char *const *a, char *const *b)
{
	for (; *a != NULL && *b != NULL; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return *a == *b;
}

/* What stands in for an interpreter that is not recorded as such. */
static const char *
first_word(const struct workflow *recorded, size_t script)
{
	return script > 0 ? recorded->argv[0] : "/bin/sh";
}

/* A program, which is run as it was; or a pipeline, which its digest proves. */
static bool
is_as_recorded(const struct workflow *recorded)
{
	char sha256[DIGEST_SIZE];

	if (recorded->sha256[0] == '\0')
		return true;
	return list_count(recorded->argv) > 3 && strcmp(recorded->argv[1], "-c") == 0 &&
	    strcmp(digest_sha256(recorded->argv[2], strlen(recorded->argv[2]), sha256),
	        recorded->sha256) == 0;
}

/* Takes the word of argv as the script, with what follows as its arguments, if it is
 * one, in the recorded directory. exactly: and if it would be run as it was. */
static bool
try_script(struct workflow *w, const struct workflow *recorded, size_t word, bool exactly)
{
	struct error ignored;
	bool fits = workflow_find(w, recorded->argv + word, first_word(recorded, word),
	    NULL, &ignored) == 0 && w->sha256[0] != '\0' &&
	    strcmp(w->directory, recorded->directory) == 0 &&
	    (!exactly || same_argv(w->argv, recorded->argv));

	if (!fits)
		workflow_free(w);
	return fits;
}

/* The script is one of the first three words: an interpreter and an argument of that
 * may stand before it. What still runs as it did comes before what has another
 * interpreter now. */
static bool
find_script(struct workflow *w, const struct workflow *recorded)
{
	size_t count = list_count(recorded->argv);

	for (int exactly = 1; exactly >= 0; exactly--)
		for (size_t word = 0; word < 3 && word < count; word++)
			if (try_script(w, recorded, word, exactly == 1))
				return true;
	return false;
}

static void
copy_workflow(struct workflow *w, const struct workflow *from)
{
	const char *nothing[3] = { NULL, NULL, NULL };

	memset(w, 0, sizeof *w);
	set_argv(w, nothing, from->argv);
	w->directory = memory_text(from->directory);
	memcpy(w->sha256, from->sha256, sizeof w->sha256);
}

int
workflow_again(struct workflow *w, const struct workflow *recorded, struct error *err)
{
	if (is_as_recorded(recorded)) {
		copy_workflow(w, recorded);
	} else if (!find_script(w, recorded)) {
		struct buffer words = BUFFER_INIT;

		for (char **word = recorded->argv; *word != NULL; word++)
			buffer_format(&words, "%s%s", words.len > 0 ? " " : "", *word);
		error_set(err, ERROR_USAGE, recorded->directory,
		    "has no script any more that this ran: %s", buffer_string(&words));
		buffer_free(&words);
		return -1;
	}
	free(w->name);
	w->name = memory_text(recorded->name);
	return 0;
}

void
workflow_free(struct workflow *w)
{
	list_free(w->argv);
	free(w->name);
	free(w->directory);
	memset(w, 0, sizeof *w);
}
