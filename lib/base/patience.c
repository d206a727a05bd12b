/* The settings of installed programs: full waiting times, and no invariant is checked. In a file
 * of its own, so that a program that defines them itself does not link it. */
#include "base/patience.h"

#include "base/invariant.h"

const int patience_divisor = 1;
const int invariants_checked = 0;
