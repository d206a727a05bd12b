/* Kept in the order in which they come, told group by group. */
#include "awf/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "proc/api_keys.h"

#define BOLD "\033[1m"
#define RESET "\033[0m"
#define NAME_WIDTH 16 /* a name that is longer has its message further right */

static const char *const group_names[FINDING_GROUPS] = { "programs", "providers", "sandbox",
	"storage", "prices", "agents", "tools", "skills" };

static const struct {
	const char *name, *colour;
} statuses[] = {
	[FINDING_OK] = { "ok", "\033[32m" },
	[FINDING_NOTE] = { "note", "\033[33m" },
	[FINDING_WRONG] = { "wrong", "\033[31m" },
};

/* In memory of its own. */
static char *
harmless(const char *text)
{
	struct buffer visible = BUFFER_INIT;
	char *copy = memory_text(text);

	api_keys_hide(copy);
	text_visible(&visible, copy, strlen(copy), 0);
	free(copy);
	return buffer_take(&visible);
}

void
findings_add(struct findings *f, enum finding_group group, enum finding_status status,
    const char *name, const char *format, ...)
{
	va_list list, again;
	char *message;
	size_t size;

	/* Whole: of a text that was cut not all of a key would be found. */
	va_start(list, format);
	va_copy(again, list);
	size = (size_t)vsnprintf(NULL, 0, format, list) + 1;
	va_end(list);
	message = memory_alloc(size);
	vsnprintf(message, size, format, again);
	va_end(again);
	f->list = memory_array(f->list, f->count + 1, sizeof *f->list);
	f->list[f->count++] = (struct finding){ group, status, harmless(name), harmless(message) };
	f->wrong += status == FINDING_WRONG;
	free(message);
}

void
findings_add_error(struct findings *f, enum finding_group group, enum finding_status status,
    const char *name, const struct error *err)
{
	char text[sizeof err->place + sizeof err->message + 4];

	findings_add(f, group, status, name, "%s", error_text(err, text, sizeof text));
}

static bool
is_told(const struct finding *f, bool quiet)
{
	return !quiet || f->status == FINDING_WRONG;
}

static void
add_line(const struct finding *f, bool colour, struct buffer *out)
{
	buffer_format(out, "  %s%-5s%s  %-*s  %s\n", colour ? statuses[f->status].colour : "",
	    statuses[f->status].name, colour ? RESET : "", NAME_WIDTH, f->name, f->message);
}

void
findings_text(const struct findings *f, bool quiet, bool colour, struct buffer *out)
{
	for (int group = 0; group < FINDING_GROUPS; group++) {
		bool headed = false;

		for (size_t i = 0; i < f->count; i++) {
			if ((int)f->list[i].group != group || !is_told(&f->list[i], quiet))
				continue;
			if (!headed)
				buffer_format(out, "%s%s%s\n", colour ? BOLD : "", group_names[group],
				    colour ? RESET : "");
			headed = true;
			add_line(&f->list[i], colour, out);
		}
	}
	if (!quiet && f->wrong == 0)
		buffer_text(out, "What a workflow needs is there.\n");
	else if (!quiet)
		buffer_format(out, "%zu %s wrong.\n", f->wrong, f->wrong == 1 ? "thing is" : "things are");
}

void
findings_json(const struct findings *f, bool quiet, struct buffer *out)
{
	struct writer w;

	for (int group = 0; group < FINDING_GROUPS; group++)
		for (size_t i = 0; i < f->count; i++) {
			const struct finding *found = &f->list[i];

			if ((int)found->group != group || !is_told(found, quiet))
				continue;
			writer_begin(&w, out);
			writer_object(&w);
			writer_member_string(&w, "group", group_names[group]);
			writer_member_string(&w, "name", found->name);
			writer_member_string(&w, "status", statuses[found->status].name);
			writer_member_string(&w, "message", found->message);
			writer_object_end(&w);
			buffer_byte(out, '\n');
		}
}

void
findings_free(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].name);
		free(f->list[i].message);
	}
	free(f->list);
	*f = (struct findings){ NULL, 0, 0 };
}
