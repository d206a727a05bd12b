/* The kind of work is chosen once, from the options, before the step is loaded. */
#include "step_kinds/kinds.h"

#define WORK_ROW(name) &work_##name,
static const struct work *const works[] = { WORKS(WORK_ROW) };
#undef WORK_ROW

const struct work *
work_find(const struct step_options *o)
{
	size_t row = 0;

	while (row + 1 < sizeof works / sizeof *works && !works[row]->asked(o))
		row++;
	return works[row];
}

int
step_load(struct step *s, struct error *err)
{
	struct step_definition *d = &s->definition;

	d->work = work_find(&s->options);
	d->kind = s->options.kind != NULL ? s->options.kind : d->work->kind;
	if (d->work->load != NULL && d->work->load(s, err) == -1)
		return -1;
	step_define(s);
	return 0;
}
