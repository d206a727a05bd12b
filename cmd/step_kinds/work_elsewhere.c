/*
 * --via: a launcher runs the command on another machine (proc/via.h). The results are recorded as
 * if it had run here, with the name of the machine.
 */
#include "base/list.h"
#include "proc/via.h"
#include "step_kinds/kinds.h"
#include "step_kinds/work_command.h"
#include "workspace/far.h"

/* The far end of a try. */
struct elsewhere {
	struct via via;
	char **variables, **options; /* lists, for the environment there and the sandbox there */
};

static bool
elsewhere_asked(const struct step_options *o)
{
	return o->command.argv != NULL && o->elsewhere.launcher != NULL;
}

static void
elsewhere_prepare(void *context, struct command_try *try)
{
	struct elsewhere *e = context;
	const struct step *s = try->call->step;
	const struct elsewhere_options *o = &s->options.elsewhere;

	e->variables = far_environment(&s->place.environment, o->variables, try->call->id);
	e->options = try->sandboxed ? sandbox_words(&s->options.sandbox, NULL, NULL, try->passed) : NULL;
	e->via = (struct via){ .launcher = o->launcher, .argv = s->options.command.argv,
		.launch_ms = o->launch_ms, .send = o->send, .fetch = o->fetch, .environment = e->variables,
		.sandbox = e->options };
	try->process.via = &e->via;
	try->process.inherit = false;
	via_prepare(&e->via, &try->process.error);
}

static void
elsewhere_ended(void *context, struct command_try *try)
{
	struct elsewhere *e = context;
	struct step_end *end = &try->call->end;

	if (try->process.error.code == ERROR_NONE)
		via_place(&e->via, &try->process.error);
	far_take(&end->far, &e->via);
	end->begun_elsewhere = end->far.begun;
}

static int
elsewhere_settle(void *context, struct command_try *try, int result, struct error *err)
{
	struct elsewhere *e = context;

	(void)try;
	(void)err;
	via_free(&e->via);
	list_free(e->variables);
	list_free(e->options);
	return result;
}

static int
elsewhere_run(struct step_call *call, int repeats, struct error *err)
{
	struct elsewhere e;
	const struct command_hooks hooks = { .context = &e, .prepare = elsewhere_prepare,
		.ended = elsewhere_ended, .settle = elsewhere_settle };

	return command_run(call, &hooks, repeats, err);
}

/* Adds no program: what its name refers to on the other machine is not known here. */
static void
elsewhere_files(const struct step *s, struct step_files *f)
{
	const char *path = f->programs.path;

	f->programs.path = NULL;
	command_files(s, f);
	f->programs.path = path;
}

const struct work work_elsewhere = {
	.kind = "command",
	.asked = elsewhere_asked,
	.load = command_load,
	.define = command_define,
	.files = elsewhere_files,
	.describe = command_describe,
	.label = command_label,
	.judge = command_judge,
	.record_work = command_record_work,
	.record_place = command_record_place,
	.run = elsewhere_run,
};
