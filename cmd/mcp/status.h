/* What clients are told about a led run. */
#ifndef AWF_MCP_STATUS_H
#define AWF_MCP_STATUS_H

#include "mcp/led.h"

/* Writes the state of the run, the result of a tool, as an object, with its notes if with_notes. */
void status_write(const struct leading *l, const struct led *led, bool with_notes,
    struct buffer *json);
/* What it has printed. */
int status_output(const struct leading *l, const struct led *led, struct buffer *out,
    struct error *err);
/* Answers the call of a tool with an error; g: the question that is still open; NULL. */
void status_refused(const struct rpc_call *call, const struct error *err, const struct gate *g);

#endif
