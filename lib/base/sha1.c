/* Section 6.1.2 of the standard, with a schedule of 80 words. */
#include "base/sha1.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 64

static uint32_t
sha1_rotate(uint32_t x, unsigned int by)
{
	return x << by | x >> (32 - by);
}

static void
add_block(uint32_t state[5], const unsigned char *block)
{
	uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f, k, next;

	for (size_t i = 0; i < 16; i++, block += 4)
		w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
	for (size_t i = 16; i < 80; i++)
		w[i] = sha1_rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (size_t i = 0; i < 80; i++) {
		f = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
		k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
		next = sha1_rotate(a, 5) + f + e + k + w[i];
		e = d;
		d = c;
		c = sha1_rotate(b, 30);
		b = a;
		a = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

void
sha1(const void *bytes, size_t len, unsigned char out[SHA1_BYTES])
{
	uint32_t state[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	unsigned char last[2 * BLOCK] = { 0 };
	const unsigned char *at = bytes;
	size_t left = len, size;

	for (; left >= BLOCK; at += BLOCK, left -= BLOCK)
		add_block(state, at);
	if (left > 0)
		memcpy(last, at, left);
	last[left] = 0x80;
	size = left + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
	for (size_t i = 0; i < 8; i++)
		last[size - 1 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
	for (at = last; at < last + size; at += BLOCK)
		add_block(state, at);
	for (size_t i = 0; i < SHA1_BYTES; i++)
		out[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}
