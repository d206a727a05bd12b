/*
 * libsodium signs; the secret file holds the seed of 32 bytes from which the key pair is derived
 * (RFC 8032, section 5.1.5). The place of the signature holds zeros until the line is complete, and
 * is left out of the text that is signed and checked. Seeds and keys are wiped after use.
 */
#include "transcript/seal.h"

#include <fcntl.h>
#include <sodium/crypto_sign_ed25519.h>
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/id.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
#include "system/self.h"
#include "transcript/event_keys.h"

#define SECRET_WORD "awf-secret-key-" SEAL_ALGORITHM " "
#define SECRET_SIZE (sizeof SECRET_WORD - 1 + DIGEST_SIZE) /* the line in a secret key's file, with
                                                              its LF */
#define PUBLIC_LIMIT ((size_t)256)

_Static_assert(sizeof ((struct seal_key *)0)->secret == crypto_sign_ed25519_SECRETKEYBYTES,
    "a secret key has its size");
_Static_assert(SEAL_SIGNATURE == (size_t)2 * crypto_sign_ed25519_BYTES, "a signature has its size");
_Static_assert(DIGEST_BYTES == crypto_sign_ed25519_SEEDBYTES &&
    DIGEST_BYTES == crypto_sign_ed25519_PUBLICKEYBYTES, "keys are as long as digests");

/* Whether text is len lower-case hex digits; converts them. */
static bool
seal_decode_hex(const char *text, size_t len, unsigned char *out)
{
	return strspn(text, "0123456789abcdef") >= len &&
	    sodium_hex2bin(out, len / 2, text, len, NULL, NULL, NULL) == 0;
}

static void
key_from_seed(struct seal_key *key, const unsigned char seed[DIGEST_BYTES])
{
	unsigned char public_key[DIGEST_BYTES];

	crypto_sign_ed25519_seed_keypair(public_key, key->secret, seed);
	hex_encode(public_key, sizeof public_key, key->public_key);
}

/* Writes a new file, and syncs it. */
static int
write_new(const char *path, mode_t mode, const char *text, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode), failed = 0;

	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to make the key");
	if (file_write(fd, text, strlen(text)) != 0 || fsync(fd) != 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write the key");
	if (close(fd) != 0 && failed == 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write the key");
	if (failed != 0)
		unlink(path);
	return failed;
}

int
seal_key_make(const char *path, struct error *err)
{
	unsigned char seed[DIGEST_BYTES];
	char secret[SECRET_SIZE + 1], public_key[DIGEST_SIZE + 1];
	char *public_path = memory_format("%s.pub", path);
	struct seal_key key;
	int failed;

	random_bytes(seed, sizeof seed);
	key_from_seed(&key, seed);
	memcpy(secret, SECRET_WORD, sizeof SECRET_WORD);
	hex_encode(seed, sizeof seed, secret + sizeof SECRET_WORD - 1);
	memcpy(secret + SECRET_SIZE - 1, "\n", 2);
	memcpy(public_key, key.public_key, DIGEST_SIZE - 1);
	memcpy(public_key + DIGEST_SIZE - 1, "\n", 2);

	/* Write the public key first: a secret key without its public key must not be left
	 * behind. */
	failed = write_new(public_path, 0644, public_key, err);
	if (failed == 0) {
		failed = write_new(path, 0600, secret, err);
		if (failed == 0)
			failed = file_sync_name(path, err);
		else
			unlink(public_path);
	}
	sodium_memzero(seed, sizeof seed);
	sodium_memzero(secret, sizeof secret);
	seal_key_forget(&key);
	free(public_path);
	return failed;
}

static int
load_secret(struct seal_key *key, int fd, const char *path, struct error *err)
{
	char text[SECRET_SIZE + 2] = "";
	unsigned char seed[DIGEST_BYTES];
	size_t len = 0;
	ssize_t n;
	bool good;

	/* Read one byte more than a key has, to notice a longer file. */
	while (len <= SECRET_SIZE && (n = read(fd, text + len, SECRET_SIZE + 1 - len)) != 0) {
		if (n < 0)
			return error_errno(err, ERROR_SYSTEM, path, "unable to read the key");
		len += (size_t)n;
	}
	good = len == SECRET_SIZE && text[len - 1] == '\n' &&
	    strncmp(text, SECRET_WORD, sizeof SECRET_WORD - 1) == 0 &&
	    seal_decode_hex(text + sizeof SECRET_WORD - 1, DIGEST_SIZE - 1, seed);
	if (good)
		key_from_seed(key, seed);
	sodium_memzero(text, sizeof text);
	sodium_memzero(seed, sizeof seed);
	return good ? 0 : error_set(err, ERROR_SYSTEM, path,
	    "holds no secret key: awf-verify --keygen makes one");
}

int
seal_key_load(struct seal_key *key, const char *path, struct error *err)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC), failed;

	self_seal_memory();
	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, path,
		    "unable to open the key (awf-verify --keygen makes one)");
	if (fstat(fd, &status) != 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to read the key");
	else if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
		failed = error_set(err, ERROR_SYSTEM, path, "is neither a regular file nor a pipe");
	else
		failed = file_check_private(fd, path, err) != 0 ||
		    load_secret(key, fd, path, err) != 0 ? -1 : 0;
	close(fd);
	return failed;
}

void
seal_key_forget(struct seal_key *key)
{
	sodium_memzero(key, sizeof *key);
}

int
seal_key_find(struct seal_key *key, const char *path, bool demanded, struct error *err)
{
	char *own = path == NULL ? path_config("seal.key") : NULL;
	int found = 0;

	if (path == NULL)
		path = own;
	if (path != NULL && (demanded || access(path, F_OK) == 0))
		found = seal_key_load(key, path, err) == 0 ? 1 : -1;
	else if (demanded)
		found = error_set(err, ERROR_USAGE, "--seal",
		    "no home to look for a key in: say --seal=KEYFILE");
	free(own);
	return found;
}

int
seal_public_key(const char *text, char public_key[DIGEST_SIZE], struct error *err)
{
	unsigned char bytes[DIGEST_BYTES];
	struct buffer file = BUFFER_INIT;
	const char *digits = text;
	size_t len = strlen(text);
	int failed = 0;

	if (len != DIGEST_SIZE - 1 || !seal_decode_hex(text, len, bytes)) {
		failed = file_load(text, PUBLIC_LIMIT, &file, err);
		digits = buffer_string(&file);
		len = file.len;
	}
	if (failed == 0 && len == DIGEST_SIZE && digits[len - 1] == '\n')
		len--;
	if (failed == 0 && (len != DIGEST_SIZE - 1 || !seal_decode_hex(digits, len, bytes)))
		failed = error_set(err, ERROR_USAGE, text,
		    "holds no public key, which is 64 hex digits: awf-verify --keygen FILE writes FILE.pub");
	if (failed == 0) {
		memcpy(public_key, digits, DIGEST_SIZE - 1);
		public_key[DIGEST_SIZE - 1] = '\0';
	}
	buffer_free(&file);
	return failed;
}

void
seal_write(struct writer *w, const struct seal_key *key)
{
	char room[SEAL_SIGNATURE + 1];

	memset(room, '0', SEAL_SIGNATURE);
	room[SEAL_SIGNATURE] = '\0';
	writer_key(w, KEY_SEAL);
	writer_object(w);
	writer_member_string(w, KEY_ALGORITHM, SEAL_ALGORITHM);
	writer_member_string(w, KEY_PUBLIC_KEY, key->public_key);
	writer_member_string(w, KEY_SIGNATURE, room);
	writer_object_end(w);
}

/* Builds the text that is signed: the line with an empty signature. */
static void
signed_text(const char *line, size_t len, size_t at, struct buffer *text)
{
	size_t behind = at + SEAL_SIGNATURE;

	buffer_append(text, line, at);
	buffer_append(text, line + behind, len - behind);
}

void
seal_sign(const struct seal_key *key, char *line, size_t len, size_t at)
{
	unsigned char signature[crypto_sign_ed25519_BYTES];
	char digits[SEAL_SIGNATURE + 1];
	struct buffer text = BUFFER_INIT;

	INVARIANT(at > 0 && at + SEAL_SIGNATURE < len && line[at - 1] == '"' &&
	    line[at + SEAL_SIGNATURE] == '"');
	signed_text(line, len, at, &text);
	crypto_sign_ed25519_detached(signature, NULL, (const unsigned char *)text.data, text.len,
	    key->secret);
	hex_encode(signature, sizeof signature, digits);
	memcpy(line + at, digits, SEAL_SIGNATURE);
	buffer_free(&text);
	INVARIANT(seal_valid(span_of(line, len), key->public_key, line + at));
}

bool
seal_valid(struct span line, const char *public_key, const char *signature)
{
	unsigned char key[DIGEST_BYTES], bytes[crypto_sign_ed25519_BYTES];
	struct buffer text = BUFFER_INIT;
	bool valid;

	INVARIANT(signature > line.at && signature + SEAL_SIGNATURE < line.at + line.len);
	if (!seal_decode_hex(public_key, DIGEST_SIZE - 1, key) ||
	    !seal_decode_hex(signature, SEAL_SIGNATURE, bytes))
		return false;
	signed_text(line.at, line.len, (size_t)(signature - line.at), &text);
	valid = crypto_sign_ed25519_verify_detached(bytes, (const unsigned char *)text.data,
	    text.len, key) == 0;
	buffer_free(&text);
	return valid;
}
