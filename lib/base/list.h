/*
 * Lists of texts, as argv is one: an array that ends with NULL, NULL itself for the
 * empty list. Texts and array are memory of their own.
 */
#ifndef AWF_BASE_LIST_H
#define AWF_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

size_t list_count(char *const *list);
bool list_has(char *const *list, const char *text);
/* The first text that is there before; NULL: there is none. */
const char *list_repeated(char *const *list);
/* Adds a copy. */
void list_add(char ***list, const char *text);
/* Adds the text itself, which must be free()able. */
void list_take(char ***list, char *text);
/* The parts of a text between separators but the empty ones; text may be NULL. */
char **list_split(const char *text, char separator);
/* The words that a shell would make of a text, if it holds nothing but words that stand for
 * themselves, and the first of them can be a program's; else NULL. */
char **list_words(const char *text);
/* A list of copies. */
char **list_copy(char *const *list);
void list_free(char **list);

#endif
