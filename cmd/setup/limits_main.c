/*
 * awf-limits, started by awf-tail --limits and `awf limits`: what is used of each limit of
 * awf-limits(5), a line each.
 *
 * A line for * of the user's file, or a pattern, stands for each name that has used something; it is
 * printed itself if there is none.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "json/writer.h"
#include "limits/day.h"
#include "model/price.h"
#include "program.h"
#include "providers/throttle.h"
#include "storage/storage.h"

#define PROGRAM "awf"
#define VERSION_PROGRAM "awf-limits"
#define NAME_WIDTH 24

enum { OPT_JSON = 1 };

static const struct option_spec options[] = {
	{ OPT_JSON, 0, "json", NULL, "a JSON object in each line", OPTION_ONLY_SAID },
	{ 0, 0, NULL, NULL, NULL }
};

struct report {
	struct storage storage;
	struct limits_file file;
	struct day_sum *sums;
	size_t count;
	bool json;
	struct buffer out;
};

/* Appends what is used of a limit, as numbers of JSON and as texts for people. */
static void
limits_add_line(struct report *r, const char *name, const char *limit, const char *const number[2],
    const char *const text[2])
{
	struct buffer shown = BUFFER_INIT;
	struct writer w;

	if (r->json) {
		writer_begin(&w, &r->out);
		writer_object(&w);
		writer_member_string(&w, "name", name);
		writer_member_string(&w, "limit", limit);
		writer_key(&w, "used");
		writer_raw(&w, number[0], strlen(number[0]));
		writer_key(&w, "most");
		writer_raw(&w, number[1], strlen(number[1]));
		writer_object_end(&w);
	} else {
		text_visible(&shown, name, strlen(name), 0);
		buffer_format(&r->out, "%-*s  %-17s  %s of %s", NAME_WIDTH, buffer_string(&shown), limit, text[0],
		    text[1]);
		buffer_free(&shown);
	}
	buffer_byte(&r->out, '\n');
}

static void
add_count(struct report *r, const char *name, const char *limit, int64_t used, int64_t most)
{
	char a[32], b[32];
	const char *const both[2] = { a, b };

	if (most <= 0)
		return;
	snprintf(a, sizeof a, "%lld", (long long)used);
	snprintf(b, sizeof b, "%lld", (long long)most);
	limits_add_line(r, name, limit, both, both);
}

static void
add_cost(struct report *r, const char *name, int64_t used, int64_t most)
{
	char numbers[2][MONEY_SIZE], texts[2][MONEY_SIZE];
	const char *const number[2] = { money_number(used, numbers[0]), money_number(most, numbers[1]) };
	const char *const text[2] = { money_text(used, texts[0]), money_text(most, texts[1]) };

	limits_add_line(r, name, "cost-per-day", number, text);
}

static int
add_provider(struct report *r, const char *name, const struct limits *limits, struct error *err)
{
	struct throttle_use use;
	struct buffer since = BUFFER_INIT;
	struct writer w;

	if (throttle_look(&r->storage, name, limits, &use, err) == -1)
		return -1;
	add_count(r, name, "at-once", use.under_way, limits->at_once);
	add_count(r, name, "per-minute", use.begun, limits->per_minute);
	add_count(r, name, "tokens-per-minute", use.tokens, limits->tokens_per_minute);
	if (!use.down)
		return 0;
	if (r->json) {
		char text[CLOCK_TEXT_SIZE];

		writer_begin(&w, &r->out);
		writer_object(&w);
		writer_member_string(&w, "name", name);
		writer_member_string(&w, "down_since", clock_text(use.down_since, text));
		writer_object_end(&w);
		buffer_byte(&r->out, '\n');
	} else {
		throttle_since(&since, use.down_since);
		buffer_format(&r->out, "%-*s  down %s\n", NAME_WIDTH, name, buffer_string(&since));
		buffer_free(&since);
	}
	return 0;
}

/* The providers that a line for * is for, of those of which something is known: a list. */
static char **
other_providers(const struct report *r, const struct limits *any)
{
	char **names = memory_zero(1, sizeof *names);
	const struct dirent *entry;
	struct error ignored;
	DIR *directory;

	if (storage_names(&r->storage, "limits", &directory, &ignored) != 0 || directory == NULL)
		return names;
	while ((entry = readdir(directory)) != NULL)
		if (*entry->d_name != '.' && limits_file_find(&r->file, entry->d_name) == any)
			list_add(&names, entry->d_name);
	closedir(directory);
	return names;
}

static int
add_rates(struct report *r, struct error *err)
{
	int failed = 0;

	for (size_t i = 0; failed == 0 && i < r->file.count; i++) {
		const struct limits_line *line = &r->file.list[i];
		char **names;

		/* If several lines are about one provider, only the last one counts. */
		if (limits_file_find(&r->file, line->provider) != &line->limits)
			continue;
		names = strcmp(line->provider, LIMITS_ANY) == 0 ? other_providers(r, &line->limits) :
		    memory_zero(1, sizeof *names);
		if (*names == NULL)
			list_add(&names, line->provider);
		for (char **name = names; failed == 0 && *name != NULL; name++)
			failed = add_provider(r, *name, &line->limits, err);
		list_free(names);
	}
	return failed;
}

static void
add_costs(struct report *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const int64_t most = limits_file_cost(&r->file, r->sums[i].name);

		if (most >= 0)
			add_cost(r, r->sums[i].name, r->sums[i].spent, most);
	}
	for (size_t i = 0; i < r->file.count; i++) {
		const struct limits_line *line = &r->file.list[i];
		bool used = line->limits.cost_per_day < 0;

		for (size_t j = 0; j < r->count; j++)
			used |= strcmp(r->sums[j].name, line->provider) == 0 ||
			    (strpbrk(line->provider, "*?[") != NULL &&
			    limits_file_cost(&r->file, r->sums[j].name) == line->limits.cost_per_day);
		if (!used)
			add_cost(r, line->provider, 0, line->limits.cost_per_day);
	}
}

int
main(int argc, char **argv)
{
	struct report r = { .sums = NULL };
	struct error err = ERROR_INIT;
	struct options o;
	int failed, status;

	program_begin();
	options_begin(&o, options, argc, argv);
	if (!program_read_options(PROGRAM, VERSION_PROGRAM, "awf limits [options]\n", &o, &status))
		return status;
	r.json = (o.said & OPTION_SAID(OPT_JSON)) != 0;
	failed = storage_locate(&r.storage, &err) != 0 || limits_file_read(&r.file, &err) != 0 ||
	    day_read(r.storage.root, &r.sums, &r.count, &err) != 0 || add_rates(&r, &err) != 0;
	if (!failed) {
		add_costs(&r);
		if (r.out.len == 0 && !r.json)
			buffer_format(&r.out, "there are no limits: %s says some\n",
			    r.file.path != NULL ? r.file.path : "awf-limits(5)");
		fwrite(buffer_string(&r.out), 1, r.out.len, stdout);
	}
	buffer_free(&r.out);
	free(r.sums);
	limits_file_free(&r.file);
	storage_close(&r.storage);
	return program_end(PROGRAM, failed ? program_fail(PROGRAM, &err) : STATUS_OK);
}
