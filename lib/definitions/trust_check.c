/*
 * Checks whether everything that definitions of a project would run is allowed; if asking is
 * possible, the user may allow it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "definitions/trust.h"
#include "definitions/trust_project.h"
#include "definitions/trust_text.h"
#include "history/history.h"
#include "io/config.h"
#include "proc/environment.h"
#include "proc/provider_variables.h"
#include "storage/run.h"

static struct trust_items *gathered;

void
trust_gather(struct trust_items *into)
{
	gathered = into;
}

void
trust_items_merge(struct trust_items *all, struct trust_items *more)
{
	for (size_t i = 0; i < more->count; i++) {
		struct trust_item *item = &more->list[i];
		bool there = false;

		for (size_t n = 0; n < all->count; n++)
			there = there || (strcmp(all->list[n].digest, item->digest) == 0 &&
			    strcmp(all->list[n].repository, item->repository) == 0);
		if (there)
			continue;
		all->list = memory_array(all->list, all->count + 1, sizeof *all->list);
		all->list[all->count++] = *item;
		memset(item, 0, sizeof *item);
	}
	trust_items_free(more);
}

bool
trust_is_replayed(void)
{
	char *directory = run_environment_directory();
	struct history *history = NULL;
	struct error ignored = ERROR_INIT;
	bool replayed = directory != NULL && history_open(&history, directory, &ignored) == 0 &&
	    history != NULL && history_recall(history).mode == RECALL_REPLAY;

	if (history != NULL)
		history_close(history);
	free(directory);
	return replayed;
}

static struct {
	const char *program;    /* name of the program that asks; NULL: nobody is asked */
	const struct interrupts *interrupts;
} asking;

void
trust_ask_from_now(const char *program, const struct interrupts *interrupts)
{
	asking.program = program;
	asking.interrupts = interrupts;
}

int
trust_check(const struct trust_items *items, struct error *err)
{
	enum trust_answer answer = TRUST_NOBODY;
	const struct trust_item *first = NULL, *large = NULL;
	struct buffer more = BUFFER_INIT, digests = BUFFER_INIT, what = BUFFER_INIT;
	size_t count = 0;

	INVARIANT(items->count == 0 || items->list != NULL);
	/* Examine the project again next time. */
	trust_project_forget();
	for (size_t i = 0; i < items->count; i++) {
		if (trust_allows(&items->list[i]))
			continue;
		first = first != NULL ? first : &items->list[i];
		count++;
		if (count <= 3)
			buffer_format(&digests, "%s%s", count > 1 ? "," : "", items->list[i].digest);
	}
	for (size_t i = 0; gathered != NULL && i < items->count; i++) {
		const struct trust_item *item = &items->list[i];
		struct trust_items one = { memory_array(NULL, 1, sizeof *one.list), 1 };

		one.list[0] = *item;
		one.list[0].file = memory_text(item->file);
		one.list[0].what = memory_text(item->what);
		one.list[0].files = item->files == NULL ? NULL : memory_text(item->files);
		one.list[0].repository = memory_text(item->repository);
		trust_items_merge(gathered, &one);
	}
	if (first == NULL || trust_is_replayed()) {
		buffer_free(&digests);
		return 0;
	}
	trust_text_shorten(&what, first->what, TRUST_TEXT_IN_ERROR);
	for (size_t i = 0; large == NULL && i < items->count; i++)
		large = items->list[i].too_large ? &items->list[i] : NULL;
	if (trust_file_error() != NULL) {
		*err = *trust_file_error();
	} else if (large != NULL) {
		trust_refuse_too_large(large, ERROR_DEFINITION, err);
	} else if (asking.program != NULL &&
	    trust_ask(items, asking.program, asking.interrupts, &answer, err) == -1) {
		answer = TRUST_NO;
	} else if (answer == TRUST_NO) {
		error_set(err, ERROR_DEFINITION, first->file, "%s: was not allowed on the terminal",
		    buffer_string(&what));
	} else if (answer == TRUST_NOBODY) {
		if (count > 1)
			buffer_format(&more, " (and %zu more)", count - 1);
		error_set(err, ERROR_DEFINITION, first->file, "%s%s: runs in no sandbox, sends data away or "
		    "has what is yours, and nobody has allowed that for %s: %s%s%s%s", buffer_string(&what), buffer_string(&more),
		    first->repository, first->program ? "" : "see awf trust", first->program || count > 3 ? "" : ", or ",
		    count <= 3 ? "say --trust " : "", count <= 3 ? buffer_string(&digests) : "");
	}
	buffer_free(&what);
	buffer_free(&more);
	buffer_free(&digests);
	return answer == TRUST_YES ? 0 : -1;
}

int
trust_check_key(const char *file, const char *key, const char *place, struct error *err)
{
	char *allowed = NULL;
	bool named;

	if (trust_origin(file) != ORIGIN_PROJECT || trust_is_replayed())
		return 0;
	if (config_read(CONFIG_PROJECT_KEYS, &allowed, err) != 0)
		return -1;
	named = trust_list_names(allowed, key);
	free(allowed);
	return named ? 0 : error_set(err, ERROR_DEFINITION, place, "%s is a key or holds a secret, which a "
	    "definition of a project gets only if ~/.config/awf/config says project_keys = %s (or if the user "
	    "has said awf trust --edits)", key, key);
}

int
trust_check_variable(const char *file, const struct keys *keys, const char *variable,
    const char *value, const char *place, struct error *err)
{
	static const char input[] = "AWF_INPUT_";
	bool key = value != NULL && strncmp(variable, input, sizeof input - 1) != 0 &&
	    environment_is_secret(variable, value);

	for (const char *const *name = provider_key_names(); *name != NULL; name++)
		key = key || strcmp(*name, variable) == 0;
	for (size_t i = 0; keys != NULL && i < keys->count; i++)
		key = key || strcmp(keys->names[i], variable) == 0;
	return key ? trust_check_key(file, variable, place, err) : 0;
}

int
trust_check_anew(struct trust_items *items, struct error *err)
{
	struct error why = ERROR_INIT;
	char text[sizeof why.place + sizeof why.message];
	int failed = items->count == 0 ? 0 : trust_check(items, &why);

	if (failed != 0)
		error_set(err, ERROR_BLOCKED, NULL, "%s", error_text(&why, text, sizeof text));
	trust_items_free(items);
	return failed;
}
