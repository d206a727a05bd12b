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

/* Whether bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong
 * forms). NUL counts as a character. Fast on ASCII. */
bool utf8_valid(const char *bytes, size_t len);
/* How many of the first len bytes end in a whole character (0 to 3 fewer). */
size_t utf8_whole(const char *bytes, size_t len);

/* Length of the well-formed character that bytes begin with, and *code its number;
 * 0 if they begin with none. */
unsigned utf8_decode(const char *bytes, size_t len, uint32_t *code);
void utf8_append(struct buffer *out, uint32_t code);
/* Appends bytes, with U+FFFD for each that is no UTF-8. */
void utf8_mend(const char *bytes, size_t len, struct buffer *out);

/* Whether text is 1 to 128 of A-Z a-z 0-9 _ - : the name of a step or run. */
bool name_valid(const char *text);
/* The index of a text in a NULL-terminated list; -1: not found. */
int text_index(const char *text, const char *const *list);
bool text_ends(const char *text, const char *end);
/* The next part of a text with separators between, and its length; NULL after the last. *at is
 * the text at first, NULL in the end. */
const char *text_part(const char **at, char separator, size_t *len);
/* Whether one of the parts equals these bytes. list may be NULL. */
bool text_has_part(const char *list, char separator, const char *part, size_t len);
/* The value of an environment variable if it is not empty; otherwise NULL. */
const char *environment_text(const char *name);

/* The candidate that the user probably meant by a misspelt word; NULL: none is similar enough.
 * candidates is NULL-terminated. */
const char *text_suggest(const char *word, const char *const *candidates);
/* " (did you mean 'CANDIDATE'?)", or "" if none is near; candidates may be NULL. In memory of
 * its own. */
char *text_hint(const char *word, const char *const *candidates);

/* "A, B, C" for a NULL-terminated list. To be freed by the caller. */
char *text_list(const char *const *words);

/* Whether a single character must not be printed on a terminal: controls (C0, DEL, C1),
 * characters that reorder text or break lines, invisible characters (zero width, tags,
 * variation selectors), and code points that are not characters. */
bool text_is_hidden(uint32_t code);

/* The first piece of a text, for displaying it: a visible character, or one that must not be
 * printed. An invisible character that changes the appearance of the one before it belongs to the
 * same piece: in emoji, in ideographs with variants, in words of Arabic and Indic scripts. */
enum text_piece_kind {
	TEXT_SHOWN,
	TEXT_HIDDEN, /* text_is_hidden(), and it belongs to nothing */
	TEXT_BROKEN  /* a byte that is no UTF-8 */
};
struct text_piece {
	enum text_piece_kind kind;
	size_t len;    /* bytes, 1 at least */
	uint32_t code; /* its first character; unless TEXT_BROKEN */
	bool undecided; /* what follows the bytes may belong to it: an emoji, a joiner in a word */
};
struct text_piece text_piece(const char *bytes, size_t len);
/* Appends the piece, which begins at `at`, as text_visible() shows it; its columns. */
size_t text_piece_append(struct buffer *out, const char *at, struct text_piece piece);
/* The columns that a character which is shown has in a terminal, where terminals differ the most:
 * 0, 1 or 2. What makes the one before it an emoji (U+FE0F) counts as 1. */
size_t text_columns(uint32_t code);
/* Appends text for a terminal: hidden characters come out as \n, \t, \x1b, \u202e,
 * \U000e0041 …; bytes that are no UTF-8 as \xff. At most width columns (0: no limit), with "…"
 * where it was cut. */
void text_visible(struct buffer *out, const char *bytes, size_t len, size_t width);
/* The same for a message, in place: LF and tab become a space; other such characters and invalid
 * UTF-8 become "?". */
void text_line(char *text);

/* A short text: "512 B", "1.2 KiB". Returns out. */
char *size_text(int64_t bytes, char *out, size_t size);

/* Length of the byte order mark at the beginning, which editors and shells on Windows write: 3, or
 * 0 if there is none. RFC 8259, section 8.1: a JSON parser may ignore it. */
size_t text_byte_order_mark(const char *bytes, size_t len);
/* How many of the first bytes are in the set: strspn() for bytes without a final NUL. */
size_t text_prefix_of(const char *bytes, size_t len, const char *set);

/* Replaces a secret (which may be NULL) by stars wherever it occurs in the bytes, unchanged or
 * with characters escaped as in JSON (\/ and \u002f) or in a URL (%2F). Fewer than 8 characters
 * are not treated as a secret, since they may be a placeholder, or part of many words. Call it
 * before the text is cut (part of a secret is not found) and before it is encoded in base64 or
 * compressed. */
void text_hide(char *bytes, size_t len, const char *secret);
/* The same for each of a list (NULL: none). */
void text_hide_all(char *bytes, size_t len, char *const *secrets);
/* The same in data, such as what a model says or writes into files: only secrets that nobody mentions by
 * chance, of at least 16 characters with a digit, or of 32. So a placeholder for a key changes no data. */
void text_hide_in_data(char *bytes, size_t len, char *const *secrets);
/* How many bytes at the end of data may be the beginning of such a secret, whose rest has yet to come. */
size_t text_secret_begun(const char *bytes, size_t len, char *const *secrets);
/* Whether text_hide() would hide anything. */
bool text_has(const char *bytes, size_t len, const char *secret);
/* For text whose beginning was cut off: if it begins with the rest of the secret, at least 4
 * characters, masks that. */
void text_hide_rest(char *bytes, size_t len, const char *secret);

#endif
