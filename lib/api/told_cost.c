/* A path is the names of nested members, separated by dots; "header:NAME" is a header of the
 * answer. */
#include "api/told_cost.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/price.h"
#include "providers/endpoint_price.h"
#include "transcript/event_keys.h"

#define NAME_MOST 64

static struct span
find_at_path(struct span object, struct span path)
{
	char text[256], name[NAME_MOST];
	const char *at = text, *part;
	size_t len;

	if (!span_copy(path, text, sizeof text))
		return SPAN_NONE;
	while ((part = text_part(&at, '.', &len)) != NULL && object.at != NULL) {
		if (len >= sizeof name)
			return SPAN_NONE;
		memcpy(name, part, len);
		name[len] = '\0';
		object = span_type(object) == 'o' ? span_member(object, name) : SPAN_NONE;
	}
	return object;
}

static void
told_cost_take_at_path(struct usage *u, struct span object, struct span path)
{
	static const char *const inside[] = { "response", "message" };
	struct span found = find_at_path(object, path);
	int64_t cost;

	for (size_t i = 0; i < sizeof inside / sizeof *inside && found.at == NULL; i++)
		found = find_at_path(span_member(object, inside[i]), path);
	if (money_read(found, &cost))
		u->cost = cost;
}

void
told_cost_take(struct usage *u, struct span object, struct span paths)
{
	if (span_type(object) != 'o')
		return;
	if (span_type(paths) == 's')
		told_cost_take_at_path(u, object, paths);
	for (struct span_walk path = span_walk(paths); span_next(&path);)
		told_cost_take_at_path(u, object, path.value);
}

static char *
header_of(struct span path)
{
	static const char begin[] = "header:";
	char *text = span_text(path), *name = NULL;

	if (text != NULL && strncmp(text, begin, sizeof begin - 1) == 0)
		name = memory_text(text + sizeof begin - 1);
	free(text);
	return name;
}

char *
told_cost_header(struct span paths)
{
	char *name = header_of(paths);

	for (struct span_walk path = span_walk(paths); span_type(paths) == 'a' && name == NULL &&
	    span_next(&path);)
		name = header_of(path.value);
	return name;
}

void
told_cost_take_header(struct usage *u, const char *value)
{
	const size_t len = strlen(value);
	int64_t cost;
	size_t bad;

	if (u->cost < 0 && scan_check(value, len, &bad) == NULL && money_read(span_of(value, len), &cost))
		u->cost = cost;
}

void
told_cost_by_price(struct message *m, const struct endpoint *e, const char *model)
{
	struct buffer text = BUFFER_INIT;
	struct price price;
	struct writer w;

	if (m->usage.cost >= 0 || !endpoint_price(e, model, &price))
		return;
	if (m->ended && price.input == 0 && price.output == 0) {
		m->usage.cost = 0;
	} else if (usage_known(&m->usage)) {
		writer_begin(&w, &text);
		writer_object(&w);
		message_write_usage(m, &w);
		writer_object_end(&w);
		m->usage.cost = price_cost(&price,
		    span_member(span_of(text.data, text.len), KEY_USAGE));
		buffer_free(&text);
	}
}
