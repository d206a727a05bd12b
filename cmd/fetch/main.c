/*
 * awf-fetch-run: keeps a copy of a run on an awf-serve, for programs that read files. The copy is
 * in a directory of its own, which is laid out as a storage and removed when this program ends:
 * when its stdin is closed, so also when the process that started it dies.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../program.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "fetched.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/polling.h"
#include "latest.h"
#include "say.h"

#define PROGRAM "awf-fetch-run"
#define DAMAGED_MOST 100 /* damaged lines among the last ones that are allowed for */

enum { OPT_FOLLOW = 1, OPT_FOREVER, OPT_CHILDREN, OPT_ORIGINS, OPT_BLOBS, OPT_INPUT, OPT_AFTER,
	OPT_LAST };

static const struct option_spec options_table[] = {
	{ OPT_FOLLOW, 'f', "follow", NULL, "follow the run to its end",
	    OPTION_INTO_FLAG(struct fetch, follow) },
	{ OPT_FOREVER, 'F', "follow-latest", NULL, "and with each run that becomes the latest, for ever",
	    OPTION_INTO_FLAG(struct fetch, forever) },
	{ OPT_CHILDREN, 'R', "children", NULL, "child runs, too",
	    OPTION_INTO_FLAG(struct fetch, children) },
	{ OPT_ORIGINS, 0, "origins", NULL, "the run that a fork began with, too",
	    OPTION_INTO_FLAG(struct fetch, origins) },
	{ OPT_BLOBS, 0, "blobs", NULL, "the blobs that lines name, too",
	    OPTION_INTO_FLAG(struct fetch, blobs) },
	{ OPT_INPUT, 0, "input", NULL, "what the run was given on standard input, too",
	    OPTION_INTO_FLAG(struct fetch, input) },
	{ OPT_AFTER, 0, "after", "SEQ", "leave out events up to this number",
	    OPTION_INTO_NUMBER(struct fetch, after, 0, INT64_MAX) },
	{ OPT_LAST, 0, "last", "N", "leave out most of what precedes the last N events",
	    OPTION_INTO_NUMBER(struct fetch, last, 0, INT32_MAX) },
	{ 0, 0, NULL, NULL, NULL },
};
static const char usage[] = PROGRAM " [options] URL";

#define SAID(id) OPTION_SAID(id)
static const struct option_rule rules[] = {
	{ SAID(OPT_FOLLOW) | SAID(OPT_FOREVER), SAID(OPT_AFTER) | SAID(OPT_LAST), 0, "not with --after or --last" },
};

/* Returns 0, the id of --help or --version, or -1. */
static int
fetch_read_options(struct fetch *f, const char **url, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, options_table, argc, argv);
	options_bind(&o, f);
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (id == -1 || OPTION_ASKS(id))
			return id;
		if (*url != NULL)
			return error_set(err, ERROR_USAGE, o.value, "only one run at a time");
		*url = o.value;
	}
	f->follow |= f->forever;
	f->children |= f->origins;
	if (options_check(&o, rules, sizeof rules / sizeof *rules, err) != 0)
		return -1;
	return *url != NULL ? 0 : error_set(err, ERROR_USAGE, NULL, "the URL of a run is missing");
}

static int
make_directory(struct fetch *f, struct error *err)
{
	static const char *const parts[] = { "transcripts", "blobs", "inputs", "runs" };
	const char *temporary = environment_text("TMPDIR");
	char *path = path_join(temporary != NULL ? temporary : "/tmp", "awf-run.XXXXXX");

	if (mkdtemp(path) == NULL) {
		error_errno(err, ERROR_SYSTEM, path, "unable to make a directory for the copy (TMPDIR "
		    "says where)");
		free(path);
		return -1;
	}
	f->directory = path;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		char *part = path_join(path, parts[i]);
		int failed = mkdir(part, 0700);

		if (failed != 0)
			error_errno(err, ERROR_SYSTEM, part, "unable to make a directory for the copy");
		free(part);
		if (failed != 0)
			return -1;
	}
	return 0;
}

/* Begins with the requested run, or with the latest. */
static int
fetch_begin_run(struct fetch *f, struct latest *latest, struct error *err)
{
	char run_id[ID_SIZE];
	int64_t seq = 0, least;
	bool alive = false;

	if (f->forever && strcmp(f->server.run, "@") != 0)
		return error_set(err, ERROR_USAGE, "-F", "only with the latest run, /runs/@");
	if (make_directory(f, err) != 0)
		return -1;
	f->http = http_open(err);
	if (f->http == NULL)
		return -1;
	if (f->forever ? latest_open(latest, f, err) != 0 :
	    fetch_ask(f, f->server.run, run_id, &alive, &seq, err) != ANSWERED)
		return -1;
	/* Damaged lines do not count as events: allow for some. */
	least = f->last >= 0 ? seq - 2 * f->last - DAMAGED_MOST : 0;
	if (least > f->after)
		f->after = least;
	fetch_report_copy(f->directory, f->server.base);
	return f->forever || fetch_add(f, run_id, alive, NULL, err) != NULL ? 0 : -1;
}

/* Until nobody needs the copy any more. */
static int
fetch_keep_copy_current(struct fetch *f, struct latest *latest, struct error *err)
{
	bool ready = false;

	while (server_wanted()) {
		int64_t patience;

		if (fetch_round(f, err) != 0 || (latest->fetch != NULL && latest_round(latest, err) != 0))
			return -1;
		if (!ready && fetch_loaded(f)) {
			ready = true;
			fetch_report_ready(f->count > 0 ? f->runs[0]->run_id : NULL, f->after);
		}
		patience = fetch_patience(f);
		if (latest->fetch != NULL && latest_patience(latest) < patience)
			patience = latest_patience(latest);
		if (http_wait(f->http, &(struct pollfd){ STDIN_FILENO, POLLIN, 0 }, 1, patience, err) != 0)
			return -1;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct fetch f = { .follow = false, .last = -1 };
	struct latest latest = { .fetch = NULL };
	struct error err = ERROR_INIT;
	const char *url = NULL;
	int status = STATUS_OK;

	program_begin();
	switch (fetch_read_options(&f, &url, argc, argv, &err)) {
	case -1:
		return program_fail(PROGRAM, &err);
	case OPTION_HELP:
		options_help(stdout, usage, options_table, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	}
	program_ends_with_stdin();
	if (server_open(&f.server, url, &err) != 0 || fetch_begin_run(&f, &latest, &err) != 0 ||
	    fetch_keep_copy_current(&f, &latest, &err) != 0) {
		if (err.code != ERROR_CANCELLED)
			fetch_report_error(&err);
		status = error_status(err.code);
		/* Keep the copy, which may still be read. */
		while ((f.count > 0 || latest.fetch != NULL) && server_wanted())
			poll_one(STDIN_FILENO, POLLIN, 0);
	}
	latest_close(&latest);
	fetch_end(&f);
	if (f.directory != NULL)
		copytree_remove(f.directory, NULL);
	free(f.directory);
	return status;
}
