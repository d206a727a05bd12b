/* The values for installed programs: times are not divided, and invariants are not checked. They
 * are in a file of their own, so that a program that defines other values does not link this
 * one. */
#include "base/patience.h"

#include "base/invariant.h"

const int patience_divisor = 1;
const int invariants_checked = 0;
