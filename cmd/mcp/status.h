/* Writes the state of a led run for clients. */
#ifndef AWF_MCP_STATUS_H
#define AWF_MCP_STATUS_H

#include "mcp/led.h"

/* Writes the state of the run as an object, the result of tools; with its notes, if with_notes. */
void status_write(const struct leading *l, const struct led *led, bool with_notes,
    struct buffer *json);
/* Appends what the run has written to stdout. */
int status_output(const struct leading *l, const struct led *led, struct buffer *out,
    struct error *err);
/* Responds to a tool's call with an error; g: the question that is still open; NULL: none. */
void status_refused(const struct rpc_call *call, const struct error *err, const struct gate *g);

#endif
