/*
 * Numbers are big-endian. Times count from 2000-01-01. A numeric is a row of digits of base 10000:
 * the first counts 10000^weight, the next 10000^(weight-1) and so on; digits of 0 at its ends are left
 * out, and dscale is the number of decimal places that are shown.
 */
#include "ship/copy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/invariant.h"

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)
#define YEAR_2000 (10957 * DAY)
#define JSONB_VERSION 1
#define DIGITS_MOST 64     /* decimal digits of a number */
#define EXPONENT_MOST 9999 /* dscale ends at 16383 */

static void
copy_number(struct buffer *out, int bytes, uint64_t number)
{
	while (bytes-- > 0)
		buffer_byte(out, (char)(unsigned char)(number >> (8 * bytes)));
}

static void
copy_length(struct buffer *out, size_t len)
{
	copy_number(out, 4, len);
}

void
copy_begin(struct buffer *out)
{
	static const char signature[11] = "PGCOPY\n\377\r\n";

	buffer_append(out, signature, sizeof signature);
	copy_number(out, 4, 0); /* flags */
	copy_number(out, 4, 0); /* bytes of extensions of the header */
}

void
copy_row(struct buffer *out, int fields)
{
	copy_number(out, 2, (uint64_t)fields);
}

void
copy_end(struct buffer *out)
{
	copy_number(out, 2, UINT64_MAX);
}

void
copy_null(struct buffer *out)
{
	copy_number(out, 4, UINT64_MAX);
}

void
copy_text(struct buffer *out, const char *text, size_t len)
{
	copy_length(out, len);
	buffer_append(out, text, len);
}

void
copy_jsonb(struct buffer *out, struct span json)
{
	copy_length(out, json.len + 1);
	copy_number(out, 1, JSONB_VERSION);
	buffer_append(out, json.at, json.len);
}

void
copy_uuid(struct buffer *out, const char *id)
{
	struct uuid number;

	if (*id == '\0' || !uuid_read(id, strlen(id), &number)) {
		copy_null(out);
		return;
	}
	copy_length(out, 16);
	copy_number(out, 8, number.high);
	copy_number(out, 8, number.low);
}

void
copy_bigint(struct buffer *out, int64_t number)
{
	copy_length(out, 8);
	copy_number(out, 8, (uint64_t)number);
}

void
copy_date(struct buffer *out, int64_t wall)
{
	const int64_t since = wall - YEAR_2000;

	copy_length(out, 4);
	copy_number(out, 4, (uint64_t)(since / DAY - (since % DAY < 0)));
}

void
copy_timestamptz(struct buffer *out, int64_t wall)
{
	copy_bigint(out, wall - YEAR_2000);
}

/* The decimal digits of a JSON number, without its sign and leading zeros, and the power of ten that
 * the last of them counts. false: there are too many. */
static bool
read_digits(const char *number, char digits[DIGITS_MOST], size_t *count, long *power)
{
	const char *at = number + (*number == '-');
	bool fraction = false;
	long exponent;

	*count = 0;
	*power = 0;
	for (; (*at >= '0' && *at <= '9') || *at == '.'; at++) {
		if (*at == '.') {
			fraction = true;
			continue;
		}
		*power -= fraction;
		if (*count == 0 && *at == '0')
			continue;
		if (*count == DIGITS_MOST)
			return false;
		digits[(*count)++] = *at;
	}
	exponent = *at == 'e' || *at == 'E' ? strtol(at + 1, NULL, 10) : 0;
	if (exponent > EXPONENT_MOST || exponent < -EXPONENT_MOST)
		return false;
	*power += exponent;
	return true;
}

int
copy_numeric(struct buffer *out, const char *number)
{
	char decimal[4 + DIGITS_MOST + 3];
	size_t count, groups, from = 4;
	long power, scale, weight;

	memset(decimal, '0', sizeof decimal);
	if (!read_digits(number, decimal + 4, &count, &power))
		return -1;
	scale = power < 0 ? -power : 0;
	/* The last digit of base 10000 begins where the power is divisible by 4: zeros follow. */
	while (power % 4 != 0) {
		power--;
		count++;
	}
	/* Zeros before the first. */
	for (; count % 4 != 0; count++)
		from--;
	groups = count / 4;
	while (groups > 0 && memcmp(decimal + from, "0000", 4) == 0) {
		from += 4;
		groups--;
	}
	weight = groups > 0 ? power / 4 + (long)groups - 1 : 0;
	for (; groups > 0 && memcmp(decimal + from + 4 * (groups - 1), "0000", 4) == 0; groups--)
		;
	INVARIANT(from + 4 * groups <= sizeof decimal);
	copy_length(out, 8 + 2 * groups);
	copy_number(out, 2, groups);
	copy_number(out, 2, (uint64_t)weight);
	copy_number(out, 2, *number == '-' && groups > 0 ? 0x4000 : 0);
	copy_number(out, 2, (uint64_t)scale);
	for (size_t i = 0; i < groups; i++) {
		unsigned digit = 0;

		for (size_t j = 0; j < 4; j++)
			digit = digit * 10 + (unsigned)(decimal[from + 4 * i + j] - '0');
		copy_number(out, 2, digit);
	}
	return 0;
}
