/*
 * libsodium works without sodium_init(), but with its portable code. sodium_init() costs 50 to 200
 * us and selects other code for BLAKE2b, which is about 15 % faster on some processors but takes
 * 1.7 times as long on others (libsodium 1.0.18, AVX2): so it is not called.
 */
#include "base/digest.h"

#include <sodium.h>
#include <stdint.h>
#include <unistd.h>

#include "base/invariant.h"

char *
digest_sha256(const void *bytes, size_t len, char out[DIGEST_SIZE])
{
	struct digest d;

	digest_begin(&d);
	digest_add(&d, bytes, len);
	return digest_end(&d, out);
}

char *
digest_blake2b(const void *bytes, size_t len, char out[DIGEST_SIZE])
{
	unsigned char hash[DIGEST_BYTES];

	crypto_generichash_blake2b(hash, sizeof hash, bytes, len, NULL, 0);
	hex_encode(hash, sizeof hash, out);
	return out;
}

char *
digest_hmac(const void *key, size_t key_len, const void *bytes, size_t len,
    char out[DIGEST_SIZE])
{
	unsigned char hash[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, key_len);
	crypto_auth_hmacsha256_update(&state, bytes, len);
	crypto_auth_hmacsha256_final(&state, hash);
	hex_encode(hash, sizeof hash, out);
	return out;
}

void
digest_begin(struct digest *d)
{
	crypto_hash_sha256_init(&d->state);
}

void
digest_add(struct digest *d, const void *bytes, size_t len)
{
	if (len)
		crypto_hash_sha256_update(&d->state, bytes, len);
}

int
digest_add_fd(struct digest *d, int fd)
{
	char bytes[16384];
	ssize_t got;

	while ((got = read(fd, bytes, sizeof bytes)) > 0)
		digest_add(d, bytes, (size_t)got);
	return got < 0 ? -1 : 0;
}

char *
digest_end(struct digest *d, char out[DIGEST_SIZE])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_final(&d->state, hash);
	hex_encode(hash, sizeof hash, out);
	return out;
}

int
digest_fd(int fd, char sha256[DIGEST_SIZE])
{
	struct digest digest;
	int result;

	digest_begin(&digest);
	result = digest_add_fd(&digest, fd);
	digest_end(&digest, sha256);
	return result;
}

int
digest_fd_blake2b(int fd, char out[DIGEST_SIZE])
{
	unsigned char hash[DIGEST_BYTES];
	crypto_generichash_state state;
	char bytes[16384];
	ssize_t got;

	crypto_generichash_init(&state, NULL, 0, sizeof hash);
	while ((got = read(fd, bytes, sizeof bytes)) > 0)
		crypto_generichash_update(&state, (unsigned char *)bytes, (size_t)got);
	crypto_generichash_final(&state, hash, sizeof hash);
	hex_encode(hash, sizeof hash, out);
	return got < 0 ? -1 : 0;
}

void
hex_encode(const unsigned char *bytes, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
base64_encode(const void *bytes, size_t len, struct buffer *out)
{
	const unsigned char *from = bytes;
	char *to = buffer_reserve(out, len / 3 * 4 + 4);
	size_t before = out->len, digits = (len + 2) / 3 * 4;

	for (; len > 0; from += 3) {
		size_t n = len < 3 ? len : 3;
		uint32_t bits = (uint32_t)from[0] << 16;

		if (n > 1)
			bits |= (uint32_t)from[1] << 8;
		if (n > 2)
			bits |= from[2];
		*to++ = base64_digits[bits >> 18];
		*to++ = base64_digits[bits >> 12 & 63];
		*to++ = n > 1 ? base64_digits[bits >> 6 & 63] : '=';
		*to++ = n > 2 ? base64_digits[bits & 63] : '=';
		len -= n;
	}
	out->len = (size_t)(to - out->data);
	*to = '\0';
	INVARIANT(out->len - before == digits);
}

/* Values of base64 digits, plus 1; 0: not a digit. */
static const unsigned char base64_values[256] = {
	['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7,
	['H'] = 8, ['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14,
	['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21,
	['V'] = 22, ['W'] = 23, ['X'] = 24, ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28,
	['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35,
	['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42,
	['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48, ['w'] = 49,
	['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
	['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63,
	['/'] = 64,
};

int
base64_decode(const char *text, size_t len, struct buffer *out)
{
	unsigned char *to;

	if (len % 4 != 0)
		return -1;
	to = (unsigned char *)buffer_reserve(out, len / 4 * 3 + 1);
	for (size_t i = 0; i < len; i += 4) {
		bool last = i + 4 == len;
		unsigned pad = last && text[i + 3] == '=' ? 1 + (text[i + 2] == '=') : 0;
		uint32_t bits = 0;

		for (unsigned k = 0; k < 4; k++) {
			unsigned value = k < 4 - pad ? base64_values[(unsigned char)text[i + k]] : 1;

			if (value == 0)
				return -1;
			bits = bits << 6 | (value - 1);
		}
		if ((pad == 1 && (bits & 0xff)) || (pad == 2 && (bits & 0xffff)))
			return -1; /* unused bits are set, which no encoder does */
		to[0] = (unsigned char)(bits >> 16);
		to[1] = (unsigned char)(bits >> 8);
		to[2] = (unsigned char)bits;
		to += 3 - pad;
	}
	out->len = (size_t)((char *)to - out->data);
	*to = '\0';
	return 0;
}
