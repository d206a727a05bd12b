/*
 * The table has for each pair of lines how many the rests of both texts from there on have in
 * common, so the way through it is walked from the front. Its size is bounded.
 */
#include "inspect/line_diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define PAIRS_MOST ((size_t)1 << 20)

struct line {
	const char *at;
	size_t len;
};
struct lines {
	struct line *list;
	size_t count;
};

static struct lines
split(const char *text, size_t len)
{
	struct lines lines = { NULL, 0 };

	for (const char *at = text, *end = text + len; at < end;) {
		const char *lf = memchr(at, '\n', (size_t)(end - at)), *to = lf ? lf : end;

		lines.list = memory_array(lines.list, lines.count + 1, sizeof *lines.list);
		lines.list[lines.count++] = (struct line){ at, (size_t)(to - at) };
		at = lf ? lf + 1 : end;
	}
	return lines;
}

static bool
same(const struct line *a, const struct line *b)
{
	return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

static void
tell(line_diff_take *take, void *context, char sign, const struct line *from, const struct line *to)
{
	for (; from < to; from++)
		take(context, sign, from->at, from->len);
}

/* Of what differs at both ends. */
static void
walk(const struct line *a, size_t a_count, const struct line *b, size_t b_count,
    line_diff_take *take, void *context)
{
	const size_t width = b_count + 1;
	uint32_t *common;
	size_t i, j;

	if (a_count == 0 || b_count == 0 || a_count + 1 > PAIRS_MOST / width) {
		tell(take, context, '-', a, a + a_count);
		tell(take, context, '+', b, b + b_count);
		return;
	}
	common = memory_zero((a_count + 1) * width, sizeof *common);
	for (i = a_count; i-- > 0;)
		for (j = b_count; j-- > 0;) {
			const uint32_t *below = &common[(i + 1) * width + j], *beside = &common[i * width + j + 1];

			common[i * width + j] = same(&a[i], &b[j]) ? below[1] + 1 :
			    *below > *beside ? *below : *beside;
		}
	for (i = j = 0; i < a_count || j < b_count;) {
		if (i < a_count && j < b_count && same(&a[i], &b[j])) {
			tell(take, context, '=', &a[i], &a[i] + 1);
			i++;
			j++;
		} else if (j == b_count ||
		    (i < a_count && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
			tell(take, context, '-', &a[i], &a[i] + 1);
			i++;
		} else {
			tell(take, context, '+', &b[j], &b[j] + 1);
			j++;
		}
	}
	free(common);
}

void
line_diff(const char *old, size_t old_len, const char *now, size_t now_len, line_diff_take *take,
    void *context)
{
	const struct lines a = split(old, old_len), b = split(now, now_len);
	const size_t least = a.count < b.count ? a.count : b.count;
	size_t begin = 0, end = 0;

	while (begin < least && same(&a.list[begin], &b.list[begin]))
		begin++;
	while (end < least - begin && same(&a.list[a.count - 1 - end], &b.list[b.count - 1 - end]))
		end++;
	if (a.count > 0)
		tell(take, context, '=', a.list, a.list + begin);
	if (a.count > 0 || b.count > 0)
		walk(a.list ? a.list + begin : NULL, a.count - begin - end,
		    b.list ? b.list + begin : NULL, b.count - begin - end, take, context);
	if (a.count > 0)
		tell(take, context, '=', a.list + a.count - end, a.list + a.count);
	free(a.list);
	free(b.list);
}
