/* As where nothing is but POSIX (make PORTABLE=1). */
#ifndef AWF_PORTABLE
#define AWF_PORTABLE
#endif
#include "../../lib/system/descriptor.c"
#include "../../lib/system/file_status.c"
#include "../../lib/system/spawn.c"
#include "../../lib/io/polling.c"

#include "system_checks.h"
