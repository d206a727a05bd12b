/*
 * Descriptors, of which a process has a limited number. A new descriptor gets the lowest free
 * number, so a high number shows that they will soon run out, early enough to tell a client so.
 * Clients are refused first, then files that are held as long as a client wants them; the last
 * descriptors are for files that are read and closed at once.
 */
#ifndef AWF_HTTPD_DESCRIPTORS_H
#define AWF_HTTPD_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/* What is to be left. */
#define DESCRIPTORS_CLIENT 64
#define DESCRIPTORS_HELD 32

/* Raises the limit to as many as this number of clients needs. */
void descriptors_begin(int64_t clients);
/* Whether a new descriptor may be kept: `left` are still free, or a quarter of all, if that is
 * less. */
bool descriptors_left(int fd, unsigned left);

#endif
