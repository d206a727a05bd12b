/*
 * What a client is told of a run that is led.
 */
#ifndef AWF_MCP_STATUS_H
#define AWF_MCP_STATUS_H

#include "mcp/led.h"

/* How the run stands, as the result of a tool: the object; with its notes. */
void status_write(const struct leading *l, const struct led *led, bool with_notes,
    struct buffer *json);
/* What it has printed. */
int status_output(const struct leading *l, const struct led *led, struct buffer *out,
    struct error *err);
/* Answers the call of a tool with what was wrong; g: the question that is open still; NULL. */
void status_refused(const struct rpc_call *call, const struct error *err, const struct gate *g);

#endif
