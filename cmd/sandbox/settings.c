/*
 * One table of options, put into the settings as they come; what follows the dashes is the
 * command.
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

const struct option_spec sandbox_options[] = {
	{ OPT_WORKSPACE, 'w', "workspace", "DIR", "the directory that may be changed (this one)" },
	{ OPT_DIRECTORY, 0, "directory", "DIR", "start the command there, in the workspace (here)" },
	{ OPT_READ_ONLY, 0, "read-only", NULL, "not even that one may be changed" },
	{ OPT_NETWORK, 0, "network", NULL, "TCP and UDP are allowed" },
	{ OPT_READABLE, 0, "readable", "PATH", "may be read, too; repeatable" },
	{ OPT_HIDE, 0, "hide", "PATH", "is not seen, wherever it lies; repeatable" },
	{ OPT_KEEP, 0, "keep", "PATH", "is not changed though it lies in the workspace; repeatable" },
	{ OPT_OPEN, 0, "open", "PATH", "may be changed, though AWF runs it or takes it up; repeatable" },
	{ OPT_PASS_ENV, 0, "pass-env", "NAME",
	    "the command sees this variable, too, or MY_*; repeatable" },
	{ OPT_PREFER, 0, "prefer", NULL, "go on where this system lacks a part, and say what" },
	{ OPT_REQUIRE, 0, "require", NULL, "run nothing there, whatever the user's config says" },
	{ OPT_QUIET, 'q', "quiet", NULL, "do not say it, nor which variables were left out" },
	{ OPT_CHECK, 0, "check", NULL, "run nothing: say whether it could be, and by what" },

	{ OPTION_SECTION, 0, NULL, NULL, "Limits, and what AWF says" },
	{ OPT_FILE_SIZE, 0, "file-size", "SIZE", "the largest file that can be written (1G)" },
	{ OPT_DISK, 0, "disk", "SIZE", "end it when the disk has lost so much meanwhile (8G)" },
	{ OPT_TEMPORARY, 0, "temporary", "SIZE", "room in the private temporary directory (1G)" },
	{ OPT_PROCESSES, 0, "processes", "N", "at most N processes and threads (1024)" },
	{ OPT_PARENT, 0, "parent", "PID", "end at once if this is not the parent process" },
	{ OPT_LOOPBACK, 0, "loopback", "FD", "without network: hand a socket that listens there out over FD" },
	{ OPT_WITHOUT, 0, "without", "PARTS", "do without landlock, namespaces, seccomp: for tests" },
	{ 0, 0, NULL, NULL, NULL }
};

const char *const part_names[] = { "landlock", "namespaces", "seccomp", NULL };

static int
apply_number(const char *name, const char *value, int64_t *number, struct error *err)
{
	long long read;

	if (options_number(name, value, 1, PID_LIMIT, &read, err) == -1)
		return -1;
	*number = read;
	return 0;
}

static int
apply_option(struct settings *s, int id, const char *value, struct error *err)
{
	char *list, *rest, *name, *real;
	bool all;
	int part = 0;

	switch (id) {
	case OPT_WORKSPACE: s->workspace = value; break;
	case OPT_DIRECTORY: s->directory = value; break;
	case OPT_READ_ONLY: s->read_only = true; break;
	case OPT_NETWORK: s->network = true; break;
	case OPT_READABLE: list_add(&s->readable, value); break;
	case OPT_HIDE:
		real = realpath(value, NULL);
		all = real != NULL && strcmp(real, "/") == 0;
		free(real);
		if (all)
			return error_set(err, ERROR_USAGE, "--hide", "'%s' is all there is, and nothing could "
			    "run: name what is not to be seen", value);
		list_add(&s->hidden, value);
		break;
	case OPT_KEEP: list_add(&s->kept, value); break;
	case OPT_OPEN: list_add(&s->opened, value); break;
	case OPT_PASS_ENV:
		if (!environment_pattern_valid(value))
			return error_set(err, ERROR_USAGE, "--pass-env", "'%s' is not a variable's name, nor the "
			    "beginning of names and a star, such as MY_*", value);
		list_add(&s->passed, value);
		break;
	case OPT_PREFER: s->lacking = SANDBOX_PREFERS; break;
	case OPT_REQUIRE: s->lacking = SANDBOX_REQUIRES; break;
	case OPT_QUIET: s->quiet = true; break;
	case OPT_CHECK: s->check = true; break;
	case OPT_FILE_SIZE: return options_size("--file-size", value, &s->limits.file_size, err);
	case OPT_DISK: return options_size("--disk", value, &s->limits.disk, err);
	case OPT_TEMPORARY: return options_size("--temporary", value, &s->temporary, err);
	case OPT_WITHOUT:
		rest = list = memory_text(value);
		while (part != -1 && (name = strsep(&rest, ",")) != NULL) {
			part = options_word("--without", name, part_names, err);
			if (part != -1)
				s->without |= 1u << part;
		}
		free(list);
		return part == -1 ? -1 : 0;
	case OPT_LOOPBACK: return apply_number("--loopback", value, &s->loopback, err);
	case OPT_PROCESSES: return apply_number("--processes", value, &s->limits.processes, err);
	default: return apply_number("--parent", value, &s->parent, err);
	}
	return 0;
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
	o.stop_at_dashes = true;
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (OPTION_ASKS(id))
			return id;
		if (id == OPTION_WORD)
			return error_set(err, ERROR_USAGE, o.value, "a command goes after --");
		if (id == -1 || apply_option(s, id, o.value, err) == -1)
			return -1;
	}
	s->command = s->check ? nothing : argv + o.next;
	if (s->check && o.saw_dashes)
		return error_set(err, ERROR_USAGE, "--check", "runs nothing: say no command");
	if (!s->check && (!o.saw_dashes || o.next >= argc))
		return error_set(err, ERROR_USAGE, NULL,
		    "nothing to run: say -- command (awf-sandbox --help)");
	/* In the sandbox nobody sees it any more. */
	if (s->lacking == SANDBOX_LACKING_UNSAID && sandbox_lacking_default(&s->lacking, NULL, err) != 0) {
		err->code = ERROR_BLOCKED; /* and no end of the command's */
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
