/*
 * POST /hooks/NAME: starts the workflow NAME of --workflows DIRECTORY, the file NAME.awf there, or
 * NAME, with the body on its standard input.
 *
 * This needs a token of the role start, or the hook's secret, which is in NAME.secret (0600). With
 * the secret, the body is signed as GitHub does it: X-Hub-Signature-256 contains its HMAC-SHA256. A
 * delivery is not started twice (serve_start/claims.h): it is recognized by its X-GitHub-Delivery, and by
 * its body if that is signed.
 */
#ifndef AWF_SERVE_HOOKS_H
#define AWF_SERVE_HOOKS_H

#include "serve/request.h"

void answer_hook(struct request *r);

#endif
