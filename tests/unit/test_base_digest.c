#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/digest.h"

/* FIPS 180-4 examples; BLAKE2b-256 from b2sum -l 256. */
static void
known_answers(void **state)
{
	static const struct {
		const char *text, *sha256, *blake2b;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		    "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		    "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"},
	};
	char hex[DIGEST_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *text = rows[i].text;

		assert_string_equal(digest_sha256(text, strlen(text), hex), rows[i].sha256);
		assert_string_equal(digest_blake2b(text, strlen(text), hex), rows[i].blake2b);
	}
}

/* The faster code that is chosen once much was hashed gives the same answers. */
static void
much_is_the_same(void **state)
{
	size_t len = (size_t)3 << 20;
	char *bytes = calloc(1, len), before[DIGEST_SIZE], after[DIGEST_SIZE];
	FILE *file;

	(void)state;
	assert_non_null(bytes);
	digest_blake2b(bytes, 1000, before);
	digest_blake2b(bytes, len, after);
	assert_string_equal(after,
	    "fc73b8d52d9e23870861b989c02bd7a6ba56620b59fdca816c181ced87637eac");
	digest_blake2b(bytes, 1000, after);
	assert_string_equal(before, after);
	/* And from a file, in pieces. */
	file = tmpfile();
	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), (off_t)len), 0);
	assert_int_equal(digest_fd_blake2b(fileno(file), after), 0);
	assert_string_equal(after,
	    "fc73b8d52d9e23870861b989c02bd7a6ba56620b59fdca816c181ced87637eac");
	assert_int_equal(digest_fd_blake2b(-1, after), -1);
	fclose(file);
	free(bytes);
}

/* One by openssl dgst -mac hmac, and those of RFC 4231 with keys shorter and longer. */
static void
hmac(void **state)
{
	unsigned char key[DIGEST_BYTES], long_key[131];
	char hex[DIGEST_SIZE];

	(void)state;
	memset(key, 'k', sizeof key);
	assert_string_equal(digest_hmac(key, DIGEST_BYTES, "hello", 5, hex),
	    "b77dedb81d7deb352f617552af07a682c4267366ef53870025bc48b701c8a76d");
	assert_string_equal(digest_hmac("Jefe", 4, "what do ya want for nothing?", 28, hex),
	    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(long_key, 0xaa, sizeof long_key);
	assert_string_equal(digest_hmac(long_key, sizeof long_key,
	    "Test Using Larger Than Block-Size Key - Hash Key First", 54, hex),
	    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void
pieces(void **state)
{
	char text[300], whole[DIGEST_SIZE], parts[DIGEST_SIZE];

	(void)state;
	memset(text, 'x', sizeof text);
	digest_sha256(text, sizeof text, whole);
	for (size_t step = 1; step < sizeof text; step += 7) {
		struct digest d;

		digest_begin(&d);
		digest_add(&d, NULL, 0);
		for (size_t at = 0; at < sizeof text; at += step)
			digest_add(&d, text + at, at + step < sizeof text ? step : sizeof text - at);
		assert_string_equal(digest_end(&d, parts), whole);
	}
}

/* RFC 4648, section 10. */
static const struct {
	const char *plain, *base64;
} vectors[] = {
	{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}, {"\xff\xfe\xfb", "//77"},
	{"\xfb\xef\xbe", "++++"},
};

static void
base64_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct buffer out = BUFFER_INIT;

		buffer_text(&out, "-");
		base64_encode(vectors[i].plain, strlen(vectors[i].plain), &out);
		assert_string_equal(out.data + 1, vectors[i].base64);
		buffer_clear(&out);
		assert_int_equal(base64_decode(vectors[i].base64, strlen(vectors[i].base64), &out), 0);
		assert_true(buffer_equal(&out, vectors[i].plain));
		buffer_free(&out);
	}
}

static void
base64_refuses(void **state)
{
	static const char *const wrong[] = {
		"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "=m9v", "Zg==Zg==", "Zm9v\n", "Zm-_", "====",
		"Z===", "Zm9vZ!==", "Zm =",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct buffer out = BUFFER_INIT;

		buffer_text(&out, "kept");
		if (base64_decode(wrong[i], strlen(wrong[i]), &out) != -1)
			fail_msg("accepted: %s", wrong[i]);
		assert_string_equal(buffer_string(&out), "kept");
		buffer_free(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(much_is_the_same),
		cmocka_unit_test(hmac),
		cmocka_unit_test(pieces),
		cmocka_unit_test(base64_both_ways),
		cmocka_unit_test(base64_refuses),
	};

	return cmocka_run_group_tests_name("base/digest", tests, NULL, NULL);
}
