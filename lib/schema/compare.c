/*
 * An integer and a real are compared by the real's whole part as an integer, since converting a
 * 64-bit integer to a double would round it. Divisibility is decided on decimals as written (0.1
 * divides 0.3), which are digits and a power of ten: the remainder is computed modulo the
 * divisor's digits, so no large number is needed. Objects are compared by their sorted keys, then
 * by their values.
 */
#include "schema/compare.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "json/value.h"

double
number_whole(double number)
{
	/* Doubles from 2^53 on have no fraction. */
	if (!(number > -9007199254740992.0 && number < 9007199254740992.0))
		return number;
	return (double)(json_int_t)number;
}

bool
number_is_whole(const json_t *value)
{
	return json_is_integer(value) || (json_is_real(value) &&
	    number_whole(json_real_value(value)) == json_real_value(value));
}

static int
integers_compare(json_int_t a, json_int_t b)
{
	return (a > b) - (a < b);
}

static int
integer_compare_real(json_int_t a, double b)
{
	double whole;

	/* b >= 2^63 is greater than any 64-bit integer; below that, its whole part fits into
	 * one. */
	if (b >= 0x1p63)
		return -1;
	if (b < -0x1p63)
		return 1;
	whole = number_whole(b);
	INVARIANT((double)(json_int_t)whole == whole);
	if ((json_int_t)whole != a)
		return integers_compare(a, (json_int_t)whole);
	return (b < whole) - (b > whole);
}

int
number_compare(const json_t *a, const json_t *b)
{
	double x, y;

	if (json_is_integer(a) && json_is_integer(b))
		return integers_compare(json_integer_value(a), json_integer_value(b));
	if (json_is_integer(a))
		return integer_compare_real(json_integer_value(a), json_real_value(b));
	if (json_is_integer(b))
		return -integer_compare_real(json_integer_value(b), json_real_value(a));
	x = json_real_value(a);
	y = json_real_value(b);
	return (x > y) - (x < y);
}

/* A number as digits * 10^exponent: exact for integers; for a double, the shortest decimal that
 * reads back as the same. */
struct decimal {
	uint64_t digits;
	int exponent;
};

static struct decimal
decimal_of(const json_t *value)
{
	struct decimal d = { 0, 0 };
	struct buffer text = BUFFER_INIT;
	bool fraction = false;
	const char *at;

	value_write(value, &text);
	for (at = text.data; *at != '\0' && *at != 'e'; at++) {
		if (*at == '.')
			fraction = true;
		if (*at < '0' || *at > '9')
			continue;
		d.digits = d.digits * 10 + (uint64_t)(*at - '0');
		d.exponent -= fraction;
	}
	if (*at == 'e')
		d.exponent += (int)strtol(at + 1, NULL, 10);
	buffer_free(&text);
	return d;
}

/* (a + b) % m for a and b below m, even if the sum overflows. */
static uint64_t
sum_modulo(uint64_t a, uint64_t b, uint64_t m)
{
	INVARIANT(a < m && b < m);
	return a >= m - b ? a - (m - b) : a + b;
}

bool
number_divides(const json_t *divisor, const json_t *value)
{
	struct decimal a = decimal_of(value), b = decimal_of(divisor);
	uint64_t rest, twice, four;

	if (a.digits == 0 || b.digits == 0)
		return a.digits == 0;
	for (; a.exponent < b.exponent; b.exponent--) {
		if (b.digits > a.digits / 10)
			return false;
		b.digits *= 10;
	}
	INVARIANT(b.digits > 0 && a.exponent >= b.exponent);
	rest = a.digits % b.digits;
	for (; a.exponent > b.exponent && rest != 0; a.exponent--) {
		twice = sum_modulo(rest, rest, b.digits);
		four = sum_modulo(twice, twice, b.digits);
		rest = sum_modulo(sum_modulo(four, four, b.digits), twice, b.digits);
	}
	return rest == 0;
}

static int
strings_compare(const json_t *a, const json_t *b)
{
	size_t x = json_string_length(a), y = json_string_length(b);
	int order = memcmp(json_string_value(a), json_string_value(b), x < y ? x : y);

	return order != 0 ? order : (x > y) - (x < y);
}

static int
arrays_compare(const json_t *a, const json_t *b)
{
	size_t x = json_array_size(a), y = json_array_size(b);
	int order = (x > y) - (x < y);

	for (size_t i = 0; order == 0 && i < x; i++)
		order = value_compare(json_array_get(a, i), json_array_get(b, i));
	return order;
}

static int
keys_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char **
sorted_keys(const json_t *object)
{
	const char **keys = memory_array(NULL, json_object_size(object) + 1, sizeof *keys);
	json_t *walked = (json_t *)object; /* jansson's iterators do not take const */
	size_t count = 0;

	for (void *i = json_object_iter(walked); i != NULL; i = json_object_iter_next(walked, i))
		keys[count++] = json_object_iter_key(i);
	qsort(keys, count, sizeof *keys, keys_compare);
	return keys;
}

static int
objects_compare(const json_t *a, const json_t *b)
{
	size_t x = json_object_size(a), y = json_object_size(b);
	const char **left, **right;
	int order = (x > y) - (x < y);

	if (order != 0 || x == 0)
		return order;
	left = sorted_keys(a);
	right = sorted_keys(b);
	for (size_t i = 0; order == 0 && i < x; i++)
		order = strcmp(left[i], right[i]);
	for (size_t i = 0; order == 0 && i < x; i++)
		order = value_compare(json_object_get(a, left[i]), json_object_get(b, right[i]));
	free(left);
	free(right);
	return order;
}

/* The kind of a value; integers and reals are of one kind. */
static int
kind_of(const json_t *value)
{
	return json_is_real(value) ? JSON_INTEGER : (int)json_typeof(value);
}

int
value_compare(const json_t *a, const json_t *b)
{
	int kind = kind_of(a);

	if (kind != kind_of(b))
		return kind - kind_of(b);
	switch (kind) {
	case JSON_INTEGER:
		return number_compare(a, b);
	case JSON_STRING:
		return strings_compare(a, b);
	case JSON_ARRAY:
		return arrays_compare(a, b);
	case JSON_OBJECT:
		return objects_compare(a, b);
	default:
		return 0; /* null, true and false: values of the same kind are equal */
	}
}
