/*
 * How the live view looks. A row is built as plain text and cut to the width; only its symbol has a
 * colour, which is inserted before the part that may be cut. On a terminal without UTF-8 this
 * file's symbols are replaced by ASCII ones, and each character of other texts that it cannot show
 * by a question mark.
 */
#include "view/live_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

#define BOLD "\033[1m"
#define DURATION_COLUMNS 6
#define LABEL_LEAST ((size_t)8)
#define WIDE ((size_t)60)         /* columns from which a run's id is shown, too */
#define ROWS_OF_TEXT ((size_t)8)  /* rows for the text of the only agent that writes */

static const char *const spinner[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" };
static const char *const spinner_ascii[] = { "|", "/", "-", "\\" };
static const char *const symbols_ascii[VIEW_SAYINGS] = {
	[VIEW_STARTED] = ">", [VIEW_SUCCESS] = "+", [VIEW_DONE] = "+", [VIEW_FAILED] = "x",
	[VIEW_CANCELLED] = "/", [VIEW_TIMEOUT] = "x", [VIEW_DIED] = "?", [VIEW_SKIPPED] = "-",
	[VIEW_CLOSED] = "-", [VIEW_REUSED] = "=", [VIEW_WAITING] = ".", [VIEW_RETRY] = "~",
	[VIEW_UNFINISHED] = "?",
};

struct drawing {
	const struct live_view *v;
	struct buffer *out;
	int64_t now;
	size_t rows, most;            /* rows drawn, and their limit */
	size_t hidden;                /* rows that did not fit */
	bool sole;                    /* exactly one agent is writing */
};

/* ---- text ---- */

static size_t
draw_usable_columns(const struct live_view *v)
{
	return v->width > 1 ? v->width - 1 : 1;
}

/* Appends text for the terminal, cut to this many columns. */
static void
draw_add_text(const struct live_view *v, struct buffer *out, const struct buffer *text,
    size_t width)
{
	struct buffer cut = BUFFER_INIT;
	uint32_t code;

	text_visible(&cut, buffer_string(text), text->len, width);
	if (v->utf8)
		buffer_append(out, buffer_string(&cut), cut.len);
	for (size_t i = 0; !v->utf8 && i < cut.len;) {
		const unsigned n = utf8_decode(cut.data + i, cut.len - i, &code);

		buffer_byte(out, code < 0x80 ? (char)code : code == 0x2026 ? '.' : code == 0xd7 ? 'x' :
		    code == 0x25b8 ? '>' : '?');
		i += n > 0 ? n : 1;
	}
	buffer_free(&cut);
}

/* The number of characters in a text: names and numbers have one column each. */
static size_t
draw_text_length(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

/* [INDENT]SYMBOL LABEL   DURATION  SAID, and an LF; cut to the width unless it is to be whole.
 * took is in µs; -1: no duration. */
static void
add_row(const struct live_view *v, struct buffer *out, unsigned depth, const char *symbol,
    const char *colour, const char *label, int64_t took, const char *said, bool whole)
{
	const size_t width = draw_usable_columns(v), most = width / 3 > LABEL_LEAST ? width / 3 :
	    LABEL_LEAST;
	size_t indent = depth > 0 ? 2 * ((size_t)depth - 1) : 0, wide;
	struct buffer text = BUFFER_INIT, name = BUFFER_INIT;
	char duration[32];

	if (indent > width / 4)
		indent = width / 4;
	wide = v->label_width < most ? v->label_width : most;
	wide = wide > indent && depth > 0 ? wide - indent : 1;
	/* A label may be wider than its column only if it contains an item's name. */
	text_visible(&name, label, strlen(label),
	    whole || depth == 0 ? 0 : wide > most ? wide : most);
	buffer_format(out, "%*s%s%s%s", (int)indent, "", v->colour ? colour : "", symbol,
	    v->colour && *colour != '\0' ? VIEW_PLAIN : "");
	buffer_format(&text, " %s", buffer_string(&name));
	if (took >= 0 || *said != '\0')
		for (size_t i = draw_text_length(buffer_string(&name)); i < wide; i++)
			buffer_byte(&text, ' ');
	if (took >= 0)
		buffer_format(&text, "  %*s", DURATION_COLUMNS,
		    duration_text(took / 1000, duration, sizeof duration));
	if (*said != '\0')
		buffer_format(&text, "  %s", said);
	draw_add_text(v, out, &text, whole ? 0 : width > indent + 1 ? width - indent - 1 : 1);
	buffer_byte(out, '\n');
	buffer_free(&text);
	buffer_free(&name);
}

/* ---- rows that stay ---- */

static const char *
symbol_of(const struct live_view *v, enum view_saying how)
{
	return v->utf8 ? view_words[how].symbol : symbols_ascii[how];
}

void
live_view_told(struct live_view *v, int64_t now, struct buffer *out)
{
	live_view_settle(v, now);
	for (size_t i = 0; i < v->told_count; i++) {
		struct live_end *e = &v->told[i];

		add_row(v, out, e->depth, symbol_of(v, e->how), view_words[e->how].colour, e->label,
		    e->took, e->said, e->depth > 0 && (e->how == VIEW_FAILED || e->how == VIEW_WAITING));
		free(e->label);
		free(e->said);
	}
	v->told_count = 0;
}

/* ---- rows of open calls ---- */

/* The run that a call has started, if it is shown and names the call's run as its parent. So no run
 * can be drawn inside itself, even if a transcript says so. */
static const struct live_run *
child_of(const struct live_view *v, const struct live_call *c)
{
	const struct live_run *r = c->child != NULL ? live_view_run(v, c->child) : NULL;

	return r != NULL && r->parent == c->run ? r : NULL;
}

/* The number of open calls without an open call inside. */
static int64_t
draw_count_running(const struct live_view *v, const struct live_run *r)
{
	int64_t count = 0;

	for (size_t i = 0; i < r->open_count; i++) {
		const struct live_call *c = r->open[i];

		if (c->open_inside == 0 && child_of(v, c) == NULL)
			count++;
	}
	for (size_t i = 0; i < v->run_count; i++)
		if (v->runs[i]->parent == r)
			count += draw_count_running(v, v->runs[i]);
	return count;
}

static bool
has_room(struct drawing *d)
{
	if (d->rows < d->most) {
		d->rows++;
		return true;
	}
	d->hidden++;
	return false;
}

/* Appends the end of the text in progress, as much as fits into the rest of the row. */
static void
add_end_of_text(const struct live_view *v, const struct live_call *c, struct buffer *said)
{
	struct buffer flat = BUFFER_INIT;
	const size_t all = draw_usable_columns(v), used = draw_text_length(buffer_string(said)) +
	    40;
	size_t want = all > used + 16 ? all - used : 16, from;

	live_view_flat(&flat, buffer_string(&c->asking.text), c->asking.text.len);
	for (from = flat.len; from > 0 && want > 0; from--)
		want -= ((unsigned char)flat.data[from - 1] & 0xc0) != 0x80;
	buffer_format(said, "  \"%s%s\"", from > 0 ? "…" : "", buffer_string(&flat) + from);
	buffer_free(&flat);
}

/* Appends the last line of what is printed that has something in it, without the sequences for a
 * terminal, as much as fits. A carriage return begins a line, as programs that show a progress print it. */
static void
add_last_line(const struct live_view *v, const struct live_call *c, struct buffer *said)
{
	struct buffer plain = BUFFER_INIT, flat = BUFFER_INIT;
	const size_t all = draw_usable_columns(v), used = draw_text_length(buffer_string(said)) + 40;
	size_t room = all > used + 16 ? all - used : 16, to = 0, begin = 0, last = 0, last_end = 0;
	bool something = false;

	for (size_t i = 0; i < c->output.len; i++) {
		const char *at = c->output.data + i;

		if (*at == '\033' && i + 1 < c->output.len && at[1] == '[') {
			for (i += 2; i < c->output.len && (c->output.data[i] < '@' || c->output.data[i] > '~'); i++)
				continue;
			continue;
		}
		if (*at == '\n' || *at == '\r') {
			begin = plain.len;
			something = false;
			continue;
		}
		buffer_byte(&plain, *at);
		something = something || (*at != ' ' && *at != '\t');
		if (something) {
			last = begin;
			last_end = plain.len;
		}
	}
	if (last_end > last) {
		live_view_flat(&flat, plain.data + last, last_end - last);
		while (to < flat.len && room > 0) {
			to++;
			while (to < flat.len && ((unsigned char)flat.data[to] & 0xc0) == 0x80)
				to++;
			room--;
		}
		buffer_text(said, "  ");
		buffer_append(said, buffer_string(&flat), to);
		buffer_text(said, to < flat.len ? "…" : "");
	}
	buffer_free(&flat);
	buffer_free(&plain);
}

/* Appends what a call does, or waits for. */
static void
add_doing(const struct drawing *d, const struct live_call *c, struct buffer *said)
{
	static const char *const doing[LIVE_KINDS] = {
		[LIVE_TEXT] = "writing", [LIVE_THINKING] = "thinking", [LIVE_TOOL] = "calling a tool",
	};

	if (c->asking.retry != NULL) {
		buffer_text(said, c->asking.retry);
		if (c->asking.retry_at > d->now)
			buffer_format(said, " in %lld s", (long long)((c->asking.retry_at - d->now + 999999) / 1000000));
	} else if (c->asking.text.len > 0) {
		buffer_format(said, "%s, %lld word%s", doing[c->asking.kind], (long long)c->asking.words,
		    c->asking.words == 1 ? "" : "s");
		if (!d->sole || c->asking.kind != LIVE_TEXT)
			add_end_of_text(d->v, c, said);
	} else if (c->asking.open_tools > 0 && c->asking.tool != NULL) {
		buffer_text(said, c->asking.tool);
		if (c->asking.open_tools > 1)
			buffer_format(said, " and %zu more", c->asking.open_tools - 1);
		add_last_line(d->v, c, said);
	} else if (c->asking.asked && c->whom != NULL) {
		buffer_format(said, "waiting for %s", c->whom);
	} else if (c->asks) {
		buffer_text(said, c->attended ? "waits" : "asks at its terminal");
	} else if (c->branches > 0) {
		buffer_format(said, "%lld of %lld", (long long)c->branches_done, (long long)c->branches);
	} else if (c->rounds > 0) {
		buffer_format(said, "round %lld", (long long)c->rounds);
	} else if (c->command != NULL) {
		buffer_text(said, c->command);
		add_last_line(d->v, c, said);
	}
}

static const char *
draw_spinner_frame(const struct drawing *d)
{
	const uint64_t tick = (uint64_t)d->now / 1000 / LIVE_VIEW_INTERVAL;

	return d->v->utf8 ? spinner[tick % (sizeof spinner / sizeof *spinner)] :
	    spinner_ascii[tick % (sizeof spinner_ascii / sizeof *spinner_ascii)];
}

static void
add_active(const struct drawing *d, unsigned depth, const char *label, int64_t since,
    const char *said)
{
	add_row(d->v, d->out, depth, draw_spinner_frame(d), view_words[VIEW_RUNNING].colour, label,
	    d->now > since ? d->now - since : 0, said, false);
}

/* Draws the last lines of the text of the only agent that is writing, wrapped to the width. */
static void
draw_text(struct drawing *d, const struct live_call *c, unsigned depth)
{
	const size_t all = draw_usable_columns(d->v), indent = 2 * (size_t)depth < all / 4 ?
	    2 * (size_t)depth : all / 4;
	const size_t width = all > indent + 1 ? all - indent : 1;
	size_t most = d->most / 3 < ROWS_OF_TEXT ? d->most / 3 : ROWS_OF_TEXT, first = 0;
	size_t starts[ROWS_OF_TEXT] = { 0 }, ends[ROWS_OF_TEXT] = { 0 }, count = 0, at = 0;
	const char *text = buffer_string(&c->asking.text);

	while (at < c->asking.text.len && most > 0) {
		size_t end = at, space = 0, used = 0;

		while (end < c->asking.text.len && text[end] != '\n' && used < width) {
			if (text[end] == ' ')
				space = end;
			used += ((unsigned char)text[end++] & 0xc0) != 0x80;
			while (end < c->asking.text.len && ((unsigned char)text[end] & 0xc0) == 0x80)
				end++;
		}
		if (end < c->asking.text.len && text[end] != '\n' && space > at)
			end = space;
		starts[count % most] = at;
		ends[count++ % most] = end;
		at = end + (end < c->asking.text.len && (text[end] == '\n' || text[end] == ' '));
	}
	if (count > most)
		first = count - most;
	for (size_t i = first; i < count && has_room(d); i++) {
		struct buffer line = BUFFER_INIT;

		live_view_flat(&line, text + starts[i % most], ends[i % most] - starts[i % most]);
		buffer_format(d->out, "%*s", (int)indent, "");
		draw_add_text(d->v, d->out, &line, width);
		buffer_byte(d->out, '\n');
		buffer_free(&line);
	}
}

static void draw_steps(struct drawing *d, const struct live_steps *steps, unsigned depth);

/* The only open call of a child run; NULL if it has none or several. */
static const struct live_call *
only_call(const struct live_run *r)
{
	const struct live_step *only = NULL;

	for (size_t i = 0; i < r->steps.count; i++) {
		if (r->steps.list[i]->open_count == 0)
			continue;
		if (only != NULL)
			return NULL;
		only = r->steps.list[i];
	}
	return only != NULL && only->begun == 1 ? only->open[0] : NULL;
}

/* Draws the only open call of a step. */
static void
draw_call(struct drawing *d, const struct live_call *c, unsigned depth)
{
	struct buffer said = BUFFER_INIT, label = BUFFER_INIT;
	const struct live_run *child;
	const struct live_call *inner;
	const int64_t since = c->started;

	buffer_text(&label, c->label);
	while ((child = child_of(d->v, c)) != NULL && (inner = only_call(child)) != NULL) {
		buffer_format(&label, " ▸ %s", inner->label);
		c = inner;
	}
	if (has_room(d)) {
		add_doing(d, c, &said);
		add_active(d, depth, buffer_string(&label), since, buffer_string(&said));
		if (d->sole && c->asking.kind == LIVE_TEXT)
			draw_text(d, c, depth);
	}
	draw_steps(d, &c->inside, depth + 1);
	child = child_of(d->v, c);
	if (child != NULL)
		draw_steps(d, &child->steps, depth + 1);
	buffer_free(&said);
	buffer_free(&label);
}

/* Draws one row for all calls of a step, with their number and the oldest of them; if only that is
 * active, with what it does. */
static void
draw_count(const struct drawing *d, const struct live_step *s, unsigned depth)
{
	const struct { int64_t count; const char *word; } parts[] = {
		{ s->done, "done" }, { s->failed, "failed" }, { s->cancelled, "cancelled" },
		{ s->skipped, "skipped" }, { s->waiting, "waiting" }, { (int64_t)s->open_count, "running" },
	};
	const struct live_call *oldest = s->open_count > 0 ? s->open[0] : NULL;
	struct buffer said = BUFFER_INIT;
	char duration[32];

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (parts[i].count > 0)
			buffer_format(&said, "%s%lld %s", said.len > 0 ? ", " : "",
			    (long long)parts[i].count, parts[i].word);
	if (oldest != NULL) {
		buffer_format(&said, "   %s%s %s", s->open_count > 1 ? "oldest " : "", oldest->label,
		    duration_text((d->now - oldest->started) / 1000, duration, sizeof duration));
		if (s->open_count == 1 && (oldest->agent || oldest->asks)) {
			buffer_text(&said, "  ");
			add_doing(d, oldest, &said);
		}
	}
	add_active(d, depth, s->name, s->first, buffer_string(&said));
	buffer_free(&said);
}

static void
draw_steps(struct drawing *d, const struct live_steps *steps, unsigned depth)
{
	for (size_t i = 0; i < steps->count; i++) {
		const struct live_step *s = steps->list[i];

		if (s->begun > 1) {
			if (has_room(d))
				draw_count(d, s, depth);
		} else if (s->open_count > 0) {
			/* Instead of a branch, draw the steps inside it. */
			if (s->member && s->open[0]->inside.count > 0)
				draw_steps(d, &s->open[0]->inside, depth);
			else
				draw_call(d, s->open[0], depth);
		} else if (s->ended != NULL && has_room(d)) {
			add_row(d->v, d->out, depth, symbol_of(d->v, s->how), view_words[s->how].colour,
			    s->ended_label, s->last - s->first, s->ended, false);
		}
	}
}

static void
draw_run(struct drawing *d, const struct live_run *r)
{
	const int64_t active = draw_count_running(d->v, r);
	struct buffer text = BUFFER_INIT, used = BUFFER_INIT;
	struct live_figures f;
	char duration[32];

	if (!has_room(d))
		return;
	f = live_view_figures(d->v, r, &used);
	buffer_text(&text, r->name);
	if (d->v->width >= WIDE)
		buffer_format(&text, " %.8s", r->id);
	buffer_format(&text, "   %s   %lld running", duration_text((d->now > r->started ?
	    d->now - r->started : 0) / 1000, duration, sizeof duration), (long long)active);
	if (f.failed > 0)
		buffer_format(&text, ", %lld failed", (long long)f.failed);
	if (f.waiting > 0)
		buffer_format(&text, ", %lld waiting", (long long)f.waiting);
	buffer_text(&text, buffer_string(&used));
	if (d->v->colour)
		buffer_text(d->out, BOLD);
	draw_add_text(d->v, d->out, &text, draw_usable_columns(d->v));
	buffer_format(d->out, "%s\n", d->v->colour ? VIEW_PLAIN : "");
	draw_steps(d, &r->steps, 1);
	buffer_free(&text);
	buffer_free(&used);
}

size_t
live_view_draw(const struct live_view *v, int64_t now, struct buffer *out)
{
	struct drawing d = { .v = v, .out = out, .now = now,
		.most = v->height > 1 ? v->height - 1 : 1 };
	size_t writing = 0, from = out->len, agents = 0;

	for (size_t i = 0; i < v->run_count; i++)
		for (size_t k = 0; k < v->runs[i]->open_count; k++) {
			agents += v->runs[i]->open[k]->agent;
			writing += v->runs[i]->open[k]->asking.text.len > 0;
		}
	d.sole = agents == 1 && writing == 1;
	for (size_t i = 0; i < v->run_count; i++)
		if (v->runs[i]->parent == NULL)
			draw_run(&d, v->runs[i]);
	if (d.hidden > 0) {
		/* Replace the last row by the number of rows that are not shown. */
		struct buffer text = BUFFER_INIT;

		out->len--;
		while (out->len > from && out->data[out->len - 1] != '\n')
			out->len--;
		buffer_format(&text, "… %zu more", d.hidden + 1);
		draw_add_text(v, out, &text, draw_usable_columns(v));
		buffer_byte(out, '\n');
		buffer_free(&text);
	}
	return d.rows;
}
