/*
 * Sessions of browsers: POST /api/session {"code": …} or {"token": …} begins one, and says its
 * own token, which the page keeps for as long as its tab is open; with {"cookie": true} the
 * browser gets it as a cookie, too, that no script can read and no other site sends along.
 */
#ifndef AWF_SERVE_SESSION_H
#define AWF_SERVE_SESSION_H

#include "serve/request.h"

void answer_session(struct request *r);
/* What the token may. */
void answer_session_shown(struct request *r);
void answer_session_end(struct request *r);

#endif
