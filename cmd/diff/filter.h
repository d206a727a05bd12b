/*
 * The filter that values pass before they are compared (--map), so that a date or an id in them is no
 * difference. While the runs are read, their values are collected, equal ones once; then the command is
 * started, once: it reads a line of JSON for each value, and prints a line of JSON for each, in the same
 * order. It may print before or after it has read everything.
 */
#ifndef AWF_DIFF_FILTER_H
#define AWF_DIFF_FILTER_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "json/scan.h"

struct diff_filter {
	const char *command;
	struct map numbers;      /* of values, by their keys */
	struct buffer values;    /* lines for the command */
	struct buffer answers;   /* its lines */
	struct span *lines;      /* of answers, by the number of the value */
};

#define DIFF_FILTER_INIT(command) { (command), MAP_INIT, BUFFER_INIT, BUFFER_INIT, NULL }

/* The key of a value (diff/value.h); collects it, unless f is NULL. */
struct uuid diff_filter_add(struct diff_filter *f, struct span value);
/* Runs the command. -1 with *err: it failed, or has not printed a value for each. */
int diff_filter_run(struct diff_filter *f, struct error *err);
/* What the command made of a value, after it has run; the value itself if it was not given that. f may be
 * NULL. */
struct span diff_filter_value(const struct diff_filter *f, struct span value);
/* The key of what the command made of the value with this key. */
struct uuid diff_filter_key(const struct diff_filter *f, struct uuid key);
void diff_filter_free(struct diff_filter *f);

#endif
