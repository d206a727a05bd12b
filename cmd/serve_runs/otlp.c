/*
 * Each message is a table of its fields. A field that a table does not have is skipped. A message is gone
 * through once for each field of its table, as the parts of a repeated one may be apart.
 */
#include "serve_runs/otlp.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "json/writer.h"

#define DEPTH_MOST 64 /* messages in each other */

enum otlp_kind { OTLP_TEXT, OTLP_ID, OTLP_BYTES, OTLP_NUMBER, OTLP_BOOL, OTLP_INTEGER, OTLP_DOUBLE, OTLP_TIME, OTLP_FLAGS,
	OTLP_MESSAGE };

struct otlp_message;

struct otlp_field {
	unsigned number;
	const char *name;
	enum otlp_kind kind;
	bool repeated;
	const struct otlp_message *message;
};

struct otlp_message {
	const struct otlp_field *fields; /* ends with the number 0 */
};

static const struct otlp_message any_value, key_value;

static const struct otlp_field key_value_fields[] = {
	{ 1, "key", OTLP_TEXT, false, NULL },
	{ 2, "value", OTLP_MESSAGE, false, &any_value },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message key_value = { key_value_fields };

static const struct otlp_field array_fields[] = {
	{ 1, "values", OTLP_MESSAGE, true, &any_value },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message array_value = { array_fields };

static const struct otlp_field list_fields[] = {
	{ 1, "values", OTLP_MESSAGE, true, &key_value },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message list_value = { list_fields };

static const struct otlp_field any_value_fields[] = {
	{ 1, "stringValue", OTLP_TEXT, false, NULL },
	{ 2, "boolValue", OTLP_BOOL, false, NULL },
	{ 3, "intValue", OTLP_INTEGER, false, NULL },
	{ 4, "doubleValue", OTLP_DOUBLE, false, NULL },
	{ 5, "arrayValue", OTLP_MESSAGE, false, &array_value },
	{ 6, "kvlistValue", OTLP_MESSAGE, false, &list_value },
	{ 7, "bytesValue", OTLP_BYTES, false, NULL },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message any_value = { any_value_fields };

static const struct otlp_field event_fields[] = {
	{ 1, "timeUnixNano", OTLP_TIME, false, NULL },
	{ 2, "name", OTLP_TEXT, false, NULL },
	{ 3, "attributes", OTLP_MESSAGE, true, &key_value },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message event = { event_fields };

static const struct otlp_field status_fields[] = {
	{ 2, "message", OTLP_TEXT, false, NULL },
	{ 3, "code", OTLP_NUMBER, false, NULL },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message status = { status_fields };

static const struct otlp_field span_fields[] = {
	{ 1, "traceId", OTLP_ID, false, NULL },
	{ 2, "spanId", OTLP_ID, false, NULL },
	{ 4, "parentSpanId", OTLP_ID, false, NULL },
	{ 16, "flags", OTLP_FLAGS, false, NULL },
	{ 5, "name", OTLP_TEXT, false, NULL },
	{ 6, "kind", OTLP_NUMBER, false, NULL },
	{ 7, "startTimeUnixNano", OTLP_TIME, false, NULL },
	{ 8, "endTimeUnixNano", OTLP_TIME, false, NULL },
	{ 9, "attributes", OTLP_MESSAGE, true, &key_value },
	{ 11, "events", OTLP_MESSAGE, true, &event },
	{ 15, "status", OTLP_MESSAGE, false, &status },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message span_message = { span_fields };

static const struct otlp_field scope_fields[] = {
	{ 1, "name", OTLP_TEXT, false, NULL },
	{ 2, "version", OTLP_TEXT, false, NULL },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message scope = { scope_fields };

static const struct otlp_field scope_spans_fields[] = {
	{ 1, "scope", OTLP_MESSAGE, false, &scope },
	{ 2, "spans", OTLP_MESSAGE, true, &span_message },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message scope_spans = { scope_spans_fields };

static const struct otlp_field resource_fields[] = {
	{ 1, "attributes", OTLP_MESSAGE, true, &key_value },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message resource = { resource_fields };

static const struct otlp_field resource_spans_fields[] = {
	{ 1, "resource", OTLP_MESSAGE, false, &resource },
	{ 2, "scopeSpans", OTLP_MESSAGE, true, &scope_spans },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message resource_spans = { resource_spans_fields };

static const struct otlp_field request_fields[] = {
	{ 1, "resourceSpans", OTLP_MESSAGE, true, &resource_spans },
	{ 0, NULL, OTLP_TEXT, false, NULL },
};
static const struct otlp_message request = { request_fields };

/* ---- the encoding ---- */

struct otlp_input {
	const unsigned char *at;
	size_t len;
};

/* A field as it is encoded: a number, or bytes. */
struct otlp_value {
	unsigned number, wire;
	uint64_t integer;
	struct otlp_input bytes;
};

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

static bool
otlp_read_varint(struct otlp_input *in, uint64_t *number)
{
	*number = 0;
	for (unsigned shift = 0; shift < 64 && in->len > 0; shift += 7) {
		const unsigned char byte = *in->at;

		in->at++;
		in->len--;
		*number |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

static bool
otlp_read_fixed(struct otlp_input *in, size_t size, uint64_t *number)
{
	if (in->len < size)
		return false;
	*number = 0;
	for (size_t i = 0; i < size; i++)
		*number |= (uint64_t)in->at[i] << (8 * i);
	in->at += size;
	in->len -= size;
	return true;
}

/* Reads a field. */
static bool
otlp_read(struct otlp_input *in, struct otlp_value *value)
{
	uint64_t tag;

	if (!otlp_read_varint(in, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX / 8)
		return false;
	*value = (struct otlp_value){ .number = (unsigned)(tag >> 3), .wire = tag & 7 };
	switch (value->wire) {
	case WIRE_VARINT:
		return otlp_read_varint(in, &value->integer);
	case WIRE_64:
		return otlp_read_fixed(in, 8, &value->integer);
	case WIRE_32:
		return otlp_read_fixed(in, 4, &value->integer);
	case WIRE_BYTES:
		if (!otlp_read_varint(in, &value->integer) || value->integer > in->len)
			return false;
		value->bytes = (struct otlp_input){ in->at, (size_t)value->integer };
		in->at += value->bytes.len;
		in->len -= value->bytes.len;
		return true;
	default:
		return false;
	}
}

/* ---- JSON ---- */

static bool otlp_write_message(const struct otlp_message *message, struct otlp_input in, unsigned depth,
    struct buffer *out);

static bool
otlp_write_double(uint64_t bits, struct writer *w)
{
	double number;
	char text[40];

	memcpy(&number, &bits, sizeof number);
	if (!isfinite(number)) {
		writer_string(w, isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
		return true;
	}
	snprintf(text, sizeof text, "%.17g", number);
	writer_raw(w, text, strlen(text));
	return true;
}

/* Writes a value; false if it is not encoded as the field is. */
static bool
otlp_write_value(const struct otlp_field *field, const struct otlp_value *value, unsigned depth, struct writer *w)
{
	static const unsigned wires[] = { [OTLP_TEXT] = WIRE_BYTES, [OTLP_ID] = WIRE_BYTES, [OTLP_BYTES] = WIRE_BYTES,
		[OTLP_NUMBER] = WIRE_VARINT, [OTLP_BOOL] = WIRE_VARINT, [OTLP_INTEGER] = WIRE_VARINT,
		[OTLP_DOUBLE] = WIRE_64, [OTLP_TIME] = WIRE_64, [OTLP_FLAGS] = WIRE_32, [OTLP_MESSAGE] = WIRE_BYTES };
	const char *bytes = (const char *)value->bytes.at;
	char text[24], *hex;
	bool good = true;

	if (value->wire != wires[field->kind])
		return false;
	switch (field->kind) {
	case OTLP_TEXT:
		writer_bytes(w, bytes, value->bytes.len);
		break;
	case OTLP_ID:
		hex = memory_array(NULL, value->bytes.len + 1, 2);
		hex_encode(value->bytes.at, value->bytes.len, hex);
		writer_string(w, hex);
		free(hex);
		break;
	case OTLP_BYTES:
		buffer_byte(w->out, '"');
		base64_encode(bytes, value->bytes.len, w->out);
		buffer_byte(w->out, '"');
		w->comma = true;
		break;
	case OTLP_NUMBER:
		writer_integer(w, (int32_t)(value->integer & INT32_MAX));
		break;
	case OTLP_FLAGS:
		writer_integer(w, (int64_t)value->integer);
		break;
	case OTLP_BOOL:
		writer_bool(w, value->integer != 0);
		break;
	case OTLP_INTEGER:
		snprintf(text, sizeof text, "%lld", (long long)value->integer);
		writer_string(w, text);
		break;
	case OTLP_TIME:
		snprintf(text, sizeof text, "%llu", (unsigned long long)value->integer);
		writer_string(w, text);
		break;
	case OTLP_DOUBLE:
		good = otlp_write_double(value->integer, w);
		break;
	case OTLP_MESSAGE:
		good = otlp_write_message(field->message, value->bytes, depth + 1, w->out);
		w->comma = true;
	}
	return good;
}

/* Writes a field, if the message has it; one that is not repeated counts as it is there last. */
static bool
otlp_write_field(const struct otlp_field *field, struct otlp_input in, unsigned depth, struct writer *w)
{
	struct otlp_value value, last = { .number = 0 };
	bool some = false;

	while (in.len > 0) {
		if (!otlp_read(&in, &value))
			return false;
		if (value.number != field->number)
			continue;
		last = value;
		if (!field->repeated)
			continue;
		if (!some)
			writer_member_array(w, field->name);
		some = true;
		if (w->comma)
			buffer_byte(w->out, ',');
		w->comma = false;
		if (!otlp_write_value(field, &value, depth, w))
			return false;
	}
	if (field->repeated && some)
		writer_array_end(w);
	if (field->repeated || last.number == 0)
		return true;
	writer_key(w, field->name);
	return otlp_write_value(field, &last, depth, w);
}

static bool
otlp_write_message(const struct otlp_message *message, struct otlp_input in, unsigned depth, struct buffer *out)
{
	struct writer w;

	if (depth == DEPTH_MOST)
		return false;
	writer_begin(&w, out);
	writer_object(&w);
	/* After bytes that are none the text stays as it is: it may end with a key. */
	for (const struct otlp_field *field = message->fields; field->number != 0; field++)
		if (!otlp_write_field(field, in, depth, &w))
			return false;
	writer_object_end(&w);
	return true;
}

bool
otlp_write_json(const void *bytes, size_t len, struct buffer *out)
{
	return otlp_write_message(&request, (struct otlp_input){ bytes, len }, 0, out);
}
