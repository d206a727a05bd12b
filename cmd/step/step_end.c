/*
 * The lists that output is kept in, and the one thing that is made of a result: a member of
 * the item's data.
 */
#include "step/step_end.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/writer.h"

void
step_end_begin(struct step_end *end)
{
	memset(end, 0, sizeof *end);
	end->changed = (struct changed)CHANGED_INIT;
	end->exit_code = -1;
	end->winner = -1;
}

void
step_end_add_result(struct step_end *end, struct data *data)
{
	end->results = memory_array(end->results, end->result_count + 1, sizeof *end->results);
	end->results[end->result_count++] = *data;
}

void
step_end_forget_results(struct step_end *end)
{
	for (size_t i = 0; i < end->result_count; i++)
		data_free(&end->results[i]);
	free(end->results);
	end->results = NULL;
	end->result_count = 0;
}

void
step_end_pass(struct step_end *end, struct item *item)
{
	end->passed = memory_array(end->passed, end->passed_count + 1, sizeof *end->passed);
	end->passed[end->passed_count++] = *item;
	memset(item, 0, sizeof *item);
	end->passes = true;
}

void
step_end_forget_passed(struct step_end *end)
{
	for (size_t i = 0; i < end->passed_count; i++)
		item_free(&end->passed[i]);
	free(end->passed);
	end->passed = NULL;
	end->passed_count = 0;
	end->passes = false;
}

void
step_end_put_into(struct step_end *end, const char *key, const struct item *item)
{
	struct span data = span_of(item->data.json.data, item->data.json.len);
	struct data merged = { BUFFER_INIT, false, false };
	struct writer w;

	if (end->passes) {
		/* The data of the one line that came. */
		size_t count = end->passed_count;

		if (end->error.code == ERROR_NONE && count == 1) {
			step_end_add_result(end, &end->passed[0].data);
			memset(&end->passed[0].data, 0, sizeof end->passed[0].data);
		} else if (end->error.code == ERROR_NONE) {
			error_set(&end->error, ERROR_INVALID_INPUT, "--into",
			    "takes one result, and %zu came", count);
		}
		step_end_forget_passed(end);
	}
	if (end->error.code != ERROR_NONE)
		return;
	writer_begin(&w, &merged.json);
	writer_object(&w);
	if (span_type(data) == 'o') {
		for (struct span_walk member = span_walk(data); span_next(&member);) {
			if (!span_is(member.key, key))
				writer_raw_member(&w, member.key, member.value);
		}
	} else {
		writer_member_span(&w, "input", data);
	}
	if (w.comma)
		buffer_byte(&merged.json, ',');
	json_quote(&merged.json, key, strlen(key));
	buffer_byte(&merged.json, ':');
	buffer_append(&merged.json, end->results[0].json.data, end->results[0].json.len);
	buffer_byte(&merged.json, '}');
	data_free(&end->results[0]);
	end->results[0] = merged;
}

void
step_end_free(struct step_end *end)
{
	step_end_forget_passed(end);
	step_end_forget_results(end);
	buffer_free(&end->retries);
	buffer_free(&end->errors);
	changed_free(&end->changed);
	free(end->agent);
	buffer_free(&end->approval);
	seal_key_forget(&end->seal);
}
