/* The look-up in the table of an API, after what was taught; and what an error says. */
#include "end.h"

#include <stdlib.h>
#include <string.h>

#include "agent/known_end.h"
#include "base/text.h"

#define SHOWN 100 /* bytes of a word */

/* Our own words, as the tables have them, for a JSON string of one. */
static const char *
own_word(const char *reason)
{
	static const char *const words[] = { "end_turn", "tool_use", "max_tokens", "stop_sequence",
	    "refusal", "pause", NULL };

	return span_one_of(span_of(reason, strlen(reason)), words);
}

static int
refuse(enum error_code category, struct span word, struct span said, struct error *err)
{
	char *name = span_text(word), *text = span_text(said);
	const char *colon = text == NULL || *text == '\0' ? "" : ": ";

	if (name != NULL && strlen(name) > SHOWN)
		name[utf8_whole(name, SHOWN)] = '\0';
	if (category != ERROR_NONE && category != ERROR_CUT_OFF)
		error_set(err, category, NULL, "%s%s%s", name == NULL ? "" : name, colon,
		    text == NULL ? "" : text);
	else if (category == ERROR_CUT_OFF)
		error_set(err, category, NULL, "the answer ended with '%s'%s%s",
		    name == NULL ? "" : name, colon, text == NULL ? "" : text);
	else
		error_set(err, ERROR_CUT_OFF, NULL, "the answer ended with '%s', which is no known "
		    "end%s%s (if it is a good one: --known-end WORD=stop)", name == NULL ? "" : name, colon,
		    text == NULL ? "" : text);
	free(name);
	free(text);
	return -1;
}

const char *
end_reason(const struct end *ends, struct span word, struct span said, struct error *err)
{
	const char *taught = known_end_taught(word);

	if (taught != NULL)
		return own_word(taught);
	while (ends->word != NULL && !span_is(word, ends->word))
		ends++;
	if (ends->reason == NULL)
		refuse(ends->category, word, said, err);
	return ends->reason;
}
