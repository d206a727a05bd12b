/*
 * One try of a command: what it reads, how it ended, and what its stdout is taken for: lines
 * of steps in it, or results, as -O says. The roster is asked whether a step in it died, since
 * a shell's exit status does not tell.
 */
#include "step/step_call.h"

#include <string.h>

#include "base/list.h"
#include "proc/api_keys.h"
#include "proc/subprocess.h"

static void
split_text(struct step_end *to, char end, const char *bytes, size_t len)
{
	const char *found;
	size_t piece;

	while (len > 0) {
		struct data data = { BUFFER_INIT, false, false };

		found = memchr(bytes, end, len);
		piece = found == NULL ? len : (size_t)(found - bytes) + 1;
		data_from_text(&data, bytes, found != NULL && end == '\0' ? piece - 1 : piece);
		step_end_add_result(to, &data);
		bytes += piece;
		len -= piece;
	}
}

static void
split_json(struct step_end *to, const char *bytes, size_t len)
{
	size_t end, bad;
	const char *wrong;

	while (span_trim(span_of(bytes, len)).len > 0) {
		struct data data = { BUFFER_INIT, false, false };

		wrong = scan_value(bytes, len, SCAN_DEPTH, &end, &bad);
		if (wrong != NULL) {
			error_set(&to->error, ERROR_SCHEMA, NULL, "stdout is no JSON: %s", wrong);
			return;
		}
		scan_minify(span_of(bytes, end), &data.json);
		step_end_add_result(to, &data);
		bytes += end;
		len -= end;
	}
}

/* Stdout as results. */
static void
take_output(struct step_end *to, enum output_form form, const struct buffer *output)
{
	const char *bytes = buffer_string(output);
	struct data data = { BUFFER_INIT, false, false };

	switch (form) {
	case OUTPUT_LINES:
		split_text(to, '\n', bytes, output->len);
		break;
	case OUTPUT_NUL:
		split_text(to, '\0', bytes, output->len);
		break;
	case OUTPUT_JSON:
		split_json(to, bytes, output->len);
		break;
	default:
		data_from_text(&data, bytes, output->len);
		step_end_add_result(to, &data);
	}
}

/* In its sandbox, if it has one. In memory of its own. */
static char **
command_argv(struct step *s)
{
	char **argv;

	if (!sandbox_holds(&s->sandbox))
		return list_copy(s->command);
	argv = sandbox_argv(&s->sandbox, NULL, NULL, NULL, s->command);
	s->sandbox.told = true;
	return argv;
}

/* A key that the command was given is not recorded with what it says. */
static void
hide_keys(const struct step *s, struct subprocess *process)
{
	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		subprocess_hide(process, environment_get(&s->environment, *name));
	for (size_t i = 0; s->keys != NULL && i < s->keys->count; i++)
		subprocess_hide(process, environment_get(&s->environment, s->keys->names[i]));
}

int
step_try_command(struct step_call *call, struct error *err)
{
	static const char *const forms[] = {
		[OUTPUT_TEXT] = "text", [OUTPUT_LINES] = "lines", [OUTPUT_NUL] = "nul",
		[OUTPUT_JSON] = "json"
	};
	struct step *s = call->step;
	struct step_end *end = &call->end;
	struct buffer input = BUFFER_INIT;
	char **argv = command_argv(s);
	struct subprocess process = { .argv = argv, .name = s->command[0], .environment = s->environment.list,
	    .timeout_ms = s->timeout_ms, .inherit = true,
	    .run_directory = s->run->directory, .call = call->id };
	int result;

	step_end_forget_results(end); /* what a try before made is none of this one's */
	step_drop_lines(call);
	if (s->passes)
		step_body_line(call, &input);
	else if (s->feed_state)
		step_state_line(call, &input);
	else
		data_feed(&call->item->data, &input);
	process.input = buffer_string(&input);
	process.input_len = input.len;
	result = subprocesses_run(&process, 1, &s->interrupts, err);

	hide_keys(s, &process);
	end->error = process.error;
	end->exit_code = process.exit_code;
	end->killed = process.exit_code > 128;
	if (sandbox_holds(&s->sandbox))
		sandbox_blocked(process.exit_code, process.errors.data, process.errors.len, &end->error);
	buffer_free(&end->errors);
	end->errors = process.errors;
	end->errors_bytes = process.errors_bytes;
	memset(&process.errors, 0, sizeof process.errors);
	if (s->pending && end->error.code == ERROR_EXIT_STATUS && end->exit_code == STATUS_WAITING)
		step_wait(call, WAITING_COMPLETION, forms[s->output], s->pending_ms);

	if (result == 0 && !(s->passes && step_take_lines(call, &process.output)) &&
	    end->error.code == ERROR_NONE)
		take_output(end, s->output, &process.output);
	step_look_for_dead(call);
	subprocess_free(&process);
	list_free(argv);
	buffer_free(&input);
	return result;
}
