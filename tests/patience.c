/* The patience of programs that tests run: a twentieth. */
#include "base/patience.h"

const int patience_divisor = 20;
