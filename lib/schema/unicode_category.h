/* The general categories of Unicode (Lu, Nd …), for \p{…} in patterns. */
#ifndef AWF_SCHEMA_UNICODE_CATEGORY_H
#define AWF_SCHEMA_UNICODE_CATEGORY_H

#include <stddef.h>
#include <stdint.h>

/* Ranges of code points of one category, ascending, without gaps: the first code point in the upper
 * 24 bits, the category's number below. */
extern const uint32_t unicode_categories[];
extern const size_t unicode_category_count;

/* The set of categories with that name ("L", "Letter", "Nd", "digit" …), a bit for each; 0 if
 * there is none. */
uint32_t unicode_category_named(const char *name, size_t len);

#endif
