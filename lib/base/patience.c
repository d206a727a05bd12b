/* The patience of programs that people run: whole. A file of its own, so that the archive's
 * member stays out where another defines it. */
#include "base/patience.h"

const int patience_divisor = 1;
