/*
 * Each phase is parsed like a separate definition, with the line numbers that it has in the file.
 * In JSON files, the number of the element is used instead of a line.
 */
#include "definitions/phase.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/agent.h"
#include "definitions/tool.h"

static int
read_name(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	const struct phase *phase = object;

	if (definition_text(d, key, value, object, err) != 0)
		return -1;
	if (!name_valid(phase->name))
		return definition_fail(d, key->name, err,
		    "'%s' is no name of a step (1 to 128 of A-Z a-z 0-9 _ -)", phase->name);
	return 0;
}

/* Trims white space at the end, which is due to the file's format. */
static int
read_instructions(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	const struct phase *phase = object;
	size_t len;

	if (phase->instructions != NULL)
		return definition_fail(d, key->name, err, "'instructions' says the same, drop one");
	if (definition_text(d, key, value, object, err) != 0)
		return -1;
	len = strlen(phase->instructions);
	while (len > 0 && strchr(" \t\r\n", phase->instructions[len - 1]) != NULL)
		len--;
	phase->instructions[len] = '\0';
	return len > 0 ? 0 : definition_fail(d, key->name, err, "must not be empty");
}

#define MEMBER(name) offsetof(struct phase, name)

/* awf-agent(5) lists the same keys. */
static const struct definition_key keys[] = {
	{ "name", read_name, MEMBER(name), 0, 0 },
	{ "instructions", read_instructions, MEMBER(instructions), 0, 0 },
	{ "prompt", read_instructions, MEMBER(instructions), 0, 0 },
	{ "tools", tool_names_read, MEMBER(tools), 0, 0 },
	{ "max_turns", definition_integer, MEMBER(max_turns), 0, INT_MAX },
	{ NULL, NULL, 0, 0, 0 },
};

/* Errors in the phase have the place "FILE:LINE", or "FILE: phases/1". */
static int
read_phase(struct phase *phase, const struct definition *d, const char *element, json_t *value,
    struct error *err)
{
	char *place = d->lines != NULL ? definition_place(d, element)
	    : memory_format("%s: %s", d->path, element);
	struct definition own = { d->lines != NULL ? d->path : place, value, NULL };
	const size_t len = strlen(element);
	const char *key;
	json_t *line;
	int failed = -1;

	/* Line numbers of the keys in the element. */
	if (d->lines != NULL)
		own.lines = json_object();
	json_object_foreach(d->lines, key, line)
		if (strncmp(key, element, len) == 0 && key[len] == '/')
			json_object_set(own.lines, key + len + 1, line);
	if (!json_is_object(value))
		error_set(err, ERROR_DEFINITION, place, "expected a phase {name: …, "
		    "instructions: …}, got %s", definition_type(value));
	else if (definition_only(&own, keys, err) == 0 && definition_read(&own, keys, phase, err) == 0)
		failed = phase->name == NULL ? error_set(err, ERROR_DEFINITION, place,
		    "the phase has no name") : phase->instructions == NULL ? error_set(err,
		    ERROR_DEFINITION, place, "the phase '%s' has no instructions", phase->name) : 0;
	json_decref(own.lines);
	free(place);
	return failed;
}

int
phases_read(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct phases_list *phases = (struct phases_list *)(void *)((char *)object + key->offset);
	const size_t count = json_array_size(value);

	if (!json_is_array(value) || count == 0)
		return definition_fail(d, key->name, err,
		    "expected a list of phases {name: …, instructions: …}");
	phases->list = memory_zero(count, sizeof *phases->list);
	while (phases->count < count) {
		struct phase *phase = &phases->list[phases->count];
		char *element = memory_format("%s/%zu", key->name, phases->count);
		int failed = read_phase(phase, d, element, json_array_get(value, phases->count), err);

		phases->count++;
		free(element);
		if (failed != 0)
			return failed;
		for (const struct phase *other = phases->list; other < phase; other++)
			if (strcmp(other->name, phase->name) == 0)
				return definition_fail(d, key->name, err, "'%s' is there twice", phase->name);
	}
	return 0;
}

char *const *
phase_tools(const struct agent *a, size_t number)
{
	const struct phase *phase = &a->phases.list[number];

	return phase->tools != NULL ? phase->tools : a->tools;
}

void
phases_list_free(struct phases_list *phases)
{
	for (size_t i = 0; i < phases->count; i++) {
		struct phase *phase = &phases->list[i];

		list_free(phase->tools);
		free(phase->name);
		free(phase->instructions);
	}
	free(phases->list);
	*phases = (struct phases_list){ NULL, 0 };
}
