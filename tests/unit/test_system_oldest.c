/* As with the oldest C library that AWF can be built with. */
#ifndef AWF_OLDEST
#define AWF_OLDEST
#endif
#include "../../lib/system/descriptor.c"
#include "../../lib/system/spawn.c"

#include "system_checks.h"
