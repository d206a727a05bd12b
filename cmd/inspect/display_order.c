/* The graph knows where each line is; they are read again in the order that is asked for. */
#include "inspect/display.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/canonical.h"

int
display_order(const struct display *d, struct error *err)
{
	struct graph g;
	uint32_t *order;
	int failed = 0;

	if (graph_open(&g, d->run->path, err) != 0)
		return -1;
	order = strcmp(d->argument, "seq") == 0 ? graph_order_seq(&g) : graph_order(&g, err);
	if (!order)
		failed = -1;
	for (uint32_t i = 0; failed == 0 && i < g.count; i++) {
		const struct graph_node *node = &g.nodes[order[i]];
		const char *line = graph_line(&g, node, err);

		/* With its LF, which stands behind each in the file. */
		failed = line != NULL ? outlet_json(d->out, line, node->length + 1, err) : -1;
	}
	free(order);
	graph_close(&g);
	return failed;
}

int
display_canonical(const struct display *d, struct error *err)
{
	return canonical_write(d->run->path, d->out, err);
}
