/*
 * The run first, then its children one after another, and theirs: each run once, kept in a
 * map. A child that no replay can repeat (it was cancelled, timed out or never ended) is a
 * warning, no fault.
 */
#include "inspect/replays.h"

#include <stdlib.h>
#include <string.h>

#include "program.h"

#include "base/map.h"
#include "base/memory.h"
#include "inspect/determinism.h"
#include "run/supervise.h"

#define PROGRAM "awf-verify"

struct checking {
	const struct replays_spec *spec;
	struct map seen;   /* runs: records could name each other in a circle */
	int status;        /* the greatest so far */
};

static void
note(struct checking *c, int status)
{
	if (status > c->status)
		c->status = status;
}

/* What the replays ran in, and that they agree. */
static void
print_agreement(const struct checking *c, const struct source *source, const char *who)
{
	char *remark = replay_env_remark(source, c->spec->isolation);

	if (remark)
		printf("%s: %s\n", who, remark);
	printf("%s: two replays agree with the recording\n", who);
	free(remark);
}

static int
report(const struct checking *c, const struct source *source, const char *who,
    const struct determinism *d)
{
	static const char *const verdicts[] = {
		[DETERMINISM_REPLAYS_DIFFER] = "the replays differ",
		[DETERMINISM_OUTPUT_DIFFERS] = "the replays differ",
		[DETERMINISM_RECORDING_DIFFERS] = "the replays agree, the recording differs",
	};

	switch (d->verdict) {
	case DETERMINISM_AGREES:
		if (c->spec->verbose)
			print_agreement(c, source, who);
		return STATUS_OK;
	case DETERMINISM_ENDED:
		signals_die(d->signal_number);
	default:
		fprintf(stderr, PROGRAM ": %s: %s: %s", who, verdicts[d->verdict],
		    buffer_string(&d->text));
		fprintf(stderr, "  the replays are kept in %s and %s\n", d->places[0], d->places[1]);
		return STATUS_WORK;
	}
}

/* -1: it could not be replayed. */
static int
check_one(struct checking *c, const struct source *source, const char *who, struct error *err)
{
	const struct replay_env_spec common = { .source = source, .isolation = c->spec->isolation,
		.visible = c->spec->visible };
	struct determinism d;
	int failed = determinism_check(&common, c->spec->storage, &d, err);

	if (failed == 0)
		note(c, report(c, source, who, &d));
	determinism_free(&d);
	return failed;
}

/* Why a run is not replayed that ended in a way that no replay can repeat; NULL: it is. */
static const char *
unrepeatable(const struct source *s)
{
	static const char *const ends[][2] = {
		{ "", "it never ended" }, { "cancelled", "it was cancelled" },
		{ "timeout", "a time limit ended it" },
	};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (strcmp(s->status, ends[i][0]) == 0)
			return ends[i][1];
	return NULL;
}

static void check_children(struct checking *c, const struct source *parent);

static void
replay_child(struct checking *c, const struct source *child)
{
	char *who = memory_format("%s (child run %s)", child->name, child->run_id);
	struct error err = ERROR_INIT, named;
	char text[sizeof err.place + sizeof err.message + 4];

	if (check_one(c, child, who, &err) == 0) {
		check_children(c, child);
	} else {
		error_set(&named, err.code, who, "%s", error_text(&err, text, sizeof text));
		note(c, program_fail(PROGRAM, &named));
	}
	free(who);
}

static void
check_child(struct checking *c, const struct source *parent, const char *run_id)
{
	struct source source;
	struct error err = ERROR_INIT;
	int failed = source_open_child(&source, parent, run_id, &err);
	const char *why = failed == 0 ? unrepeatable(&source) :
	    err.code == ERROR_USAGE ? err.message : NULL;

	if (why != NULL && !c->spec->quiet)
		fprintf(stderr, PROGRAM ": %s: warning: child run %s is not replayed: %s\n",
		    parent->name, run_id, why);
	if (failed != 0 && why == NULL)
		note(c, program_fail(PROGRAM, &err));
	if (failed == 0 && why == NULL)
		replay_child(c, &source);
	source_close(&source);
}

static void
check_children(struct checking *c, const struct source *parent)
{
	for (size_t i = 0; i < parent->child_count; i++) {
		const char *run_id = parent->children[i];

		if (map_get(&c->seen, run_id, strlen(run_id)) != NULL)
			continue;
		map_put(&c->seen, run_id, strlen(run_id), 0);
		check_child(c, parent, run_id);
	}
}

int
replays_check(const struct replays_spec *spec, const char *argument)
{
	struct checking c = { .spec = spec, .seen = MAP_INIT };
	struct error err = ERROR_INIT;
	struct source source;

	if (source_open(&source, spec->storage, argument, &err) != 0 ||
	    check_one(&c, &source, source.name, &err) != 0) {
		note(&c, program_fail(PROGRAM, &err));
	} else {
		map_put(&c.seen, source.run_id, strlen(source.run_id), 0);
		check_children(&c, &source);
	}
	source_close(&source);
	map_free(&c.seen);
	return c.status;
}
