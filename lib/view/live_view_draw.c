/*
 * How the live view looks. A row is built as plain text and cut to the width; only its symbol has a
 * colour, which is inserted before the part that may be cut; what waits is all in one colour. Of a line of counts and
 * figures whole parts are left out, the least important first. On a terminal without UTF-8 this
 * file's symbols are replaced by ASCII ones, and each column of other texts that it cannot show
 * by a question mark.
 */
#include "view/live_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/memory.h"
#include "base/text.h"
#include "view/live_view_rows.h"
#include "view/live_view_text.h"

#define BOLD "\033[1m"
#define DURATION_COLUMNS 6
#define LABEL_LEAST ((size_t)8)
#define WIDE ((size_t)60)         /* columns from which a run's id is shown, too */
#define COMMAND_LEAST ((size_t)16) /* columns of a command, however little room there is for what it prints */
#define ASKED_LEAST ((size_t)70)  /* columns of room from which the model that writes is named */
#define PACED_LEAST 3             /* calls that must have ended to estimate how long the others take */

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
	const struct live_rows *rows;
};

/* ---- rows ---- */

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

		/* as many columns as the character has */
		for (size_t column = 0; column < text_columns(code); column++)
			buffer_byte(out, code < 0x80 ? (char)code : code == 0x2026 ? '.' : code == 0xd7 ? 'x' :
			    code == 0x25b8 ? '>' : '?');
		i += n > 0 ? n : 1;
	}
	buffer_free(&cut);
}

static void
add_blanks(struct buffer *out, size_t from, size_t to)
{
	for (; from < to; from++)
		buffer_byte(out, ' ');
}

static size_t
columns_of(const struct buffer *text)
{
	return live_text_columns(buffer_string(text), text->len);
}

/* The columns of the labels of rows of this depth. */
static size_t
label_columns(const struct live_view *v, unsigned depth)
{
	const size_t width = live_text_width(v), indent = live_text_indent(v, depth);
	const size_t most = width / 3 > LABEL_LEAST ? width / 3 : LABEL_LEAST;
	const size_t wide = v->label_width < most ? v->label_width : most;

	return wide > indent + LABEL_LEAST ? wide - indent : LABEL_LEAST;
}

/* The columns that a row of this depth has for what is said behind its duration. */
static size_t
said_columns(const struct live_view *v, unsigned depth)
{
	const size_t used = live_text_indent(v, depth) + 2 + label_columns(v, depth) + 2 + DURATION_COLUMNS + 2;

	return live_text_width(v) > used ? live_text_width(v) - used : 1;
}

static void
add_symbol(const struct live_view *v, struct buffer *out, const char *symbol, const char *colour)
{
	buffer_format(out, "%s%s%s", v->colour ? colour : "", symbol, v->colour && *colour != '\0' ? VIEW_PLAIN : "");
}

/* [INDENT]SYMBOL LABEL   DURATION  SAID, and an LF, cut to the width. took is in µs. */
static void
add_row(const struct live_view *v, struct buffer *out, unsigned depth, const char *symbol,
    const char *colour, const char *label, int64_t took, const char *said)
{
	const size_t width = live_text_width(v), indent = live_text_indent(v, depth), wide = label_columns(v, depth);
	struct buffer text = BUFFER_INIT, name = BUFFER_INIT;
	char duration[32];

	text_visible(&name, label, strlen(label), wide);
	add_blanks(out, 0, indent);
	add_symbol(v, out, symbol, colour);
	buffer_format(&text, " %s", buffer_string(&name));
	add_blanks(&text, columns_of(&name), wide);
	buffer_format(&text, "  %*s", DURATION_COLUMNS, duration_text(took > 0 ? took / 1000 : 0, duration, sizeof duration));
	if (*said != '\0')
		buffer_format(&text, "  %s", said);
	draw_add_text(v, out, &text, width > indent + 1 ? width - indent - 1 : 1);
	buffer_byte(out, '\n');
	buffer_free(&text);
	buffer_free(&name);
}

static const char *
symbol_of(const struct live_view *v, enum view_saying how)
{
	return v->utf8 ? view_words[how].symbol : symbols_ascii[how];
}

static const char *
draw_spinner_frame(const struct drawing *d)
{
	const uint64_t tick = (uint64_t)d->now / 1000 / LIVE_VIEW_INTERVAL;

	return d->v->utf8 ? spinner[tick % (sizeof spinner / sizeof *spinner)] :
	    spinner_ascii[tick % (sizeof spinner_ascii / sizeof *spinner_ascii)];
}

/* ---- rows that stay ---- */

/* SYMBOL LABEL   DURATION  SAID, and an LF; cut to the width unless it is to be whole. Labels have the
 * width of the widest so far, but at most a third of the terminal's. */
static void
add_told(struct live_view *v, struct buffer *out, const struct live_end *e)
{
	const bool whole = !e->run && (e->how == VIEW_FAILED || e->how == VIEW_WAITING);
	const size_t width = live_text_width(v), most = width / 3 > LABEL_LEAST ? width / 3 : LABEL_LEAST;
	struct buffer text = BUFFER_INIT, name = BUFFER_INIT, path = BUFFER_INIT;
	size_t columns;
	char duration[32];

	if (e->run || whole)
		buffer_text(&path, e->label);
	else
		live_text_path(e->label, most, &path);
	text_visible(&name, buffer_string(&path), path.len, e->run || whole ? 0 : most);
	columns = columns_of(&name);
	if (!e->run && columns > v->told_width)
		v->told_width = columns < most ? columns : most;
	add_symbol(v, out, symbol_of(v, e->how), view_words[e->how].colour);
	buffer_format(&text, " %s", buffer_string(&name));
	if (e->took >= 0 || *e->said != '\0')
		add_blanks(&text, columns, v->told_width < most ? v->told_width : most);
	if (e->took >= 0)
		buffer_format(&text, "  %*s", DURATION_COLUMNS, duration_text(e->took / 1000, duration, sizeof duration));
	if (*e->said != '\0')
		buffer_format(&text, "  %s", e->said);
	draw_add_text(v, out, &text, whole ? 0 : width > 1 ? width - 1 : 1);
	buffer_byte(out, '\n');
	buffer_free(&text);
	buffer_free(&name);
	buffer_free(&path);
}

void
live_view_told(struct live_view *v, int64_t now, struct buffer *out)
{
	live_view_settle(v, now);
	for (size_t i = 0; i < v->told_count; i++) {
		add_told(v, out, &v->told[i]);
		free(v->told[i].label);
		free(v->told[i].said);
	}
	v->told_count = 0;
}

/* ---- lines of counts and figures ---- */

/* A line of parts. */
struct parts {
	struct part {
		struct buffer text;
		unsigned rank; /* parts with the highest are left out first; 0: never */
		const char *before; /* between it and the part before it */
	} list[12];
	size_t count;
};

/* Begins a part, to whose text the caller appends; one that stays empty is left out. */
static struct buffer *
parts_add(struct parts *p, unsigned rank, const char *before)
{
	p->list[p->count] = (struct part){ BUFFER_INIT, rank, before };
	return &p->list[p->count++].text;
}

static void
parts_add_count(struct parts *p, unsigned rank, int64_t count, const char *word)
{
	struct buffer *text = parts_add(p, rank, ", ");

	if (count > 0)
		buffer_format(text, "%lld %s", (long long)count, word);
}

/* Appends the parts that fit into so many columns; without the others nothing is cut in the middle, unless even the
 * most important part does not fit. Frees the parts. */
static void
parts_join(struct parts *p, size_t columns, struct buffer *out)
{
	const size_t from = out->len;

	for (unsigned rank = 12;; rank--) {
		out->len = from;
		for (size_t i = 0; i < p->count; i++)
			if (p->list[i].text.len > 0 && p->list[i].rank <= rank)
				buffer_format(out, "%s%s", out->len > from ? p->list[i].before : "",
				    p->list[i].text.data);
		if (rank == 0 || live_text_columns(buffer_string(out) + from, out->len - from) <= columns)
			break;
	}
	for (size_t i = 0; i < p->count; i++)
		buffer_free(&p->list[i].text);
	p->count = 0;
}

static void
add_cost(struct buffer *out, int64_t cost, bool unknown)
{
	char money[MONEY_SIZE];

	if (cost > 0)
		buffer_format(out, "%s%s", money_text(cost, money), unknown ? "?" : "");
}

/* The number of open calls without an open call inside, which do not wait. */
static int64_t
draw_count_running(const struct live_view *v, const struct live_run *r)
{
	int64_t count = 0;

	for (size_t i = 0; i < r->open_count; i++) {
		const struct live_call *c = r->open[i];

		if (c->open_inside == 0 && !c->attended && live_view_child(v, c) == NULL)
			count++;
	}
	for (size_t i = 0; i < v->run_count; i++)
		if (v->runs[i]->parent == r)
			count += draw_count_running(v, v->runs[i]);
	return count;
}

static void
draw_run(struct drawing *d, const struct live_run *r)
{
	const struct live_figures f = live_view_figures(d->v, r);
	const size_t width = live_text_width(d->v);
	struct parts parts = { .count = 0 };
	struct buffer text = BUFFER_INIT;
	char in[32], written[32];
	struct buffer *used;

	buffer_text(parts_add(&parts, 0, ""), r->name);
	if (d->v->width >= WIDE)
		buffer_format(parts_add(&parts, 6, " "), "%.8s", r->id);
	buffer_text(parts_add(&parts, 1, "   "),
	    duration_text((d->now > r->started ? d->now - r->started : 0) / 1000, in, sizeof in));
	buffer_format(parts_add(&parts, 2, "   "), "%lld running", (long long)draw_count_running(d->v, r));
	parts_add_count(&parts, 3, f.failed, "failed");
	parts_add_count(&parts, 3, f.waiting, "waiting");
	add_cost(parts_add(&parts, 4, "   "), f.cost, f.unknown);
	used = parts_add(&parts, 5, "   ");
	if (f.input > 0 || f.output > 0)
		buffer_format(used, "%s in %s out", count_text(f.input, in, sizeof in),
		    count_text(f.output, written, sizeof written));
	parts_join(&parts, width, &text);
	if (d->v->colour)
		buffer_text(d->out, BOLD);
	draw_add_text(d->v, d->out, &text, width);
	buffer_format(d->out, "%s\n", d->v->colour ? VIEW_PLAIN : "");
	buffer_free(&text);
}

/* How long the calls take that have not ended, judging by those that have; -1: not known, or they take longer. */
static int64_t
time_left(const struct live_step *s, int64_t items, int64_t now)
{
	const int64_t least = (int64_t)s->open_count / 2 > PACED_LEAST ? (int64_t)s->open_count / 2 : PACED_LEAST;
	double left;

	if (items < 0 || s->paced < least || s->last <= s->paced_since)
		return -1;
	left = (double)(s->last - s->paced_since) / (double)s->paced * (double)(items - live_view_ended(s)) -
	    (double)(now - s->last);
	return left > 0 && left < 1e15 ? (int64_t)left : -1;
}

/* Appends a time that is estimated: "about 45s left". */
static void
add_time_left(struct buffer *out, int64_t left)
{
	long long seconds = (long long)(left / 1000000) + (left % 1000000 > 0);

	if (left < 0)
		return;
	if (seconds > 10)
		seconds = (seconds + 4) / 5 * 5;
	if (seconds < 120)
		buffer_format(out, "about %llds left", seconds);
	else if (seconds < 7200)
		buffer_format(out, "about %lldm left", (seconds + 59) / 60);
	else
		buffer_format(out, "about %lldh left", (seconds + 3599) / 3600);
}

static void add_doing(const struct drawing *d, const struct live_call *c, size_t columns, bool folded, struct buffer *said);

/* One row for all calls of a step: how many there are, in all if that is known, and how long the others take; and
 * if they have no rows, the oldest of them. */
static void
draw_step(struct drawing *d, const struct live_row *row)
{
	const struct live_step *s = row->step;
	const struct live_call *oldest = !row->listed && s->open_count > 0 ? s->open[0] : NULL;
	const int64_t items = live_view_items(s), ended = live_view_ended(s);
	const size_t columns = said_columns(d->v, row->depth);
	struct parts parts = { .count = 0 };
	struct buffer said = BUFFER_INIT, *text;
	size_t waiting = 0;
	char duration[32];

	for (size_t i = 0; i < s->open_count; i++)
		waiting += s->open[i]->attended;
	if (items > 0) {
		buffer_format(parts_add(&parts, 0, ""), "%lld of %lld", (long long)ended, (long long)items);
		buffer_format(parts_add(&parts, 3, ", "), "%lld %%", (long long)(ended * 100 / items));
	} else {
		parts_add_count(&parts, 0, s->done, "done");
	}
	parts_add_count(&parts, 1, s->failed, "failed");
	parts_add_count(&parts, 6, s->cancelled, "cancelled");
	parts_add_count(&parts, 6, s->skipped, "skipped");
	parts_add_count(&parts, 2, s->waiting + (int64_t)waiting, "waiting");
	parts_add_count(&parts, 2, (int64_t)(s->open_count - waiting), "running");
	text = parts_add(&parts, 4, ", ");
	add_time_left(text, time_left(s, items, d->now));
	text = parts_add(&parts, 7, "   ");
	add_cost(text, s->cost, false);
	text = parts_add(&parts, 5, "   ");
	if (oldest != NULL) {
		buffer_format(text, "%s%s %s", s->open_count > 1 ? "oldest " : "", oldest->label,
		    duration_text((d->now - oldest->started) / 1000, duration, sizeof duration));
		if (s->open_count == 1 && (oldest->agent || oldest->asks)) {
			buffer_text(text, "  ");
			add_doing(d, oldest, columns > columns_of(text) ? columns - columns_of(text) : 1, true, text);
		}
	}
	parts_join(&parts, columns, &said);
	add_row(d->v, d->out, row->depth, draw_spinner_frame(d), view_words[VIEW_RUNNING].colour, s->name,
	    d->now - s->first, buffer_string(&said));
	buffer_free(&said);
}

/* ---- calls ---- */

/* Appends a command, and what it has printed last, for which most of the room is. */
static void
add_command(const struct live_call *c, const char *command, size_t columns, struct buffer *said)
{
	struct buffer last = BUFFER_INIT;

	live_text_last_line(c, &last);
	if (last.len == 0) {
		buffer_text(said, command);
	} else {
		text_visible(said, command, strlen(command), columns / 3 > COMMAND_LEAST ? columns / 3 : COMMAND_LEAST);
		buffer_format(said, "  %s", buffer_string(&last));
	}
	buffer_free(&last);
}

/* Appends what a call does, or waits for. folded: what is inside of it, and its text, have no rows. */
static void
add_doing(const struct drawing *d, const struct live_call *c, size_t columns, bool folded, struct buffer *said)
{
	static const char *const doing[LIVE_KINDS] = {
		[LIVE_TEXT] = "writing", [LIVE_THINKING] = "thinking", [LIVE_TOOL] = "calling a tool",
	};
	const size_t from = said->len;

	if (c->asking.retry != NULL) {
		buffer_text(said, c->asking.retry);
		if (c->asking.retry_at > d->now)
			buffer_format(said, " in %lld s", (long long)((c->asking.retry_at - d->now + 999999) / 1000000));
	} else if (c->asking.text.len > 0) {
		if (c->whom != NULL && columns >= ASKED_LEAST)
			buffer_format(said, "%s: ", c->whom);
		buffer_format(said, "%s, %lld word%s", doing[c->asking.kind], (long long)c->asking.words,
		    c->asking.words == 1 ? "" : "s");
		if (folded || !d->rows->sole || c->asking.kind != LIVE_TEXT) {
			const size_t used = live_text_columns(said->data + from, said->len - from) + 2;

			buffer_text(said, "  ");
			live_text_end(c, columns > used ? columns - used : 1, said);
		}
	} else if (c->asking.open_tools > 0 && c->asking.tool != NULL) {
		struct buffer tools = BUFFER_INIT;

		buffer_text(&tools, c->asking.tool);
		if (c->asking.open_tools > 1)
			buffer_format(&tools, " and %zu more", c->asking.open_tools - 1);
		add_command(c, buffer_string(&tools), columns, said);
		buffer_free(&tools);
	} else if (c->asking.asked && c->whom != NULL) {
		buffer_format(said, "waiting for %s", c->whom);
	} else if (c->asks && c->command == NULL) {
		buffer_text(said, c->attended ? "waits" : "asks at its terminal");
	} else if (c->branches > 0) {
		buffer_format(said, "%lld of %lld", (long long)c->branches_done, (long long)c->branches);
	} else if (c->rounds > 0) {
		buffer_format(said, "round %lld", (long long)c->rounds);
	} else if (folded && c->open_inside > 1) {
		buffer_format(said, "%lld running", (long long)c->open_inside);
	} else if (c->command != NULL) {
		add_command(c, c->command, columns, said);
	}
}

/* Appends the label of a row, "[5] \"item 5\" ▸ critique", and returns the call whose work it shows. */
static const struct live_call *
add_label(const struct live_view *v, const struct live_row *row, struct buffer *label)
{
	const struct live_call *c = row->call, *inner;

	buffer_text(label, row->item && c->item != NULL ? c->item : c->label);
	while ((inner = live_rows_inner_call(v, c, row->item)) != NULL) {
		buffer_format(label, " ▸ %s", inner->label);
		c = inner;
	}
	return c;
}

static void
draw_call(struct drawing *d, const struct live_row *row)
{
	const int64_t since = row->call->started;
	struct buffer said = BUFFER_INIT, label = BUFFER_INIT;
	const struct live_call *c = add_label(d->v, row, &label);
	enum view_saying how;

	add_doing(d, c, said_columns(d->v, row->depth), row->folded, &said);
	how = c->asks ? VIEW_WAITING : c->asking.retry != NULL ? VIEW_RETRY : VIEW_RUNNING;
	add_row(d->v, d->out, row->depth, how == VIEW_RUNNING ? draw_spinner_frame(d) : symbol_of(d->v, how),
	    view_words[how].colour, buffer_string(&label), d->now - since, buffer_string(&said));
	buffer_free(&said);
	buffer_free(&label);
}

/* ---- other rows ---- */

/* A row in one colour, "SYMBOL TEXT". */
static void
draw_line(struct drawing *d, unsigned depth, const char *symbol, const char *colour, const struct buffer *text)
{
	const size_t width = live_text_width(d->v), indent = live_text_indent(d->v, depth);
	const size_t used = indent + (*symbol != '\0' ? 2 : 0);

	add_blanks(d->out, 0, indent);
	if (d->v->colour)
		buffer_text(d->out, colour);
	buffer_format(d->out, "%s%s", symbol, *symbol != '\0' ? " " : "");
	draw_add_text(d->v, d->out, text, width > used ? width - used : 1);
	buffer_format(d->out, "%s\n", d->v->colour && *colour != '\0' ? VIEW_PLAIN : "");
}

/* How to decide about a call that waits is what matters: if there is not room for all, first the duration is left
 * out, then the beginning of the call's name. */
static void
draw_wait(struct drawing *d, const struct live_wait *wait)
{
	const size_t width = live_text_width(d->v), labels = label_columns(d->v, 1);
	const size_t said = live_text_columns(wait->said, strlen(wait->said));
	const size_t name = live_text_columns(wait->label, strlen(wait->label));
	struct buffer text = BUFFER_INIT;
	char duration[32];

	if (labels + 2 + DURATION_COLUMNS + 2 + said + 2 <= width &&
	    name <= labels) {
		buffer_text(&text, wait->label);
		add_blanks(&text, columns_of(&text), labels);
		buffer_format(&text, "  %*s  ", DURATION_COLUMNS,
		    duration_text((d->now > wait->since ? d->now - wait->since : 0) / 1000, duration, sizeof duration));
	} else if (width >= said + 4 + (name < LABEL_LEAST ? name : LABEL_LEAST)) {
		struct buffer path = BUFFER_INIT;

		live_text_path(wait->label, width - said - 4, &path);
		text_visible(&text, buffer_string(&path), path.len, width - said - 4);
		buffer_text(&text, "  ");
		buffer_free(&path);
	}
	buffer_text(&text, wait->said);
	draw_line(d, 1, symbol_of(d->v, VIEW_WAITING), BOLD "\033[33m", &text);
	buffer_free(&text);
}

static void
draw_failures(struct drawing *d, const struct live_row *row)
{
	const struct live_failures *f = row->failures;
	const size_t width = live_text_width(d->v);
	struct buffer text = BUFFER_INIT, end = BUFFER_INIT;

	if (f == NULL) {
		buffer_format(&text, "%zu failures of other kinds", row->count);
	} else {
		buffer_format(&end, " … and %lld more like it", (long long)f->count - FOLDED_SHOWN);
		text_visible(&text, f->kind, strlen(f->kind), width > columns_of(&end) + 2 + LABEL_LEAST ?
		    width - columns_of(&end) - 2 : LABEL_LEAST);
		buffer_text(&text, buffer_string(&end));
	}
	draw_line(d, 1, symbol_of(d->v, VIEW_FAILED), view_words[VIEW_FAILED].colour, &text);
	buffer_free(&text);
	buffer_free(&end);
}

static void
draw_row(struct drawing *d, const struct live_row *row)
{
	struct buffer text = BUFFER_INIT;

	switch (row->kind) {
	case ROW_RUN:
		draw_run(d, row->run);
		break;
	case ROW_WAIT:
		draw_wait(d, row->wait);
		break;
	case ROW_FAILURES:
		draw_failures(d, row);
		break;
	case ROW_STEP:
		draw_step(d, row);
		break;
	case ROW_CALL:
		draw_call(d, row);
		break;
	case ROW_ENDED:
		add_row(d->v, d->out, row->depth, symbol_of(d->v, row->step->how), view_words[row->step->how].colour,
		    row->step->ended_label, row->step->last - row->step->first, row->step->ended);
		break;
	case ROW_TEXT:
		live_view_flat(&text, row->text.at, row->text.len);
		draw_line(d, row->depth + 1, "", "", &text);
		break;
	case ROW_MORE:
		buffer_format(&text, "… %zu more", row->count);
		draw_line(d, row->depth, "", "", &text);
		break;
	case ROW_MORE_WAIT:
		buffer_format(&text, "%zu more wait%s: awf status", row->count, row->count == 1 ? "s" : "");
		draw_line(d, row->depth, symbol_of(d->v, VIEW_WAITING), BOLD "\033[33m", &text);
		break;
	}
	buffer_free(&text);
}

/* Labels make their column wider, as far as they may; it never gets narrower, so that lines do not jump. Notes whose
 * text in progress is shown. */
static void
note_rows(struct live_view *v, const struct live_rows *rows)
{
	struct buffer label = BUFFER_INIT;

	v->drawn_count = 0;
	v->drawn = memory_array(v->drawn, rows->count + 1, sizeof *v->drawn);
	for (size_t i = 0; i < rows->count; i++) {
		const struct live_row *row = &rows->list[i];
		const struct live_call *shown = NULL;
		size_t width;

		if (row->kind == ROW_CALL) {
			buffer_clear(&label);
			shown = add_label(v, row, &label);
			width = live_text_indent(v, row->depth) + columns_of(&label);
			v->label_width = width > v->label_width ? width : v->label_width;
		} else if (row->kind == ROW_STEP && row->step->open_count > 0) {
			shown = row->step->open[0];
		}
		if (shown != NULL)
			memcpy(v->drawn[v->drawn_count++], shown->start, ID_SIZE);
	}
	buffer_free(&label);
}

size_t
live_view_draw(struct live_view *v, int64_t now, struct buffer *out)
{
	struct live_rows rows;
	struct drawing d = { .v = v, .out = out, .now = now, .rows = &rows };
	size_t count;

	live_rows_make(&rows, v);
	note_rows(v, &rows);
	for (size_t i = 0; i < rows.count; i++)
		draw_row(&d, &rows.list[i]);
	count = rows.count;
	live_rows_free(&rows);
	return count;
}
