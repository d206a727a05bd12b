/* Lines of a CLI's output. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli.h"

#define BLOCKS_LIMIT 100000

/* Appends a line without its NULs, what is no UTF-8 and halves of surrogate pairs
 * replaced: what JSON can carry. */
static void
mend(const char *line, size_t len, struct buffer *out)
{
	uint32_t code;
	unsigned used;

	for (size_t i = 0; i < len; i += used) {
		used = line[i] == '\0' ? 0 : utf8_decode(line + i, len - i, &code);
		if (used > 0)
			buffer_append(out, line + i, used);
		else if (line[i] != '\0')
			utf8_append(out, 0xfffd);
		used = used == 0 ? 1 : used;
	}
}

/* The four digits of \uXXXX at text; -1 if there is no such escape. */
static int
escaped_unit(const char *text, size_t len)
{
	char digits[5] = "";
	unsigned unit;

	if (len < 6 || text[0] != '\\' || text[1] != 'u')
		return -1;
	memcpy(digits, text + 2, 4);
	return sscanf(digits, "%4x", &unit) == 1 ? (int)unit : -1;
}

static bool
is_high(int unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool
is_low(int unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

/* Writes fffd over the digits of each half of a surrogate pair without its other half. */
static void
mend_surrogates(struct buffer *line)
{
	static const char replacement[] = { 'f', 'f', 'f', 'd' };
	char *text = line->data;
	size_t i = 0;

	while (i + 1 < line->len) {
		int unit = escaped_unit(text + i, line->len - i);

		if (is_high(unit) && is_low(escaped_unit(text + i + 6, line->len - i - 6))) {
			i += 12;
			continue;
		}
		if (is_high(unit) || is_low(unit))
			memcpy(text + i + 2, replacement, sizeof replacement);
		i += text[i] == '\\' ? 2 : 1;
	}
}

static void
take_noise(struct cli_run *r, const char *line, size_t len)
{
	struct buffer shown = BUFFER_INIT;

	if (r->noise++ == 0) {
		text_visible(&shown, line, len, 40);
		snprintf(r->noise_sample, sizeof r->noise_sample, "%s", buffer_string(&shown));
		buffer_free(&shown);
	}
}

static void
take_object(struct cli_run *r, struct span line)
{
	struct span type = span_member(line, "type");
	const char *sub_agent = r->cli->sub_agent;

	if (sub_agent != NULL && span_type(span_member(line, sub_agent)) == 's')
		return;
	for (const struct cli_line *known = r->cli->lines; known->type != NULL; known++)
		if (span_is(type, known->type)) {
			known->take(r, line);
			break;
		}
	if (r->message.count > BLOCKS_LIMIT) {
		cli_fail_as(r, ERROR_PROVIDER, "the answer has more than %d blocks", BLOCKS_LIMIT);
		r->hopeless = true;
	}
}

static bool
is_object(const char *line, size_t len)
{
	size_t bad;

	return scan_check(line, len, &bad) == NULL && span_type(span_of(line, len)) == 'o';
}

static void
take_line(struct cli_run *r, const char *line, size_t len)
{
	struct buffer mended = BUFFER_INIT;

	if (is_object(line, len)) {
		take_object(r, span_of(line, len));
		return;
	}
	mend(line, len, &mended);
	if (mended.len > 0)
		mend_surrogates(&mended);
	if (is_object(buffer_string(&mended), mended.len))
		take_object(r, span_of(mended.data, mended.len));
	else if (span_trim(span_of(buffer_string(&mended), mended.len)).len > 0)
		take_noise(r, line, len);
	buffer_free(&mended);
}

void
cli_feed(struct cli_run *r, const char *bytes, size_t len)
{
	const char *end = bytes + len, *lf;

	for (; (lf = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL; bytes = lf + 1) {
		if (r->rest.len == 0) {
			take_line(r, bytes, (size_t)(lf - bytes));
			continue;
		}
		buffer_append(&r->rest, bytes, (size_t)(lf - bytes));
		take_line(r, r->rest.data, r->rest.len);
		buffer_clear(&r->rest);
	}
	buffer_append(&r->rest, bytes, (size_t)(end - bytes));
	if (r->rest.len > CLI_LINE_LIMIT) {
		cli_fail_as(r, ERROR_PROVIDER, "a line of %s is above %zu MiB", r->cli->name,
		    CLI_LINE_LIMIT >> 20);
		buffer_clear(&r->rest);
		r->hopeless = true;
	}
}
