/*
 * Each event goes through the filter, the view and the outlet. The status line is erased before an
 * event is printed, and drawn again when there are no more. The view also gets the events that the
 * filter rejects, because it finds the names of items in them.
 */
#include "tail/printer.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tail/conversation.h"
#include "transcript/blob.h"

#define WARNING_INTERVAL 1000 /* ms */

void
printer_begin(struct printer *p, int fd, size_t limit)
{
	memset(p, 0, sizeof *p);
	filter_begin(&p->filter);
	outlet_begin(&p->outlet, fd, limit);
	p->warned_at = -WARNING_INTERVAL;
}

static void
put_extra(struct printer *p)
{
	if (p->text.len > 0)
		outlet_extra(&p->outlet, p->text.data, p->text.len);
	buffer_clear(&p->text);
}

void
printer_hide(struct printer *p)
{
	if (!p->screen.drawn)
		return;
	screen_erase(&p->screen, &p->text);
	put_extra(p);
	outlet_flush(&p->outlet, NULL); /* if this fails, the next write reports it */
}

void
printer_warn(struct printer *p, const struct error *warning)
{
	printer_hide(p);
	p->warn(warning);
}

/* Warns about dropped events: at once (now), else only once in WARNING_INTERVAL. */
static void
printer_warn_of_dropped(struct printer *p, bool now)
{
	struct error warning;

	if (p->outlet.dropped == 0 ||
	    (!now && clock_monotonic() - p->warned_at < WARNING_INTERVAL))
		return;
	error_set(&warning, ERROR_SYSTEM, NULL, "dropped %lld %s", (long long)p->outlet.dropped,
	    p->outlet.dropped == 1 ? "event" : "events");
	p->outlet.dropped = 0;
	p->warned_at = clock_monotonic();
	printer_warn(p, &warning);
}

static int
printer_print_event(struct printer *p, const struct origin *origin, const char *line, size_t len,
    enum verdict *verdict, struct error *err)
{
	if (p->inlined) {
		struct error warning;

		buffer_clear(&p->whole);
		if (blob_inline(origin->blobs, line, len, &p->whole, &warning) == 0) {
			len = p->whole.len;
			buffer_byte(&p->whole, '\n');
			line = p->whole.data;
		} else {
			p->incomplete = true; /* print the line without its blobs */
			printer_warn(p, &warning);
		}
	}
	screen_erase(&p->screen, &p->text);
	put_extra(p);
	if (p->instead)
		return p->instead->len > 0 ?
		    outlet_json(&p->outlet, p->instead->data, p->instead->len, err) : 0;
	if (p->json)
		return outlet_json(&p->outlet, line, len + 1, err);
	if (p->headed && p->run_id[0] != '\0' && strcmp(p->run_id, origin->run_id) != 0)
		buffer_format(&p->text, "==> %s <==\n", origin->run_id);
	memcpy(p->run_id, origin->run_id, sizeof p->run_id);
	p->view.began = origin->began;
	if (view_event(&p->view, line, len, origin->depth, &p->text) != 0)
		*verdict = VERDICT_DAMAGED;
	if (p->full && *verdict != VERDICT_DAMAGED) {
		/* stdout may lead to a pager: use the width of the terminal at stderr. */
		size_t width = p->view.width > 0 ? p->view.width : terminal_width(STDERR_FILENO);
		struct conversation c = { .width = width > 0 ? width : SCREEN_WIDTH, .colour = p->view.colour, .out = &p->text };

		conversation_event(&c, line, len);
		buffer_byte(&p->text, '\n');
	}
	if (*verdict != VERDICT_DAMAGED &&
	    outlet_event(&p->outlet, p->text.data, p->text.len, err) != 0)
		return -1;
	buffer_clear(&p->text);
	return 0;
}

int
printer_line(struct printer *p, const struct origin *origin, const struct event_head *head,
    const char *line, size_t len, enum verdict *verdict, struct error *err)
{
	*verdict = filter_event(&p->filter, head, line, len);
	if (*verdict == VERDICT_NO && !p->json && !p->instead)
		view_pass_over(&p->view, head, line, len);
	p->unchained += *verdict == VERDICT_YES && p->filter.unchained;
	if (*verdict == VERDICT_YES && p->live == NULL &&
	    printer_print_event(p, origin, line, len, verdict, err) != 0)
		return -1;
	printer_warn_of_dropped(p, false);
	return 0;
}

/* Whether the terminal belongs to another job of its shell, whose lines would be drawn over. */
static bool
is_in_background(int fd)
{
	const pid_t foreground = tcgetpgrp(fd);

	return foreground != -1 && foreground != getpgrp();
}

/* Draws the live view: permanent lines about what has ended, and below them what is in progress. */
static void
draw_live(struct printer *p)
{
	const int64_t now = clock_monotonic();
	struct buffer told = BUFFER_INIT;
	size_t count;

	if (p->screen.drawn && now - p->screen.drawn_at < SCREEN_INTERVAL)
		return;
	buffer_clear(&p->whole);
	count = live_feed_draw(p->live, clock_wall(), &told, &p->whole);
	if (is_in_background(p->outlet.fd)) {
		buffer_clear(&p->whole);
		count = 0;
	} else if (count == 0 && p->idle != NULL) {
		buffer_format(&p->whole, "%s\n", p->idle);
		count = 1;
	}
	if (count > 0 || told.len > 0 || p->screen.drawn)
		screen_block(&p->screen, &told, &p->whole, count, now, &p->text);
	buffer_clear(&p->whole);
	buffer_free(&told);
	put_extra(p);
}

int
printer_pause(struct printer *p, struct error *err)
{
	if (p->live != NULL) {
		draw_live(p);
	} else if (p->status_line) {
		buffer_append(&p->whole, buffer_string(&p->status), p->status.len);
		if (p->whole.len == 0 && p->idle)
			buffer_text(&p->whole, p->idle);
		screen_status(&p->screen, &p->whole, clock_monotonic(), &p->text);
		buffer_clear(&p->whole);
		put_extra(p);
	}
	if (outlet_flush(&p->outlet, err) != 0)
		return -1;
	printer_warn_of_dropped(p, false);
	return 0;
}

int
printer_patience(const struct printer *p, int milliseconds)
{
	bool ticking = (p->live != NULL ? live_view_moves(&p->live->view) : p->status.len > 0) &&
	    milliseconds > SCREEN_INTERVAL;

	return ticking ? SCREEN_INTERVAL : milliseconds;
}

void
printer_resize(struct printer *p)
{
	p->view.width = terminal_width(p->outlet.fd);
	screen_resized(&p->screen, p->view.width);
	p->screen.drawn_at = 0;
	if (p->live != NULL) {
		p->live->view.width = p->screen.width;
		p->live->view.height = terminal_height(p->outlet.fd);
	}
}

int
printer_finish(struct printer *p, struct error *err)
{
	screen_erase(&p->screen, &p->text);
	if (p->live != NULL)
		live_view_told(&p->live->view, clock_wall(), &p->text);
	put_extra(p);
	if (outlet_drain(&p->outlet, err) != 0)
		return -1;
	printer_warn_of_dropped(p, true);
	return 0;
}

void
printer_free(struct printer *p)
{
	filter_free(&p->filter);
	view_free(&p->view);
	outlet_free(&p->outlet);
	buffer_free(&p->status);
	buffer_free(&p->text);
	buffer_free(&p->whole);
}
