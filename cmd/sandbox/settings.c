/*
 * One table lists the options and the member of the settings that each is stored in; the
 * command follows "--".
 */
#include "sandbox/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "proc/environment.h"

#define MIB (INT64_C(1) << 20)
#define PID_LIMIT (1 << 22)

enum {
	OPT_WORKSPACE = 1, OPT_DIRECTORY, OPT_READ_ONLY, OPT_NETWORK, OPT_READABLE, OPT_HIDE, OPT_KEEP, OPT_OPEN,
	OPT_PASS_ENV, OPT_PREFER, OPT_REQUIRE, OPT_QUIET, OPT_FILE_SIZE, OPT_DISK, OPT_TEMPORARY, OPT_PROCESSES,
	OPT_PARENT, OPT_LOOPBACK, OPT_WITHOUT, OPT_CHECK
};

const char sandbox_usage[] = "awf-sandbox [options] -- command [arg ...]\n"
	"awf-sandbox [options] --check\n";

const char *const part_names[] = { "landlock", "namespaces", "seccomp", NULL };

/* These functions leave the error's place empty: the caller sets it to the option. */
static int
check_hidden(const char *path, struct error *err)
{
	char *real = realpath(path, NULL);
	bool all = real != NULL && strcmp(real, "/") == 0;

	free(real);
	return !all ? 0 : error_set(err, ERROR_USAGE, NULL, "'%s' is all there is, and nothing could "
	    "run: name what is not to be seen", path);
}

static int
check_variables(const char *pattern, struct error *err)
{
	return environment_pattern_valid(pattern) ? 0 : error_set(err, ERROR_USAGE, NULL,
	    "'%s' is not a variable's name, nor the beginning of names and a star, such as MY_*", pattern);
}

const struct option_spec sandbox_options[] = {
	{ OPT_WORKSPACE, 'w', "workspace", "DIR", "the directory that may be changed (this one)",
	    OPTION_INTO_TEXT(struct settings, workspace) },
	{ OPT_DIRECTORY, 0, "directory", "DIR", "start the command there, in the workspace (here)",
	    OPTION_INTO_TEXT(struct settings, directory) },
	{ OPT_READ_ONLY, 0, "read-only", NULL, "not even that one may be changed",
	    OPTION_INTO_FLAG(struct settings, read_only) },
	{ OPT_NETWORK, 0, "network", NULL, "TCP and UDP are allowed",
	    OPTION_INTO_FLAG(struct settings, network) },
	{ OPT_READABLE, 0, "readable", "PATH", "may be read, too; repeatable",
	    OPTION_INTO_LIST(struct settings, readable) },
	{ OPT_HIDE, 0, "hide", "PATH", "is not seen, wherever it lies; repeatable",
	    OPTION_INTO_LIST_CHECKED(struct settings, hidden, check_hidden) },
	{ OPT_KEEP, 0, "keep", "PATH", "is not changed though it lies in the workspace; repeatable",
	    OPTION_INTO_LIST(struct settings, kept) },
	{ OPT_OPEN, 0, "open", "PATH", "may be changed, though AWF runs it or takes it up; repeatable",
	    OPTION_INTO_LIST(struct settings, opened) },
	{ OPT_PASS_ENV, 0, "pass-env", "NAME",
	    "the command sees this variable, too, or MY_*; repeatable",
	    OPTION_INTO_LIST_CHECKED(struct settings, passed, check_variables) },
	{ OPT_PREFER, 0, "prefer", NULL, "run even if this system lacks a part, with a message",
	    OPTION_INTO_VALUE(struct settings, lacking, SANDBOX_PREFERS) },
	{ OPT_REQUIRE, 0, "require", NULL, "run nothing there, whatever the user's config says",
	    OPTION_INTO_VALUE(struct settings, lacking, SANDBOX_REQUIRES) },
	{ OPT_QUIET, 'q', "quiet", NULL, "do not say it, nor which variables were left out",
	    OPTION_INTO_FLAG(struct settings, quiet) },
	{ OPT_CHECK, 0, "check", NULL, "run nothing: say whether it could be, and by what",
	    OPTION_INTO_FLAG(struct settings, check) },

	{ OPTION_SECTION, 0, NULL, NULL, "Limits, and what AWF says" },
	{ OPT_FILE_SIZE, 0, "file-size", "SIZE", "the largest file that can be written (1G)",
	    OPTION_INTO_SIZE(struct settings, limits.file_size) },
	{ OPT_DISK, 0, "disk", "SIZE", "end it when the disk has lost so much meanwhile (8G)",
	    OPTION_INTO_SIZE(struct settings, limits.disk) },
	{ OPT_TEMPORARY, 0, "temporary", "SIZE", "room in the private temporary directory (1G)",
	    OPTION_INTO_SIZE(struct settings, temporary) },
	{ OPT_PROCESSES, 0, "processes", "N", "at most N processes and threads (1024)",
	    OPTION_INTO_NUMBER(struct settings, limits.processes, 1, PID_LIMIT) },
	{ OPT_PARENT, 0, "parent", "PID", "end at once if this is not the parent process",
	    OPTION_INTO_NUMBER(struct settings, parent, 1, PID_LIMIT) },
	{ OPT_LOOPBACK, 0, "loopback", "FD", "without network: hand a socket that listens there out over FD",
	    OPTION_INTO_NUMBER(struct settings, loopback, 1, PID_LIMIT) },
	{ OPT_WITHOUT, 0, "without", "PARTS", "do without landlock, namespaces, seccomp: for tests" },
	{ 0, 0, NULL, NULL, NULL }
};

static int
apply_without(struct settings *s, const char *parts, struct error *err)
{
	char *list = memory_text(parts), *rest = list, *name;
	int part = 0;

	while (part != -1 && (name = strsep(&rest, ",")) != NULL) {
		part = options_word("--without", name, part_names, err);
		if (part != -1)
			s->without |= 1u << part;
	}
	free(list);
	return part == -1 ? -1 : 0;
}

int
settings_parse(struct settings *s, int argc, char **argv, struct error *err)
{
	static char none[] = "", *const nothing[] = { none, NULL };
	struct options o;
	int id;

	*s = (struct settings){ .workspace = ".", .temporary = 1024 * MIB,
		.limits = { .file_size = 1024 * MIB, .disk = 8192 * MIB, .processes = 1024 } };
	options_begin(&o, sandbox_options, argc, argv);
	options_bind(&o, s);
	o.stop_at_dashes = true;
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (OPTION_ASKS(id))
			return id;
		if (id == OPTION_WORD)
			return error_set(err, ERROR_USAGE, o.value, "a command goes after --");
		if (id == -1 || apply_without(s, o.value, err) == -1)
			return -1;
	}
	s->command = s->check ? nothing : argv + o.next;
	if (s->check && o.saw_dashes)
		return error_set(err, ERROR_USAGE, "--check", "runs nothing, so no command can "
		    "be given");
	if (!s->check && (!o.saw_dashes || o.next >= argc))
		return error_set(err, ERROR_USAGE, NULL,
		    "no command given: awf-sandbox [options] -- command (awf-sandbox --help)");
	/* In the sandbox the user's configuration is not visible. */
	if (s->lacking == SANDBOX_LACKING_UNSAID && sandbox_lacking_default(&s->lacking, NULL, err) != 0) {
		err->code = ERROR_BLOCKED; /* its usual status could be the command's */
		return -1;
	}
	return 0;
}

void
settings_free(struct settings *s)
{
	list_free(s->readable);
	list_free(s->hidden);
	list_free(s->passed);
	list_free(s->kept);
	list_free(s->opened);
}
