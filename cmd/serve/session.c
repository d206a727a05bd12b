/*
 * The code in the link that awf-serve prints logs in the user who started the server, who may
 * decide about runs as with awf-ctl, and start the workflows of --workflows. A session that was begun with a token has the token's rights.
 */
#include "serve/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "json/writer.h"
#include "serve/body.h"
#include "serve/serve.h"

static const struct refusal malformed = { 400, "invalid_input",
	"either a code or a token is needed" };
static const struct refusal wrong = { 401, "unauthorized",
	"the code was used before, or is none; or the token is not good" };

static void
write_rights(struct writer *w, const struct token *token)
{
	static const struct { unsigned may; const char *role; } roles[] = {
		{ MAY_READ, "read" }, { MAY_DECIDE, "decide" }, { MAY_INGEST, "ingest" },
		{ MAY_START, "start" },
	};
	char expires[CLOCK_TEXT_SIZE];

	writer_member_array(w, "may");
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (token->may & roles[i].may)
			writer_string(w, roles[i].role);
	writer_array_end(w);
	if (token->names.count > 0) {
		writer_member_array(w, "names");
		for (size_t i = 0; i < token->names.count; i++)
			writer_string(w, token->names.patterns[i]);
		writer_array_end(w);
	}
	writer_member_string(w, "label", token->label);
	if (token->expires != 0)
		writer_member_string(w, "expires", clock_text(token->expires, expires));
}

void
answer_session(struct request *r)
{
	struct tokens *t = &r->server->access.tokens;
	static const struct body_member members[] = { { "code", BODY_TEXT }, { "token", BODY_TEXT },
		{ "cookie", BODY_BOOLEAN } };
	struct span values[3], code, given;
	struct buffer json = BUFFER_INIT;
	struct token *token, *parent = NULL;
	char text[TOKEN_SIZE] = "", name[32], cookie[192] = "";
	const char *more[] = { "Set-Cookie", cookie, NULL };
	int64_t now = clock_wall();
	const unsigned own = MAY_READ | MAY_DECIDE | (r->server->settings.workflows != NULL ? MAY_START : 0);
	struct writer w;

	if (!body_read(r, members, 3, values))
		return;
	code = values[0];
	given = values[1];
	if ((code.at == NULL) == (given.at == NULL)) {
		request_refuse(r, &malformed);
		return;
	}
	if (!span_copy(code.at != NULL ? code : given, text, sizeof text)) {
		request_refuse(r, &wrong);
		return;
	}
	if (code.at != NULL ? !tokens_login(t, text, strlen(text)) :
	    (parent = tokens_find(t, text, strlen(text), now)) == NULL) {
		request_refuse(r, &wrong);
		return;
	}
	token = tokens_session(t, parent, parent != NULL ? parent->may : own, now, text);
	token_release(parent);
	access_cookie(&r->connection->peer, name);
	if (span_true(values[2]))
		snprintf(cookie, sizeof cookie, "%s=%s; Path=/; Max-Age=%" PRId64 "; HttpOnly; "
		    "SameSite=Strict%s", name, text, (token->expires - now) / 1000000, r->secure ? "; Secure" : "");
	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_string(&w, "token", text);
	write_rights(&w, token);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_bytes(r, 200, "application/json", &json, *cookie != '\0' ? more : NULL);
}

void
answer_session_shown(struct request *r)
{
	struct buffer json = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &json);
	writer_object(&w);
	write_rights(&w, r->token);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, 200, &json);
}

void
answer_session_end(struct request *r)
{
	char name[32], cookie[128];
	const char *const more[] = { "Set-Cookie", cookie, NULL };

	access_cookie(&r->connection->peer, name);
	snprintf(cookie, sizeof cookie, "%s=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict", name);
	tokens_session_end(&r->server->access.tokens, r->token);
	request_status(r, 204, more);
}
