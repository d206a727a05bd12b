/*
 * Sessions of browsers. POST /api/session with {"code": …} or {"token": …} begins one; the answer
 * contains the session's token, which the page keeps until its tab is closed. With {"cookie": true}
 * the token is also set as a cookie, which no script can read and which is not sent with requests
 * from other sites.
 */
#ifndef AWF_SERVE_SESSION_H
#define AWF_SERVE_SESSION_H

#include "serve/request.h"

void answer_session(struct request *r);
/* Answers what the session's token may do. */
void answer_session_shown(struct request *r);
void answer_session_end(struct request *r);

#endif
