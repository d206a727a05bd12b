/*
 * A number is a word with a digit in it, so ids and durations count as numbers; numbers separated
 * by a point, comma, colon or space are one, as in 12.4, 10:35:01 and 3m 12s.
 */
#include "base/folded_messages.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/locale.h"
#include "base/memory.h"

#define NUMBER '#'

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_of_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* Whether the number after a word says what happened, such as an exit status. */
static bool
word_counts(const char *word, size_t len)
{
	static const char *const words[] = { "status", "HTTP", "signal" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
			return true;
	return false;
}

static void
append_number(struct buffer *out)
{
	const size_t len = out->len;

	if (len >= 2 && out->data[len - 2] == NUMBER && strchr(".,: ", out->data[len - 1]) != NULL)
		out->data[--out->len] = '\0';
	else
		buffer_byte(out, NUMBER);
}

void
folded_kind(struct buffer *out, const char *message)
{
	bool counts = false; /* whether the next number says what happened */

	while (*message != '\0') {
		const char *word = message;
		bool number = false;
		size_t len;

		while (is_of_word(*message))
			number = is_digit(*message++) || number;
		len = (size_t)(message - word);
		if (number && !counts)
			append_number(out);
		else
			buffer_append(out, word, len);
		if (len > 0)
			counts = word_counts(word, len);
		else
			buffer_byte(out, *message++);
	}
}

void
folded_count(struct buffer *out, const char *kind, size_t count)
{
	buffer_format(out, "%s %s and %zu more like it", kind, locale_choose("…", "..."), count);
}

/* Counts a message of a kind. NULL: there are too many kinds. */
static struct folded_kind *
count_kind(struct folded_messages *f, const char *text)
{
	struct buffer key = BUFFER_INIT;
	struct folded_kind *kind = NULL;
	const size_t *at;

	folded_kind(&key, text);
	at = map_get(&f->kinds, buffer_string(&key), key.len);
	if (at != NULL) {
		kind = &f->list[*at];
	} else if (f->count < FOLDED_KINDS_MOST) {
		map_put(&f->kinds, buffer_string(&key), key.len, f->count);
		f->list = memory_array(f->list, f->count + 1, sizeof *f->list);
		kind = &f->list[f->count++];
		*kind = (struct folded_kind){ .text = memory_text(text) };
	}
	INVARIANT(f->count <= FOLDED_KINDS_MOST && f->count == f->kinds.count);
	if (kind != NULL)
		kind->count++;
	buffer_free(&key);
	return kind;
}

void
folded_messages_add(struct folded_messages *f, const char *kind, const char *text)
{
	const struct folded_kind *counted = count_kind(f, kind != NULL ? kind : text);

	if (counted == NULL)
		f->others++;
	else if (counted->count <= FOLDED_SHOWN)
		f->print(text);
}

void
folded_messages_end(struct folded_messages *f)
{
	struct buffer line = BUFFER_INIT;

	for (size_t i = 0; i < f->count; i++) {
		struct folded_kind *kind = &f->list[i];

		if (kind->count > FOLDED_SHOWN) {
			buffer_clear(&line);
			folded_count(&line, kind->text, kind->count - FOLDED_SHOWN);
			f->print(buffer_string(&line));
		}
		free(kind->text);
	}
	if (f->others > 0) {
		buffer_clear(&line);
		buffer_format(&line, "%s and %zu more of other kinds", locale_choose("…", "..."), f->others);
		f->print(buffer_string(&line));
	}
	buffer_free(&line);
	map_free(&f->kinds);
	free(f->list);
	*f = (struct folded_messages)FOLDED_MESSAGES_INIT(f->print);
}
