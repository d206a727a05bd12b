/* Checks sandboxes, storage and prices. A sandbox, and a replay's isolation, are made without
 * running anything in them. The storage and the price tables are read with the functions that other
 * programs use. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/installation.h"
#include "isolate/isolate.h"
#include "isolate/sandbox.h"
#include "json/scan.h"
#include "model/price.h"
#include "proc/libexec.h"
#include "setup/doctor.h"
#include "storage/storage.h"

/* Of Linux. An unprivileged user may mount overlays (userxattr) from 5.11 on. */
enum { OLDEST_MAJOR = 5, OLDEST_MINOR = 10, OVERLAYS_MINOR = 11 };

#define SCARCE ((int64_t)1 << 30)

/* ---- sandbox ---- */

/* Reports what the user has configured to happen if the system lacks a part of the sandbox. */
static void
check_lacking(struct findings *f)
{
	enum sandbox_lacking lacking;
	struct error err = ERROR_INIT;
	char *place = NULL;

	if (sandbox_lacking_default(&lacking, &place, &err) != 0)
		findings_add_error(f, FINDING_SANDBOX, "config", &err);
	else if (place != NULL)
		findings_add(f, FINDING_SANDBOX, FINDING_OK, "config", "%s (%s)",
		    sandbox_lackings[lacking - SANDBOX_REQUIRES], place);
	free(place);
}

static int
do_nothing(void *context)
{
	(void)context;
	return EXIT_SUCCESS;
}

/* Tries two sandboxes: one in AWF's own directory, which is no home directory, to see what the
 * machine supports; and one in the current directory, where a step would be started. */
static void
check_tools_sandbox(struct findings *f)
{
	char *list = libexec_path(), *program = path_search(list, "awf-sandbox"), *directory;
	char read_only[] = "--read-only", check[] = "--check", workspace[] = "--workspace";
	struct buffer parts = BUFFER_INIT;
	struct span machine, here;
	long long landlock = 0;
	char *message;

	free(list);
	if (program == NULL) {
		findings_add(f, FINDING_SANDBOX, FINDING_WRONG, "tools", "there is no awf-sandbox");
		return;
	}
	directory = path_directory(program);
	char *const machine_argv[] = { program, read_only, workspace, directory, check, NULL };
	char *const here_argv[] = { program, read_only, check, NULL };
	struct subprocess processes[] = { { .argv = machine_argv }, { .argv = here_argv } };

	checks_ask(processes, 2);
	machine = checks_answer(&processes[0]);
	here = checks_answer(&processes[1]);
	if (!span_true(span_member(machine, "ready"))) {
		message = span_text(span_member(machine, "message"));
		findings_add(f, FINDING_SANDBOX, FINDING_WRONG, "tools", "%s",
		    message != NULL ? message : "awf-sandbox does not say whether it works");
		free(message);
	} else {
		if (span_integer(span_member(machine, "landlock"), &landlock) && landlock > 0)
			buffer_format(&parts, "Landlock (version %lld), ", landlock);
		if (span_true(span_member(machine, "namespaces")))
			buffer_text(&parts, "namespaces, ");
		if (span_true(span_member(machine, "seccomp")))
			buffer_text(&parts, "seccomp, ");
		findings_add(f, FINDING_SANDBOX, FINDING_OK, "tools", "%.*s",
		    (int)(parts.len > 2 ? parts.len - 2 : 0), buffer_string(&parts));
		if (!span_true(span_member(here, "ready"))) {
			message = span_text(span_member(here, "message"));
			findings_add(f, FINDING_SANDBOX, FINDING_NOTE, "here", "%s",
			    message != NULL ? message : "no sandbox");
			free(message);
		}
	}
	buffer_free(&parts);
	subprocess_free(&processes[0]);
	subprocess_free(&processes[1]);
	free(directory);
	free(program);
}

/* What is checked when AWF is built is the C library and its headers; the kernel may be older, or newer. */
static void
check_kernel(struct findings *f)
{
	int major, minor;
	struct utsname name;

	if (uname(&name) != 0 || strcmp(name.sysname, "Linux") != 0 ||
	    sscanf(name.release, "%d.%d", &major, &minor) != 2)
		return;
	if (major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR))
		findings_add(f, FINDING_SANDBOX, FINDING_WRONG, "kernel", "Linux %s: %d.%d or later is needed",
		    name.release, OLDEST_MAJOR, OLDEST_MINOR);
	else if (major == OLDEST_MAJOR && minor < OVERLAYS_MINOR)
		findings_add(f, FINDING_SANDBOX, FINDING_NOTE, "kernel", "Linux %s: replays isolated by overlays need "
		    "%d.%d, and Landlock 5.13", name.release, OLDEST_MAJOR, OVERLAYS_MINOR);
}

void
check_sandbox(struct findings *f)
{
	char *directory = installation_programs();
	const struct isolate_spec spec = { .workspace = directory != NULL ? directory : "/" };
	struct error err = ERROR_INIT;
	struct isolate_end end;

	check_lacking(f);
	check_kernel(f);
	check_tools_sandbox(f);
	if (isolate_run(&spec, do_nothing, NULL, &end, &err) == 0)
		findings_add(f, FINDING_SANDBOX, FINDING_OK, "replays", "namespaces and overlays");
	else
		findings_add(f, FINDING_SANDBOX, FINDING_NOTE, "replays", "%s: say awf-replay "
		    "--isolation copy, or none", err.message);
	free(directory);
}

/* ---- storage ---- */

void
check_storage(struct findings *f)
{
	struct storage s = { .root = NULL };
	struct error err = ERROR_INIT;
	char runs[64] = "the first run makes it", text[32], *at;
	struct statvfs fs;
	int64_t space;
	size_t count;
	bool there;
	int failed;

	if (storage_locate(&s, &err) != 0 || storage_check(&s, &there, &err) != 0 ||
	    (there && storage_count(&s, &count, &err) != 0)) {
		findings_add_error(f, FINDING_STORAGE, "runs", &err);
		storage_close(&s);
		return;
	}
	if (there)
		snprintf(runs, sizeof runs, "%zu %s", count, count == 1 ? "run" : "runs");
	/* Report the free space of the storage's file system; if the storage does not exist yet, of
	 * that on which it would be made. */
	at = memory_text(s.root);
	while ((failed = statvfs(at, &fs)) != 0 && errno == ENOENT && path_climb(&at))
		;
	free(at);
	space = failed != 0 ? -1 : (int64_t)(fs.f_bavail * fs.f_frsize);
	findings_add(f, FINDING_STORAGE, space >= 0 && space < SCARCE ? FINDING_NOTE : FINDING_OK,
	    "runs", "%s: %s, %s free%s", s.root, runs, space < 0 ? "?" :
	    size_text(space, text, sizeof text), space >= 0 && space < SCARCE ?
	    ", which is little (awf-ctl prune makes room)" : "");
	storage_close(&s);
}

/* ---- prices ---- */

void
check_prices(struct findings *f)
{
	char **files = prices_files();

	if (files == NULL)
		findings_add(f, FINDING_PRICES, FINDING_NOTE, "tables",
		    "there is none, so nobody knows what a model costs: see awf-prices(5)");
	for (char **file = files; file != NULL && *file != NULL; file++) {
		struct prices p = PRICES_INIT;
		struct error err = ERROR_INIT;

		if (prices_load_file(&p, *file, &err) != 0)
			findings_add_error(f, FINDING_PRICES, "table", &err);
		else
			findings_add(f, FINDING_PRICES, FINDING_OK, "table", "%s: %zu %s%s%s", *file, p.count,
			    p.count == 1 ? "price" : "prices", *p.date != '\0' ? ", of " : "", p.date);
		prices_free(&p);
	}
	list_free(files);
}
