/*
 * One exchange at a time with a line peer (proc/peer.h). Lines are told apart by id; what is
 * still said of a request that was cancelled is passed over. A provider that breaks the
 * protocol, or cannot be told to leave off, is ended, and the next request starts another.
 */
#include "agent/provider.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "agent/known_end.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "proc/libexec.h"
#include "transcript/form.h"

/* No server's wish keeps a call waiting for longer than a week. */
#define RETRY_AFTER_LIMIT_MS (7LL * 24 * 3600 * 1000)

static const char *const names[] = { "anthropic", "google", "openai", "openai-responses", "replay",
    "claude", "codex", "gemini", "copilot", "opencode", NULL };
static const char *const clis[] = { "claude", "codex", "gemini", "copilot", "opencode", NULL };

const char *const *
provider_names(void)
{
	return names;
}

bool
provider_is_cli(const char *name)
{
	return list_has((char *const *)(uintptr_t)clis, name);
}

bool
provider_tells_late(const char *name)
{
	return strcmp(name, "opencode") == 0;
}

bool
provider_only_reads(const char *name, char *const *tools)
{
	static const char *const reading[] = { "read", "glob", "grep", NULL };
	const char *sandbox = getenv("AWF_CODEX_SANDBOX");
	size_t i;

	if (strcmp(name, "codex") == 0 && sandbox != NULL && *sandbox != '\0' &&
	    strcmp(sandbox, "read-only") != 0)
		return false;
	for (i = 0; tools[i] != NULL; i++)
		if (!list_has((char *const *)(uintptr_t)reading, tools[i]))
			return false;
	return i > 0;
}

#define UNKNOWN_BEGIN "unknown provider '"

static int
provider_unknown(const char *name, struct error *err)
{
	const char *near = text_suggest(name, names);

	if (near != NULL && strcmp(near, name) != 0)
		return error_set(err, ERROR_DEFINITION, NULL,
		    UNKNOWN_BEGIN "%s' (did you mean '%s'?)", name, near);
	return error_set(err, ERROR_DEFINITION, NULL, UNKNOWN_BEGIN "%s': there is no "
	    "awf-provider-%s in $AWF_PROVIDER_PATH, AWF's own directory or $PATH", name, name);
}

char *
provider_refused(const char *message)
{
	const char *at = strstr(message, UNKNOWN_BEGIN), *end;

	if (at == NULL)
		return NULL;
	at += sizeof UNKNOWN_BEGIN - 1;
	end = strchr(at, '\'');
	return end == NULL ? NULL : memory_copy(at, (size_t)(end - at));
}

#define PROGRAM_BEGIN "awf-provider-"

/* Where they are looked for, with colons between. In memory of its own. */
static char *
provider_path(void)
{
	const char *first = getenv("AWF_PROVIDER_PATH"), *last = getenv("PATH");
	char *own = libexec_path();
	char *path = memory_format("%s:%s:%s", first != NULL ? first : "", own,
	    last != NULL ? last : "");

	free(own);
	return path;
}

char *
provider_find(const char *name, struct error *err)
{
	char *program, *list, *path;

	if (!name_valid(name)) {
		provider_unknown(name, err);
		return NULL;
	}
	program = memory_format(PROGRAM_BEGIN "%s", name);
	list = provider_path();
	path = path_search(list, program);
	free(program);
	free(list);
	if (path == NULL)
		provider_unknown(name, err);
	return path;
}

/* Adds what is so called in a directory, in the order of the names. */
static void
list_directory(const char *directory, char ***found)
{
	const size_t begin = sizeof PROGRAM_BEGIN - 1;
	struct dirent **entries;
	int count = scandir(directory, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		const char *program = entries[i]->d_name, *name = program + begin;

		if (strncmp(program, PROGRAM_BEGIN, begin) == 0 && name_valid(name) &&
		    !list_has(*found, name)) {
			char *path = path_search(directory, program);

			if (path != NULL)
				list_add(found, name);
			free(path);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

char **
provider_list(void)
{
	char **found = NULL, *list = provider_path(), *rest = list;
	const char *directory;

	for (const char *const *known = names; *known != NULL; known++)
		list_add(&found, *known);
	while ((directory = strsep(&rest, ":")) != NULL)
		if (*directory != '\0')
			list_directory(directory, &found);
	free(list);
	return found;
}

/* Whether a list of words with colons between them has prefix and name as one. */
static bool
has_word(const char *list, const char *prefix, const char *name)
{
	const size_t before = strlen(prefix), len = before + strlen(name);
	size_t word;

	for (;; list += word + 1) {
		word = strcspn(list, ":");
		if (word == len && strncmp(list, prefix, before) == 0 &&
		    strncmp(list + before, name, len - before) == 0)
			return true;
		if (list[word] == '\0')
			return false;
	}
}

/* What a recording has of providers is so in its replay, wherever that runs. */
enum recorded { RECORDED_NOTHING, RECORDED_THERE, RECORDED_UNKNOWN };

static enum recorded
recorded(const char *name)
{
	const char *list = getenv(PROVIDER_RECORDED);

	if (list == NULL || !name_valid(name))
		return RECORDED_NOTHING;
	return has_word(list, "", name) ? RECORDED_THERE :
	    has_word(list, PROVIDER_UNKNOWN, name) ? RECORDED_UNKNOWN : RECORDED_NOTHING;
}

int
provider_check_named(const char *name, struct error *err)
{
	if (getenv(PROVIDER_RECORDED) != NULL && name_valid(name) &&
	    recorded(name) != RECORDED_UNKNOWN)
		return 0;
	return provider_check(name, err);
}

int
provider_check(const char *name, struct error *err)
{
	char *path;

	for (const char *const *known = provider_names(); *known != NULL; known++)
		if (strcmp(*known, name) == 0)
			return 0;
	switch (recorded(name)) {
	case RECORDED_THERE:
		return 0;
	case RECORDED_UNKNOWN:
		return provider_unknown(name, err);
	case RECORDED_NOTHING:
		break;
	}
	path = provider_find(name, err);
	free(path);
	return path == NULL ? -1 : 0;
}

void
provider_environment(const struct keys *keys, struct environment *e)
{
	environment_begin(e);
	for (size_t i = 0; keys != NULL && i < keys->count; i++)
		environment_set(e, keys->names[i], keys_value(keys, keys->names[i]));
}

static int
provider_spawn(struct provider *p, struct error *err)
{
	struct environment environment;
	char *argv[2] = { provider_find(p->name, err), NULL };
	struct process_spec spec = { .argv = argv, .err = PROCESS_INHERIT };
	int status;

	if (argv[0] == NULL)
		return -1;
	provider_environment(p->keys, &environment);
	spec.environment = environment.list;
	status = peer_start(&p->peer, &spec, err);
	environment_free(&environment);
	free(argv[0]);
	if (status == -1 && err->code == ERROR_EXIT_STATUS)
		err->code = ERROR_PROVIDER;
	return status;
}

void
provider_begin(struct provider *p, const char *name, const struct keys *keys)
{
	*p = (struct provider){ .name = memory_text(name), .keys = keys, .next_id = 1,
	    .peer = { .end_ms = PROVIDER_END_MS, .ends_unheard = true } };
}

int
provider_start(struct provider *p, struct error *err)
{
	return p->peer.process.pid != 0 ? 0 : provider_spawn(p, err);
}

void
provider_stop(struct provider *p)
{
	peer_end(&p->peer);
	peer_free(&p->peer);
	free(p->name);
	p->name = NULL;
}

/* A request on its way and its answer. */
struct exchange {
	struct provider *provider;
	const struct provider_callbacks *callbacks;
	struct answer *answer;
	long long id;
	int64_t deadline;     /* 0: none */
	int64_t timeout_ms;
	bool answered;
};

/* Ends a provider that does not keep to the protocol: nothing that follows from it
 * could be trusted. */
static int
exchange_broken(struct exchange *x, struct error *err, const char *what)
{
	peer_end(&x->provider->peer);
	return error_set(err, ERROR_PROVIDER, x->provider->name,
	    "the provider broke the protocol: %s", what);
}

/* Tells the provider to leave off. One that has only part of the request, or does
 * not take the cancel, would misread the next one, so it is ended. */
static void
exchange_cancel(struct exchange *x)
{
	struct peer *peer = &x->provider->peer;
	bool whole = peer_unsent(peer) == 0;

	if (whole)
		buffer_format(&peer->outgoing, "{\"cancel\":%lld}\n", x->id);
	if (!whole || peer_send(peer) == -1 || peer_unsent(peer) > 0)
		peer_end(peer);
}

static int
exchange_delta(struct exchange *x, struct span line, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	char kind[16];

	(void)err;
	if (x->callbacks == NULL || x->callbacks->delta == NULL ||
	    !span_copy(span_member(line, "kind"), kind, sizeof kind))
		return 0;
	span_decode(span_member(line, "text"), &text);
	if (text.len != 0)
		x->callbacks->delta(x->callbacks->context, kind, text.data, text.len);
	buffer_free(&text);
	return 0;
}

static int
exchange_event(struct exchange *x, struct span line, struct error *err)
{
	if (x->callbacks == NULL || x->callbacks->event == NULL ||
	    x->callbacks->event(x->callbacks->context, line, err) == 0)
		return 0;
	if (err->code == ERROR_PROVIDER)
		peer_end(&x->provider->peer); /* as in exchange_broken() */
	else
		exchange_cancel(x);
	return -1;
}

/* Whether a block claims that AWF ran it, which only AWF can say. */
static bool
claims_router(struct span blocks)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		if (span_is(span_member(block.value, "fidelity"), "router"))
			return true;
	return false;
}

/* How it ended must be one of the ends that awf-provider(7) has: whatever else a provider
 * passes on from its API may be half an answer. */
static int
exchange_end(struct exchange *x, struct answer *a, struct error *err)
{
	const char *taught;
	char word[100] = "";

	if (span_type(a->stop_reason) != 's' || known_end_is_reason(a->stop_reason))
		return 0;
	taught = known_end_taught(a->stop_reason);
	if (taught != NULL) {
		a->stop_reason = span_of(taught, strlen(taught));
		return 0;
	}
	span_copy(a->stop_reason, word, sizeof word);
	return error_set(err, ERROR_CUT_OFF, x->provider->name, "the answer ended with '%s', which is "
	    "no known end (if it is a good one: --known-end %s=stop)", word, word);
}

static int
exchange_message(struct exchange *x, struct span line, struct error *err)
{
	struct answer *a = x->answer;
	struct form_fault wrong = { .what = ERROR_INIT };
	struct span message;

	if (form_check_answer(line.at, line.len, &wrong) == -1)
		return exchange_broken(x, err, wrong.what.message);
	if (claims_router(span_member(line, "blocks")))
		return exchange_broken(x, err, "a block with the fidelity 'router'");
	scan_minify(line, &a->line);
	message = span_of(a->line.data, a->line.len);
	a->blocks = span_member(message, "blocks");
	a->usage = span_member(message, "usage");
	a->model = span_member(message, "model");
	a->stop_reason = span_member(message, "stop_reason");
	a->request_id = span_member(message, "request_id");
	a->session_id = span_member(message, "session_id");
	if (exchange_end(x, a, err) == -1)
		return -1;
	x->answered = true;
	return 0;
}

/* What a provider may say ended a request; anything else is not its to say. */
static enum error_code
category(struct span line)
{
	char name[32];
	enum error_code code = ERROR_NONE;

	if (span_copy(span_member(line, "category"), name, sizeof name))
		code = error_from_name(name, strlen(name));
	if (code >= ERROR_RATE_LIMIT || code == ERROR_TIMEOUT || code == ERROR_CANCELLED ||
	    code == ERROR_MAX_TURNS || code == ERROR_DIVERGENCE)
		return code;
	return ERROR_PROVIDER;
}

static int
exchange_error(struct exchange *x, struct span line, struct error *err)
{
	char *message = span_text(span_member(line, "message"));
	long long number;

	if (span_integer(span_member(line, "status"), &number))
		x->answer->status = (long)number;
	if (span_integer(span_member(line, "retry_after_ms"), &number) && number > 0)
		x->answer->retry_after_ms = number < RETRY_AFTER_LIMIT_MS ? number :
		    RETRY_AFTER_LIMIT_MS;
	error_set(err, category(line), x->provider->name, "%s",
	    message == NULL || message[0] == '\0' ? "the request failed" : message);
	free(message);
	return -1;
}

static const struct {
	const char *type;
	int (*take)(struct exchange *, struct span, struct error *);
} kinds[] = {
	{ "delta", exchange_delta },
	{ "tool_call", exchange_event },
	{ "tool_result", exchange_event },
	{ "message", exchange_message },
	{ "error", exchange_error },
};

/* Takes a line. Types of later versions, and what is still said of requests that
 * were cancelled, are passed over. */
static int
exchange_line(struct exchange *x, struct span line, struct error *err)
{
	struct span type;
	long long id;
	size_t bad;

	if (scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) != NULL || span_type(line) != 'o')
		return exchange_broken(x, err, "a line that is no JSON object");
	if (!span_integer(span_member(line, "id"), &id))
		return exchange_broken(x, err, "a line without the id of its request");
	if (id != x->id)
		return 0;
	type = span_member(line, "type");
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (span_is(type, kinds[i].type))
			return kinds[i].take(x, line, err);
	return 0;
}

static int
exchange_died(struct exchange *x, struct error *err)
{
	enum error_code code = provider_tells_late(x->provider->name) ? ERROR_CUT_OFF : ERROR_PROVIDER;
	int wait_status = peer_end(&x->provider->peer);
	char text[64];

	if (wait_status == -1)
		return error_set(err, code, x->provider->name,
		    "the provider closed its output and does not end");
	return error_set(err, code, x->provider->name,
	    "the provider ended before it answered: %s",
	    process_status_text(wait_status, text, sizeof text));
}

/* Until the answer. A provider that reads no more says why by how it ends, or it is late. */
static int
exchange_run(struct exchange *x, const struct interrupts *interrupts, struct error *err)
{
	struct peer *peer = &x->provider->peer;
	struct span line;
	char text[32];
	int taken;

	for (;;) {
		while ((taken = peer_line(peer, &line)) == 1) {
			if (line.len > 0 && exchange_line(x, line, err) == -1)
				return -1;
			if (x->answered)
				return 0;
		}
		if (taken == -1)
			return exchange_broken(x, err, "a line above 256 MiB");
		switch (peer_wait(peer, x->deadline, interrupts, err)) {
		case PEER_SERVED:
			break;
		case PEER_GONE:
			return exchange_died(x, err);
		case PEER_LATE:
			exchange_cancel(x);
			return error_set(err, ERROR_TIMEOUT, x->provider->name, "no answer after %s",
			    duration_text(x->timeout_ms, text, sizeof text));
		case PEER_INTERRUPTED:
			exchange_cancel(x);
			return -1;
		}
	}
}

int
provider_ask(struct provider *p, const struct buffer *request, int64_t timeout_ms,
    const struct interrupts *interrupts, const struct provider_callbacks *callbacks,
    struct answer *answer, struct error *err)
{
	struct exchange x = { .provider = p, .callbacks = callbacks, .answer = answer,
	    .id = p->next_id++, .timeout_ms = timeout_ms,
	    .deadline = timeout_ms == 0 ? 0 : clock_monotonic() + timeout_ms };
	struct buffer *out = &p->peer.outgoing;

	*answer = (struct answer){ .line = BUFFER_INIT };
	if (p->peer.process.in == -1)
		peer_end(&p->peer);
	if (provider_start(p, err) == -1)
		return -1;
	/* What comes before the request is of this exchange, and in no digest of it. */
	buffer_format(out, "{\"id\":%lld,", x.id);
	if (p->step != NULL)
		buffer_format(out, "\"step\":\"%s\",", p->step);
	buffer_append(out, request->data + 1, request->len - 1);
	buffer_byte(out, '\n');
	peer_send(&p->peer);
	return exchange_run(&x, interrupts, err);
}

void
answer_free(struct answer *a)
{
	buffer_free(&a->line);
	*a = (struct answer){ .line = BUFFER_INIT };
}
