#include "run/place.h"

#include <string.h>
#include <unistd.h>

#include "exec/descendants.h"

/* A child has ended its workflow so much before its parent would end both. */
#define HURRY_MS 200

static const char *
script(const struct workflow *workflow)
{
	return workflow->script >= 0 ? workflow->argv[workflow->script] : NULL;
}

int
place_find(struct place *p, const char *name, const struct workflow *workflow, struct error *err)
{
	id_new(p->completed);
	p->nested = run_in_environment();
	if (!p->nested) {
		if (*p->id == '\0')
			id_new(p->id);
		return lineage_add(&p->lineage, p->id, script(workflow), err);
	}
	if (child_enter(&p->child, name, script(workflow), err) != 0 ||
	    mask_join(&p->mask, &p->child.parent, err) != 0)
		return -1;
	memcpy(p->id, p->child.run_id, sizeof p->id);
	p->lineage = p->child.lineage;
	descendants_hurry((int)lineage_depth(&p->lineage) * HURRY_MS);
	return 0;
}

int
place_resumed(struct place *p, const char *run_id, const struct workflow *workflow,
    struct error *err)
{
	id_new(p->completed);
	return lineage_add(&p->lineage, run_id, script(workflow), err);
}

int
place_begin(struct place *p, const struct workflow *workflow, const struct child_start *start,
    struct error *err)
{
	struct child_start child = *start;

	child.argv = workflow->argv;
	child.workflow_sha256 = *workflow->sha256 != '\0' ? workflow->sha256 : NULL;
	if (p->nested && child_started(&p->child, &child, err) != 0)
		return -1;
	p->cause = p->child.cause;
	return 0;
}

int
place_detached(struct place *p, struct error *err)
{
	struct data result = { BUFFER_INIT, true, false };
	const struct child_end end = { .result = &result };
	int failed;

	if (!p->nested)
		return 0;
	data_from_text(&result, p->id, strlen(p->id));
	failed = child_completed(&p->child, &end, err);
	data_free(&result);
	return failed;
}

void
place_leave(struct place *p)
{
	child_leave(&p->child);
	p->nested = false;
}

int
place_failed(struct place *p, const struct error *why, struct error *err)
{
	const struct child_end end = { .error = why, .exit_code = CONCLUSION_FAILED };

	return p->nested ? child_completed(&p->child, &end, err) : 0;
}

int
place_end(struct place *p, const struct conclusion *e, const struct input *input,
    const char *stdin_sha256, struct error *err)
{
	struct error error = e->error;
	struct data result = { BUFFER_INIT, false, false };
	const struct child_end end = {
		.result = p->output.overflow ? NULL : &result,
		.error = &error,
		.exit_code = e->exit_code,
		.completed = p->completed,
		.stdin_sha256 = input->kept ? stdin_sha256 : NULL,
		.stdin_bytes = input->bytes,
		.stdout_bytes = p->output.bytes,
	};
	int failed;

	if (!p->nested)
		return 0;
	/* Whatever it came to itself. */
	if (error.code == ERROR_NONE && p->output.closed)
		error_set(&error, ERROR_DOWNSTREAM_CLOSED, NULL, "nobody reads its output any more");
	if (!p->output.overflow)
		data_from_text(&result, buffer_string(&p->output.kept), p->output.kept.len);
	failed = child_completed(&p->child, &end, err);
	data_free(&result);
	return failed;
}

void
place_skipped(struct place *p)
{
	if (p->nested)
		roster_end(&p->child.roster);
}

int
place_open_output(struct place *p, struct output **output, struct error *err)
{
	*output = p->nested ? &p->output : NULL;
	return p->nested ? output_open(&p->output, STDOUT_FILENO, err) : 0;
}

void
place_free(struct place *p)
{
	output_close(&p->output);
	child_leave(&p->child);
	mask_free(&p->mask);
}
