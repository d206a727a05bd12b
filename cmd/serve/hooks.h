/*
 * POST /hooks/NAME: starts the workflow NAME of --workflows DIRECTORY, the file NAME.awf there, or
 * NAME, with the body on its standard input.
 *
 * Who may is a token of the role start, or whoever has the hook's secret, which is in
 * NAME.secret (0600): then the body is signed as GitHub does it, X-Hub-Signature-256 with its
 * HMAC-SHA256. No delivery starts twice (serve/claims.h): none with the same X-GitHub-Delivery,
 * and none with the same signed body.
 */
#ifndef AWF_SERVE_HOOKS_H
#define AWF_SERVE_HOOKS_H

#include "serve/request.h"

void answer_hook(struct request *r);

#endif
