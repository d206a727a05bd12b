/*
 * What of the system's configuration is there for every user. Root in a sandbox owns most
 * of the rest (password hashes, private keys), and would read it without any capability.
 */
#ifndef AWF_SANDBOX_PUBLIC_H
#define AWF_SANDBOX_PUBLIC_H

#include "sandbox/places.h"

/* Adds what every user may read of a directory: as one place if that is all of it, else in
 * its parts. */
void public_add(struct places *p, const char *path);

#endif
