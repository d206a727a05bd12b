/*
 * The variables that a shell script reads are those that its text names as $NAME or ${NAME}. A variable
 * that only the script sets is unset in both environments, so it makes no difference. API keys are not
 * compared: a resume uses those of the user or service that resumes.
 */
#include "run_resume/unattended.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "decide/due.h"
#include "io/file.h"
#include "proc/provider_variables.h"
#include "run_resume/changed_files.h"
#include "start/input.h"
#include "storage/call_marks.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define SCRIPT_MOST ((size_t)4 << 20)
#define NAME_SIZE 128

int
unattended_begin(const struct resume *r, struct error *err)
{
	if (!r->by_itself)
		return error_set(err, ERROR_BLOCKED, r->run_id, "may not be resumed automatically: it "
		    "was started without --auto-resume, and has no line # awf: resume: auto");
	for (char **variable = r->settings.values; variable != NULL && *variable != NULL; variable++) {
		char *name = memory_copy(*variable, strcspn(*variable, "="));

		if (strncmp(name, "AWF_", 4) != 0)
			setenv(name, *variable + strlen(name) + 1, 1);
		free(name);
	}
	return 0;
}

static void
unattended_add_name(const char *at, size_t len, char ***names)
{
	char name[NAME_SIZE];

	if (len == 0 || len >= sizeof name || isdigit((unsigned char)*at))
		return;
	memcpy(name, at, len);
	name[len] = '\0';
	if (!list_has(*names, name))
		list_add(names, name);
}

/* Adds the names in the arithmetic of a shell, $((N + 1)). */
static void
unattended_find_arithmetic(const char *text, char ***names)
{
	while ((text = strstr(text, "$((")) != NULL) {
		const char *end = strstr(text, "))");

		for (text += 3; end != NULL && text < end; text++) {
			size_t len = 0;

			while (isalnum((unsigned char)text[len]) || text[len] == '_')
				len++;
			unattended_add_name(text, len, names);
			text += len;
		}
	}
}

/* Adds the names after each $ in a text. */
static void
unattended_find_names(const char *text, char ***names)
{
	unattended_find_arithmetic(text, names);
	while ((text = strchr(text, '$')) != NULL) {
		size_t len = 0;

		text += text[1] == '{' ? 2 : 1;
		while (isalnum((unsigned char)text[len]) || text[len] == '_')
			len++;
		unattended_add_name(text, len, names);
	}
}

static bool
is_key(const char *name)
{
	for (const char *const *key = provider_key_names(); *key != NULL; key++)
		if (strcmp(*key, name) == 0)
			return true;
	return false;
}

/* Finds the first variable of the workflow's text that has another value now; NULL: there is none.
 * To be freed by the caller. */
static char *
unattended_find_other(const struct resume *r, const struct storage *s)
{
	unsigned char key[MARKS_KEY_BYTES];
	struct buffer text = BUFFER_INIT;
	struct error ignored = ERROR_INIT;
	char **names = memory_zero(1, sizeof *names), *other = NULL;

	if (r->script != NULL)
		file_load(r->script, SCRIPT_MOST, &text, &ignored);
	/* Scripts of child runs and of commands, and what they source. */
	for (size_t i = 0; i < r->words.files.count; i++) {
		struct buffer other_text = BUFFER_INIT;

		if (file_load(r->words.files.list[i].path, SCRIPT_MOST, &other_text, &ignored) == 0 &&
		    memchr(buffer_string(&other_text), '\0', other_text.len) == NULL)
			buffer_format(&text, "\n%s", buffer_string(&other_text));
		buffer_free(&other_text);
	}
	for (char **word = r->recorded.argv; word != NULL && *word != NULL; word++)
		buffer_format(&text, "\n%s", *word);
	unattended_find_names(buffer_string(&text), &names);
	if (*names != NULL && marks_key(s->root, false, key, &ignored) == 1)
		for (char **name = names; *name != NULL && other == NULL; name++)
			if (!marks_name_listed(*name, strlen(*name)) && !is_key(*name) &&
			    !list_has(r->settings.ignored, *name) &&
			    marks_start_agrees(key, r->settings.start, *name) == 0)
				other = memory_text(*name);
	list_free(names);
	buffer_free(&text);
	return other;
}

/* Whether the standard input of the run was not read to its end: the rest is not in the storage. */
static bool
unattended_lacks_input(const struct resume *r, const struct storage *s)
{
	char *path = storage_input(s, r->run_id), *part = memory_format("%s" INPUT_PART, path);
	bool lacks = access(part, F_OK) == 0 && access(path, F_OK) != 0;

	free(part);
	free(path);
	return lacks;
}

/* Reads the options of the latest attempt. */
static int
unattended_read_options(struct resume *r, struct error *err)
{
	struct event_view event;
	struct event_head head;
	struct reader reader;
	const char *line;
	size_t len;
	int got;

	if (reader_open(&reader, r->path, err) != 0)
		return -1;
	while ((got = reader_next(&reader, &line, &len, err)) == 1) {
		struct span options;

		if (event_peek(line, len, &head) != 0 || head.type != EVENT_RUN_STARTED || event_view(line, len, &event) != 0)
			continue;
		options = span_member(event.payload, KEY_OPTIONS);
		free(r->settings.max_cost);
		free(r->settings.on_complete);
		free(r->settings.on_failure);
		r->settings.max_cost = span_text(span_member(options, KEY_MAX_COST));
		r->settings.on_complete = span_text(span_member(options, KEY_ON_COMPLETE));
		r->settings.on_failure = span_text(span_member(options, KEY_ON_FAILURE));
		r->settings.timeout_ms = 0;
		span_integer(span_member(options, KEY_TIMEOUT_MS), &r->settings.timeout_ms);
	}
	reader_close(&reader);
	return got == -1 ? -1 : 0;
}

int
unattended_check(struct resume *r, const struct storage *s, struct error *err)
{
	struct buffer changed = BUFFER_INIT;
	struct due due;
	char *other;
	int failed;

	if (due_read(&due, s, r->run_id, true, err) != 0 || unattended_read_options(r, err) != 0)
		return -1;
	changed_files_tell(r, false, "awf-run", &changed);
	other = unattended_find_other(r, s);
	if (!due.ready) {
		failed = error_set(err, ERROR_WAITING, r->run_id, "what it waits for has not come yet");
	} else if (unattended_lacks_input(r, s)) {
		failed = error_set(err, ERROR_BLOCKED, r->run_id, "is not resumed automatically, as its standard "
		    "input was not read to its end: give it again to awf-run --resume %.8s", r->run_id);
	} else if (changed.len > 0) {
		failed = error_set(err, ERROR_BLOCKED, r->run_id, "is not resumed automatically, as files that it is "
		    "made of have changed: awf-run --resume %.8s", r->run_id);
	} else if (other != NULL) {
		failed = error_set(err, ERROR_BLOCKED, r->run_id, "is not resumed automatically, as its workflow reads "
		    "%s, which has another value here: declare it (# awf: env: %s), or awf-run --resume %.8s",
		    other, other, r->run_id);
	} else {
		failed = 0;
	}
	free(other);
	buffer_free(&changed);
	return failed;
}
