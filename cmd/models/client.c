/*
 * A request is checked by its head, before its body is read, and handled when it is complete.
 * httpd/head.h has the rules for heads, as two programs parse them: this one and the API's server.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/writer.h"
#include "proxy.h"

static const struct refusal no_key = { 401, "", "this is no key of the step that the program "
	"runs in: it is to take the one in its environment" };
static const struct refusal no_upgrade = { 426, "",
	"awf-models-proxy speaks HTTP/1.1 alone, without websockets" };
static const struct refusal too_large = { 413, "", "the body of the request is too large" };

/* Reports to awf-step that a request came with another key. */
static void
client_report_wrong_key(void)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_integer(&w, "refused", 401);
	writer_object_end(&w);
	proxy_say(&line);
}

/* Replaces the target in the head by its normalized form, and parses the head again. Returns NULL,
 * or why the target is refused. */
static const char *
normalize_target(struct request *r, struct head *h)
{
	struct buffer target = BUFFER_INIT, head = BUFFER_INIT;
	const char *wrong = apis_target(&target, h->target), *rest = h->target.at + h->target.len;

	if (wrong == NULL && (target.len != h->target.len ||
	    memcmp(target.data, h->target.at, target.len) != 0)) {
		buffer_append(&head, r->head.data, (size_t)(h->target.at - r->head.data));
		buffer_append(&head, target.data, target.len);
		buffer_append(&head, rest, (size_t)(r->head.data + r->head.len - rest));
		buffer_free(&r->head);
		r->head = head;
		head_read(h, r->head.data, r->head.len);
	}
	buffer_free(&target);
	return wrong;
}

static const struct refusal *
begin_request(struct connection *c, const struct head *came, struct span bytes)
{
	struct request *r = memory_zero(1, sizeof *r);
	const char *wrong = apis_refuses(came);
	struct head h;

	r->proxy = (struct proxy *)(void *)((char *)c->httpd - offsetof(struct proxy, httpd));
	r->connection = c;
	c->request = r;
	buffer_append(&r->head, bytes.at, bytes.len);
	head_read(&h, r->head.data, r->head.len);
	if (wrong == NULL)
		wrong = normalize_target(r, &h);
	r->meaning = apis_meaning(&h);
	r->within = apis_admit(&h, r->proxy->within);
	if (!r->within && !apis_admit(&h, r->proxy->token)) {
		client_report_wrong_key();
		return &no_key;
	}
	if (wrong != NULL) {
		r->refusal = (struct refusal){ 400, "", wrong };
		return &r->refusal;
	}
	if (head_value(&h, "Upgrade").at != NULL && !head_is(head_value(&h, "Upgrade"), "h2c"))
		return &no_upgrade;
	if (h.length > (int64_t)c->httpd->limits.body_bytes)
		return &too_large;
	c->admitted = true;
	return NULL;
}

static const struct refusal *
client_append_body(struct connection *c, struct span piece, int64_t left)
{
	if (c->body.len + piece.len + (size_t)left > c->httpd->limits.body_bytes)
		return &too_large;
	return piece.len > 0 ? connection_keep(c, piece) : NULL;
}

static void
answer_request(struct connection *c)
{
	struct request *r = c->request;

	if (r->proxy->ended) {
		connection_break(c);
		return;
	}
	connection_wait(c);
	exchange_begin(r);
}

static void
refuse_request(struct connection *c, const struct refusal *refusal)
{
	const struct request *r = c->request;

	proxy_error(c, r != NULL ? r->meaning.family : FAMILY_OPENAI, refusal->status,
	    refusal->status == 426 ? "Upgrade: HTTP/1.1\r\n" : "", refusal->message);
}

static void
write_more(struct connection *c)
{
	const struct request *r = c->request;

	if (r->exchange != NULL)
		exchange_resume(r->exchange);
}

static void
end_request(struct connection *c)
{
	struct request *r = c->request;

	if (r->exchange != NULL)
		exchange_desert(r->exchange);
	buffer_free(&r->head);
	free(r);
}

const struct connection_handler client_handler = {
	.begin = begin_request, .body = client_append_body, .answer = answer_request,
	.refuse = refuse_request, .ready = write_more, .end = end_request,
};
