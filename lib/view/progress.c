/*
 * A call counts as ended, even without an end, if another call of the same attempt has its name.
 */
#include "view/progress.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "view/view.h"

void
progress_add(struct progress *p, const struct model *m)
{
	if (m->ended)
		return;
	for (const struct model_call *c = m->first_of_attempt; c != NULL; c = c->next) {
		if (c->state != CALL_OPEN || model_find(m, c->id, strlen(c->id)) != c)
			continue;
		p->calls = memory_array(p->calls, p->count + 1, sizeof *p->calls);
		p->calls[p->count++] = c;
		INVARIANT(c->work != NULL && c->id[0] != '\0');
	}
}

/* Calls of one run are ordered by their beginning. */
static int
progress_compare_calls(const void *a, const void *b)
{
	const struct model_call *x = *(const struct model_call *const *)a;
	const struct model_call *y = *(const struct model_call *const *)b;

	if (x->started != y->started)
		return x->started < y->started ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

void
progress_text(struct progress *p, int64_t now, struct buffer *out)
{
	char text[32];

	if (p->count == 0)
		return;
	qsort(p->calls, p->count, sizeof *p->calls, progress_compare_calls);
	buffer_format(out, "%zu %s:", p->count, p->count == 1 ? "call" : "calls");
	for (size_t i = 0; i < p->count; i++) {
		const struct model_call *c = p->calls[i];

		buffer_text(out, i > 0 ? ", " : " ");
		view_call_label(c, out);
		buffer_format(out, " %s", duration_text((now - c->started) / 1000, text, sizeof text));
	}
}

void
progress_free(struct progress *p)
{
	free(p->calls);
	*p = (struct progress)PROGRESS_INIT;
}
