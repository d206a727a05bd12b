/*
 * Produces the same text as Python's json.dumps: sorted keys, a space after each comma and colon,
 * only ASCII, floats with the fewest digits. For anything not covered here there is no hash, rather
 * than a wrong one.
 */
#include "rerun/agentloom.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "transcript/event_keys.h"

/* If several rows have the same stop_reason, the first one is used to write it. */
static const struct {
	const char *stop, *finish;
} reasons[] = {
	{ "end_turn", "stop" },
	{ "end_turn", "end_turn" },
	{ "end_turn", "STOP" },
	{ "tool_use", "tool_calls" },
	{ "tool_use", "tool_use" },
	{ "tool_use", "function_call" },
	{ "max_tokens", "length" },
	{ "max_tokens", "max_tokens" },
	{ "max_tokens", "MAX_TOKENS" },
	{ "stop_sequence", "stop_sequence" },
	{ "refusal", "content_filter" },
	{ "refusal", "refusal" },
	{ "refusal", "SAFETY" },
	{ "pause", "pause_turn" },
	{ "other", "other" },
};
#define REASONS (sizeof reasons / sizeof *reasons)

const char *
agentloom_finish_reason(struct span stop_reason)
{
	for (size_t i = 0; i < REASONS; i++)
		if (span_is(stop_reason, reasons[i].stop))
			return reasons[i].finish;
	return "other";
}

const char *
agentloom_stop_reason(struct span finish_reason)
{
	for (size_t i = 0; i < REASONS; i++)
		if (span_is(finish_reason, reasons[i].finish))
			return reasons[i].stop;
	return span_type(finish_reason) == 's' ? "other" : NULL;
}

static void
write_unit(struct buffer *out, uint32_t unit)
{
	static const struct { uint32_t code; const char *text; } named[] = { { '"', "\\\"" },
		{ '\\', "\\\\" }, { '\n', "\\n" }, { '\r', "\\r" }, { '\t', "\\t" },
		{ '\f', "\\f" }, { '\b', "\\b" } };

	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (named[i].code == unit) {
			buffer_text(out, named[i].text);
			return;
		}
	if (unit >= ' ' && unit <= '~')
		buffer_byte(out, (char)unit);
	else
		buffer_format(out, "\\u%04x", (unsigned)unit);
}

/* Writes a string as Python does: only ASCII, code points above U+FFFF as a surrogate pair. */
static void
write_python_string(struct buffer *out, const struct buffer *text)
{
	const char *at = buffer_string(text);
	size_t left = text->len, used;
	uint32_t code;

	buffer_byte(out, '"');
	for (; left > 0 && (used = utf8_decode(at, left, &code)) > 0; at += used, left -= used) {
		if (code > 0xffff) {
			write_unit(out, 0xd800 + ((code - 0x10000) >> 10));
			code = 0xdc00 + ((code - 0x10000) & 0x3ff);
		}
		write_unit(out, code);
	}
	buffer_byte(out, '"');
}

static void
write_decoded(struct buffer *out, struct span string)
{
	struct buffer text = BUFFER_INIT;

	span_decode(string, &text);
	write_python_string(out, &text);
	buffer_free(&text);
}

/* Writes a temperature as Python writes a float: with the fewest digits that represent it. Numbers
 * from 10 on would need more care, and are not temperatures. False: it is not one. */
static bool
write_temperature(struct buffer *out, struct span number)
{
	char text[64];
	double value;

	if (span_type(number) != 'n' || number.len >= sizeof text)
		return false;
	memcpy(text, number.at, number.len);
	text[number.len] = '\0';
	value = strtod(text, NULL);
	if (!(value >= 0 && value < 10))
		return false;
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value) /* reads back as the same value */
			break;
	}
	buffer_text(out, text);
	if (strpbrk(text, ".e") == NULL)
		buffer_text(out, ".0");
	return true;
}

/* Returns false if a message has anything but text. */
static bool
write_messages(struct buffer *out, const struct agentloom_request *r)
{
	const char *comma = "";
	bool plain = true;

	buffer_byte(out, '[');
	if (span_type(r->system) == 's' && !span_is(r->system, "")) {
		buffer_text(out, "{\"content\": ");
		write_decoded(out, r->system);
		buffer_text(out, ", \"role\": \"system\"}");
		comma = ", ";
	}
	for (struct span_walk message = span_walk(r->messages); plain && span_next(&message);) {
		struct buffer text = BUFFER_INIT; /* concatenated text of its blocks */

		for (struct span_walk block = span_walk(span_member(message.value, KEY_BLOCKS));
		    span_next(&block);) {
			plain = plain && span_is(span_member(block.value, KEY_TYPE), "text") &&
			    span_member(block.value, KEY_RAW).at == NULL;
			span_decode(span_member(block.value, KEY_TEXT), &text);
		}
		buffer_format(out, "%s{\"content\": ", comma);
		write_python_string(out, &text);
		buffer_text(out, ", \"role\": ");
		write_decoded(out, span_member(message.value, KEY_ROLE));
		buffer_byte(out, '}');
		comma = ", ";
		buffer_free(&text);
	}
	buffer_byte(out, ']');
	return plain;
}

static bool
write_request(struct buffer *out, const struct agentloom_request *r)
{
	struct span limit = span_member(r->params, "max_tokens");
	struct span temperature = span_member(r->params, "temperature");
	long long tokens;

	buffer_text(out, "{\"extra\": {}, \"max_tokens\": ");
	if (span_type(limit) == 0 || span_type(limit) == '0')
		buffer_text(out, "null");
	else if (span_integer(limit, &tokens))
		buffer_format(out, "%lld", tokens);
	else
		return false;
	buffer_text(out, ", \"messages\": ");
	if (!write_messages(out, r))
		return false;
	buffer_text(out, ", \"model\": ");
	write_decoded(out, r->model);
	buffer_text(out, ", \"temperature\": ");
	if (span_type(temperature) == 0 || span_type(temperature) == '0')
		buffer_text(out, "null");
	else if (!write_temperature(out, temperature))
		return false;
	buffer_byte(out, '}');
	return true;
}

/* There is no hash if the request asks for anything but text, with AgentLoom's two parameters. */
static bool
agentloom_hash_request(const struct agentloom_request *r,
    bool (*write)(struct buffer *, const struct agentloom_request *), char out[DIGEST_SIZE])
{
	bool made = span_element(r->tools, 0).at == NULL;
	struct buffer text = BUFFER_INIT;

	for (struct span_walk member = span_walk(r->params); made && span_next(&member);)
		made = span_is(member.key, "temperature") || span_is(member.key, "max_tokens");
	made = made && write(&text, r);
	if (made)
		digest_sha256(text.data, text.len, out);
	buffer_free(&text);
	return made;
}

bool
agentloom_hash(const struct agentloom_request *r, char out[DIGEST_SIZE])
{
	return agentloom_hash_request(r, write_request, out);
}

bool
agentloom_hash_old(const struct agentloom_request *r, char out[DIGEST_SIZE])
{
	return agentloom_hash_request(r, write_messages, out);
}
