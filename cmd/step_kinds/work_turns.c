/* For the kinds of work that run turns: their result is one value, not parts, and retries are
 * recorded in the end of the call. */
#include "step_kinds/work_turns.h"

#include <stdlib.h>
#include <string.h>

#include "definitions/sandboxing.h"
#include "formats/definition.h"
#include "io/file.h"
#include "view/live.h"

/* Checks that a tool can have its sandbox. For a tool outside any sandbox, notes the state of the
 * files that it runs before any sandboxed program runs. AWF's own programs are left out: anyone who
 * can write to them can write to this program, too. */
int
work_settle_tool(const struct step *s, const struct agent *agent, struct tool *tool,
    struct error *err)
{
	struct sandbox decided;

	if (sandboxing_decide(&decided, &s->options.sandbox, agent, tool, err) == -1)
		return -1;
	if (!sandbox_holds(&decided) && !tool->own)
		pins_read(&tool->pins);
	return 0;
}

void
work_name_tool(struct step_files *f, const struct tool *tool)
{
	char *directory = path_directory(tool->path);
	size_t len = strlen(directory);

	step_files_name(f, tool->path);
	for (char **word = tool->argv; *word != NULL; word++)
		if (strncmp(*word, directory, len) == 0 && (*word)[len] == '/' &&
		    definition_exists(*word))
			step_files_name(f, *word);
	free(directory);
	step_files_add_command(f, tool->argv);
}

void
work_turns_begin(struct step_call *call, struct turns *t)
{
	struct step *s = call->step;
	struct recalled *r = &call->verdict.recalled;

	*t = (struct turns){
		.call = &call->events,
		.retry = &s->options.retry,
		.interrupts = &s->place.interrupts,
		.environment = &s->place.environment,
		.keys = s->place.keys,
		.workflow_directory = getenv("AWF_WORKFLOW_DIR"),
		.deadline = s->options.timeout_ms > 0 ? clock_monotonic() + s->options.timeout_ms : 0,
		.started = call->started,
		.attempt = s->place.run->attempt,
		.run_directory = s->place.run->directory,
		.storage = &s->place.run->storage,
		.live_place = live_place(s->place.run),
		.sandbox = &s->options.sandbox,
		.max_children = s->options.agent.max_children,
		.far_gone = s->place.far_gone,
		.recalled = call->verdict.recalls && !r->changed ? r : NULL,
	};
}

void
work_turns_end(struct step_call *call, struct turns *t, int result)
{
	struct step_end *end = &call->end;
	struct data data = { BUFFER_INIT, false, false };

	end->tool_calls += t->outcome.tool_calls;
	if (t->outcome.retries.len > 0) {
		if (end->retries.len > 0)
			buffer_byte(&end->retries, ',');
		buffer_append(&end->retries, t->outcome.retries.data, t->outcome.retries.len);
	}
	if (result == 0) {
		data.json = t->outcome.result;
		memset(&t->outcome.result, 0, sizeof t->outcome.result);
		step_add_result(end, &data);
	}
	turns_free(t);
}
