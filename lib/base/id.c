/*
 * The system is asked for random bytes once for many ids; they are kept in a pool. What the code
 * relies on:
 *   - No byte of a pool is used twice, in any thread or process: each thread has its own pool. After
 *     fork() the child has one thread, whose pool is emptied (asserted).
 */
#include "base/id.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/fatal.h"
#include "base/invariant.h"

#define RANDOM_CHUNK 256 /* the most that getentropy() returns at once */
#define ID_BYTES 16
#define LOW_DASH 18 /* offset of the last dash, after which the lower 8 bytes continue */

static _Thread_local unsigned char pool[RANDOM_CHUNK];
static _Thread_local size_t pool_left;
static _Thread_local pid_t pool_owner; /* the process that filled the pool */
static bool fork_watched;

static void
pool_empty(void)
{
	pool_left = 0;
}

static void
watch_fork(void)
{
	fork_watched = pthread_atfork(NULL, NULL, pool_empty) == 0;
}

static const unsigned char *
pool_take(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_fork);
	if (pool_left == 0 || !fork_watched) {
		random_bytes(pool, sizeof pool);
		pool_left = sizeof pool;
		pool_owner = getpid();
	}
	INVARIANT(pool_owner == getpid() && pool_left % ID_BYTES == 0 && pool_left <= sizeof pool);
	pool_left -= ID_BYTES;
	return pool + pool_left;
}

/* Makes a version 4 UUID of the bytes and writes it out. */
static char *
id_write(unsigned char bytes[ID_BYTES], char out[ID_SIZE])
{
	static const unsigned char group_end[] = {4, 6, 8, 10, 16};
	char *to = out;
	size_t from = 0;

	bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
	for (size_t group = 0; group < sizeof group_end; group++) {
		if (group)
			*to++ = '-';
		hex_encode(bytes + from, group_end[group] - from, to);
		to += (size_t)2 * (group_end[group] - from);
		from = group_end[group];
	}
	INVARIANT(id_valid(out, strlen(out)) && out[14] == '4' && strchr("89ab", out[19]) != NULL);
	return out;
}

char *
id_new(char out[ID_SIZE])
{
	unsigned char bytes[ID_BYTES];

	memcpy(bytes, pool_take(), sizeof bytes);
	return id_write(bytes, out);
}

char *
id_derive(const char *text, char out[ID_SIZE])
{
	unsigned char bytes[DIGEST_BYTES];

	crypto_hash_sha256(bytes, (const unsigned char *)text, strlen(text));
	return id_write(bytes, out);
}

static bool
is_dash(size_t i)
{
	return i == 8 || i == 13 || i == LOW_DASH || i == 23;
}

bool
uuid_read(const char *text, size_t len, struct uuid *id)
{
	uint64_t high = 0, half = 0;

	if (len != ID_SIZE - 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (is_dash(i)) {
			if (c != '-')
				return false;
			high = i == LOW_DASH ? half : high;
			continue;
		}
		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
		half = half << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	*id = (struct uuid){ high, half };
	return true;
}

bool
id_valid(const char *text, size_t len)
{
	struct uuid id;

	return uuid_read(text, len, &id);
}

char *
uuid_write(struct uuid id, char out[ID_SIZE])
{
	const struct uuid written = id;
	uint64_t half = id.high;
	struct uuid read;

	for (size_t i = 0; i < ID_SIZE - 1; i++) {
		if (is_dash(i)) {
			out[i] = '-';
			half = i == LOW_DASH ? id.low : half;
			continue;
		}
		out[i] = "0123456789abcdef"[half >> 60];
		half <<= 4;
	}
	out[ID_SIZE - 1] = '\0';
	INVARIANT(uuid_read(out, ID_SIZE - 1, &read) && read.high == written.high &&
	    read.low == written.low);
	return out;
}

void
random_bytes(void *out, size_t size)
{
	unsigned char *to = out;

	while (size > 0) {
		size_t chunk = size < RANDOM_CHUNK ? size : RANDOM_CHUNK;

		/* This fails only if the kernel has no random numbers at all. Then no id is better
		 * than one that may repeat. */
		if (getentropy(to, chunk) != 0)
			fatal_exit("unable to get random numbers");
		to += chunk;
		size -= chunk;
	}
}
