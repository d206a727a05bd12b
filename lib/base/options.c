/*
 * Each word is looked up in the program's table, then in that of what every program has. A
 * group of short options is left one letter at a time, so that each of them is one answer to
 * the caller. What goes with what is checked at the end over the set of all options that were
 * said, one bit for each.
 */
#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

/* What every program has, after its own table. */
static const struct option_spec common[] = {
	{OPTION_HELP, 'h', "help", "[=all]", "print this help"},
	{OPTION_VERSION, 0, "version", NULL, "print the version"},
	{OPTION_END, 0, NULL, NULL, NULL},
};

void
options_begin(struct options *o, const struct option_spec *table, int argc, char **argv)
{
	*o = (struct options){.table = table, .argc = argc, .argv = argv, .next = 1};
}

/* The option of a long name of len bytes, or of a letter; NULL: there is none. */
static const struct option_spec *
find_option(const struct option_spec *table, const char *name, size_t len, char letter)
{
	const struct option_spec *const tables[] = {table, common};

	for (size_t t = 0; t < 2; t++)
		for (const struct option_spec *s = tables[t]; s->id != OPTION_END; s++)
			if (name ? s->name && strncmp(s->name, name, len) == 0 && s->name[len] == '\0' :
			    letter != '\0' && s->letter == letter)
				return s;
	return NULL;
}

/* name: the long one; NULL: a letter, for which none is suggested. */
static int
unknown(const struct options *o, const char *place, const char *name, struct error *err)
{
	const struct option_spec *const tables[] = {o->table, common};
	const char **names = memory_zero(1, sizeof *names), *near = NULL;
	size_t count = 0;

	for (size_t t = 0; t < 2; t++)
		for (const struct option_spec *s = tables[t]; s->id != OPTION_END; s++)
			if (s->name) {
				names = memory_array(names, count + 2, sizeof *names);
				names[count++] = s->name;
			}
	names[count] = NULL;
	if (name)
		near = text_suggest(name, names);
	free(names);
	if (near)
		return error_set(err, ERROR_USAGE, place, "unknown option (did you mean --%s?)",
		    near);
	return error_set(err, ERROR_USAGE, place, "unknown option (%s)",
	    o->hint != NULL ? o->hint : "see --help");
}

/* Only after = then, so that a letter has none. */
static bool
argument_optional(const struct option_spec *s)
{
	return strncmp(s->argument, "[=", 2) == 0;
}

static int
take_argument(struct options *o, const struct option_spec *s, const char *place, struct error *err)
{
	if (o->next >= o->argc)
		return error_set(err, ERROR_USAGE, place, "needs an argument, %s", s->argument);
	o->value = o->argv[o->next++];
	return s->id;
}

static bool
has_sections(const struct option_spec *table)
{
	while (table->id != OPTION_END && table->id != OPTION_SECTION)
		table++;
	return table->id == OPTION_SECTION;
}

/* word is "--name" or "--name=value". */
static int
next_long(struct options *o, const char *word, struct error *err)
{
	size_t len = strcspn(word + 2, "=");
	const char *value = word[2 + len] == '=' ? word + 2 + len + 1 : NULL;
	char *place = memory_copy(word, 2 + len);
	const struct option_spec *s = find_option(o->table, place + 2, len, '\0');
	int id;

	if (!s) {
		id = unknown(o, place, place + 2, err);
	} else if (value && !s->argument) {
		id = error_set(err, ERROR_USAGE, place, "takes no argument");
	} else if (value && s->id == OPTION_HELP) {
		id = has_sections(o->table) ? OPTION_HELP_ALL : OPTION_HELP;
		if (strcmp(value, "all") != 0)
			id = error_set(err, ERROR_USAGE, place, "takes no argument but all: --help=all");
	} else if (value || !s->argument || argument_optional(s)) {
		o->value = value;
		id = s->id;
	} else {
		id = take_argument(o, s, place, err);
	}
	free(place);
	return id;
}

/* The next letter of a group such as "-vn5". */
static int
next_short(struct options *o, struct error *err)
{
	char place[] = {'-', *o->cluster, '\0'};
	const struct option_spec *s = find_option(o->table, NULL, 0, *o->cluster);

	if (!s)
		return unknown(o, place, NULL, err);
	o->cluster++;
	if (*o->cluster == '\0')
		o->cluster = NULL;
	if (!s->argument || argument_optional(s))
		return s->id;
	if (!o->cluster)
		return take_argument(o, s, place, err);
	o->value = o->cluster;
	o->cluster = NULL;
	return s->id;
}

int
options_next(struct options *o, struct error *err)
{
	const char *word;

	o->value = NULL;
	if (o->cluster)
		return next_short(o, err);
	if (o->next >= o->argc)
		return OPTION_END;
	word = o->argv[o->next];
	if (o->only_words || word[0] != '-' || word[1] == '\0') {
		if (o->stop_at_word)
			return OPTION_END;
		o->value = o->argv[o->next++];
		return OPTION_WORD;
	}
	o->next++;
	if (word[1] != '-') {
		o->cluster = word + 1;
		return next_short(o, err);
	}
	if (word[2] != '\0')
		return next_long(o, word, err);
	o->saw_dashes = o->only_words = true;
	return o->stop_at_dashes ? OPTION_END : options_next(o, err);
}

#define HELP_COLUMNS 80
#define HELP_LEFT 26  /* columns of options at most; the text of a longer one is below it */

/* The left column of an option, as "  -n, --lines N"; its width. all: there are sections. */
static int
help_left(char *text, size_t size, const struct option_spec *s, bool all)
{
	char letter[] = {'-', s->letter, '\0'};
	const char *argument = s->id == OPTION_HELP && !all ? NULL : s->argument;

	return snprintf(text, size, "  %s%s%s%s%s%s", s->letter ? letter : "  ",
	    s->name ? (s->letter ? ", " : "  ") : "", s->name ? "--" : "", s->name ? s->name : "",
	    argument && !argument_optional(s) ? " " : "", argument ? argument : "");
}

/* Text in the right column, which begins at left; the first line of it has begun. */
static void
help_text(FILE *out, const char *text, int left)
{
	size_t room = (size_t)(HELP_COLUMNS - left), len, columns;

	for (;; text += len + 1, fprintf(out, "%*s", left, "")) {
		len = columns = 0;
		for (size_t at = 0; columns <= room; at++) {
			if (text[at] == ' ' || text[at] == '\0')
				len = at;
			if (text[at] == '\0')
				break;
			columns += ((unsigned char)text[at] & 0xc0) != 0x80;
		}
		if (len == 0)
			len = strlen(text);
		fprintf(out, "%.*s\n", (int)len, text);
		if (text[len] == '\0')
			return;
	}
}

void
options_help(FILE *out, const char *usage, const struct option_spec *table, int id)
{
	const struct option_spec *const tables[] = {table, common};
	bool sections = has_sections(table), text = false;
	char left[128];
	int width = 0;

	for (const char *line = usage; *line;) {
		size_t len = strcspn(line, "\n");

		text = text || len == 0;
		fprintf(out, "%s%.*s\n", line == usage ? "usage: " : text ? "" : "       ", (int)len, line);
		line += len + (line[len] == '\n');
	}
	fputc('\n', out);
	/* The same columns for all of it, long or short. */
	for (size_t t = 0; t < 2; t++)
		for (const struct option_spec *s = tables[t]; s->id != OPTION_END; s++) {
			int len = s->id == OPTION_SECTION ? 0 : help_left(left, sizeof left, s, sections);

			if (len > width && len <= HELP_LEFT)
				width = len;
		}
	for (size_t t = 0; t < 2; t++)
		for (const struct option_spec *s = tables[t]; s->id != OPTION_END; s++) {
			int len;

			if (s->id == OPTION_SECTION && id != OPTION_HELP_ALL)
				break;
			if (s->id == OPTION_SECTION) {
				fprintf(out, "\n%s:\n", s->help);
				continue;
			}
			if (sections && id == OPTION_HELP_ALL && s == common)
				fputc('\n', out);
			len = help_left(left, sizeof left, s, sections);
			if (len > width)
				fprintf(out, "%s\n%*s  ", left, width, "");
			else
				fprintf(out, "%-*s  ", width, left);
			help_text(out, s->id == OPTION_HELP && sections ?
			    "print this help, or that of all options" : s->help, width + 2);
		}
}

int
options_number(const char *name, const char *text, long long min, long long max,
    long long *value, struct error *err)
{
	char *end;

	errno = 0;
	*value = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || isspace((unsigned char)*text))
		return error_set(err, ERROR_USAGE, name, "'%s' is not a whole number", text);
	if (errno == ERANGE || *value < min || *value > max)
		return error_set(err, ERROR_USAGE, name, "%s is not between %lld and %lld", text,
		    min, max);
	return 0;
}

int
options_word(const char *name, const char *text, const char *const *words, struct error *err)
{
	int index = text_index(text, words);
	const char *near;
	char *list;

	if (index != -1)
		return index;
	near = text_suggest(text, words);
	list = text_list(words);
	if (near != NULL)
		error_set(err, ERROR_USAGE, name, "no such word '%s' (did you mean '%s'?)", text, near);
	else
		error_set(err, ERROR_USAGE, name, "'%s' is none of %s", text, list);
	free(list);
	return -1;
}

int
options_choice(const char *name, const char *text, const char *const *words, struct error *err)
{
	return options_word(name, text, words, err) == -1 ? -1 : 0;
}

int
options_size(const char *name, const char *text, int64_t *bytes, struct error *err)
{
	static const char units[] = "KMGT";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] != '\0' ? strchr(units, text[digits]) : NULL;
	int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;

	errno = 0;
	*bytes = strtoll(text, NULL, 10);
	if (digits == 0 || (text[digits] != '\0' && (unit == NULL || text[digits + 1] != '\0')) ||
	    errno != 0 || *bytes > INT64_MAX >> shift)
		return error_set(err, ERROR_USAGE, name, "'%s' is not a size (as in 500, 64K, 20M, 2G)",
		    text);
	*bytes <<= shift;
	return 0;
}

int
options_duration(const char *name, const char *text, long long *ms, struct error *err)
{
	int64_t value;

	if (duration_parse(text, &value) < 0)
		return error_set(err, ERROR_USAGE, name,
		    "'%s' is not a duration (as in 30, 500ms, 20m, 2h)", text);
	*ms = value;
	return 0;
}

int
options_time(const char *name, const char *text, int64_t *wall, struct error *err)
{
	if (clock_parse(text, clock_wall(), wall) == 0)
		return 0;
	return error_set(err, ERROR_USAGE, name,
	    "'%s' is no age and no time (as in 12h, 30d, 2026-10-01)", text);
}

const char *
option_text(const struct option_spec *table, int id, char text[OPTION_TEXT])
{
	while (table->id != 0 && table->id != id)
		table++;
	if (table->letter != 0)
		snprintf(text, OPTION_TEXT, "-%c", table->letter);
	else
		snprintf(text, OPTION_TEXT, "--%s", table->id != 0 ? table->name : "");
	return text;
}

int
options_check(const struct option_spec *table, const struct option_rule *rules, size_t count,
    uint64_t said, struct error *err)
{
	char text[OPTION_TEXT];

	for (const struct option_rule *rule = rules; rule < rules + count; rule++)
		if ((said & OPTION_SAID(rule->option)) != 0 && (said & rule->unless) == 0 &&
		    (rule->with == 0 || (said & rule->with) != 0))
			return error_set(err, ERROR_USAGE, option_text(table, rule->option, text), "%s",
			    rule->what);
	return 0;
}
