/* The whole file is read for each call, so that a change applies from the next call on, and a
 * wrong line is reported whichever provider is asked. */
#include "limits/limits_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "model/price.h"

#define FILE_LIMIT ((size_t)1 << 20)
#define BLANK " \t\r"
#define DOWN_AFTER 5 /* if a line does not say it */
#define DOWN_AFTER_MOST 1000

static const struct {
	const char *name;
	size_t offset;
	long least, most;
} keys[] = {
	{ "at-once", offsetof(struct limits, at_once), 1, LIMITS_AT_ONCE_MOST },
	{ "per-minute", offsetof(struct limits, per_minute), 1, LIMITS_PER_MINUTE_MOST },
	{ "tokens-per-minute", offsetof(struct limits, tokens_per_minute), 1,
	    LIMITS_TOKENS_PER_MINUTE_MOST },
	{ "down-after", offsetof(struct limits, down_after), 0, DOWN_AFTER_MOST },
};
#define KEYS (sizeof keys / sizeof *keys)
#define COST "cost-per-day"

/* Whether a line is for a provider, or for something else, of which only the cost is limited. */
static bool
is_provider(const char *name)
{
	return *name != *LIMITS_ALL && strchr(name, '/') == NULL;
}

/* Whether a line may begin with this. */
static bool
names_something(const char *name)
{
	char *provider = memory_copy(name, strcspn(name, "/"));
	const bool valid = *name == *LIMITS_ALL || strcmp(provider, LIMITS_ANY) == 0 || name_valid(provider);

	free(provider);
	return valid;
}

/* KEY=N, cost-per-day=USD. */
static int
limits_file_read_limit(struct limits *limits, const char *name, char *word, const char *place,
    struct error *err)
{
	char *number = strchr(word, '='), *end = NULL;
	const char *names[KEYS + 2] = { NULL };
	long value = -1;
	char *hint;
	size_t i;

	if (number == NULL)
		return error_set(err, ERROR_DEFINITION, place,
		    "expected PROVIDER at-once=N per-minute=N tokens-per-minute=N down-after=N cost-per-day=USD, "
		    "not '%s'", word);
	*number++ = '\0';
	if (strcmp(word, COST) == 0)
		return money_parse(number, &limits->cost_per_day) ? 0 : error_set(err, ERROR_DEFINITION, place,
		    "expected " COST "=USD, an amount of dollars such as 2.50, not '%s'", number);
	if (!is_provider(name))
		return error_set(err, ERROR_DEFINITION, place, "%s can have " COST " alone, not '%s'", name, word);
	names[KEYS] = COST;
	for (i = 0; i < KEYS && strcmp(keys[i].name, word) != 0; i++)
		names[i] = keys[i].name;
	if (i == KEYS) {
		hint = text_hint(word, names);
		error_set(err, ERROR_DEFINITION, place, "'%s' is no limit%s", word, hint);
		free(hint);
		return -1;
	}
	errno = 0;
	if (strspn(number, "0123456789") == strlen(number))
		value = strtol(number, &end, 10);
	if (end == number || errno != 0 || value < keys[i].least || value > keys[i].most)
		return error_set(err, ERROR_DEFINITION, place, "expected %s=N, N from %ld to %ld, not '%s'",
		    word, keys[i].least, keys[i].most, number);
	*(int *)((char *)limits + keys[i].offset) = (int)value;
	return 0;
}

static int
limits_file_read_line(struct limits_file *f, char *line, const char *place, struct error *err)
{
	struct limits limits = { .down_after = DOWN_AFTER, .cost_per_day = -1 };
	char *provider = NULL, *word;

	while ((word = strsep(&line, BLANK)) != NULL) {
		if (*word == '\0')
			continue;
		if (provider == NULL && *word == '#')
			return 0;
		if (provider != NULL) {
			if (limits_file_read_limit(&limits, provider, word, place, err) == -1)
				return -1;
			continue;
		}
		provider = word;
		if (!names_something(provider))
			return error_set(err, ERROR_DEFINITION, place, "'%s' is no provider's name, nor %s "
			    "for all that have no line", provider, LIMITS_ANY);
	}
	if (provider == NULL)
		return 0;
	f->list = memory_array(f->list, f->count + 1, sizeof *f->list);
	f->list[f->count++] = (struct limits_line){ memory_text(provider), limits };
	return 0;
}

int
limits_file_read(struct limits_file *f, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	int fd, number = 0, result = 0;
	char *rest, *line;

	*f = (struct limits_file){ .path = path_config(LIMITS_FILE) };
	if (f->path == NULL)
		return 0;
	fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return errno == ENOENT || errno == ENOTDIR ? 0 :
		    error_errno(err, ERROR_SYSTEM, f->path, "unable to open");
	if (file_read(fd, &text, FILE_LIMIT) == -1)
		result = error_errno(err, ERROR_SYSTEM, f->path, "unable to read");
	close(fd);
	buffer_drop(&text, text_byte_order_mark(text.data, text.len));
	buffer_byte(&text, '\0');
	rest = text.data;
	while (result == 0 && (line = strsep(&rest, "\n")) != NULL) {
		char *place = memory_format("%s:%d", f->path, ++number);

		result = limits_file_read_line(f, line, place, err);
		free(place);
	}
	buffer_free(&text);
	return result;
}

const struct limits *
limits_file_find(const struct limits_file *f, const char *provider)
{
	const struct limits *any = NULL, *own = NULL;

	for (size_t i = 0; i < f->count; i++) {
		if (strcmp(f->list[i].provider, provider) == 0)
			own = &f->list[i].limits;
		else if (strcmp(f->list[i].provider, LIMITS_ANY) == 0)
			any = &f->list[i].limits;
	}
	return own != NULL ? own : any;
}

int64_t
limits_file_cost(const struct limits_file *f, const char *name)
{
	const struct limits *found = NULL;

	if (is_provider(name)) {
		found = limits_file_find(f, name);
		return found != NULL ? found->cost_per_day : -1;
	}
	/* A pattern for workflows is not one for all runs together. */
	for (size_t i = 0; i < f->count; i++) {
		const char *line = f->list[i].provider;

		if (strcmp(line, name) == 0 || (!is_provider(line) && (*line == *LIMITS_ALL) ==
		    (*name == *LIMITS_ALL) && strcmp(name, LIMITS_ALL) != 0 && fnmatch(line, name, 0) == 0))
			found = &f->list[i].limits;
	}
	return found != NULL ? found->cost_per_day : -1;
}

void
limits_file_free(struct limits_file *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].provider);
	free(f->list);
	free(f->path);
	*f = (struct limits_file){ .path = NULL };
}
