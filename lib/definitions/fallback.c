/*
 * An entry is an object, or a text that is split at its first slash, because names of models may
 * contain slashes, too.
 */
#include "definitions/fallback.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "providers/provider_find.h"

static void
fallback_add_model(struct fallback *f, char *provider, char *model)
{
	f->list = memory_array(f->list, f->count + 1, sizeof *f->list);
	f->list[f->count++] = (struct fallback_model){ provider, model };
}

int
fallback_read(const struct definition *d, const struct definition_key *key, json_t *value,
    void *object, struct error *err)
{
	struct fallback *f = (struct fallback *)(void *)((char *)object + key->offset);
	struct error why = ERROR_INIT;

	if (json_array_size(value) == 0)
		return definition_fail(d, key->name, err,
		    "expected a list of PROVIDER/MODEL, got %s", definition_type(value));
	for (size_t i = 0; i < json_array_size(value); i++) {
		const json_t *entry = json_array_get(value, i);
		const char *text = json_string_value(entry);
		const char *slash = text == NULL ? NULL : strchr(text, '/');
		const char *provider = json_string_value(json_object_get(entry, "provider"));
		const char *model = json_string_value(json_object_get(entry, "model"));

		if (slash != NULL && slash != text && slash[1] != '\0')
			fallback_add_model(f, memory_copy(text, (size_t)(slash - text)),
			    memory_text(slash + 1));
		else if (json_object_size(entry) == 2 && provider != NULL && *provider != '\0' &&
		    model != NULL && *model != '\0')
			fallback_add_model(f, memory_text(provider), memory_text(model));
		else
			return definition_fail(d, key->name, err,
			    "expected PROVIDER/MODEL, or {provider: …, model: …}, in each place");
		if (provider_check_named(f->list[f->count - 1].provider, &why) == -1)
			return definition_fail(d, key->name, err, "%s", why.message);
	}
	return 0;
}

void
fallback_copy(struct fallback *to, const struct fallback *from)
{
	for (size_t i = 0; i < from->count; i++)
		fallback_add_model(to, memory_text(from->list[i].provider),
		    memory_text(from->list[i].model));
}

bool
fallback_helps(enum error_code code)
{
	return code == ERROR_RATE_LIMIT || code == ERROR_OVERLOADED || code == ERROR_NETWORK ||
	    code == ERROR_PROVIDER;
}

void
fallback_free(struct fallback *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].provider);
		free(f->list[i].model);
	}
	free(f->list);
	*f = (struct fallback){ NULL, 0 };
}
