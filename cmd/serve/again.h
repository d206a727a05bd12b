/*
 * A run once more: GET /api/runs/RUN/again tells how it was started, POST makes the command that resumes or
 * forks it, or starts it anew with the same input, and executes it, if this server may start the workflow
 * (--workflows) and the client, too.
 */
#ifndef AWF_SERVE_AGAIN_H
#define AWF_SERVE_AGAIN_H

#include "serve/request.h"

void answer_again(struct request *r);
void answer_again_command(struct request *r);

#endif
