/*
 * File descriptors, of which a process has a limited number. A new descriptor gets the lowest free
 * number, so a high number shows that they will run out soon, early enough to refuse a client with
 * an answer. Clients are refused first, then files that stay open as long as a client wants them;
 * the last descriptors are for files that are read and closed at once.
 */
#ifndef AWF_HTTPD_DESCRIPTORS_H
#define AWF_HTTPD_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/* How many must stay free when a client connects, or such a file is opened. */
#define DESCRIPTORS_CLIENT 64
#define DESCRIPTORS_HELD 32

/* Raises the limit of descriptors to what so many clients need. */
void descriptors_begin(int64_t clients);
/* Whether a new descriptor may be kept: `left` others are still free, or a quarter of all, if that
 * is less. */
bool descriptors_left(int fd, unsigned left);

#endif
