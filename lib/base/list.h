/*
 * Lists of strings like argv: an array that ends with NULL; NULL is the empty list. Strings and
 * array are allocated.
 */
#ifndef AWF_BASE_LIST_H
#define AWF_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

size_t list_count(char *const *list);
bool list_has(char *const *list, const char *text);
/* The first string that repeats an earlier one; NULL: there is none. */
const char *list_repeated(char *const *list);
/* Adds a copy. */
void list_add(char ***list, const char *text);
/* Adds the text itself and takes ownership of it. */
void list_take(char ***list, char *text);
/* Lists the non-empty parts of a text between separators; text may be NULL. */
char **list_split(const char *text, char separator);
/* The words into which a shell would split a text, if it has only plain words (no quotes or
 * expansions) and the first one can be a program name; otherwise NULL. */
char **list_words(const char *text);
/* A list of copies. */
char **list_copy(char *const *list);
void list_free(char **list);

#endif
