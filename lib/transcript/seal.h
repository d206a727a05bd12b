/*
 * Seals: an Ed25519 signature (RFC 8032) that run.completed carries over its own line, and through
 * prev over every line before it. Unlike the chain and the tokens, it protects against anybody who
 * can write the transcript but has no access to the secret key.
 *
 * What is signed is the line without its LF, the signature an empty string. seq, timestamp and
 * prev are part of it, so a line is signed under the transcript's lock.
 *
 * A secret key is stored in a file with one line, which says that it is a secret key; the public
 * key is in a file next to it, as 64 hex digits. No message contains the secret key.
 */
#ifndef AWF_TRANSCRIPT_SEAL_H
#define AWF_TRANSCRIPT_SEAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"
#include "json/writer.h"

#define SEAL_ALGORITHM "ed25519"
#define SEAL_SIGNATURE ((size_t)128) /* hex digits */
#define SEAL_BACK (SEAL_SIGNATURE + 3) /* distance of the signature from the end of a payload that
                                          seal_write() has ended */

struct seal_key {
	unsigned char secret[64];
	char public_key[DIGEST_SIZE]; /* hex */
};

/* Makes a key: the secret one in FILE (0600), the public one in FILE.pub. Neither may
 * exist. */
int seal_key_make(const char *path, struct error *err);
/* ERROR_SYSTEM if the file cannot be read, belongs to another user, or is accessible to others.
 * It may be a pipe, so that other processes of the same user cannot read the key; from then on
 * they cannot read this process's memory either (PR_SET_DUMPABLE of prctl(2), where it exists). */
int seal_key_load(struct seal_key *key, const char *path, struct error *err);
/* Loads the key in a file; with NULL, the user's own key. 1; 0: there is no key, and none is
 * demanded; -1: as for seal_key_load(), or ERROR_USAGE at --seal if a key is demanded and the user
 * has no home directory. */
int seal_key_find(struct seal_key *key, const char *path, bool demanded, struct error *err);
void seal_key_forget(struct seal_key *key);
/* Reads a public key: 64 hex digits, or the name of a file that contains them. ERROR_USAGE if it is
 * neither. */
int seal_public_key(const char *text, char public_key[DIGEST_SIZE], struct error *err);

/* Writes the member `seal`, which must be the last of its payload, with zeros in the place of the
 * signature. */
void seal_write(struct writer *w, const struct seal_key *key);
/* Writes the signature into the line, which has no LF, at offset `at`. */
void seal_sign(const struct seal_key *key, char *line, size_t len, size_t at);
/* Whether a signature, a span of SEAL_SIGNATURE digits in the line, is valid for the line and a
 * public key of 64 digits. */
bool seal_valid(struct span line, const char *public_key, const char *signature);

#endif
