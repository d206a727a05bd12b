/*
 * Modes and networks are numbered by strictness, so the strictest is the largest; a preset only
 * provides values that no other policy has set.
 */
#include "isolate/sandbox.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "io/config.h"
#include "io/file.h"
#include "proc/libexec.h"

#define PROGRAM "awf-sandbox"
/* Passed in variables, because other users can see arguments. */
#define VARIABLE_PREFIX "AWF_SANDBOX_SET_"

const char *const sandbox_modes[] = { "none", "workspace", "read-only", NULL };

const char *const sandbox_lackings[] = { "require", "prefer", NULL };

const char *
sandbox_mode_name(enum sandbox_mode mode)
{
	return mode == SANDBOX_UNSAID ? NULL : sandbox_modes[mode - SANDBOX_NONE];
}

int
sandbox_lacking_default(enum sandbox_lacking *lacking, char **place, struct error *err)
{
	int word = 0, result = config_word(CONFIG_SANDBOX, sandbox_lackings, &word, place, err);

	*lacking = (enum sandbox_lacking)(SANDBOX_REQUIRES + word);
	return result;
}

int
sandbox_decide(struct sandbox *decided, const struct sandbox *const *policies,
    struct error *err)
{
	struct sandbox s = { .mode = SANDBOX_UNSAID };

	for (; *policies != NULL; policies++) {
		const struct sandbox *p = *policies;

		INVARIANT(!p->preset || policies[1] == NULL); /* a preset must be the last policy */
		if (p->preset) {
			if (s.mode == SANDBOX_UNSAID)
				s.mode = p->mode;
			if (s.network == SANDBOX_NETWORK_UNSAID && s.mode != SANDBOX_NONE)
				s.network = p->network;
			continue;
		}
		if (p->mode > s.mode)
			s.mode = p->mode;
		if (p->network > s.network)
			s.network = p->network;
		if (p->lacking > s.lacking)
			s.lacking = p->lacking;
		s.told = s.told || p->told;
		if (p->passed != NULL)
			s.passed = p->passed;
		if (p->opened != NULL)
			s.opened = p->opened;
	}
	if (s.mode == SANDBOX_UNSAID)
		s.mode = SANDBOX_NONE;
	if (s.network == SANDBOX_NETWORK_UNSAID)
		s.network = s.mode == SANDBOX_NONE ? SANDBOX_NETWORK_ALLOWED : SANDBOX_NETWORK_DENIED;
	*decided = s;
	INVARIANT(s.mode != SANDBOX_UNSAID && s.network != SANDBOX_NETWORK_UNSAID && !s.preset);
	return s.mode == SANDBOX_NONE && s.network == SANDBOX_NETWORK_DENIED ?
	    error_set(err, ERROR_DEFINITION, NULL,
	    "to be without network takes a sandbox: workspace or read-only") : 0;
}

bool
sandbox_holds(const struct sandbox *s)
{
	return s->mode > SANDBOX_NONE;
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

enum { ARGV_PARENT = 2 }; /* the arguments are: program, --parent, pid */

char **
sandbox_words(const struct sandbox *s, const char *workspace, char *const *readable,
    char *const *passed)
{
	char **words = memory_zero(1, sizeof *words);

	if (workspace != NULL)
		add_option(&words, "--workspace", workspace);
	if (s->directory != NULL)
		add_option(&words, "--directory", s->directory);
	if (s->mode == SANDBOX_READ_ONLY)
		list_add(&words, "--read-only");
	if (s->network == SANDBOX_NETWORK_ALLOWED) {
		list_add(&words, "--network");
	} else if (s->loopback > 0) {
		list_add(&words, "--loopback");
		list_take(&words, memory_format("%d", s->loopback));
	}
	if (s->lacking != SANDBOX_LACKING_UNSAID)
		list_add(&words, s->lacking == SANDBOX_PREFERS ? "--prefer" : "--require");
	if (s->told)
		list_add(&words, "--quiet");
	add_options(&words, "--readable", readable);
	add_options(&words, "--open", s->opened);
	add_options(&words, "--pass-env", s->passed);
	add_options(&words, "--pass-env", passed);
	return words;
}

/* Makes a command line; takes ownership of program and of parent, which is the pid of the process
 * that starts it (NULL: any process). */
static char **
sandbox_make_argv(char *program, char *parent, char *const *options, char *const *argv)
{
	char **words = NULL;

	list_take(&words, program);
	if (parent != NULL) {
		list_add(&words, "--parent");
		list_take(&words, parent);
	}
	for (; *options != NULL; options++)
		list_add(&words, *options);
	list_add(&words, "--");
	for (; *argv != NULL; argv++)
		list_add(&words, *argv);
	return words;
}

static char *
find_program(void)
{
	char *list = libexec_path(), *program = path_search(list, PROGRAM);

	free(list);
	return program;
}

char **
sandbox_argv_of(char *const *options, char *const *argv)
{
	char *program = find_program();

	return program == NULL ? NULL : sandbox_make_argv(program, NULL, options, argv);
}

char **
sandbox_argv(const struct sandbox *s, const char *workspace, char *const *readable,
    char *const *passed, char *const *argv)
{
	char *program = find_program(), **words;
	char **options = sandbox_words(s, workspace, readable, passed);

	/* If awf-sandbox is missing, starting it fails, so that nothing runs without a sandbox. */
	words = sandbox_make_argv(program != NULL ? program :
	    memory_text(AWF_LIBEXECDIR "/" PROGRAM),
	    memory_format("%ld", (long)getpid()), options, argv);
	list_free(options);
	return words;
}

void
sandbox_set_variable(struct environment *e, const char *name, const char *value)
{
	char *prefixed = memory_format(VARIABLE_PREFIX "%s", name);

	environment_set(e, prefixed, value);
	free(prefixed);
}

void
sandbox_take_variables(struct environment *e, struct environment *variables)
{
	const size_t prefix = sizeof VARIABLE_PREFIX - 1;
	size_t kept = 0;

	for (size_t i = 0; i < e->count; i++) {
		char *entry = e->list[i], *equals = strchr(entry, '=');

		if (equals == NULL || strncmp(entry, VARIABLE_PREFIX, prefix) != 0) {
			e->list[kept++] = entry;
			continue;
		}
		*equals = '\0';
		environment_set(variables, entry + prefix, equals + 1);
		free(entry);
	}
	e->count = kept;
	if (e->list != NULL)
		e->list[kept] = NULL;
}

void
sandbox_end_with(char **argv, pid_t process)
{
	INVARIANT(list_count(argv) > ARGV_PARENT && strcmp(argv[ARGV_PARENT - 1], "--parent") == 0);
	free(argv[ARGV_PARENT]);
	argv[ARGV_PARENT] = memory_format("%ld", (long)process);
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
