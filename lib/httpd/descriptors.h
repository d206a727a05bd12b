/*
 * Descriptors, of which a process has so many and no more. A new one gets the lowest number that
 * is free: one with a high number tells that they are about to run out, before it is too late
 * to say so to a client. Clients are refused first, then files that are held as long as a client
 * wants them; the last are for files that are looked into and closed again at once.
 */
#ifndef AWF_HTTPD_DESCRIPTORS_H
#define AWF_HTTPD_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

/* What is to be left. */
#define DESCRIPTORS_CLIENT 64
#define DESCRIPTORS_HELD 32

/* Asks for as many as so many clients need. */
void descriptors_begin(int64_t clients);
/* Whether a new one may be kept: so many are left, or a quarter of them all, if that is less. */
bool descriptors_left(int fd, unsigned left);

#endif
