/*
 * The #! line is parsed as the kernel does, so that what will be executed is known, and recorded,
 * before it starts. The record does not say which word of the command line was the script: the
 * first three words are tried, and the one that is a script in the recorded directory now is used,
 * preferably one that would be executed with the same command line.
 */
#include "run_resume/workflow.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "proc/environment.h"
#include "proc/message.h"
#include "storage/call_marks.h"
#include "transcript/event_keys.h"

#define AGENT_SUFFIX ".md"
#define TOOL_SUFFIX ".tool.json"
#define SCRIPT_LIMIT ((size_t)16 << 20)
#define SPACE " \t"

/* Sets argv to up to three leading words (NULL: omitted) and then words. */
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

/* Parses the #! line of a script as the kernel does: *interpreter, and the rest as one *argument,
 * both to be freed by the caller; NULL: none. A line that names awf-run is ignored, as awf-run must
 * not run itself. */
static void
read_interpreter(const char *at, size_t len, char **interpreter, char **argument)
{
	char *line = memory_copy(at, len), *start = line + strspn(line, SPACE), *rest;
	bool own = false;

	for (len = strlen(start); len > 0 && strchr(SPACE "\r", start[len - 1]) != NULL; len--)
		start[len - 1] = '\0';
	for (rest = start; *rest != '\0' && !own; rest += len + strspn(rest + len, SPACE)) {
		len = strcspn(rest, SPACE);
		char *word = memory_copy(rest, len);

		own = strcmp(path_base(word), "awf-run") == 0;
		free(word);
	}
	if (*start != '\0' && !own) {
		rest = start + strcspn(start, SPACE);
		*interpreter = memory_copy(start, (size_t)(rest - start));
		rest += strspn(rest, SPACE);
		if (*rest != '\0')
			*argument = memory_text(rest);
	}
	free(line);
}

#define IGNORE_ENV "ignore-env:"
#define KEEP_ENV "env:"
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
#define FOR_OTHERS 3 /* settings from here on are not for awf-run */

static int
set_directory(struct workflow *w, const char *path, struct error *err)
{
	char *absolute = realpath(path, NULL);

	if (absolute == NULL)
		return error_errno(err, ERROR_SYSTEM, path, "unable to find this directory");
	w->directory = absolute;
	return 0;
}

/* Takes the words after "# awf: ignore-env:", "# awf: env:" or "# awf: resume:". */
static int
workflow_take_setting(struct workflow *w, const char *path, const char *setting, char *words,
    struct error *err)
{
	int failed = 0;
	char *word;

	while (failed == 0 && (word = strsep(&words, SPACE ",\r")) != NULL) {
		if (*word == '\0')
			continue;
		if (strcmp(setting, IGNORE_ENV) == 0)
			failed = marks_ignore(&w->ignored, word, ERROR_DEFINITION, path, err);
		else if (strcmp(setting, KEEP_ENV) == 0 && environment_name_valid(word, strlen(word)))
			list_add(&w->kept, word);
		else if (strcmp(setting, KEEP_ENV) == 0)
			failed = error_set(err, ERROR_DEFINITION, path, "# awf: env: '%s' is not a variable's name",
			    word);
		else if (strcmp(word, RESUME_AUTO) == 0)
			w->by_itself = true;
		else
			failed = error_set(err, ERROR_DEFINITION, path, "# awf: resume: '%s' is not known: the only value is "
			    "auto", word);
	}
	return failed;
}

/* Notes that a line with this rest after "# awf:" means nothing, if it looks like a setting. */
static void
workflow_doubt(struct workflow *w, const char *path, int number, const char *rest, const char *end)
{
	/* description and input are for awf-mcp. */
	static const char *const known[] = { "ignore-env", "env", "resume", "description", "input", NULL };
	size_t len = strspn(rest, NAME_BYTES), blanks = strspn(rest + len, SPACE);
	const char *after = rest + len + blanks, *meant;
	const bool colon = after < end && *after == ':';
	char *word = memory_copy(rest, len);

	if (len > 0 && after <= end && (colon || text_index(word, known) != -1)) {
		meant = text_index(word, known) != -1 ? word : text_suggest(word, known);
		list_take(&w->doubts, meant != NULL ?
		    memory_format("%s:%d: warning: '# awf: %s' means nothing (did you mean '%s:'?)", path, number,
		    word, meant) :
		    memory_format("%s:%d: warning: '# awf: %s' means nothing (known are ignore-env, env, resume, "
		    "description and input)", path, number, word));
	}
	free(word);
}

/* Reads the leading comment lines only. */
static int
workflow_read_settings(struct workflow *w, const char *path, const char *text, struct error *err)
{
	static const char *const settings[] = { IGNORE_ENV, KEEP_ENV, "resume:", "description:", "input:" };
	const char *line;
	int failed = 0, number = 0;
	size_t len;

	while (failed == 0 && (line = text_part(&text, '\n', &len)) != NULL) {
		const char *rest = line + strspn(line, SPACE "\r"), *end = line + len;
		bool known = false;

		number++;
		if (rest >= end)
			continue;
		if (*rest++ != '#')
			break;
		rest += strspn(rest, SPACE);
		if (strncmp(rest, "awf:", 4) != 0)
			continue;
		rest += 4;
		rest += strspn(rest, SPACE);
		for (size_t i = 0; i < sizeof settings / sizeof *settings && failed == 0; i++) {
			size_t word = strlen(settings[i]);
			char *words;

			if (strncmp(rest, settings[i], word) != 0 || rest + word > end)
				continue;
			known = true;
			if (i >= FOR_OTHERS)
				continue;
			words = memory_copy(rest + word, (size_t)(end - rest) - word);
			failed = workflow_take_setting(w, path, settings[i], words, err);
			free(words);
		}
		if (!known)
			workflow_doubt(w, path, number, rest, end);
	}
	return failed;
}

static int
run_script(struct workflow *w, const char *path, const struct buffer *script, char *const *words,
    const char *shell, struct error *err)
{
	const char *text = buffer_string(script), *end = memchr(text, '\n', script->len);
	size_t first = end != NULL ? (size_t)(end - text) : script->len;
	char *interpreter = NULL, *argument = NULL, *parent = path_directory(path);
	int failed = set_directory(w, parent, err);

	if (memchr(text, '\0', first) != NULL) { /* a binary */
		set_argv(w, (const char *[]){ NULL, NULL, path }, words + 1);
		w->script = 0;
	} else {
		if (first > 2 && memcmp(text, "#!", 2) == 0)
			read_interpreter(text + 2, first - 2, &interpreter, &argument);
		digest_sha256(script->data, script->len, w->sha256);
		set_argv(w, (const char *[]){ interpreter != NULL ? interpreter : shell, argument, path },
		    words + 1);
		w->script = argument != NULL ? 2 : 1;
		if (failed == 0)
			failed = workflow_read_settings(w, path, text, err);
	}
	free(parent);
	free(interpreter);
	free(argument);
	return failed;
}

/* Whether name is a file to execute or read; otherwise it is looked up in PATH. */
static bool
is_file(const char *name)
{
	struct stat status;

	return strchr(name, '/') != NULL ||
	    (stat(name, &status) == 0 && S_ISREG(status.st_mode) && access(name, R_OK) == 0);
}

/* An agent or tool definition, which a shell would read as a script. */
static bool
is_definition(const char *name, const char *suffix)
{
	struct stat status;

	return text_ends(name, suffix) && stat(name, &status) == 0 && S_ISREG(status.st_mode) &&
	    (status.st_mode & 0111) == 0;
}

/* The file that a name means: relative to the current directory, or to `around`; NULL if
 * PATH decides. */
static char *
find_file(struct workflow *w, const char *name, const char *around)
{
	const char *list = getenv("PATH");
	bool slash = strchr(name, '/') != NULL;
	char *path, *found;

	if (is_file(name) && (!slash || *name == '/' || around == NULL || access(name, F_OK) == 0))
		/* Without a slash the shell might search PATH for it. */
		return slash ? memory_text(name) : path_join(".", name);
	if (around == NULL)
		return NULL;
	path = path_join(around, name);
	if (access(path, F_OK) == 0 && is_file(path)) {
		found = slash || list == NULL ? NULL : path_search(list, name);
		if (found == NULL)
			return path;
		free(found);
	}
	free(path);
	w->elsewhere = true;
	return slash ? memory_text(name) : NULL;
}

int
workflow_find(struct workflow *w, char *const *words, const char *shell, const char *around,
    struct error *err)
{
	const char *lead[3] = { NULL, NULL, NULL };
	struct buffer script = BUFFER_INIT;
	struct stat status = { .st_mode = 0 };
	char *path;
	int failed;

	memset(w, 0, sizeof *w);
	w->script = -1;
	w->name = memory_text(path_base(words[0]));
	if (*words[0] == '\0')
		return error_set(err, ERROR_USAGE, NULL, "the name of the workflow is empty");
	if (is_definition(words[0], AGENT_SUFFIX))
		return error_set(err, ERROR_USAGE, words[0],
		    "is an agent, or another text, and no workflow: awf-step -a %s NAME runs an agent", words[0]);
	if (is_definition(words[0], TOOL_SUFFIX))
		return error_set(err, ERROR_USAGE, words[0],
		    "is a tool, and no workflow: awf-step -t %.*s NAME calls it",
		    (int)(strlen(w->name) - strlen(TOOL_SUFFIX)), w->name);
	path = find_file(w, words[0], around);
	if (path == NULL) {
		set_argv(w, lead, words);
		return set_directory(w, ".", err);
	}
	if (stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	    file_load(path, SCRIPT_LIMIT, &script, NULL) == 0) {
		failed = run_script(w, path, &script, words, shell, err);
	} else {
		/* A stream such as <(…) is read by the shell; a file that cannot be read may still
		 * be executable. */
		bool stream = status.st_mode != 0 && !S_ISREG(status.st_mode) &&
		    !S_ISDIR(status.st_mode);

		lead[0] = stream ? shell : NULL;
		lead[2] = path;
		set_argv(w, lead, words + 1);
		w->script = stream ? 1 : 0;
		failed = set_directory(w, ".", err);
	}
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
workflow_make_path_absolute(char **path, const char *here)
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
		workflow_make_path_absolute(&w->argv[0], here);
	if (w->script >= 0)
		workflow_make_path_absolute(&w->argv[w->script], here);
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

/* Finds the script in the recorded directory: it is one of the first three words (an interpreter
 * and its argument may precede it), followed by its arguments. A word that gives the same command
 * line as recorded is preferred to one that now has another interpreter. */
static bool
find_script(struct workflow *w, const struct workflow *recorded)
{
	size_t count = list_count(recorded->argv);
	struct error ignored;

	for (int exactly = 1; exactly >= 0; exactly--) {
		for (size_t word = 0; word < 3 && word < count; word++) {
			/* the shell to use for a script without an interpreter */
			const char *shell = word > 0 ? recorded->argv[0] : "/bin/sh";

			if (workflow_find(w, recorded->argv + word, shell, NULL, &ignored) == 0 &&
			    w->sha256[0] != '\0' && strcmp(w->directory, recorded->directory) == 0 &&
			    (exactly == 0 || same_argv(w->argv, recorded->argv)))
				return true;
			workflow_free(w);
		}
	}
	return false;
}

int
workflow_again(struct workflow *w, const struct workflow *recorded, struct error *err)
{
	const char *nothing[3] = { NULL, NULL, NULL };
	char **argv = recorded->argv, sha256[DIGEST_SIZE];

	/* A program is executed as recorded; so is a pipeline, which is recognized by
	 * its digest. */
	if (recorded->sha256[0] == '\0' || (list_count(argv) > 3 && strcmp(argv[1], "-c") == 0 &&
	    strcmp(digest_sha256(argv[2], strlen(argv[2]), sha256), recorded->sha256) == 0)) {
		memset(w, 0, sizeof *w);
		set_argv(w, nothing, argv);
		w->directory = memory_text(recorded->directory);
		memcpy(w->sha256, recorded->sha256, sizeof w->sha256);
	} else if (!find_script(w, recorded)) {
		struct buffer words = BUFFER_INIT;

		for (char **word = argv; *word != NULL; word++)
			buffer_format(&words, "%s%s", words.len > 0 ? " " : "", *word);
		error_set(err, ERROR_USAGE, recorded->directory,
		    "the script of its command line does not exist any more: "
		    "%s", buffer_string(&words));
		buffer_free(&words);
		return -1;
	}
	free(w->name);
	w->name = memory_text(recorded->name);
	return 0;
}

void
workflow_warn(const struct workflow *w)
{
	for (char *const *doubt = w->doubts; doubt != NULL && *doubt != NULL; doubt++)
		message_print("awf-run", "%s", *doubt);
}

void
workflow_free(struct workflow *w)
{
	list_free(w->argv);
	list_free(w->ignored);
	list_free(w->kept);
	free(w->name);
	free(w->directory);
	list_free(w->doubts);
	memset(w, 0, sizeof *w);
}
