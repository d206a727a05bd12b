/*
 * A policy that nobody has set is empty, so that every decision combines the same list: step,
 * agent, tool. The command of stop_when runs in a sandbox if a tool of the agent does, because it
 * may run what the tool has written.
 */
#include "definitions/sandboxing.h"

#include "base/text.h"
#include "transcript/event_keys.h"

int
sandboxing_mode(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct sandbox *member = definition_member(object, key);
	const char *text = json_is_false(value) ? "none" : json_string_value(value);
	int mode = text == NULL ? -1 : text_index(text, sandbox_modes);

	if (mode != -1) {
		member->mode = (enum sandbox_mode)(SANDBOX_NONE + mode);
		return 0;
	}
	return definition_fail(d, key->name, err, "expected workspace, read-only or none");
}

int
sandboxing_network(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct sandbox *member = definition_member(object, key);

	if (!json_is_boolean(value))
		return definition_fail(d, key->name, err, "expected true or false, got %s",
		    definition_type(value));
	member->network = json_is_true(value) ? SANDBOX_NETWORK_ALLOWED : SANDBOX_NETWORK_DENIED;
	return 0;
}

static const struct sandbox nothing_said;

int
sandboxing_decide(struct sandbox *decided, const struct sandbox *step, const struct agent *agent,
    const struct tool *tool, struct error *err)
{
	const struct sandbox *said[] = { step, agent == NULL ? &nothing_said : &agent->sandbox,
		&tool->sandbox, NULL };
	struct error why = ERROR_INIT;

	if (sandbox_decide(decided, said, &why) == -1)
		return error_set(err, ERROR_DEFINITION, tool->path, "network: %s", why.message);
	if (tool->starts_run && sandbox_holds(decided))
		return error_set(err, ERROR_DEFINITION, tool->path, "sandbox: the tool '%s' starts "
		    "runs, which are recorded outside: none is all that it can have", tool->name);
	return 0;
}

int
sandboxing_decide_command(struct sandbox *decided, const struct sandbox *step,
    const struct agent *agent, struct error *err)
{
	const struct sandbox *said[] = { step, agent == NULL ? &nothing_said : &agent->sandbox, NULL };

	return sandbox_decide(decided, said, err);
}

int
sandboxing_decide_judge(struct sandbox *decided, const struct sandbox *step,
    const struct agent *agent, const struct tool *tools, size_t count, struct error *err)
{
	static const struct sandbox closed = { .mode = SANDBOX_WORKSPACE, .preset = true };
	const struct sandbox *said[] = { step, agent == NULL ? &nothing_said : &agent->sandbox,
		&nothing_said, NULL };

	for (size_t i = 0; i < count; i++)
		if (sandboxing_decide(decided, step, agent, &tools[i], NULL) == 0 &&
		    decided->mode == SANDBOX_WORKSPACE)
			said[2] = &closed;
	return sandbox_decide(decided, said, err);
}

void
sandboxing_write(const struct sandbox *s, struct writer *w)
{
	if (!sandbox_holds(s))
		return;
	writer_member_string(w, KEY_SANDBOX, sandbox_mode_name(s->mode));
	writer_member_bool(w, KEY_NETWORK, s->network == SANDBOX_NETWORK_ALLOWED);
}
