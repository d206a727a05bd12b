/* What every unit test includes: cmocka and what it needs first. */
#ifndef AWF_TESTS_UNIT_H
#define AWF_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

#endif
