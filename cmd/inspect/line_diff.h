/* The difference between two texts, line by line. */
#ifndef AWF_INSPECT_LINE_DIFF_H
#define AWF_INSPECT_LINE_DIFF_H

#include <stddef.h>

/* Is told of each line, without its LF: '=' both have it, '-' the old one alone, '+' the new. */
typedef void line_diff_take(void *context, char sign, const char *line, size_t len);
/* By a longest common subsequence, once what is the same at both ends is put aside. Of long texts
 * all that is between the ends is taken for changed. */
void line_diff(const char *old, size_t old_len, const char *now, size_t now_len,
    line_diff_take *take, void *context);

#endif
