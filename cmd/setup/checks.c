/*
 * Shared by the checks of awf doctor: findings; which providers are needed, and by whom; executing
 * several programs at the same time.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "proc/api_keys.h"
#include "setup/doctor.h"

#define ANSWER_BYTES ((size_t)64 << 10)

/* ---- findings ---- */

/* Escapes control characters, and replaces API keys by stars. To be freed by the caller. */
static char *
checks_visible_text(const char *text)
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
	struct buffer message = BUFFER_INIT;
	va_list list;

	/* The text must be complete: a part of a key might not be recognized. */
	va_start(list, format);
	buffer_format_list(&message, format, list);
	va_end(list);
	f->list = memory_array(f->list, f->count + 1, sizeof *f->list);
	f->list[f->count++] = (struct finding){ group, status, checks_visible_text(name),
	    checks_visible_text(buffer_string(&message)) };
	f->wrong += status == FINDING_WRONG;
	buffer_free(&message);
}

void
findings_add_error(struct findings *f, enum finding_group group, const char *name,
    const struct error *err)
{
	char text[sizeof err->place + sizeof err->message + 4];

	findings_add(f, group, FINDING_WRONG, name, "%s", error_text(err, text, sizeof text));
}

/* ---- demands, and executing programs ---- */

void
demands_add(struct demands *d, const char *provider, const char *who)
{
	if (provider == NULL || demands_who(d, provider) != NULL)
		return;
	d->list = memory_array(d->list, d->count + 1, sizeof *d->list);
	d->list[d->count++] = (struct demand){ memory_text(provider), memory_text(who) };
}

const char *
demands_who(const struct demands *d, const char *provider)
{
	for (size_t i = 0; i < d->count; i++)
		if (strcmp(d->list[i].provider, provider) == 0)
			return d->list[i].who;
	return NULL;
}

void
checks_ask(struct subprocess *processes, size_t count)
{
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < count; i++) {
		processes[i].timeout_ms = CHECK_LIMIT_MS;
		processes[i].output_limit = ANSWER_BYTES;
		processes[i].quiet = true;
	}
	if (subprocesses_run(processes, count, NULL, &err) == 0)
		return;
	for (size_t i = 0; i < count; i++)
		processes[i].error = err;
}

size_t
checks_ask_all(char *const *names, char *const *paths, size_t count, char *option,
    char *const *environment, struct subprocess **processes)
{
	char *(*argv)[3] = memory_zero(count, sizeof *argv);
	size_t asked = 0;

	*processes = memory_zero(count, sizeof **processes);
	for (size_t i = 0; i < count; i++) {
		if (paths[i] == NULL)
			continue;
		argv[asked][0] = paths[i];
		argv[asked][1] = option;
		(*processes)[asked] = (struct subprocess){ .argv = argv[asked], .name = names[i],
			.environment = environment };
		asked++;
	}
	checks_ask(*processes, asked);
	if (asked == 0)
		free(argv);
	return asked;
}

void
checks_free(struct subprocess *processes, size_t count)
{
	if (count > 0)
		free((void *)(uintptr_t)processes[0].argv); /* shared by all of them */
	for (size_t i = 0; i < count; i++)
		subprocess_free(&processes[i]);
	free(processes);
}

struct span
checks_answer(const struct subprocess *b)
{
	size_t len = b->output.len, bad;

	while (len > 0 && b->output.data[len - 1] == '\n')
		len--;
	return len > 0 && scan_check(b->output.data, len, &bad) == NULL ?
	    span_of(b->output.data, len) : SPAN_NONE;
}
