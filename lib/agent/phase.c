/*
 * A phase is read as a definition of its own, with the lines that lie within its place in the
 * file. JSON files have no lines: there the place is the element's number.
 */
#include "agent/phase.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/tool.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"

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

/* White space at the end is the file's, not the phase's. */
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

/* The lines of what is in an element of a key, by its own keys. */
static json_t *
lines_within(json_t *lines, const char *element)
{
	size_t len = strlen(element);
	json_t *within = json_object(), *line;
	const char *place;

	json_object_foreach(lines, place, line)
		if (strncmp(place, element, len) == 0 && place[len] == '/')
			json_object_set(within, place + len + 1, line);
	return within;
}

/* The phase is at place: "FILE:LINE", or "FILE: phases/1". */
static int
read_members(struct phase *phase, const struct definition *d, const char *place,
    struct error *err)
{
	if (definition_only(d, keys, err) != 0 || definition_read(d, keys, phase, err) != 0)
		return -1;
	if (phase->name == NULL)
		return error_set(err, ERROR_DEFINITION, place, "the phase has no name");
	if (phase->instructions == NULL)
		return error_set(err, ERROR_DEFINITION, place, "the phase '%s' has no instructions",
		    phase->name);
	return 0;
}

static int
read_phase(struct phase *phase, const struct definition *d, const char *element, json_t *value,
    struct error *err)
{
	char *place = d->lines != NULL ? definition_place(d, element)
	    : memory_format("%s: %s", d->path, element);
	struct definition own = { d->lines != NULL ? d->path : place, value, NULL };
	int failed;

	if (d->lines != NULL)
		own.lines = lines_within(d->lines, element);
	failed = json_is_object(value) ? read_members(phase, &own, place, err)
	    : error_set(err, ERROR_DEFINITION, place, "expected a phase {name: …, "
	    "instructions: …}, got %s", definition_type(value));
	json_decref(own.lines);
	free(place);
	return failed;
}

static int
check_unique(const struct phases_list *phases, const struct definition *d, const char *key,
    struct error *err)
{
	const struct phase *last = &phases->list[phases->count - 1];

	for (const struct phase *other = phases->list; other < last; other++)
		if (strcmp(other->name, last->name) == 0)
			return definition_fail(d, key, err, "'%s' is there twice", last->name);
	return 0;
}

int
phases_read(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct phases_list *phases = (struct phases_list *)(void *)((char *)object + key->offset);
	char *element;
	int failed = 0;

	if (!json_is_array(value) || json_array_size(value) == 0)
		return definition_fail(d, key->name, err,
		    "expected a list of phases {name: …, instructions: …}");
	phases->list = memory_zero(json_array_size(value), sizeof *phases->list);
	while (failed == 0 && phases->count < json_array_size(value)) {
		element = memory_format("%s/%zu", key->name, phases->count);
		failed = read_phase(&phases->list[phases->count], d, element,
		    json_array_get(value, phases->count), err);
		phases->count++;
		free(element);
		if (failed == 0)
			failed = check_unique(phases, d, key->name, err);
	}
	return failed;
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
