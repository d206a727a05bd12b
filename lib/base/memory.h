/*
 * Memory allocation that does not return on failure (base/fatal.h), so that callers need not check
 * for NULL.
 */
#ifndef AWF_BASE_MEMORY_H
#define AWF_BASE_MEMORY_H

#include <stddef.h>

void *memory_alloc(size_t size);               /* not initialized */
void *memory_zero(size_t count, size_t size);  /* zeroed array */
void *memory_grow(void *old, size_t size);     /* realloc() */
/* Resizes an array to count elements of a size; ends the program if the product overflows, too. */
void *memory_array(void *old, size_t count, size_t size);
char *memory_text(const char *text);           /* strdup() */
char *memory_copy(const char *bytes, size_t len); /* with a NUL after it */
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
