/*
 * Findings: what awf doctor has found out, in groups, and how it is told. One is a line: its
 * text has no line ends, no control characters and no API keys.
 */
#ifndef AWF_AWF_FINDINGS_H
#define AWF_AWF_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* In the order in which they are told. */
enum finding_group {
	FINDING_PROGRAMS, FINDING_PROVIDERS, FINDING_SANDBOX, FINDING_STORAGE, FINDING_PRICES,
	FINDING_AGENTS, FINDING_TOOLS, FINDING_SKILLS, FINDING_GROUPS
};

enum finding_status {
	FINDING_OK,
	FINDING_NOTE,  /* something is missing, or to be known, and stops nothing that is here */
	FINDING_WRONG
};

struct finding {
	enum finding_group group;
	enum finding_status status;
	char *name, *message;
};

struct findings {
	struct finding *list;
	size_t count, wrong;
};

void findings_add(struct findings *f, enum finding_group group, enum finding_status status,
    const char *name, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* What an error says, with its place. */
void findings_add_error(struct findings *f, enum finding_group group,
    enum finding_status status, const char *name, const struct error *err);
/* A line for each below its group, and one that sums up; quiet: of what is wrong alone, and
 * nothing if nothing is. */
void findings_text(const struct findings *f, bool quiet, bool colour, struct buffer *out);
/* A JSON object in each line. */
void findings_json(const struct findings *f, bool quiet, struct buffer *out);
void findings_free(struct findings *f);

#endif
