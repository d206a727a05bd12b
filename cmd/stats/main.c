/*
 * awf-stats, started by awf-tail --stats and `awf stats`: figures of the runs in the storage, by
 * workflow, step, tool or model.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "io/terminal.h"
#include "program.h"
#include "stats/figures.h"
#include "storage/storage.h"

#define PROGRAM "awf-stats"

enum { OPT_BY = 1, OPT_SINCE, OPT_JSON };

struct request {
	enum figures_by by;
	int64_t since;
	bool json;
};

static const struct option_spec options[] = {
	{ OPT_BY, 0, "by", "WHAT", "workflow (default), step, tool or model",
	    OPTION_INTO_WORD(struct request, by, figures_by_words, BY_WORKFLOW) },
	{ OPT_SINCE, 0, "since", "TIME", "of what ended since a time or an age such as 7d",
	    OPTION_INTO_TIME(struct request, since) },
	{ OPT_JSON, 0, "json", NULL, "a JSON object in each line", OPTION_INTO_FLAG(struct request, json) },
	{ OPTION_END, 0, NULL, NULL, NULL },
};

static int
stats_read_runs(const struct storage *storage, struct figures *f, struct error *err)
{
	struct run_entry *entries = NULL;
	size_t count = 0;
	int failed = storage_list(storage, &entries, &count, err);

	for (size_t i = 0; failed == 0 && i < count; i++) {
		char *path = storage_transcript(storage, entries[i].run_id);
		struct error unreadable;

		/* One that was removed meanwhile, and what is damaged of one, is left out, and told. */
		if (figures_add_run(f, path, &unreadable) != 0)
			program_fail(PROGRAM, &unreadable);
		free(path);
	}
	free(entries);
	return failed;
}

int
main(int argc, char **argv)
{
	struct request r = { .by = BY_WORKFLOW };
	struct storage storage = { .root = NULL };
	struct error err = ERROR_INIT;
	struct buffer out = BUFFER_INIT, seen = BUFFER_INIT;
	struct figures f;
	struct options o;
	int id, failed;

	program_begin();
	options_begin(&o, options, argc, argv);
	options_bind(&o, &r);
	id = options_next(&o, &err);
	if (id == OPTION_HELP) {
		options_help(stdout, "awf stats [options]\nawf-tail --stats [options]\n", options, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id == OPTION_VERSION)
		return program_end(PROGRAM, program_version(PROGRAM));
	if (id == OPTION_WORD)
		error_set(&err, ERROR_USAGE, o.value, "unexpected argument");
	if (id != OPTION_END)
		return program_fail(PROGRAM, &err);
	failed = figures_begin(&f, r.by, r.since, &err) != 0 || storage_locate(&storage, &err) != 0 ||
	    stats_read_runs(&storage, &f, &err) != 0;
	if (!failed) {
		figures_sort(&f);
		if (r.json)
			figures_json(&f, &out);
		else
			figures_text(&f, &out);
		if (r.json && terminal_is(STDOUT_FILENO))
			terminal_json(&seen, buffer_string(&out), out.len);
		else
			buffer_append(&seen, out.data, out.len);
		fwrite(buffer_string(&seen), 1, seen.len, stdout);
	}
	buffer_free(&seen);
	buffer_free(&out);
	figures_free(&f);
	storage_close(&storage);
	return program_end(PROGRAM, failed ? program_fail(PROGRAM, &err) : STATUS_OK);
}
