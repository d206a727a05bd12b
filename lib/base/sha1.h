/*
 * SHA-1 (FIPS 180-4), for formats of others that end with it, such as a git index. It protects from
 * nothing.
 */
#ifndef AWF_BASE_SHA1_H
#define AWF_BASE_SHA1_H

#include <stddef.h>

#define SHA1_BYTES 20

void sha1(const void *bytes, size_t len, unsigned char out[SHA1_BYTES]);

#endif
