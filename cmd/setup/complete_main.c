/*
 * awf-complete, started by `awf complete`: prints the words that shell completions offer and
 * cannot know: runs, the steps of a run, agents, providers, models and so on. One per line,
 * followed by a tab and a description; words with control characters are left out, since the
 * output goes to a terminal.
 *
 * It is executed at each press of Tab, so it must take only milliseconds: it examines the most
 * recently changed runs, and only part of a transcript. What cannot be read is not offered,
 * without an error.
 *
 * A table lists the kinds of words and the function for each. Runs are listed by the names and
 * times of their transcripts; the first line is read only for those that are offered.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/model_alias.h"
#include "model/model.h"
#include "model/summary.h"
#include "program.h"
#include "projection/projection_names.h"
#include "providers/provider_find.h"
#include "setup/doctor.h"
#include "storage/storage.h"
#include "transcript/event.h"

#define PROGRAM "awf"
#define RUNS_MOST 30           /* most runs that are offered */
#define READ_MOST 120          /* most runs that are examined, by the time of their last change */
#define READ_MOST_MS 30        /* most time to read a transcript */
#define LINES_BETWEEN 64       /* lines that are read between two looks at the clock */
#define SHORT_ID 8             /* as in storage_short_id() */

/* Prints a candidate unless it has control characters; what: its description, may be NULL. */
static void
complete_print_candidate(const char *value, const char *what)
{
	struct buffer line = BUFFER_INIT;

	text_visible(&line, value, strlen(value), 0);
	if (line.len != strlen(value)) {
		buffer_free(&line);
		return;
	}
	if (what != NULL) {
		buffer_byte(&line, '\t');
		text_visible(&line, what, strlen(what), 0);
	}
	puts(buffer_string(&line));
	buffer_free(&line);
}

static void
offer_all(const char *const *words)
{
	while (*words != NULL)
		complete_print_candidate(*words++, NULL);
}

/* ---- runs ---- */

struct candidate {
	char run_id[ID_SIZE];
	struct timespec changed;
};

static int
by_change(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec < y->changed.tv_sec ? 1 : -1;
	return x->changed.tv_nsec < y->changed.tv_nsec ? 1 : x->changed.tv_nsec > y->changed.tv_nsec ? -1 : 0;
}

/* All runs of the storage, the most recently changed first. */
static struct candidate *
list_candidates(const struct storage *s, size_t *count)
{
	struct candidate *list = NULL;
	const struct dirent *entry;
	struct error ignored;
	struct stat status;
	DIR *directory;

	*count = 0;
	if (storage_names(s, "transcripts", &directory, &ignored) != 0 || directory == NULL)
		return NULL;
	while ((entry = readdir(directory)) != NULL) {
		if (strlen(entry->d_name) < ID_SIZE || !id_valid(entry->d_name, ID_SIZE - 1) ||
		    strcmp(entry->d_name + ID_SIZE - 1, ".jsonl") != 0 ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		list = memory_array(list, *count + 1, sizeof *list);
		memcpy(list[*count].run_id, entry->d_name, ID_SIZE - 1);
		list[*count].run_id[ID_SIZE - 1] = '\0';
		list[(*count)++].changed = status.st_mtim;
	}
	closedir(directory);
	if (list != NULL)
		qsort(list, *count, sizeof *list, by_change);
	return list;
}

/* The shortest unique prefix of an id. */
static void
complete_shorten_run_id(const struct candidate *list, size_t count, const char *run_id,
    char out[ID_SIZE])
{
	size_t len = SHORT_ID;

	for (size_t i = 0; i < count; i++)
		while (len < ID_SIZE - 1 && strcmp(list[i].run_id, run_id) != 0 &&
		    strncmp(list[i].run_id, run_id, len) == 0)
			len++;
	memcpy(out, run_id, len);
	out[len] = '\0';
}

/* Offers the runs that changed last as "@", by workflow name and by id; status: only runs with that
 * status. names: only workflow names. */
static void
offer_runs(const char *status, bool names)
{
	struct storage storage;
	struct error ignored;
	struct candidate *list;
	char **seen = memory_zero(1, sizeof *seen);
	size_t count, offered = 0;
	struct run_ref latest;

	if (storage_locate(&storage, &ignored) != 0) {
		list_free(seen);
		return;
	}
	storage_resolve(&storage, NULL, &latest, &ignored);
	list = list_candidates(&storage, &count);
	for (size_t i = 0; i < count && i < READ_MOST && offered < RUNS_MOST; i++) {
		char *path = storage_transcript(&storage, list[i].run_id), id[ID_SIZE];
		struct summary summary;

		if (summary_read_ends(&summary, path, &ignored) == 0) {
			bool fits = status == NULL || strcmp(summary.status, status) == 0;
			char *what = memory_format("%s, %s", summary.name, summary.status);

			offered += fits;
			if (fits && !names && strcmp(list[i].run_id, latest.run_id) == 0)
				complete_print_candidate("@", what);
			if (fits && *summary.name != '\0' && !list_has(seen, summary.name)) {
				char *name = memory_format("@%s", summary.name);

				complete_print_candidate(names ? summary.name : name,
				    summary.status);
				list_add(&seen, summary.name);
				free(name);
			}
			if (fits && !names) {
				complete_shorten_run_id(list, count, list[i].run_id, id);
				complete_print_candidate(id, what);
			}
			free(what);
			summary_free(&summary);
		}
		free(path);
	}
	free(list);
	list_free(seen);
	run_ref_free(&latest);
	storage_close(&storage);
}

static void
complete_runs(const char *status)
{
	offer_runs(status, false);
}

static void
complete_names(const char *ignored)
{
	(void)ignored;
	offer_runs(NULL, true);
}

/* ---- calls of a run ---- */

/* Reads a transcript as far as the time allows. False if there is no such run. */
static bool
complete_read_run(const char *run, struct model *m)
{
	const int64_t until = clock_monotonic() + READ_MOST_MS;
	struct storage storage;
	struct event_view event;
	struct placed placed;
	struct error ignored;
	struct run_ref ref;
	struct reader r;
	const char *line;
	size_t len;
	bool found;

	if (storage_locate(&storage, &ignored) != 0)
		return false;
	found = storage_resolve(&storage, run, &ref, &ignored) == 0;
	if (found && reader_open(&r, ref.path, &ignored) == 0) {
		model_begin(m, MODEL_LIVE);
		for (unsigned long number = 1; reader_next(&r, &line, &len, &ignored) == 1; number++) {
			model_line(m, line, len, (struct event_place){ r.line_start, (uint32_t)len }, &event,
			    &placed);
			if (number % LINES_BETWEEN == 0 && clock_monotonic() > until)
				break;
		}
		reader_close(&r);
	} else {
		found = false;
	}
	run_ref_free(&ref);
	storage_close(&storage);
	return found;
}

/* Offers the paths of a run's steps; if no run is named, of the latest. */
static void
complete_steps(const char *run)
{
	char **seen = memory_zero(1, sizeof *seen);
	struct model m;

	if (complete_read_run(run, &m)) {
		for (size_t i = 0; i < m.step_count; i++)
			if (m.steps[i]->path != NULL && *m.steps[i]->path != '\0' &&
			    !list_has(seen, m.steps[i]->path)) {
				complete_print_candidate(m.steps[i]->path, m.steps[i]->kind);
				list_add(&seen, m.steps[i]->path);
			}
		model_free(&m);
	}
	list_free(seen);
}

/* Offers the calls of a run that wait for a person. */
static void
complete_waiting(const char *run)
{
	char **seen = memory_zero(1, sizeof *seen);
	struct model m;

	if (complete_read_run(run, &m)) {
		for (size_t i = 0; i < m.waits.count; i++) {
			const struct waiting *w = &m.waits.list[i];
			bool twice = list_has(seen, w->path);

			/* Offer the path of the step, or the call if several calls of the step
			 * wait. */
			if (!w->over)
				complete_print_candidate(twice ? w->call : w->path,
				    waiting_word(w->what));
			if (!w->over && !twice)
				list_add(&seen, w->path);
		}
		model_free(&m);
	}
	list_free(seen);
}

/* ---- other kinds ---- */

static void
offer_list(char **list)
{
	offer_all((const char *const *)(uintptr_t)list);
	list_free(list);
}

static void
complete_agents(const char *ignored)
{
	(void)ignored;
	offer_list(definitions_found(FINDING_AGENTS));
}

static void
complete_tools(const char *ignored)
{
	(void)ignored;
	offer_list(definitions_found(FINDING_TOOLS));
}

static void
complete_providers(const char *ignored)
{
	(void)ignored;
	offer_list(provider_list_all());
}

/* Offers model aliases; and providers followed by a slash, after which the user types a model. */
static void
complete_models(const char *ignored)
{
	char **providers = provider_list_all();

	(void)ignored;
	offer_list(model_names());
	for (char **name = providers; *name != NULL; name++) {
		char *begin = memory_format("%s/", *name);

		complete_print_candidate(begin, NULL);
		free(begin);
	}
	list_free(providers);
}

static void
complete_projections(const char *ignored)
{
	(void)ignored;
	offer_all(projection_names());
}

static void
complete_types(const char *ignored)
{
	(void)ignored;
	for (int type = 0; type < EVENT_TYPES; type++)
		complete_print_candidate(event_type_name((enum event_type)type), NULL);
}

int
main(int argc, char **argv)
{
	char *const *words = argv + (argc > 0);
	static const struct kind {
		const char *name;
		bool of;         /* the kind has an argument */
		void (*complete)(const char *of);
	} kinds[] = {
		{ "runs", true, complete_runs },
		{ "names", false, complete_names },
		{ "steps", true, complete_steps },
		{ "waiting", true, complete_waiting },
		{ "agents", false, complete_agents },
		{ "tools", false, complete_tools },
		{ "providers", false, complete_providers },
		{ "models", false, complete_models },
		{ "projections", false, complete_projections },
		{ "types", false, complete_types },
	};
	const char *names[sizeof kinds / sizeof *kinds + 1] = { NULL };
	struct error err = ERROR_INIT;
	int kind = -1;

	program_begin();
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		names[i] = kinds[i].name;
	if (words[0] != NULL && strcmp(words[0], "--version") == 0)
		return program_end(PROGRAM, program_version("awf-complete"));
	if (words[0] != NULL && (strcmp(words[0], "-h") == 0 ||
	    strcmp(words[0], "--help") == 0 || strcmp(words[0], "--help=all") == 0)) {
		printf("usage: awf complete KIND [OF]\n\n"
		    "Prints what a shell can complete, a line for each. Kinds:\n\n");
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
			printf("  %s%s\n", names[i], kinds[i].of ? " [OF]" : "");
		return program_end(PROGRAM, STATUS_OK);
	}
	if (words[0] == NULL)
		error_set(&err, ERROR_USAGE, "complete", "no kind given: awf complete KIND [OF]");
	else if ((kind = text_index(words[0], names)) == -1)
		error_set(&err, ERROR_USAGE, words[0], "is nothing that can be completed");
	else if (words[1] != NULL && (!kinds[kind].of || words[2] != NULL))
		error_set(&err, ERROR_USAGE, words[kinds[kind].of ? 2 : 1], "is one word too many");
	if (err.code != ERROR_NONE)
		return program_fail(PROGRAM, &err);
	kinds[kind].complete(words[1] != NULL && *words[1] != '\0' ? words[1] : NULL);
	return program_end(PROGRAM, STATUS_OK);
}
