/*
 * -a, -m: an agent, or an agent that it hands over to, does the work. It makes its retries itself,
 * and continues from the recording of its call.
 *
 * Its input also includes the digests of attachments, and the end of the call whose conversation it
 * continues: if these change, this is another call.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/sandboxing.h"
#include "definitions/trust.h"
#include "formats/definition.h"
#include "formats/model_alias.h"
#include "formats/prompt.h"
#include "history/recorded_providers.h"
#include "io/file.h"
#include "io/polling.h"
#include "io/terminal.h"
#include "json/value.h"
#include "limits/budget.h"
#include "limits/limits_file.h"
#include "limits/trust_option.h"
#include "mcp_client/mcp.h"
#include "proc/message.h"
#include "providers/endpoint_price.h"
#include "providers/known_end.h"
#include "providers/provider_find.h"
#include "step_kinds/kinds.h"
#include "step_kinds/template.h"
#include "step_kinds/work_attachments.h"
#include "step_kinds/work_session.h"
#include "step_kinds/work_turns.h"
#include "storage/mailbox.h"
#include "transcript/event_keys.h"
#include "turn/continuation.h"
#include "turn/prompt_files.h"
#include "turn/team.h"
#include "view/screen.h"

/* What is loaded for the step. */
struct agent_work {
	struct team team;
	struct template prompt;      /* of the first agent */
	struct attachments attached; /* --attach, for each item */
	struct budget budget;        /* limits the cost; set when the work begins */
	bool verbose;
};

/* The parts of a call's input besides the item. */
struct agent_call {
	struct attachments attachments; /* of the step and of the item */
	struct continuation continued;
	struct work_session session; /* with --session */
	int64_t mailbox_from;        /* where the run's mailbox ended before the call began */
};

int
work_read_trust(const char *digests, struct error *err)
{
	return trust_option(digests, err);
}

int
work_read_known_end(const char *text, struct error *err)
{
	return known_end_teach(text, err);
}

int
work_default_model(char **model, const char **place, struct error *err)
{
	return model_default(model, place, err);
}

static bool
agent_asked(const struct step_options *o)
{
	(void)o;
	return true;
}

static const struct agent *
first_agent(const struct agent_work *w)
{
	return &w->team.members[0]->agent;
}

/* ---- loading: errors in a file are reported before errors in its options ---- */

static int
agent_load_team(struct step *s, struct agent_work *w, struct error *err)
{
	const struct agent_options *o = &s->options.agent;
	const struct team_source source = { .agent_file = o->file, .model = o->model,
		.model_place = o->model_place, .allow_tools = o->allow_tools, .tools_policy = o->tools_policy,
		.max_turns = o->max_turns, .max_tokens_total = o->max_tokens_total,
		.output_schema = s->options.output_schema };

	if (ceiling_check(err) == -1 || team_load(&w->team, &source, s->options.name, err) == -1)
		return -1;
	s->definition.agent_name = first_agent(w)->name;
	s->definition.follows_calls = first_agent(w)->continue_from != NULL || o->session != NULL;
	if (first_agent(w)->continue_from != NULL && o->session != NULL)
		return error_set(err, ERROR_USAGE, "--session",
		    "not with an agent that has continue_from: it goes on with one conversation");
	if (s->options.timeout_ms == 0)
		s->options.timeout_ms = first_agent(w)->limits.timeout_ms;
	if (s->options.effects == EFFECTS_UNDECLARED && team_runs_cli(&w->team))
		s->options.effects = team_clis_only_read(&w->team) ? EFFECTS_READ : EFFECTS_EXTERNAL;

	if (template_load(&w->prompt, o->prompt != NULL ? o->prompt : "{{data}}",
	    o->prompt != NULL ? "-p" : "prompt", err) == -1)
		return -1;
	for (char *const *file = o->attach; file != NULL && *file != NULL; file++)
		if (attachments_add_file(&w->attached, *file, err) == -1) {
			err->code = ERROR_DEFINITION;
			return -1;
		}
	return 0;
}

/* Checks that an agent CLI does not run tools itself about which a person is to be asked. */
static int
settle_approvals(const struct agent *a, const char *cli, const char *place, struct error *err)
{
	static const char *const own[] = { "bash", "edit", "glob", "grep", "read", "write", NULL };
	char **tools = cli != NULL ? agent_tools(a) : NULL;
	int failed = 0;

	for (char **tool = tools; failed == 0 && tool != NULL && *tool != NULL; tool++)
		if (text_index(*tool, own) != -1 &&
		    approvals_find(&a->limits.approvals, *tool, span_of("{}", 2)) != NULL)
			failed = error_set(err, ERROR_DEFINITION, place, "approve_tools: the agent CLI '%s' runs "
			    "its tools itself, and nobody can be asked about '%s'", cli, *tool);
	free(tools);
	return failed;
}

/* Checks that each tool of an agent can have its sandbox: if the user asks for one, no tool must
 * run without. */
static int
settle_member(const struct step *s, const struct member *m, struct error *err)
{
	const struct agent *a = &m->agent;
	const char *place = a->path != NULL ? a->path : "--sandbox";
	/* an agent CLI that the agent may use for its work */
	const char *cli = provider_is_cli(a->provider) ? a->provider : NULL;
	struct sandbox decided;
	struct error why = ERROR_INIT;

	for (size_t i = 0; cli == NULL && i < a->fallback.count; i++)
		if (provider_is_cli(a->fallback.list[i].provider))
			cli = a->fallback.list[i].provider;
	if (sandboxing_decide_command(&decided, &s->options.sandbox, a, &why) == -1 &&
	    m->server_count > 0)
		return error_set(err, ERROR_DEFINITION, place, "network: %s", why.message);
	if (cli != NULL &&
	    (sandbox_holds(&decided) || decided.network == SANDBOX_NETWORK_DENIED))
		return error_set(err, ERROR_DEFINITION, place, "sandbox: the agent CLI '%s' runs its "
		    "tools itself, and no sandbox can be put around them", cli);
	if (settle_approvals(a, cli, place, err) != 0)
		return -1;
	for (size_t i = 0; i < m->tool_count; i++)
		if (work_settle_tool(s, a, &m->tools[i], err) == -1)
			return -1;
	return 0;
}

/* Checks that the agents may follow their instruction files. A replay follows those that were
 * followed. */
static int
check_instructions(const struct step *s, const struct agent_work *w, struct error *err)
{
	struct error why = ERROR_INIT;

	if (prompt_files_check(&w->team, w->prompt.file, &s->options.sandbox, &why) == 0 ||
	    trust_is_replayed())
		return 0;
	*err = why;
	return -1;
}

/* Warns of keys in the agents' files that are probably misspelt, or have no effect here. */
static void
print_doubts(const struct agent_work *w)
{
	for (size_t i = 0; i < w->team.count; i++) {
		const struct agent *a = &w->team.members[i]->agent;
		const char *doubts = a->doubt, *line;
		size_t len;

		if (w->verbose && a->unused != NULL)
			message_print("awf-step", "%s", a->unused);
		while ((line = text_part(&doubts, '\n', &len)) != NULL)
			if (len > 0)
				message_print("awf-step", "%.*s", (int)len, line);
	}
}

static int
agent_load_step(struct step *s, struct error *err)
{
	struct agent_work *w = memory_zero(1, sizeof *w);
	struct trust_items items = { NULL, 0 };
	int result;

	s->definition.state = w;
	w->verbose = s->options.agent.verbose;
	trust_ask_from_now("awf-step", NULL);
	result = agent_load_team(s, w, err);
	for (size_t i = 0; result == 0 && i < w->team.count; i++)
		result = settle_member(s, w->team.members[i], err);
	if (result == 0) {
		trust_add_team(&items, &w->team, &s->options.sandbox);
		result = trust_check(&items, err);
		trust_items_free(&items);
	}
	trust_ask_from_now(NULL, NULL);
	if (result == 0)
		result = check_instructions(s, w, err);
	print_doubts(w);
	w->verbose = w->verbose || (w->team.count > 0 && terminal_is_told(STDERR_FILENO));
	return result;
}

static void
agent_stop(struct step *s)
{
	struct agent_work *w = s->definition.state;

	team_stop(&w->team);
}

static void
agent_unload(struct step *s)
{
	struct agent_work *w = s->definition.state;

	team_free(&w->team);
	template_free(&w->prompt);
	attachments_free(&w->attached);
	budget_end(&w->budget);
	free(w);
}

/* ---- the step's files ---- */

/* The digest of an endpoint's settings for requests to a model; "": it has none. In a replay the
 * recorded one. */
static void
endpoint_digest_of(const struct agent_work *work, const char *provider, const char *model,
    char sha256[DIGEST_SIZE])
{
	const struct endpoint *e = team_endpoint(&work->team, provider);
	const char *recorded = getenv(PROVIDER_RECORDED_ENDPOINTS);

	*sha256 = '\0';
	if (e != NULL) {
		endpoint_digest(e, model, sha256);
	} else if (recorded != NULL) {
		char *key = memory_format("%s/%s", provider, model);
		size_t bad;

		if (scan_check(recorded, strlen(recorded), &bad) == NULL &&
		    !span_copy(span_member(span_of(recorded, strlen(recorded)), key), sha256, DIGEST_SIZE))
			*sha256 = '\0';
		free(key);
	}
}

static void
define_endpoint(const struct agent_work *work, const char *provider, const char *model,
    struct writer *w)
{
	char sha256[DIGEST_SIZE];

	endpoint_digest_of(work, provider, model, sha256);
	if (*sha256 != '\0')
		writer_string(w, sha256);
}

/* Writes the definition of an agent. The step's prompt belongs to the first one; the order must not
 * change, as it identifies calls of earlier recordings. */
static void
define_member(const struct step *s, const struct agent_work *work, const struct member *m,
    struct writer *w)
{
	bool first = m == work->team.members[0];
	struct buffer params = BUFFER_INIT;

	writer_string(w, m->agent.sha256);
	if (first)
		writer_string(w, work->prompt.text);
	writer_string(w, m->agent.provider);
	writer_string(w, m->agent.model);
	define_endpoint(work, m->agent.provider, m->agent.model, w);
	for (size_t i = 0; i < m->agent.fallback.count; i++) {
		const struct fallback_model *other = &m->agent.fallback.list[i];

		writer_string(w, other->provider);
		writer_string(w, other->model);
		define_endpoint(work, other->provider, other->model, w);
	}
	if (first)
		template_define_inputs(&work->prompt, s, w);
	if (m->agent.params != NULL) {
		value_write(m->agent.params, &params);
		writer_raw(w, params.data, params.len);
	}
	for (size_t i = 0; i < m->tool_count; i++)
		writer_string(w, m->tools[i].sha256);
	if (m->stop.name != NULL)
		writer_string(w, m->stop.sha256);
	for (size_t i = 0; i < m->server_count; i++)
		writer_raw(w, m->servers[i]->definition.text.data, m->servers[i]->definition.text.len);
	for (char *const *name = m->allowed; m->server_count > 0 && name != NULL && *name != NULL; name++)
		writer_string(w, *name);
	if (m->agent.output.path != NULL)
		writer_raw(w, m->agent.output.text.data, m->agent.output.text.len);
	buffer_free(&params);
}

static void
agent_define(const struct step *s, struct writer *w)
{
	const struct agent_work *work = s->definition.state;

	if (s->options.output.into != NULL)
		writer_string(w, s->options.output.into);
	if (s->options.agent.session != NULL)
		writer_string(w, s->options.agent.session);
	for (size_t i = 0; i < work->team.count; i++)
		define_member(s, work, work->team.members[i], w);
	if (work->team.policy != TOOLS_UNSAID)
		writer_string(w, tools_policy_name(work->team.policy));
}

/* Adds the program of a server, which is searched for in the directory in which the server runs. */
static void
name_server(struct step_files *f, const struct mcp_definition *d)
{
	struct error ignored = ERROR_INIT;
	char *run_in = d->directory != NULL ?
	    mcp_expand(d->directory, d->file, NULL, NULL, d->place, &ignored) : NULL;
	char **words = NULL, *text;

	if (d->command == NULL)
		return;
	for (size_t i = 0; i == 0 || (d->arguments != NULL && d->arguments[i - 1] != NULL); i++) {
		const char *word = i == 0 ? d->command : d->arguments[i - 1];

		text = mcp_expand(word, d->file, NULL, NULL, d->place, &ignored);
		list_take(&words, text != NULL ? text : memory_text(""));
	}
	if (run_in != NULL && *run_in != '/') {
		text = path_join(f->here, run_in);
		free(run_in);
		run_in = text;
	}
	step_files_add_command_in(f, words, run_in);
	list_free(words);
	free(run_in);
}

static void
name_provider(struct step_files *f, const struct team *t, const char *name, const char *model)
{
	struct error ignored;
	char *words[] = { provider_find(provider_program(name, team_endpoint(t, name), model), &ignored), NULL };

	if (words[0] != NULL)
		step_files_add_command(f, words);
	free(words[0]);
}

static void
name_member(struct step_files *f, const struct team *t, const struct member *m)
{
	const struct agent *a = &m->agent;

	for (size_t k = 0; team_agent_provider(a, k) != NULL; k++)
		name_provider(f, t, team_agent_provider(a, k), k == 0 ? a->model : a->fallback.list[k - 1].model);
	step_files_name(f, a->path);
	step_files_name(f, a->output.path);
	for (char **path = a->prompt.composed; path != NULL && *path != NULL; path++)
		step_files_name(f, *path);
	for (size_t k = 0; k < m->tool_count; k++)
		work_name_tool(f, &m->tools[k]);
	if (m->stop.name != NULL)
		work_name_tool(f, &m->stop);
	for (size_t k = 0; k < m->server_count; k++) {
		const struct mcp_definition *d = &m->servers[k]->definition;

		/* Configurations of servers may contain keys and tokens: name only their digest. */
		if (a->mcp.own == NULL)
			step_files_name_digest(f, d->file);
		name_server(f, d);
	}
	if (a->before_turn != NULL) {
		char **words = agent_command(a->before_turn);

		step_files_add_command(f, words);
		free(words);
	}
}

static void
agent_files(const struct step *s, struct step_files *f)
{
	const struct agent_work *w = s->definition.state;

	for (size_t i = 0; i < w->team.count; i++)
		name_member(f, &w->team, w->team.members[i]);
	step_files_name(f, w->prompt.file);
	for (char *const *file = s->options.agent.attach; file != NULL && *file != NULL; file++)
		step_files_name(f, *file);
}

static bool
agent_reads_environment(const struct step *s)
{
	const struct agent_work *w = s->definition.state;

	return w == NULL || team_reads_environment(&w->team);
}

static const char *
agent_ignores_input(const struct step *s)
{
	const struct agent_work *w = s->definition.state;

	return s->options.agent.prompt != NULL && !prompt_has_data(w->prompt.text) ?
	    "the prompt has no {{data}}: what is read is not in it (-n reads nothing)" : NULL;
}

/* ---- in the run ---- */

/* Calls of an agent without tools, which may ask one provider, are limited by what the user's file says of that. */
static int
agent_most_at_once(const struct step *s)
{
	const struct agent_work *w = s->definition.state;
	const struct agent *agent = first_agent(w);
	const struct limits *limits;
	struct limits_file file;
	struct error ignored = ERROR_INIT;
	int most = 0;

	if (w->team.count > 1 || team_reads_environment(&w->team) || team_agent_provider(agent, 1) != NULL)
		return 0;
	/* What is wrong with the file is said by the first call. */
	if (limits_file_read(&file, &ignored) == 0) {
		limits = limits_file_find(&file, agent->provider);
		most = limits != NULL ? limits->at_once : 0;
	}
	limits_file_free(&file);
	return most;
}

/* Starts the provider. A worker of the run is not taken as long as there is no input, so that
 * earlier steps can use it. */
static int
start_provider(struct step *s, struct team *team, int in, struct error *err)
{
	team_connect(team, s->place.keys, s->place.run, s->place.path);
	if (in != -1 && provider_shared(team->members[0]->provider) && poll_now(in, POLLIN) == 0)
		return 0;
	return provider_start(team->members[0]->provider, err);
}

static int
agent_begin(struct step *s, int in, struct error *err)
{
	struct agent_work *w = s->definition.state;
	int failed = step_begin_budget(s, &w->budget, err);

	w->budget.defined = endpoint_budget_price;
	if (failed == -1 || team_check_prices(&w->team, &w->budget, err) == -1)
		return -1;
	return in != -1 ? start_provider(s, &w->team, in, err) : 0;
}

/* Finds the conversation that the agent continues: a session, if the same CLI continues it,
 * otherwise the messages. If there is neither, that is the call's error. */
static void
find_conversation(struct step_call *call, struct continuation *c, struct work_session *ws)
{
	const struct agent *agent = first_agent(call->step->definition.state);
	struct error *error = &call->end.error;
	char digests[DIGEST_SIZE + ID_SIZE];
	size_t len = strlen(call->input_sha256);

	const char *session = call->step->options.agent.session;
	const struct transcript *transcript = &call->step->place.run->transcript;

	if ((agent->continue_from == NULL && session == NULL) || error->code != ERROR_NONE)
		return;
	if (session != NULL)
		work_session_enter(call, session, ws, c);
	else
		continuation_find(c, transcript->path, transcript->blobs, agent->continue_from, NULL, error);
	if (error->code != ERROR_NONE || c->completed[0] == '\0')
		return;
	if (c->session == NULL || c->provider == NULL || strcmp(c->provider, agent->provider) != 0) {
		const char *place = session != NULL ? "--session" : "continue_from";
		const char *named = session != NULL ? session : agent->continue_from;

		free(c->session);
		c->session = NULL;
		if (c->lacks)
			error_set(error, ERROR_INVALID_INPUT, agent->name, "%s: '%s' "
			    "had attachments, whose bytes a masked run does not keep", place, named);
		else if (c->messages.len == 0)
			error_set(error, ERROR_INVALID_INPUT, agent->name,
			    "%s: '%s' had no conversation in this run", place, named);
		if (error->code != ERROR_NONE)
			return;
	}
	memcpy(digests, call->input_sha256, len);
	memcpy(digests + len, c->completed, ID_SIZE);
	digest_sha256(digests, strlen(digests), call->input_sha256);
}

static void
read_attachments(struct step_call *call, struct agent_call *c)
{
	const struct agent_work *w = call->step->definition.state;

	work_attachments_read(call, w->attached.count > 0 ? &w->attached : NULL, &c->attachments);
}

static void
agent_prepare(struct step_call *call)
{
	struct agent_call *c = memory_zero(1, sizeof *c);

	call->state = c;
	c->session.session.fd = -1;
	c->mailbox_from = mailbox_end(&call->step->place.run->storage,
	    call->step->place.run->transcript.run_id);
	read_attachments(call, c);
	find_conversation(call, &c->continued, &c->session);
}

static void
agent_close(struct step_call *call)
{
	struct agent_call *c = call->state;

	if (c == NULL)
		return;
	attachments_free(&c->attachments);
	continuation_free(&c->continued);
	work_session_leave(&c->session);
	free(c);
}

static void
agent_label(const struct step *s, struct buffer *out)
{
	const struct agent_work *w = s->definition.state;

	if (w == NULL)
		buffer_text(out, STEP_DEFINITION_WRONG);
	else
		buffer_format(out, "agent %s, %s/%s", first_agent(w)->name, first_agent(w)->provider,
		    first_agent(w)->model);
}

/* Writes the members that describe an endpoint, which exists or was recorded. */
static void
write_endpoint(const struct step *s, const char *provider, const char *model, struct writer *w)
{
	const struct agent_work *work = s->definition.state;
	const struct endpoint *e = team_endpoint(&work->team, provider);
	char sha256[DIGEST_SIZE], *origin;

	writer_member_string(w, KEY_NAME, provider);
	if (e != NULL) {
		writer_member_string(w, KEY_PROTOCOL, endpoint_protocol(e, model));
		origin = endpoint_server(e, model, s->place.keys);
		writer_member_string(w, KEY_ORIGIN, origin);
		free(origin);
	}
	endpoint_digest_of(work, provider, model, sha256);
	writer_member_string(w, KEY_SHA256, *sha256 != '\0' ? sha256 : NULL);
}

/* Writes the endpoints of the other models that may be used: those of fallbacks and other
 * agents. */
static void
write_other_endpoints(const struct step *s, struct writer *w)
{
	const struct agent_work *work = s->definition.state;
	bool begun = false;

	for (size_t i = 0; i < work->team.count; i++) {
		const struct agent *a = &work->team.members[i]->agent;

		for (size_t k = 0; team_agent_provider(a, k) != NULL; k++) {
			const char *provider = team_agent_provider(a, k);
			const char *model = k == 0 ? a->model : a->fallback.list[k - 1].model;

			if (i + k == 0 || team_endpoint(&work->team, provider) == NULL)
				continue;
			if (!begun)
				writer_member_array(w, KEY_ENDPOINTS);
			begun = true;
			writer_object(w);
			writer_member_string(w, KEY_MODEL, model);
			write_endpoint(s, provider, model, w);
			writer_object_end(w);
		}
	}
	if (begun)
		writer_array_end(w);
}

static void
agent_record_work(const struct step_call *call, struct writer *w)
{
	const struct agent_call *c = call->state;
	const struct agent_work *work = call->step->definition.state;

	if (work != NULL) {
		const char *provider = first_agent(work)->provider;

		writer_member_string(w, KEY_AGENT, first_agent(work)->name);
		writer_member_string(w, KEY_PROVIDER, provider);
		writer_member_string(w, KEY_MODEL, first_agent(work)->model);
		if (call->step->options.agent.session != NULL && c != NULL && call->end.error.code == ERROR_NONE)
			work_session_record(&c->session, call->step->options.agent.session, &c->continued, w);
		if (step_replays(call->step)) {
			/* The endpoint is known only from the recording. */
			struct span was = call->verdict.recalled.started.view.payload;

			writer_member_span(w, KEY_ENDPOINT, span_member(was, KEY_ENDPOINT));
			writer_member_span(w, KEY_ENDPOINTS, span_member(was, KEY_ENDPOINTS));
			step_write_timeout(call->step, w);
			return;
		}
		if (team_endpoint(&work->team, provider) != NULL) {
			writer_member_object(w, KEY_ENDPOINT);
			write_endpoint(call->step, provider, first_agent(work)->model, w);
			writer_object_end(w);
		}
		write_other_endpoints(call->step, w);
	}
	step_write_timeout(call->step, w);
}

/* If attached files are gone, takes their bytes from the recorded call. */
static int
restore_attachments(struct step_call *call, struct agent_call *c)
{
	const struct recalled *r = &call->verdict.recalled;
	struct span blocks = SPAN_NONE;

	if (!attachments_lack(&c->attachments))
		return 0;
	for (size_t i = 0; call->verdict.recalls && i < r->event_count && blocks.at == NULL; i++)
		if (r->events[i].view.type == EVENT_MESSAGE_USER)
			blocks = span_member(r->events[i].view.payload, KEY_BLOCKS);
	return attachments_restore(&c->attachments, blocks, &call->end.error);
}

/* Warns if the conversation was begun at one server and is continued at another. */
static void
agent_tell_moved(const struct step_call *call)
{
	const struct step *s = call->step;
	const struct agent_work *work = s->definition.state;
	const struct agent *a = first_agent(work);
	const struct endpoint *e = team_endpoint(&work->team, a->provider);
	char *was, *is;

	if (!call->verdict.recalls || e == NULL || step_replays(s))
		return;
	was = span_text(span_path(call->verdict.recalled.started.view.payload, KEY_ENDPOINT, KEY_ORIGIN,
	    NULL));
	is = endpoint_server(e, a->model, s->place.keys);
	if (was != NULL && is != NULL && strcmp(was, is) != 0)
		message_print("awf-step", "%s: goes on at %s, though it was begun at %s",
		    s->options.name, is, was);
	free(was);
	free(is);
}

static int
agent_run(struct step_call *call, int repeats, struct error *err)
{
	struct step *s = call->step;
	struct agent_work *w = s->definition.state;
	struct agent_call *c = call->state;
	struct error *error = &call->end.error;
	struct buffer prompt = BUFFER_INIT;
	struct turns t;
	int result;

	(void)repeats;
	(void)err;
	agent_tell_moved(call);
	if (template_render(&w->prompt, s, call->item, &prompt, error) == 0 &&
	    restore_attachments(call, c) == 0 &&
	    (s->options.agent.session == NULL || work_session_begin(call, s->options.agent.session,
	    first_agent(w)->name, &c->session, error) == 0) &&
	    (step_replays(s) || start_provider(s, &w->team, -1, error) == 0)) {
		work_turns_begin(call, &t);
		t.member = w->team.members[0];
		t.verbose = w->verbose;
		t.budget = w->budget.limits ? &w->budget : NULL;
		t.prompt = span_of(buffer_string(&prompt), prompt.len);
		t.attachments = &c->attachments;
		t.mailbox_from = c->mailbox_from;
		t.continued = &c->continued;
		result = turns_run(&t, error);
		/* It has asked its model, and waits: other than one that only asks what it is. */
		if (error->code == ERROR_WAITING)
			call->end.exit_code = STATUS_WAITING;
		if (t.member != w->team.members[0])
			call->end.agent = memory_text(t.member->agent.name);
		work_turns_end(call, &t, result);
	}
	buffer_free(&prompt);
	return 0;
}

/* Writes the first request as it would be sent. */
static int
agent_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct agent_work *w = s->definition.state;
	struct step_call call = { .step = s, .item = item };
	struct agent_call c = { .attachments = ATTACHMENTS_INIT };
	struct buffer prompt = BUFFER_INIT;
	struct turns t = { .member = w->team.members[0], .environment = &s->place.environment,
		.keys = s->place.keys, .sandbox = &s->options.sandbox, .attachments = &c.attachments,
		.shown = s->place.shown, .step = s->place.path != NULL ? s->place.path : s->options.name };
	int result = template_render(&w->prompt, s, item, &prompt, err);

	read_attachments(&call, &c);
	if (result == 0 && call.end.error.code != ERROR_NONE) {
		*err = call.end.error;
		result = -1;
	}
	t.prompt = span_of(buffer_string(&prompt), prompt.len);
	if (result == 0)
		result = turns_request(&t, out, err);
	if (result == 0)
		buffer_byte(out, '\n');
	buffer_free(&prompt);
	attachments_free(&c.attachments);
	buffer_free(&call.attached);
	buffer_free(&call.completed_by);
	return result;
}

const struct work work_agent = {
	.kind = "agent",
	.goes_on = true,
	.repeats_tries = true,
	.asked = agent_asked,
	.load = agent_load_step,
	.define = agent_define,
	.files = agent_files,
	.reads_environment = agent_reads_environment,
	.ignores_input = agent_ignores_input,
	.begin = agent_begin,
	.most_at_once = agent_most_at_once,
	.describe = agent_describe,
	.prepare = agent_prepare,
	.label = agent_label,
	.judge = step_judge_again,
	.record_work = agent_record_work,
	.run = agent_run,
	.close = agent_close,
	.stop = agent_stop,
	.unload = agent_unload,
};
