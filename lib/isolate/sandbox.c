/*
 * Modes and networks are numbered by how strict they are, so the strictest is the largest; a
 * preset only fills in what nobody has said before it.
 */
#include "isolate/sandbox.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "proc/libexec.h"

#define PROGRAM "awf-sandbox"

const char *const sandbox_modes[] = { "none", "workspace", "read-only", NULL };

const char *
sandbox_mode_name(enum sandbox_mode mode)
{
	return mode == SANDBOX_UNSAID ? NULL : sandbox_modes[mode - SANDBOX_NONE];
}

static void
tighten(struct sandbox *s, const struct sandbox *other)
{
	if (other->mode > s->mode)
		s->mode = other->mode;
	if (other->network > s->network)
		s->network = other->network;
	s->prefer = s->prefer || other->prefer;
	s->told = s->told || other->told;
	if (other->passed != NULL)
		s->passed = other->passed;
	if (other->opened != NULL)
		s->opened = other->opened;
}

int
sandbox_decide(struct sandbox *decided, const struct sandbox *const *policies,
    struct error *err)
{
	*decided = (struct sandbox){ .mode = SANDBOX_UNSAID };
	for (; *policies != NULL; policies++) {
		const struct sandbox *p = *policies;

		if (!p->preset) {
			tighten(decided, p);
			continue;
		}
		if (decided->mode == SANDBOX_UNSAID)
			decided->mode = p->mode;
		if (decided->network == SANDBOX_NETWORK_UNSAID && decided->mode != SANDBOX_NONE)
			decided->network = p->network;
	}
	if (decided->mode == SANDBOX_UNSAID)
		decided->mode = SANDBOX_NONE;
	if (decided->mode == SANDBOX_NONE && decided->network == SANDBOX_NETWORK_DENIED)
		return error_set(err, ERROR_DEFINITION, NULL,
		    "to be without network takes a sandbox: workspace or read-only");
	if (decided->network == SANDBOX_NETWORK_UNSAID)
		decided->network = decided->mode == SANDBOX_NONE ? SANDBOX_NETWORK_ALLOWED :
		    SANDBOX_NETWORK_DENIED;
	return 0;
}

bool
sandbox_holds(const struct sandbox *s)
{
	return s->mode > SANDBOX_NONE;
}

/* A program that is not there fails to start: nothing runs without it. */
static char *
program(void)
{
	char *list = libexec_path(), *path = path_search(list, PROGRAM);

	free(list);
	return path != NULL ? path : memory_text(AWF_LIBEXECDIR "/" PROGRAM);
}

static void
add_option(char ***words, const char *option, const char *value)
{
	list_add(words, option);
	list_add(words, value);
}

static void
add_options(char ***words, const char *option, char *const *values)
{
	for (; values != NULL && *values != NULL; values++)
		add_option(words, option, *values);
}

char **
sandbox_argv(const struct sandbox *s, const char *workspace, char *const *readable,
    char *const *passed, char *const *argv)
{
	char **words = NULL;

	list_take(&words, program());
	list_add(&words, "--parent");
	list_take(&words, memory_format("%ld", (long)getpid()));
	if (workspace != NULL)
		add_option(&words, "--workspace", workspace);
	if (s->mode == SANDBOX_READ_ONLY)
		list_add(&words, "--read-only");
	if (s->network == SANDBOX_NETWORK_ALLOWED)
		list_add(&words, "--network");
	if (s->prefer)
		list_add(&words, "--prefer");
	if (s->told)
		list_add(&words, "--quiet");
	add_options(&words, "--readable", readable);
	add_options(&words, "--open", s->opened);
	add_options(&words, "--pass-env", s->passed);
	add_options(&words, "--pass-env", passed);
	list_add(&words, "--");
	for (; *argv != NULL; argv++)
		list_add(&words, *argv);
	return words;
}

void
sandbox_blocked(int exit_code, const char *errors, size_t len, struct error *err)
{
	char *text;

	if (exit_code != SANDBOX_REFUSED || err->code != ERROR_EXIT_STATUS)
		return;
	while (len > 0 && strchr("\n\r ", errors[len - 1]) != NULL)
		len--;
	if (len > sizeof err->message - 1) {
		errors += len - (sizeof err->message - 1);
		len = sizeof err->message - 1;
	}
	text = memory_copy(len > 0 ? errors : "", len);
	error_set(err, ERROR_BLOCKED, NULL, "%s", len > 0 ? text : "refused by the sandbox");
	free(text);
}
