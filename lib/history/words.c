/*
 * Two lists of words are compared from both ends; what is left in the middle is aligned so that the most
 * words are the same (the longest common subsequence), unless that would take too long: then no
 * word of the middle is the same.
 */
#include "history/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define ALIGNED_MOST ((size_t)1 << 14) /* words of one middle times those of the other */
#define TEXT_MOST ((size_t)1 << 15) /* bytes of a text that are compared */
#define UUID_LEN 36
#define RANDOM_LEAST 20 /* bytes of a word in base64 */
#define LINE_LEAST 64 /* bytes of a line of base64 behind which another one follows, */
#define LINE_END_MOST 2 /* after so many others: a blank or an escaped line feed */
#define CHANCE_LEAST 6 /* bytes of a word that looks like a time or an id */

static bool
is_letter(char c)
{
	return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

static bool
is_digit(char c)
{
	return isdigit((unsigned char)c);
}

static bool
is_uuid(const char *at, size_t most)
{
	if (most < UUID_LEN || (most > UUID_LEN && (is_letter(at[UUID_LEN]) || is_digit(at[UUID_LEN]))))
		return false;
	for (size_t i = 0; i < UUID_LEN; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? at[i] != '-' : !isxdigit((unsigned char)at[i]))
			return false;
	return true;
}

static bool
is_base64(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("+/-_", c) != NULL);
}

static size_t
base64_length(const char *at, size_t most)
{
	size_t len = 0;

	while (len < most && is_base64(at[len]))
		len++;
	while (len > 0 && len < most && at[len] == '=')
		len++;
	return len;
}

/* Whether that looks like bytes in base64: of neighbouring bytes two thirds are of different kinds, while in names, and
 * in paths of names, most are of the same. */
static bool
is_random(const char *at, size_t len)
{
	size_t changes = 0, signs = 0;
	int kinds = 0;

	for (size_t i = 0, before = 0; i < len; i++) {
		const size_t kind = islower((unsigned char)at[i]) ? 1 : isupper((unsigned char)at[i]) ? 2 : is_digit(at[i]) ? 4 : 8;

		changes += i > 0 && kind != before;
		signs += kind == 8;
		kinds |= (int)kind;
		before = kind;
	}
	return len >= RANDOM_LEAST && (kinds & 7) == 7 && signs * 8 <= len && changes * 5 >= len * 2;
}

/* The length of the word at the beginning of a text. */
static size_t
word_length(const char *at, size_t most)
{
	size_t letters = 0, digits, run;

	if (!is_letter(*at) && !is_digit(*at))
		return 1;
	if (is_uuid(at, most))
		return UUID_LEN;
	while (letters < most && is_letter(at[letters]))
		letters++;
	for (digits = letters; digits < most && is_digit(at[digits]);)
		digits++;
	for (run = digits; run < most && (is_letter(at[run]) || is_digit(at[run]));)
		run++;
	/* A number behind letters is a word of its own. */
	if (letters > 0)
		return run == digits ? letters : run;
	/* A number, or a time, whose parts have two digits. */
	while (run == digits || (digits < most && at[digits] == 'T')) {
		size_t next = digits + 1;

		while (next < most && is_digit(at[next]))
			next++;
		if (digits >= most || (at[digits] == '.' ? next < digits + 2 : strchr("-:T", at[digits]) == NULL || next != digits + 3))
			break;
		digits = run = next;
		while (run < most && (is_letter(at[run]) || is_digit(at[run])))
			run++;
	}
	return run;
}

struct words
words_of(struct span text)
{
	struct words words = { NULL, 0 };
	size_t part = 0, behind_line = 0; /* of base64: where its next line may begin */

	if (text.len > TEXT_MOST)
		text.len = TEXT_MOST;
	words.list = memory_array(NULL, text.len + 1, sizeof *words.list);
	for (size_t i = 0; i < text.len;) {
		const bool begins = i == 0 || !is_base64(text.at[i - 1]);
		const size_t base64 = begins ? base64_length(text.at + i, text.len - i) : 0;
		const bool random = base64 > 0 && (is_random(text.at + i, base64) || (behind_line > 0 && i <= behind_line + LINE_END_MOST));
		const size_t len = random ? base64 : word_length(text.at + i, text.len - i);
		const bool blank = isspace((unsigned char)text.at[i]), parts = strchr("'\"`\\{}[](),;=|<>&", text.at[i]) != NULL;

		part += parts || blank;
		if (!blank)
			words.list[words.count++] = (struct word){ span_of(text.at + i, len), part };
		part += parts;
		i += len;
		if (random)
			behind_line = len >= LINE_LEAST ? i : 0;
	}
	return words;
}

void
words_free(struct words *words)
{
	free(words->list);
	*words = (struct words){ NULL, 0 };
}

static bool
same_word(const struct word *a, const struct word *b)
{
	return a->text.len == b->text.len && memcmp(a->text.at, b->text.at, a->text.len) == 0;
}

/* Two lists beside each other. */
struct aligned {
	size_t before, behind;       /* words that are the same at the beginning and at the end */
	size_t count, other;         /* those between */
	uint16_t *most;              /* [count + 1][other + 1]: how many of the words from these on are the same; NULL: none */
};

static uint16_t *
most_at(const struct aligned *l, size_t i, size_t k)
{
	return &l->most[i * (l->other + 1) + k];
}

static struct aligned
align(const struct words *a, const struct words *b)
{
	const size_t most = a->count < b->count ? a->count : b->count;
	struct aligned l = { 0, 0, 0, 0, NULL };

	while (l.before < most && same_word(&a->list[l.before], &b->list[l.before]))
		l.before++;
	while (l.behind < most - l.before && same_word(&a->list[a->count - 1 - l.behind], &b->list[b->count - 1 - l.behind]))
		l.behind++;
	l.count = a->count - l.before - l.behind;
	l.other = b->count - l.before - l.behind;
	if (l.count == 0 || l.other == 0 || l.count * l.other > ALIGNED_MOST)
		return l;
	l.most = memory_zero((l.count + 1) * (l.other + 1), sizeof *l.most);
	for (size_t i = l.count; i-- > 0;)
		for (size_t k = l.other; k-- > 0;) {
			const uint16_t down = *most_at(&l, i + 1, k), right = *most_at(&l, i, k + 1);

			if (same_word(&a->list[l.before + i], &b->list[l.before + k]))
				*most_at(&l, i, k) = (uint16_t)(*most_at(&l, i + 1, k + 1) + 1);
			else
				*most_at(&l, i, k) = down > right ? down : right;
		}
	return l;
}

static bool
is_text(const struct word *word)
{
	return is_letter(*word->text.at) || is_digit(*word->text.at);
}

static bool
has_word(const struct words *words, const struct word *word)
{
	bool has = false;

	for (size_t i = 0; !has && i < words->count; i++)
		has = same_word(&words->list[i], word);
	return has;
}

bool
words_have_of_third(const struct words *a, const struct words *b, const struct words *c)
{
	bool have = false;

	for (size_t i = 0; !have && i < a->count; i++) {
		have = is_text(&a->list[i]) && !has_word(b, &a->list[i]) && has_word(c, &a->list[i]);
	}
	return have;
}

/* Marks the words of a that are not in b, and the places where b has more: 2i+1 and 2i. */
static void
mark_differences(const struct words *a, const struct words *b, bool *differs)
{
	struct aligned l = align(a, b);
	size_t i = 0, k = 0;

	while (i < l.count || k < l.other) {
		if (i < l.count && k < l.other && l.most != NULL && same_word(&a->list[l.before + i], &b->list[l.before + k])) {
			i++;
			k++;
		} else if (i < l.count && (k == l.other || l.most == NULL || *most_at(&l, i + 1, k) >= *most_at(&l, i, k + 1))) {
			differs[2 * (l.before + i) + 1] = true;
			i++;
		} else {
			differs[2 * (l.before + i)] = true;
			k++;
		}
	}
	free(l.most);
}

/* Where two words of a part differ, all between them do. Returns in how many parts some differ. */
static size_t
fill_parts(const struct words *a, bool *differs)
{
	size_t parts = 0;

	for (size_t i = 0, next; i < a->count; i = next) {
		size_t first = a->count, last = a->count;

		for (next = i; next < a->count && a->list[next].part == a->list[i].part; next++)
			if (differs[2 * next + 1]) {
				first = first == a->count ? next : first;
				last = next;
			}
		parts += first < a->count;
		for (size_t at = 2 * first + 1; first < a->count && at <= 2 * last + 1; at++)
			differs[at] = true;
	}
	return parts;
}

/* Counts the words of letters or digits in a that b has too, and the parts of a in which b differs. */
static void
count_shared(const struct words *a, const struct words *b, struct words_alike *alike)
{
	bool *differs = memory_zero(2 * a->count + 2, sizeof *differs);

	mark_differences(a, b, differs);
	alike->parts += fill_parts(a, differs);
	for (size_t i = 0; i < a->count; i++)
		alike->shared += is_text(&a->list[i]) && !differs[2 * i + 1];
	free(differs);
}

struct words_alike
words_compare(const struct words *a, const struct words *b)
{
	struct words_alike alike = { 0, 0 };

	count_shared(a, b, &alike);
	count_shared(b, a, &alike);
	return alike;
}

/* Whether a word is one of those that are another at each start. */
static bool
is_of_chance(const struct word *word)
{
	bool digit = false;

	for (size_t i = 0; i < word->text.len; i++)
		digit |= is_digit(word->text.at[i]);
	return digit && word->text.len >= CHANCE_LEAST;
}

bool
words_have_chance(const struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		if (is_of_chance(&words->list[i]))
			return true;
	return words->count == 1 && words->list[0].text.len == CHANCE_LEAST - 1 && is_digit(*words->list[0].text.at);
}

/* Whether all words of a that b lacks are of chance. */
static bool
lacks_chance_alone(const struct words *a, const struct words *b, bool *any)
{
	bool *differs = memory_zero(2 * a->count + 2, sizeof *differs);
	bool alone = true;

	mark_differences(a, b, differs);
	for (size_t i = 0; alone && i < a->count; i++) {
		*any |= differs[2 * i + 1];
		alone = !differs[2 * i + 1] || is_of_chance(&a->list[i]);
	}
	free(differs);
	return alone;
}

bool
words_differ_by_chance(const struct words *a, const struct words *b, bool *any)
{
	return lacks_chance_alone(a, b, any) && lacks_chance_alone(b, a, any);
}

void
words_differ(const struct words *a, const struct words *b, void (*add)(void *context, uint64_t place), void *context)
{
	bool *differs = memory_zero(2 * a->count + 2, sizeof *differs);

	mark_differences(a, b, differs);
	fill_parts(a, differs);
	/* A word that was replaced by several, or by one, is in the same place. */
	for (size_t i = 0; i <= a->count; i++)
		if (differs[2 * i] && ((i > 0 && differs[2 * i - 1]) || (i < a->count && differs[2 * i + 1])) &&
		    !(i > 0 && i < a->count && differs[2 * i - 1] && differs[2 * i + 1]))
			differs[2 * i] = false;
	for (size_t at = 0; at <= 2 * a->count; at++)
		if (differs[at])
			add(context, at);
	free(differs);
}
