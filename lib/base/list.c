/* Lists are short: for each addition their end is searched for, and they grow by one element. */
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"

size_t
list_count(char *const *list)
{
	size_t count = 0;

	while (list != NULL && list[count] != NULL)
		count++;
	return count;
}

bool
list_has(char *const *list, const char *text)
{
	while (list != NULL && *list != NULL && strcmp(*list, text) != 0)
		list++;
	return list != NULL && *list != NULL;
}

const char *
list_repeated(char *const *list)
{
	for (char *const *text = list; text != NULL && *text != NULL; text++)
		for (char *const *before = list; before < text; before++)
			if (strcmp(*before, *text) == 0)
				return *text;
	return NULL;
}

void
list_take(char ***list, char *text)
{
	size_t count = list_count(*list);

	INVARIANT(text != NULL);
	*list = memory_array(*list, count + 2, sizeof **list);
	(*list)[count] = text;
	(*list)[count + 1] = NULL;
	INVARIANT(list_count(*list) == count + 1);
}

void
list_add(char ***list, const char *text)
{
	list_take(list, memory_text(text));
}

char **
list_split(const char *text, char separator)
{
	char **list = NULL;
	const char *part;
	size_t len;

	while ((part = text_part(&text, separator, &len)) != NULL)
		if (len > 0)
			list_take(&list, memory_copy(part, len));
	return list;
}

char **
list_words(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	    "@%_+=:,./- ";
	size_t first = strspn(text, " ");

	if (text[strspn(text, plain)] != '\0' || memchr(text + first, '=', strcspn(text + first, " ")) != NULL)
		return NULL;
	return list_split(text, ' ');
}

char **
list_copy(char *const *list)
{
	char **copy = NULL;

	for (; list != NULL && *list != NULL; list++)
		list_add(&copy, *list);
	return copy;
}

void
list_free(char **list)
{
	for (char **text = list; text != NULL && *text != NULL; text++)
		free(*text);
	free(list);
}
