/*
 * A total order of JSON values. Two values are equal in it if and only if they are
 * equal in JSON Schema's sense: 1 equals 1.0, objects equal regardless of the order
 * of their keys. Integers and reals are compared exactly, without rounding.
 */
#ifndef AWF_SCHEMA_COMPARE_H
#define AWF_SCHEMA_COMPARE_H

#include <jansson.h>
#include <stdbool.h>

/* The whole part (like trunc(), without linking libm). */
double number_whole(double number);
/* Whether it is a number without a fraction, such as 1, 1.0 or 1e3. */
bool number_is_whole(const json_t *value);
/* Whether a number is an integer multiple of the divisor (above 0), computed in decimals. */
bool number_divides(const json_t *divisor, const json_t *value);
/* Less than, equal to or greater than 0. */
int number_compare(const json_t *a, const json_t *b);
int value_compare(const json_t *a, const json_t *b);

#endif
