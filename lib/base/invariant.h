/*
 * Invariants: conditions that are true for every input if the code is correct. They are checked in
 * the programs of tests, sanitizers and fuzzers (invariants_checked, tests/patience.c), and not in
 * installed programs: objects are compiled once, and the programs differ only in one object that
 * is linked first.
 *
 * Never use them for input, files or the environment: invalid ones are refused with a message.
 */
#ifndef AWF_BASE_INVARIANT_H
#define AWF_BASE_INVARIANT_H

#include <stdnoreturn.h>

extern const int invariants_checked; /* 0; 1 in programs that tests run (lib/base/patience.c) */

/* The condition must have no side effects: it may not be evaluated. A static analyzer takes it as
 * given. */
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
