/*
 * Functions for text from outside: checking UTF-8 and names, suggestions for misspelt words, and
 * showing it safely on a terminal.
 */
#ifndef AWF_BASE_TEXT_H
#define AWF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Whether bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms). NUL is allowed.
 * Fast on ASCII. */
bool utf8_valid(const char *bytes, size_t len);
/* The largest length, at most len, at which no character is cut in half (up to 3 less than len). */
size_t utf8_whole(const char *bytes, size_t len);

/* Decodes the character at the beginning of bytes: returns its length, and sets *code to its
 * number; 0 if there is no well-formed one. */
unsigned utf8_decode(const char *bytes, size_t len, uint32_t *code);
void utf8_append(struct buffer *out, uint32_t code);
/* Appends bytes, with U+FFFD in place of each that is not part of valid UTF-8. */
void utf8_mend(const char *bytes, size_t len, struct buffer *out);

/* Appends a text with references in place of what is markup in HTML and XML: & < > " '. */
void text_escape_markup(struct buffer *out, const char *text, size_t len);

/* Whether text is 1 to 128 of A-Z a-z 0-9 _ - : the name of a step or run. */
bool name_valid(const char *text);
/* The index of a text in a NULL-terminated list; -1: not found. */
int text_index(const char *text, const char *const *list);
bool text_ends(const char *text, const char *end);
/* The next part of a text whose parts are separated by a character, and its length; NULL after the
 * last one. *at must be the text at first; it is NULL at the end. */
const char *text_part(const char **at, char separator, size_t *len);
/* Whether a part of the list equals these bytes. list may be NULL. */
bool text_has_part(const char *list, char separator, const char *part, size_t len);
/* The value of an environment variable if it is not empty; otherwise NULL. */
const char *environment_text(const char *name);

/* The candidate that the user probably meant by a misspelt word; NULL: none is similar enough.
 * candidates is NULL-terminated. */
const char *text_suggest(const char *word, const char *const *candidates);
/* " (did you mean 'CANDIDATE'?)", or "" if no candidate is similar; candidates may be NULL. To be
 * freed by the caller. */
char *text_hint(const char *word, const char *const *candidates);

/* "A, B, C" for a NULL-terminated list. To be freed by the caller. */
char *text_list(const char *const *words);

/* Whether a single character must not be printed on a terminal: controls (C0, DEL, C1),
 * characters that reorder text or break lines, invisible characters (zero width, tags,
 * variation selectors), and code points that are not characters. */
bool text_is_hidden(uint32_t code);

/* The first piece of a text that is displayed: a visible character, or one that must not be
 * printed. An invisible character that changes the appearance of the one before it is part of the
 * same piece: in emoji, in ideographs with variants, and in words of Arabic and Indic scripts. */
enum text_piece_kind {
	TEXT_SHOWN,
	TEXT_HIDDEN, /* text_is_hidden(), and it changes no character before it */
	TEXT_BROKEN  /* a byte that is not valid UTF-8 */
};
struct text_piece {
	enum text_piece_kind kind;
	size_t len;    /* in bytes, at least 1 */
	uint32_t code; /* its first character; unless TEXT_BROKEN */
	bool undecided; /* more bytes are needed to know whether the piece goes on: an emoji, or a
	                   joiner in a word */
};
struct text_piece text_piece(const char *bytes, size_t len);
/* Appends the piece, which begins at `at`, as text_visible() does; returns its columns. */
size_t text_piece_append(struct buffer *out, const char *at, struct text_piece piece);
/* How many columns a visible character has in a terminal: 0, 1 or 2; where terminals differ, the
 * largest number. U+FE0F, which makes the character before it an emoji, counts as 1. */
size_t text_columns(uint32_t code);
/* Appends text for a terminal: hidden characters are written as \n, \t, \x1b, \u202e, \U000e0041 …;
 * bytes that are not UTF-8 as \xff. If width is not 0, the text is cut to that many columns, with
 * "…" at its end. */
void text_visible(struct buffer *out, const char *bytes, size_t len, size_t width);
/* The same for a message, in place: LF and tab become a space; other such characters and invalid
 * UTF-8 become "?". */
void text_line(char *text);

/* A short text: "512 B", "1.2 KiB". Returns out. */
char *size_text(int64_t bytes, char *out, size_t size);

/* The length of a byte order mark at the beginning, which editors and shells on Windows write: 3,
 * or 0 if there is none. A JSON parser may ignore it (RFC 8259, section 8.1). */
size_t text_byte_order_mark(const char *bytes, size_t len);
/* The number of bytes at the beginning that are in the set: like strspn(), for bytes without a
 * final NUL. */
size_t text_prefix_of(const char *bytes, size_t len, const char *set);

/* Replaces a secret (which may be NULL) by stars wherever it occurs in the bytes, unchanged or
 * with characters escaped as in JSON (\/ and \u002f) or in a URL (%2F). Fewer than 8 characters
 * are not treated as a secret, since they may be a placeholder, or part of many words. Call it
 * before the text is cut (part of a secret is not found) and before it is encoded in base64 or
 * compressed. */
void text_hide(char *bytes, size_t len, const char *secret);
/* The same for each of a list (NULL: none). */
void text_hide_all(char *bytes, size_t len, char *const *secrets);
/* The same for data, such as what a model writes: hides only secrets that nobody writes by chance,
 * with at least 16 characters and a digit, or at least 32 characters. So a placeholder for a key
 * does not change data. */
void text_hide_in_data(char *bytes, size_t len, char *const *secrets);
/* How many bytes at the end of data may be the beginning of such a secret, which may go on in the
 * next data. */
size_t text_secret_begun(const char *bytes, size_t len, char *const *secrets);
/* Whether text_hide() would hide anything. */
bool text_has(const char *bytes, size_t len, const char *secret);
/* For text whose beginning was cut off: hides the end of the secret, of at least 4 characters, if
 * the text begins with it. */
void text_hide_rest(char *bytes, size_t len, const char *secret);

#endif
