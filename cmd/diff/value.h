/* The key of a JSON value: equal for values that are equal as far as people are concerned. */
#ifndef AWF_DIFF_VALUE_H
#define AWF_DIFF_VALUE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/id.h"
#include "json/scan.h"

bool diff_key_is(struct uuid key);                     /* whether there is a value */
bool diff_keys_equal(struct uuid a, struct uuid b);
/* All zeros if the value is absent or null. The order of members does not count, nor whether an integer
 * is written 2 or 2.0, nor whether JSON is a value or a text. Of state lines their data counts, not who
 * wrote them when. */
struct uuid diff_value_key(struct span value);
/* Appends the value as a line of JSON, as far as its key counts it: of state lines their data, of several an
 * array. */
void diff_value_json(struct span value, struct buffer *out);
/* Whether it is a text of state lines. */
bool diff_value_is_lines(struct span value);
/* Appends what is shown of a value: a text decoded, state lines as their data, a line each, other JSON
 * as it is. */
void diff_value_show(struct span value, struct buffer *out);

#endif
