/*
 * A state machine over the bytes that are written to a terminal (ECMA-48 and xterm's additions).
 * UTF-8 text is handled byte by byte: only whether a line is empty matters.
 */
#include "run/terminal_output.h"

#include <stdlib.h>
#include <string.h>

#define FOREGROUND (1u << 10)
#define BACKGROUND (1u << 11)

static const struct terminal_cursor at_rest = { .known = true, .at_start = true, .clean = true };

void
terminal_output_begin(struct terminal_output *t, size_t height)
{
	*t = (struct terminal_output){ .height = height, .cursor = at_rest, .saved = at_rest };
}

void
terminal_output_resume(struct terminal_output *t)
{
	t->cursor = at_rest;
	t->state = OUTPUT_TEXT;
	t->style = 0;
}

static void
terminal_output_forget_cursor(struct terminal_output *t)
{
	t->cursor = (struct terminal_cursor){ .known = false };
	t->lines = 0;
}

static void
go_down(struct terminal_output *t, size_t count)
{
	struct terminal_cursor *c = &t->cursor;

	c->below -= count < c->below ? count : c->below;
	c->clean = false;
}

static void
go_up(struct terminal_output *t, size_t count)
{
	t->cursor.below += count;
	t->cursor.clean = false;
}

static void
terminal_output_next_line(struct terminal_output *t)
{
	struct terminal_cursor *c = &t->cursor;

	if (!c->known && ++t->lines >= t->height) {
		c->known = true; /* the unknown part of the screen has scrolled away */
		c->below = 0;
	}
	if (c->below > 0)
		go_down(t, 1);
	else
		c->clean = c->known;
}

/* Parses the next number of a control sequence, at *at; -1 at the end. `missing` is the value of an
 * empty number. */
static long
terminal_output_parse_number(const char **at, long missing)
{
	const char *from = *at;
	char *end;
	long value;

	if (from == NULL)
		return -1;
	value = strtol(from, &end, 10);
	*at = *end == ';' || *end == ':' ? end + 1 : NULL;
	return end == from || value < 0 ? missing : value;
}

static void
set_style(struct terminal_output *t, const char *at)
{
	long value;

	while ((value = terminal_output_parse_number(&at, 0)) != -1) {
		if (value == 0)
			t->style = 0;
		else if (value < 10)
			t->style |= 1u << value;
		else if (value == 22)
			t->style &= ~(1u << 1 | 1u << 2);
		else if (value > 22 && value < 30)
			t->style &= ~(1u << (value - 20));
		else if (value == 39)
			t->style &= ~FOREGROUND;
		else if (value == 49)
			t->style &= ~BACKGROUND;
		else if ((value >= 30 && value < 39) || (value >= 90 && value < 98))
			t->style |= FOREGROUND;
		else if ((value >= 40 && value < 49) || (value >= 100 && value < 108))
			t->style |= BACKGROUND;
		if (value == 38 || value == 48) /* colour as 5;N or 2;R;G;B */
			for (long left = terminal_output_parse_number(&at, 0) == 5 ? 1 : 3;
			    left > 0; left--)
				terminal_output_parse_number(&at, 0);
	}
}

static void
set_mode(struct terminal_output *t, const char *at, bool on)
{
	const bool private = *at == '?';
	long value;

	at += private;
	while ((value = terminal_output_parse_number(&at, 0)) != -1) {
		if (!private) {
			t->insert = value == 4 ? on : t->insert;
		} else if (value == 25) {
			t->hidden = !on;
		} else if (value == 6 || value == 69) {
			t->region = on;
		} else if (value >= 1000 && value <= 1003) {
			t->mouse = on ? t->mouse | 1u << (value - 1000) : t->mouse & ~(1u << (value - 1000));
		} else if (value == 2026) {
			t->synchronized = on;
		} else if (value == 47 || value == 1047 || value == 1049) {
			if (on && !t->alternate)
				t->saved = t->cursor;
			terminal_output_forget_cursor(t);
			if (!on && t->alternate && value == 1049)
				t->cursor = t->saved;
			t->alternate = on;
		}
	}
}

static void
terminal_output_erase(struct terminal_output *t, long what, bool home)
{
	struct terminal_cursor *c = &t->cursor;

	if (what == 2 || (what == 0 && home)) {
		c->known = true;
		c->below = 0;
		c->clean = true;
		c->at_start |= home;
	} else if (what == 0) {
		c->below = 0;
		c->clean |= c->known && c->at_start;
	}
}

static void
end_sequence(struct terminal_output *t, char final)
{
	const char *at = t->parameters;
	struct terminal_cursor *c = &t->cursor;
	const bool home = t->home;
	long count;

	t->home = false;
	if (strchr("<=>!\"$' ", t->parameters[0]) != NULL && t->parameters[0] != '\0')
		return; /* another kind of sequence; does not move the cursor */
	switch (final) {
	case 'm':
		t->home = home;
		set_style(t, at);
		return;
	case 'h':
	case 'l':
		t->home = home;
		set_mode(t, at, final == 'h');
		return;
	}
	count = terminal_output_parse_number(&at, 0);
	switch (final) {
	case 'A':
	case 'F':
		go_up(t, count > 0 ? (size_t)count : 1);
		c->at_start |= final == 'F';
		break;
	case 'B':
	case 'E':
		go_down(t, count > 0 ? (size_t)count : 1);
		c->at_start |= final == 'E';
		break;
	case 'C':
		c->at_start = false;
		break;
	case 'G':
	case '`':
		c->at_start = count <= 1;
		break;
	case 'H':
	case 'f':
		t->home = count <= 1 && terminal_output_parse_number(&at, 0) <= 1;
		terminal_output_forget_cursor(t);
		break;
	case 'J':
		terminal_output_erase(t, count, home);
		break;
	case 'K':
		c->clean |= c->known && c->at_start && count != 1;
		break;
	case 'r':
		/* A scrolling region of all rows counts as no region. */
		t->region = count > 1 || (at != NULL &&
		    terminal_output_parse_number(&at, 0) < (long)t->height);
		terminal_output_forget_cursor(t);
		break;
	case 'd': case 'e': case 'u': case 'L': case 'M': case 'S': case 'T': case 'I': case 'Z':
		terminal_output_forget_cursor(t);
		break;
	}
}

static void
end_escape(struct terminal_output *t, char byte)
{
	t->state = OUTPUT_TEXT;
	switch (byte) {
	case '[':
		t->state = OUTPUT_SEQUENCE;
		t->parameter_len = 0;
		t->parameters[0] = '\0';
		break;
	case ']': case 'P': case 'X': case '^': case '_':
		t->state = OUTPUT_STRING;
		break;
	case '(': case ')': case '*': case '+': case '-': case '.': case '/': case '#': case '%': case ' ':
		t->charset = byte;
		t->state = OUTPUT_CHARSET;
		break;
	case 'c':
		terminal_output_begin(t, t->height);
		break;
	case 'D':
		terminal_output_next_line(t);
		break;
	case 'E':
		t->cursor.at_start = true;
		terminal_output_next_line(t);
		break;
	case 'M':
		go_up(t, 1);
		break;
	case '8':
		terminal_output_forget_cursor(t);
		break;
	}
}

static void
terminal_output_print_byte(struct terminal_output *t, char byte)
{
	if (byte == '\033') {
		t->state = OUTPUT_ESCAPE;
		return;
	}
	switch (byte) {
	case '\a':
	case '\0':
		return;
	case '\r':
		t->cursor.at_start = true;
		break;
	case '\n':
	case '\v':
	case '\f':
		terminal_output_next_line(t);
		break;
	case '\016':
	case '\017':
		t->charset_other = byte == '\016';
		break;
	default:
		t->cursor.at_start = t->cursor.clean = false;
	}
	t->home = false;
}

void
terminal_output_take(struct terminal_output *t, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char byte = bytes[i];

		/* CAN and SUB abort a control sequence; other control characters in it work as
		 * usual. */
		if (byte == '\030' || byte == '\032') {
			t->state = OUTPUT_TEXT;
			continue;
		}
		switch (t->state) {
		case OUTPUT_TEXT:
			terminal_output_print_byte(t, byte);
			break;
		case OUTPUT_ESCAPE:
			end_escape(t, byte);
			break;
		case OUTPUT_SEQUENCE:
			if (byte == '\033') {
				t->state = OUTPUT_ESCAPE;
			} else if (byte >= 0x40 && byte <= 0x7e) {
				t->state = OUTPUT_TEXT;
				end_sequence(t, byte);
			} else if ((unsigned char)byte < 0x20 || byte == 0x7f) {
				terminal_output_print_byte(t, byte);
			} else if (t->parameter_len + 1 < sizeof t->parameters) {
				t->parameters[t->parameter_len++] = byte;
				t->parameters[t->parameter_len] = '\0';
			}
			break;
		case OUTPUT_STRING:
			if (byte == '\a')
				t->state = OUTPUT_TEXT;
			else if (byte == '\033')
				t->state = OUTPUT_STRING_ESCAPE;
			break;
		case OUTPUT_STRING_ESCAPE:
			if (byte == '\\')
				t->state = OUTPUT_TEXT;
			else
				end_escape(t, byte);
			break;
		case OUTPUT_CHARSET:
			if (t->charset == '(')
				t->charset_other = byte != 'B';
			t->state = OUTPUT_TEXT;
			break;
		}
	}
}

bool
terminal_output_rests(const struct terminal_output *t)
{
	const struct terminal_cursor *c = &t->cursor;

	return t->state == OUTPUT_TEXT && c->known && c->below == 0 && c->at_start && c->clean &&
	    t->style == 0 && t->mouse == 0 && !t->hidden && !t->alternate && !t->region && !t->insert &&
	    !t->charset_other && !t->synchronized;
}
