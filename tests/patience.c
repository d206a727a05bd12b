/* The settings of programs that tests run: a twentieth of the patience, and invariants are checked. */
#include "base/patience.h"

#include "base/invariant.h"

const int patience_divisor = 20;
const int invariants_checked = 1;
