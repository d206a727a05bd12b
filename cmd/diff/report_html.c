/*
 * The page: the trees of both runs as one. What made a difference is open; what only follows of it, and what
 * is the same, is counted and folded. It has neither scripts nor references to other files, and forbids
 * both: whatever is in a record is text there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "diff/detail.h"
#include "diff/report.h"
#include "model/cost.h"

#define LINES_MOST 400     /* of a text that differs */
#define LISTED_MOST 500    /* calls in a folded list */
#define DETAILED_MOST 20   /* of them, so many with what differs */

static const struct diff_detail_limits html_limits = { .lines = LINES_MOST, .context = 3 };

static const char style[] =
	":root{color-scheme:light dark;--ground:#fff;--line:#d4d8de;--text:#1a1f26;--quiet:#565f6b;--good:#1b6b35;"
	"--bad:#a8201a;--warn:#815000;--bad-ground:#fdeeed;--good-ground:#e7f5ea;--raised:#f5f6f8}"
	"@media(prefers-color-scheme:dark){:root{--ground:#14171c;--line:#363d48;--text:#e4e7eb;--quiet:#a2abb8;"
	"--good:#7fce95;--bad:#ff9c94;--warn:#e9bd5f;--bad-ground:#3a2021;--good-ground:#1a3122;--raised:#1d2128}}"
	"*{box-sizing:border-box}body{background:var(--ground);color:var(--text);font:14px/1.45 system-ui,sans-serif;"
	"margin:0 auto;max-width:80rem;padding:1rem}h1{font-size:1.25rem}h2{font-size:1rem}"
	"table{border-collapse:collapse}th,td{border-bottom:1px solid var(--line);font-weight:400;overflow-wrap:anywhere;"
	"padding:.25rem 1.2rem .25rem 0;text-align:left;vertical-align:top}th,.note,dt{color:var(--quiet)}"
	".pairs{display:grid;gap:.3rem;grid-template-columns:minmax(0,1fr)}"
	".pair{border-left:4px solid var(--line);padding-left:.6rem}.pair>summary{cursor:pointer;overflow-wrap:anywhere;padding:.2rem 0}"
	".sign{display:inline-block;font-weight:700;text-align:center;width:1.2rem}"
	".changed,.renamed{border-left-color:var(--warn)}.new{border-left-color:var(--good)}.gone{border-left-color:var(--bad)}"
	".changed>summary .sign,.renamed>summary .sign{color:var(--warn)}.new>summary .sign{color:var(--good)}"
	".gone>summary .sign{color:var(--bad)}.body{display:grid;gap:.3rem;grid-template-columns:minmax(0,1fr);padding:0 0 .5rem 1.2rem}"
	"dl{display:grid;gap:.25rem .9rem;grid-template-columns:7.5rem minmax(0,1fr);margin:.3rem 0}dt,dd{margin:0;overflow-wrap:anywhere}"
	".diff{border:1px solid var(--line);border-radius:5px;overflow-wrap:anywhere;tab-size:4;white-space:pre-wrap}th[scope=row]{white-space:nowrap}"
	".lines{font-family:ui-monospace,monospace;font-size:.93em}.lines>div,.words{padding:0 .55rem}"
	".plus{background:var(--good-ground)}.minus{background:var(--bad-ground)}.left{background:var(--raised);color:var(--quiet)}"
	"del{background:var(--bad-ground);color:var(--bad)}ins{background:var(--good-ground);color:var(--good);text-decoration:none}"
	"ul{margin:0;padding-left:1.2rem}code{font-family:ui-monospace,monospace}"
	"@media(max-width:640px){dl{grid-template-columns:minmax(0,1fr)}dd{padding-left:.6rem}}";

static const struct { const char *sign, *word; } shown[DIFF_KINDS] = {
	[DIFF_SAME] = { "·", "the same" }, [DIFF_MOVED] = { "~", "moved" }, [DIFF_CHANGED] = { "!", "changed" },
	[DIFF_FOLLOWS] = { "~", "follows" }, [DIFF_GONE] = { "−", "gone" }, [DIFF_NEW] = { "+", "new" },
	[DIFF_RENAMED] = { "=", "renamed" },
};

/* ---- text ---- */

/* What is not seen of a text is shown as on a terminal, but for tabs; what would be markup as what it is. */
static void
html_text(struct buffer *out, const char *bytes, size_t len)
{
	struct buffer plain = BUFFER_INIT;

	for (size_t at = 0, end; at < len; at = end + 1) {
		const char *tab = memchr(bytes + at, '\t', len - at);

		end = tab != NULL ? (size_t)(tab - bytes) : len;
		text_visible(&plain, bytes + at, end - at, 0);
		buffer_text(&plain, tab != NULL ? "\t" : "");
	}
	text_escape_markup(out, buffer_string(&plain), plain.len);
	buffer_free(&plain);
}

static void
html_string(struct buffer *out, const char *text)
{
	html_text(out, text, strlen(text));
}

static void
html_span(struct buffer *out, struct span text)
{
	html_text(out, text.at != NULL ? text.at : "none", text.at != NULL ? text.len : 4);
}

/* ---- details ---- */

static void
html_parts(struct buffer *out, const struct diff_detail *d)
{
	const bool words = d->form == DETAIL_WORDS;

	buffer_text(out, words ? "<div class=\"diff words\">" : "<div class=\"diff lines\">");
	for (size_t i = 0; i < d->part_count; i++) {
		const struct diff_part *part = &d->parts[i];
		const char *tag = part->sign == '-' ? "del" : "ins";

		if (part->sign == '.') {
			buffer_text(out, words ? "… " : "<div class=\"left\">…</div>");
		} else if (words && part->sign == '=') {
			html_span(out, part->text);
		} else if (words) {
			buffer_format(out, "<%s>", tag);
			html_span(out, part->text);
			buffer_format(out, "</%s>", tag);
		} else {
			buffer_format(out, "<div%s>%c ", part->sign == '-' ? " class=\"minus\"" :
			    part->sign == '+' ? " class=\"plus\"" : "", part->sign == '=' ? ' ' : part->sign);
			buffer_text(out, part->cut ? "…" : "");
			html_span(out, span_of(part->text.len > 0 ? part->text.at : "", part->text.len));
			buffer_text(out, "</div>");
		}
	}
	if (d->left > 0)
		buffer_format(out, "<div class=\"left\">… %zu more lines differ</div>", d->left);
	buffer_text(out, "</div>");
}

static void
html_detail(void *user, const struct diff_detail *d)
{
	struct buffer *out = user;

	buffer_text(out, "<dt>");
	html_string(out, d->name);
	buffer_text(out, "</dt><dd>");
	if (d->form == DETAIL_FILE) {
		buffer_text(out, "<code>");
		html_span(out, d->b.at != NULL ? d->b : d->a);
		buffer_text(out, d->a.at == NULL ? "</code> (new)" : d->b.at == NULL ? "</code> (gone)" : "</code>");
	} else if (d->form == DETAIL_VALUES && d->a.len == d->b.len && d->a.at != NULL &&
	    memcmp(d->a.at, d->b.at, d->a.len) == 0) {
		html_span(out, d->a);
		buffer_text(out, ", with other arguments or in another order");
	} else if (d->form == DETAIL_VALUES) {
		buffer_text(out, "<del>");
		html_span(out, d->a);
		buffer_text(out, "</del> → <ins>");
		html_span(out, d->b);
		buffer_text(out, "</ins>");
	}
	if (d->part_count > 0)
		html_parts(out, d);
	buffer_text(out, "</dd>");
}

static void
html_details(struct buffer *out, const struct diff_pair *pair)
{
	const size_t before = out->len;

	buffer_text(out, "<dl>");
	diff_details(pair, &html_limits, html_detail, out);
	if (out->len == before + 4)
		out->len = before;
	else
		buffer_text(out, "</dl>");
}

/* ---- pairs ---- */

/* Where the calls are: the ids of both, and the runs, if these are others than the two. */
static void
html_where(const struct diff_report *r, struct buffer *out, const struct diff_pair *pair)
{
	const struct diff_call *calls[2] = { pair->a, pair->b };
	const char *const runs[2] = { r->a->run_id, r->b->run_id };

	buffer_text(out, "<span class=\"note\">");
	for (int side = 0; side < 2; side++) {
		const struct diff_call *c = calls[side];

		if (c == NULL || (side == 1 && calls[0] != NULL && strcmp(calls[0]->id, c->id) == 0 &&
		    strcmp(calls[0]->source->run_id, runs[0]) == 0 && strcmp(c->source->run_id, runs[1]) == 0))
			continue;
		buffer_text(out, side == 1 && calls[0] != NULL ? " / <code>" : "<code>");
		html_string(out, c->id);
		buffer_text(out, "</code>");
		if (strcmp(c->source->run_id, runs[side]) != 0)
			buffer_format(out, " of run %.8s", c->source->run_id);
	}
	buffer_text(out, "</span>");
}

static void
html_label(struct buffer *out, const struct diff_call *c)
{
	struct buffer label = BUFFER_INIT;

	diff_call_label(c, &label);
	buffer_text(out, "<strong>");
	html_text(out, buffer_string(&label), label.len);
	buffer_text(out, "</strong>");
	buffer_free(&label);
}

/* Pairs beside each other that are one row. */
struct html_row {
	struct diff_pair **pairs;
	size_t count;
	bool around;             /* of a call that differs since something inside it does */
};

struct html_rows {
	struct html_row *list;
	size_t count;
	struct map places;
};

static bool
html_pair_differs(const struct diff_pair *around)
{
	for (const struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside)
		if (pair->kind != DIFF_SAME || html_pair_differs(pair))
			return true;
	return false;
}

static void
html_rows_add(struct html_rows *rows, const struct buffer *key, struct diff_pair *pair, bool around)
{
	const size_t *at = map_get(&rows->places, key->data, key->len);
	struct html_row *row;

	if (at == NULL || rows->list == NULL) {
		map_put(&rows->places, key->data, key->len, rows->count);
		rows->list = memory_array(rows->list, rows->count + 1, sizeof *rows->list);
		rows->list[rows->count++] = (struct html_row){ .around = around };
		row = &rows->list[rows->count - 1];
	} else {
		row = &rows->list[*at];
	}
	/* An array grows when its length is a power of two. */
	if ((row->count & (row->count - 1)) == 0)
		row->pairs = memory_array(row->pairs, row->count * 2 + 1, sizeof *row->pairs);
	row->pairs[row->count++] = pair;
}

static void html_inside(const struct diff_report *r, struct buffer *out, const struct diff_pair *around);

static void
html_open(struct buffer *out, const char *class, bool open)
{
	buffer_format(out, "<details class=\"pair %s\"%s><summary>", class, open ? " open" : "");
}

/* Calls without words of their own; details: what differs is told of the first of them. */
static void
html_list(const struct diff_report *r, struct buffer *out, struct diff_pair *const *pairs, size_t count, bool details)
{
	buffer_text(out, "<ul>");
	for (size_t i = 0; i < count && i < LISTED_MOST; i++) {
		buffer_text(out, "<li>");
		html_label(out, diff_pair_call(pairs[i]));
		buffer_byte(out, ' ');
		html_where(r, out, pairs[i]);
		if (details && i < DETAILED_MOST)
			html_details(out, pairs[i]);
		if (pairs[i]->inside != NULL)
			html_inside(r, out, pairs[i]);
		buffer_text(out, "</li>");
	}
	if (count > LISTED_MOST)
		buffer_format(out, "<li class=\"note\">… %zu more</li>", count - LISTED_MOST);
	buffer_text(out, "</ul>");
}

static void
html_summary(struct buffer *out, const struct diff_pair *pair, size_t count)
{
	const struct diff_call *c = diff_pair_call(pair);
	const bool many = count > 1 && !diff_pair_causes(pair);
	const char *reason = diff_pair_reason(pair);
	struct buffer excerpt = BUFFER_INIT;

	buffer_format(out, "<span class=\"sign\" title=\"%s\">%s</span>", shown[pair->kind].word, shown[pair->kind].sign);
	if (many) {
		buffer_text(out, "<strong>");
		html_string(out, c->path);
		buffer_text(out, "</strong>");
	} else {
		html_label(out, c);
	}
	if (pair->kind == DIFF_RENAMED) {
		buffer_text(out, " is now ");
		html_label(out, pair->b);
	}
	buffer_text(out, " <span class=\"note\">");
	if (pair->a == NULL || pair->b == NULL) {
		diff_call_excerpt(c, &excerpt);
		if (excerpt.len > 0 && !many) {
			buffer_byte(out, '(');
			html_text(out, excerpt.data, excerpt.len);
			buffer_text(out, ") ");
		}
		buffer_free(&excerpt);
	}
	if (many)
		buffer_format(out, "%zu %s", count, pair->kind == DIFF_FOLLOWS ? "follow" : shown[pair->kind].word);
	else if (!diff_pair_causes(pair))
		buffer_text(out, shown[pair->kind].word);
	if (*reason != '\0')
		buffer_format(out, "%s%s", diff_pair_causes(pair) ? "" : ": ", reason);
	if (count > 1 && !many)
		buffer_format(out, " (%zu calls)", count);
	buffer_text(out, "</span></summary><div class=\"body\">");
}

static void
html_row(const struct diff_report *r, struct buffer *out, const struct html_row *row)
{
	const struct diff_pair *pair = row->pairs[0];
	const bool cause = diff_pair_causes(pair), open = cause || row->around;

	html_open(out, diff_kind_words[pair->kind], open);
	html_summary(out, pair, row->count);
	if (cause || row->around) {
		html_where(r, out, pair);
		if (cause)
			html_details(out, pair);
		if (row->count > 1) {
			html_open(out, "same", false);
			buffer_format(out, "%zu more of them</summary><div class=\"body\">", row->count - 1);
			html_list(r, out, row->pairs + 1, row->count - 1, false);
			buffer_text(out, "</div></details>");
		}
		if (pair->inside != NULL)
			html_inside(r, out, pair);
	} else {
		html_list(r, out, row->pairs, row->count, pair->kind == DIFF_FOLLOWS);
	}
	buffer_text(out, "</div></details>");
}

/* What is inside a call, or the run. What is alike is one row, where the first of it is. */
static void
html_inside(const struct diff_report *r, struct buffer *out, const struct diff_pair *around)
{
	struct html_rows rows = { .places = MAP_INIT };
	struct html_row same = { .count = 0 };
	struct buffer key = BUFFER_INIT;

	for (struct diff_pair *pair = around->inside; pair != NULL; pair = pair->beside) {
		const bool differs = html_pair_differs(pair);

		if (!diff_report_has(r, pair) && !differs)
			continue;
		buffer_clear(&key);
		if (pair->kind == DIFF_SAME && !differs) {
			if ((same.count & (same.count - 1)) == 0)
				same.pairs = memory_array(same.pairs, same.count * 2 + 1, sizeof *same.pairs);
			same.pairs[same.count++] = pair;
			continue;
		}
		buffer_format(&key, "%d %s %s ", pair->kind, diff_pair_reason(pair), diff_pair_call(pair)->path);
		if (diff_pair_causes(pair))
			buffer_append(&key, &pair->like, sizeof pair->like);
		else if (differs)
			buffer_append(&key, &pair, sizeof pair);
		html_rows_add(&rows, &key, pair, !diff_pair_causes(pair) && differs);
	}
	buffer_text(out, "<div class=\"pairs\">");
	for (size_t i = 0; i < rows.count; i++) {
		html_row(r, out, &rows.list[i]);
		free(rows.list[i].pairs);
	}
	if (same.count > 0) {
		html_open(out, "same", false);
		buffer_format(out, "<span class=\"sign\">·</span>%zu the same</summary><div class=\"body\">", same.count);
		html_list(r, out, same.pairs, same.count, false);
		buffer_text(out, "</div></details>");
	}
	buffer_text(out, "</div>");
	free(same.pairs);
	free(rows.list);
	map_free(&rows.places);
	buffer_free(&key);
}

/* ---- the page ---- */

static void
html_cell(struct buffer *out, const struct diff_side *s, int row)
{
	const struct diff_figures *f = &s->all;
	char cost[MONEY_SIZE];

	buffer_text(out, "<td>");
	switch (row) {
	case 0:
		html_string(out, s->status);
		break;
	case 1:
		if (f->ms >= 0)
			buffer_format(out, "%" PRId64 " ms", f->ms);
		break;
	case 2:
		buffer_format(out, "%" PRId64 " in, %" PRId64 " out", f->input_tokens, f->output_tokens);
		break;
	default:
		buffer_text(out, f->cost == COST_UNKNOWN ? "unknown" : money_text(f->cost, cost));
	}
	buffer_text(out, "</td>");
}

static void
html_table(const struct diff_report *r, struct buffer *out)
{
	static const char *const rows[] = { "Status", "Time", "Tokens", "Cost" };
	const struct diff_side *sides[2] = { r->a, r->b };
	const int count = r->a->all.turns + r->b->all.turns > 0 ? 4 : 2;

	buffer_text(out, "<table><tr><td></td>");
	for (int side = 0; side < 2; side++) {
		buffer_format(out, "<th scope=\"col\">%s: ", side == 0 ? "First" : "Second");
		html_string(out, *sides[side]->root.name != '\0' ? sides[side]->root.name : "run");
		buffer_text(out, " <code>");
		html_string(out, sides[side]->run_id);
		buffer_text(out, "</code></th>");
	}
	for (int row = 0; row < count; row++) {
		buffer_format(out, "</tr><tr><th scope=\"row\">%s</th>", rows[row]);
		html_cell(out, r->a, row);
		html_cell(out, r->b, row);
	}
	buffer_text(out, "</tr></table>");
}

static void
html_totals(const struct diff_report *r, struct buffer *out, const struct diff_counts *counts)
{
	const char *comma = "";

	buffer_text(out, "<h2>");
	if (!diff_report_differs(r))
		buffer_text(out, "Nothing differs.");
	else
		for (int i = 0; i < DIFF_KINDS; i++)
			if (counts->kinds[i] > 0) {
				buffer_format(out, "%s%zu %s", comma, counts->kinds[i],
				    i == DIFF_FOLLOWS && counts->kinds[i] > 1 ? "follow" : shown[i].word);
				comma = ", ";
			}
	buffer_text(out, "</h2>");
}

void
diff_report_html(const struct diff_report *r, struct buffer *out)
{
	struct diff_summary summary = DIFF_SUMMARY_INIT;

	diff_summary_read(&summary, r);
	buffer_text(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
	    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Compare ");
	html_string(out, r->a->root.name);
	buffer_format(out, " %.8s %.8s – AWF</title><style>%s</style></head><body><main><h1>Compare</h1>", r->a->run_id,
	    r->b->run_id, style);
	html_table(r, out);
	if (strcmp(r->b->forked_from, r->a->run_id) == 0)
		buffer_text(out, "<p class=\"note\">The second is a fork of the first.</p>");
	else if (strcmp(r->a->forked_from, r->b->run_id) == 0)
		buffer_text(out, "<p class=\"note\">The first is a fork of the second.</p>");
	if (r->path == NULL) {
		buffer_text(out, "<dl>");
		diff_details_of_runs(&r->a->root, &r->b->root, &html_limits, html_detail, out);
		buffer_text(out, "</dl>");
	}
	html_totals(r, out, &summary.counts);
	html_inside(r, out, r->root);
	buffer_text(out, "</main></body></html>\n");
	diff_summary_free(&summary);
}
