/* As it is built here. */
#include "system_checks.h"
