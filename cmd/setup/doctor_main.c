/*
 * awf-doctor, started by `awf doctor`: reports what AWF has, and what is missing (doctor.h). Agents
 * are checked first, although they are printed last, because they determine which providers are
 * needed. Findings are collected, and printed by group.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "json/writer.h"
#include "proc/descendants.h"
#include "program.h"
#include "setup/doctor.h"
#include "view/screen.h"

#define PROGRAM "awf"
#define VERSION_PROGRAM "awf-doctor"
#define BOLD "\033[1m"
#define RESET "\033[0m"
#define NAME_WIDTH 16 /* column of the messages; after a longer name the message is further to the
                         right */

enum { OPT_JSON = 1, OPT_QUIET, OPT_ASK };

struct asked {
	const char *name; /* endpoint of --ask; NULL: none */
};

static const struct option_spec options[] = {
	{ OPT_JSON, 0, "json", NULL, "a JSON object in each line", OPTION_ONLY_SAID },
	{ OPT_QUIET, 'q', "quiet", NULL, "only what is wrong", OPTION_ONLY_SAID },
	{ OPT_ASK, 0, "ask", "NAME", "ask the server of this endpoint whether it takes the key, and check\n"
	    "nothing else", OPTION_INTO_TEXT(struct asked, name) },
	{ 0, 0, NULL, NULL, NULL }
};

static const char *const group_names[FINDING_GROUPS] = { "programs", "providers",
	"endpoints", "sandbox", "storage", "prices", "agents", "tools", "skills" };

static const struct {
	const char *name, *colour;
} statuses[] = {
	[FINDING_OK] = { "ok", "\033[32m" },
	[FINDING_NOTE] = { "note", "\033[33m" },
	[FINDING_WRONG] = { "wrong", "\033[31m" },
};

/* Prints the findings as lines below the names of their groups, and with `sum` a summary; or as
 * JSON objects, one per line. quiet: prints only what is wrong, or nothing if nothing is. */
static void
write_findings(const struct findings *f, bool json, bool quiet, bool sum, struct buffer *out)
{
	const bool colour = !json && terminal_colour(STDOUT_FILENO, "auto");
	struct writer w;

	for (int group = 0; group < FINDING_GROUPS; group++) {
		bool headed = json;

		for (size_t i = 0; i < f->count; i++) {
			const struct finding *found = &f->list[i];

			if ((int)found->group != group || (quiet && found->status != FINDING_WRONG))
				continue;
			if (json) {
				writer_begin(&w, out);
				writer_object(&w);
				writer_member_string(&w, "group", group_names[group]);
				writer_member_string(&w, "name", found->name);
				writer_member_string(&w, "status", statuses[found->status].name);
				writer_member_string(&w, "message", found->message);
				writer_object_end(&w);
				buffer_byte(out, '\n');
				continue;
			}
			if (!headed)
				buffer_format(out, "%s%s%s\n", colour ? BOLD : "", group_names[group],
				    colour ? RESET : "");
			headed = true;
			buffer_format(out, "  %s%-5s%s  %-*s  %s\n",
			    colour ? statuses[found->status].colour : "",
			    statuses[found->status].name, colour ? RESET : "", NAME_WIDTH, found->name,
			    found->message);
		}
	}
	if (json || quiet || !sum)
		return;
	if (f->wrong == 0)
		buffer_text(out, "What a workflow needs is there.\n");
	else
		buffer_format(out, "%zu %s wrong.\n", f->wrong,
		    f->wrong == 1 ? "thing is" : "things are");
}

int
main(int argc, char **argv)
{
	struct findings f = { NULL, 0, 0 };
	struct demands d = { NULL, 0, NULL };
	struct buffer out = BUFFER_INIT;
	struct options o;
	struct asked asked = { NULL };
	int status;

	program_begin();
	options_begin(&o, options, argc, argv);
	options_bind(&o, &asked);
	if (!program_read_options(PROGRAM, VERSION_PROGRAM, "awf doctor [options]\n", &o, &status))
		return status;
	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	if (asked.name != NULL) {
		ask_endpoint(&f, asked.name);
	} else {
		check_definitions(&f, &d);
		check_programs(&f);
		check_providers(&f, &d);
		check_endpoints(&f, &d);
		check_sandbox(&f);
		check_storage(&f);
		check_prices(&f);
	}
	signal(SIGPIPE, SIG_DFL);

	write_findings(&f, (o.said & OPTION_SAID(OPT_JSON)) != 0, (o.said & OPTION_SAID(OPT_QUIET)) != 0,
	    asked.name == NULL, &out);
	fwrite(buffer_string(&out), 1, out.len, stdout);
	status = f.wrong > 0 ? STATUS_WORK : STATUS_OK;
	for (size_t i = 0; i < d.count; i++) {
		free(d.list[i].provider);
		free(d.list[i].who);
	}
	free(d.list);
	list_free(d.stop_tools);
	for (size_t i = 0; i < f.count; i++) {
		free(f.list[i].name);
		free(f.list[i].message);
	}
	free(f.list);
	buffer_free(&out);
	return program_end(PROGRAM, status);
}
