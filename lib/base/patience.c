/* The settings of programs that people run: their patience is whole, and no invariant is checked. A
 * file of its own, so that the archive's member stays out where another defines them. */
#include "base/patience.h"

#include "base/invariant.h"

const int patience_divisor = 1;
const int invariants_checked = 0;
