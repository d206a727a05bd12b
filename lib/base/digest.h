/*
 * Digests: SHA-256 (FIPS 180-4) for data, BLAKE2b-256 (RFC 7693) for the chain
 * of a transcript, HMAC-SHA256 (RFC 2104) for tokens; hex is lower case. Base64
 * is RFC 4648, section 4, with padding.
 */
#ifndef AWF_BASE_DIGEST_H
#define AWF_BASE_DIGEST_H

#include <sodium/crypto_hash_sha256.h>
#include <stddef.h>

#include "base/buffer.h"

#define DIGEST_BYTES 32
#define DIGEST_SIZE 65 /* 64 hex digits and a NUL */

/* All return out. */
char *digest_sha256(const void *bytes, size_t len, char out[DIGEST_SIZE]);
char *digest_blake2b(const void *bytes, size_t len, char out[DIGEST_SIZE]);
char *digest_hmac(const void *key, size_t key_len, const void *bytes, size_t len,
    char out[DIGEST_SIZE]);

/* SHA-256 in pieces. */
struct digest { crypto_hash_sha256_state state; };
void digest_begin(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t len);
/* Adds the rest of fd; -1 with errno. */
int digest_add_fd(struct digest *d, int fd);
char *digest_end(struct digest *d, char out[DIGEST_SIZE]);

/* SHA-256 of the rest of fd; -1 with errno. */
int digest_fd(int fd, char sha256[DIGEST_SIZE]);
/* The same with BLAKE2b, in a third of the time. */
int digest_fd_blake2b(int fd, char out[DIGEST_SIZE]);

void hex_encode(const unsigned char *bytes, size_t len, char *out); /* out: 2 * len digits and a
                                                                       NUL */
void base64_encode(const void *bytes, size_t len, struct buffer *out);
/* Appends the decoded bytes; -1 if it is not base64, with out unchanged. */
int base64_decode(const char *text, size_t len, struct buffer *out);

#endif
