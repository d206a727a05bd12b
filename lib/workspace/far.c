/*
 * The other machine has an environment of its own. Variables here name programs and places of this
 * machine, so only some, and those that the user names, are passed.
 */
#include "workspace/far.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "transcript/event_keys.h"

/* A name that ends with an underscore stands for all names that begin so. */
static const char *const carried[] = { "LANG", "LC_", "TZ", "TRACEPARENT", "AWF_TASK", "AWF_TASK_TOKEN" };

static bool
is_carried(const char *variable)
{
	for (size_t i = 0; i < sizeof carried / sizeof carried[0]; i++) {
		size_t len = strlen(carried[i]);

		if (strncmp(variable, carried[i], len) == 0 &&
		    (carried[i][len - 1] == '_' || variable[len] == '='))
			return true;
	}
	return false;
}

char **
far_environment(const struct environment *e, char *const *variables, const char *call)
{
	char **list = NULL;

	for (char *const *variable = e->list; variable != NULL && *variable != NULL; variable++)
		if (is_carried(*variable))
			list_add(&list, *variable);
	list_take(&list, memory_format("%s=%s/%s", FRAME_MARKER, environment_get(e, "AWF_RUN_ID"), call));
	for (; variables != NULL && *variables != NULL; variables++) {
		const char *value = strchr(*variables, '=') != NULL ? NULL : environment_get(e, *variables);

		if (strchr(*variables, '=') != NULL)
			list_add(&list, *variables);
		else if (value != NULL)
			list_take(&list, memory_format("%s=%s", *variables, value));
	}
	return list;
}

void
far_take(struct far_end *far, const struct via *via)
{
	memset(far, 0, sizeof *far);
	far->begun = via->begun;
	far->told = via->state == VIA_ENDED;
	snprintf(far->host, sizeof far->host, "%s", via->hello.host);
	far->user_ms = via->end.user_ms;
	far->system_ms = via->end.system_ms;
	far->max_rss_kib = via->end.max_rss_kib;
}

void
far_write(struct writer *w, const struct far_end *far)
{
	if (!far->begun)
		return;
	writer_member_object(w, KEY_FAR_END);
	writer_member_string(w, KEY_HOST, far->host);
	if (far->told) {
		writer_member_integer(w, KEY_USER_MS, far->user_ms);
		writer_member_integer(w, KEY_SYSTEM_MS, far->system_ms);
		writer_member_integer(w, KEY_MAX_RSS_KIB, far->max_rss_kib);
	}
	writer_object_end(w);
}
