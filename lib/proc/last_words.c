/*
 * Lines are read from the last one backwards. A line is judged in plain form: without escape
 * sequences, control characters and the white space around it.
 */
#include "proc/last_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/text.h"

#define ESCAPE 0x1b
#define BELL 0x07
#define LINES_MOST 200 /* that are looked at */

/* Beginnings of lines that do not tell the reason. */
static const char *const noise[] = {
	"+ ", "++ ",                                    /* sh -x */
	"make: ***", "make: Leaving", "make: Entering", "make: Target", /* below: make[1] */
	"at ", "... ",                                  /* Java, JavaScript: frames */
	"Node.js v", "hint: ", "note: run with `RUST_BACKTRACE", "goroutine ",
	"npm error A complete log", "npm ERR! A complete log",
	NULL
};

/* "make[2]: *** …" */
static bool
is_of_inner_make(const char *line)
{
	size_t digits = strncmp(line, "make[", 5) == 0 ? strspn(line + 5, "0123456789") : 0;

	return digits > 0 && strncmp(line + 5 + digits, "]: ", 3) == 0;
}

static bool
is_noise(const char *line)
{
	for (size_t i = 0; noise[i] != NULL; i++)
		if (strncmp(line, noise[i], strlen(noise[i])) == 0)
			return true;
	return is_of_inner_make(line);
}

/* Whether it says anything: it has a letter, a digit or a character above ASCII. */
static bool
has_words(const char *line)
{
	for (; *line != '\0'; line++)
		if (isalnum((unsigned char)*line) || (unsigned char)*line >= 0x80)
			return true;
	return false;
}

/* Where an escape sequence that begins at `at` ends: CSI (colours, erasing), OSC (titles, links),
 * any other. */
static size_t
skip_escape(const char *line, size_t at, size_t len)
{
	if (++at == len)
		return at;
	if (line[at] == '[') {
		for (at++; at < len && ((unsigned char)line[at] < 0x40 || (unsigned char)line[at] > 0x7e); at++)
			;
		return at < len ? at + 1 : len;
	}
	if (line[at] == ']') {
		for (at++; at < len && line[at] != BELL; at++)
			if (line[at] == ESCAPE)
				return at + 1 < len ? at + 2 : len;
		return at < len ? at + 1 : len;
	}
	return at + 1;
}

/* The line as text, as it is finally visible. */
static void
line_plain(const char *line, size_t len, struct buffer *out)
{
	struct buffer bytes = BUFFER_INIT;
	bool returned = false;

	for (size_t at = 0; at < len;) {
		unsigned char byte = (unsigned char)line[at];

		if (byte == ESCAPE) {
			at = skip_escape(line, at, len);
			continue;
		}
		/* Text after a carriage return overwrites what was there, except in CR LF. */
		if (byte == '\r') {
			returned = true;
		} else if (byte == '\t' || (byte >= 0x20 && byte != 0x7f)) {
			if (returned)
				buffer_clear(&bytes);
			returned = false;
			buffer_byte(&bytes, byte == '\t' ? ' ' : (char)byte);
		}
		at++;
	}
	while (bytes.len > 0 && bytes.data[bytes.len - 1] == ' ')
		bytes.len--;
	line = buffer_string(&bytes);
	len = strspn(line, " ");
	/* As awf-run quotes what a step has written. */
	if (bytes.len > len + 2 && strncmp(line + len, "| ", 2) == 0)
		len += 2;
	utf8_mend(line + (len < bytes.len ? len : bytes.len), bytes.len - (len < bytes.len ? len : bytes.len), out);
	buffer_free(&bytes);
}

static bool
is_of_run_or_step(const char *line)
{
	return strncmp(line, "awf-run: ", strlen("awf-run: ")) == 0 ||
	    strncmp(line, "awf-step: ", strlen("awf-step: ")) == 0;
}

/* If a run or a step reports in the line why it failed: the innermost report, since those around
 * it repeat it, once for each enclosing run. A line of another program may quote anything. */
static const char *
line_innermost(const char *line)
{
	const char *innermost = line;

	for (const char *at = line; is_of_run_or_step(line) && (at = strstr(at, ": awf-")) != NULL;) {
		at += 2;
		if (is_of_run_or_step(at))
			innermost = at;
	}
	return innermost;
}

/* Cuts it at a space if it is too long. */
static void
line_cut(struct buffer *line)
{
	size_t len = LAST_WORDS_MOST;

	if (line->len <= LAST_WORDS_MOST)
		return;
	while (len > 0 && line->data[len] != ' ')
		len--;
	line->len = len;
	buffer_text(line, len > 0 ? " …" : "…");
}

size_t
last_words_at(const struct error *error)
{
	const char *at = error->code == ERROR_EXIT_STATUS || error->code == ERROR_TIMEOUT ?
	    strstr(error->message, ": ") : NULL;

	return at != NULL ? (size_t)(at - error->message) : strlen(error->message);
}

/* Takes the last line off the first *len bytes, as text. false: there is none. */
static bool
line_before(const char *errors, size_t *len, struct buffer *line)
{
	const size_t end = *len;

	buffer_clear(line);
	if (end == 0)
		return false;
	while (*len > 0 && errors[*len - 1] != '\n')
		--*len;
	line_plain(errors + *len, end - *len, line);
	if (*len > 0)
		--*len;
	INVARIANT(*len < end);
	return true;
}

/* Node.js prints the properties of an error after its last frame, "at f (x.js:1:2) {", up to
 * "}". Returns where the lines before that frame end, if the first len bytes are followed by
 * such a "}"; else len. The text of its innermost cause, "[cause]: Error: …", is appended to
 * cause. */
static size_t
skip_properties(const char *errors, size_t len, struct buffer *cause)
{
	static const char says_cause[] = "[cause]: ";
	struct buffer line = BUFFER_INIT;
	size_t at = len, found = len;

	for (int lines = 0, depth = 1; depth > 0 && lines < LINES_MOST && line_before(errors, &at, &line);
	    lines++) {
		const char *text = buffer_string(&line);

		if (text[0] == '}')
			depth++;
		else if (line.len > 0 && text[line.len - 1] == '{' && --depth == 0 && strncmp(text, "at ", 3) == 0)
			found = at;
		if (cause->len == 0 && strncmp(text, says_cause, sizeof says_cause - 1) == 0)
			buffer_text(cause, text + sizeof says_cause - 1);
	}
	if (found == len)
		buffer_clear(cause);
	buffer_free(&line);
	return found;
}

void
last_words(const char *errors, size_t len, struct buffer *out)
{
	struct buffer line = BUFFER_INIT, fallback = BUFFER_INIT, said = BUFFER_INIT;

	for (int lines = 0; lines < LINES_MOST && line_before(errors, &len, &line); lines++) {
		const char *text = buffer_string(&line);

		if (strcmp(text, "}") == 0) {
			buffer_clear(&line);
			len = skip_properties(errors, len, &line);
			text = buffer_string(&line);
		}
		if (line.len == 0 || !has_words(text))
			continue;
		if (!is_noise(text)) {
			buffer_clear(&fallback);
			buffer_append(&fallback, line.data, line.len);
			break;
		}
		if (fallback.len == 0)
			buffer_append(&fallback, line.data, line.len);
	}
	buffer_text(&said, line_innermost(buffer_string(&fallback)));
	line_cut(&said);
	INVARIANT(said.len <= LAST_WORDS_MOST + sizeof " …" - 1);
	INVARIANT(utf8_valid(buffer_string(&said), said.len) && strchr(buffer_string(&said), '\n') == NULL);
	buffer_append(out, buffer_string(&said), said.len);
	buffer_free(&said);
	buffer_free(&line);
	buffer_free(&fallback);
}

void
last_words_add(struct error *error, const char *errors, size_t len)
{
	const size_t at = strlen(error->message);
	struct buffer words = BUFFER_INIT;

	last_words(errors, len, &words);
	if (words.len > 0 && at < sizeof error->message) {
		snprintf(error->message + at, sizeof error->message - at, ": %s", buffer_string(&words));
		error->message[utf8_whole(error->message, strlen(error->message))] = '\0';
	}
	buffer_free(&words);
}
