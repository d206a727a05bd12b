/*
 * Invariants: what must hold whatever comes in, if the code is right. Each is checked in the programs
 * that tests, sanitizers and fuzzers run (invariants_checked, tests/patience.c), never in those that
 * people run: objects are compiled once, and the programs differ by one that is linked first.
 *
 * Never on input, a disk, or the environment: these are checked, and refused with a line.
 */
#ifndef AWF_BASE_INVARIANT_H
#define AWF_BASE_INVARIANT_H

#include <stdnoreturn.h>

extern const int invariants_checked; /* 0; 1 in programs that tests run (lib/base/patience.c) */

/* The condition has no effect of its own: it may not be evaluated. The analyzer takes it for true. */
#ifdef __clang_analyzer__
#define INVARIANT(condition) ((void)((condition) || (invariant_fail(#condition, __FILE__, __LINE__), 0)))
#else
#define INVARIANT(condition) \
	((void)(!invariants_checked || (condition) || \
	    (invariant_fail(#condition, __FILE__, __LINE__), 0)))
#endif

/* Writes the line "FILE:LINE: CONDITION does not hold" to stderr and, if $AWF_INVARIANT_LOG names a
 * file, to the end of that, so that a test which accepts any failure does not hide it; then
 * abort(3). */
noreturn void invariant_fail(const char *condition, const char *file, int line);

#endif
