/* lib/api/sigv4: AWS's own test suite of Signature Version 4, and what else a request may hold. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "api/sigv4.h"
#include "base/clock.h"

#define TOKEN "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxf" \
	"pSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQ" \
	"DYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+sc" \
	"qKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

static const struct sigv4_key suite_key = { "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	"us-east-1", "service" };

static int64_t
suite_time(void)
{
	int64_t wall = 0;

	assert_int_equal(clock_parse("2015-08-30T12:36:00Z", 0, &wall), 0);
	return wall;
}

static void
suite_of_aws(void **state)
{
	static const struct {
		const char *method, *path, *header, *body, *names, *signature;
	} cases[] = {
		{ "GET", "", NULL, "", "host;x-amz-date",
		    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
		{ "POST", "/", NULL, "", "host;x-amz-date",
		    "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
		{ "GET", "/?Param2=value2&Param1=value1", NULL, "", "host;x-amz-date",
		    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
		{ "POST", "/?Param1=value1", NULL, "", "host;x-amz-date",
		    "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11" },
		{ "GET", "/example space/", NULL, "", "host;x-amz-date",
		    "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741" },
		{ "POST", "/", "Content-Type: application/x-www-form-urlencoded", "Param1=value1",
		    "content-type;host;x-amz-date",
		    "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a" },
		{ "POST", "/", "X-Amz-Security-Token: " TOKEN, "", "host;x-amz-date;x-amz-security-token",
		    "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *headers[] = { "X-Amz-Date: 20150830T123600Z", cases[i].header, NULL };
		char url[200], expected[400], *found;
		struct sigv4_request r = { cases[i].method, url, headers, cases[i].body,
			strlen(cases[i].body), suite_time() };

		snprintf(url, sizeof url, "https://example.amazonaws.com%s", cases[i].path);
		snprintf(expected, sizeof expected, "authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"
		    "20150830/us-east-1/service/aws4_request, SignedHeaders=%s, Signature=%s",
		    cases[i].names, cases[i].signature);
		found = sigv4_authorization(&r, &suite_key);
		assert_string_equal(found, expected);
		free(found);
	}
}

/* The signature alone of a POST to a URL. */
static char *
signature_of(const char *url, const char *header)
{
	const char *headers[] = { header, NULL };
	struct sigv4_request r = { "POST", url, headers, "{}", 2, suite_time() };

	return sigv4_authorization(&r, &suite_key);
}

static void
same_signatures(const char *url, const char *header, const char *other_url, const char *other)
{
	char *one = signature_of(url, header), *two = signature_of(other_url, other);

	assert_string_equal(one, two);
	free(one);
	free(two);
}

/* Ways to write one request. */
static void
one_request_written_in_ways(void **state)
{
	(void)state;
	same_signatures("https://h.example:443/x", NULL, "https://user@h.example/x#part", NULL);
	same_signatures("http://h.example:80/x", NULL, "http://h.example/x", NULL);
	same_signatures("https://h/x?b=2&a=1&a", NULL, "https://h/x?a=&a=1&b=2", NULL);
	/* By names, not by whole texts: "-" stands before "=". */
	same_signatures("https://h/x?a-b=1&a=1", NULL, "https://h/x?a=1&a-b=1", NULL);
	same_signatures("https://h/x", "a-b:", "https://h/x", NULL);
	same_signatures("https://h/x", "A-b:  one   two ", "https://h/x", "a-B: one two");
}

static void
differ(const char *url, const char *other)
{
	char *one = signature_of(url, NULL), *two = signature_of(other, NULL);

	assert_string_not_equal(one, two);
	free(one);
	free(two);
}

/* A colon that is escaped in the path is signed as %253A, one that is not as %3A. */
static void
paths_are_encoded_again(void **state)
{
	(void)state;
	differ("https://h/model/a%3A0/x", "https://h/model/a:0/x");
	differ("https://h:8443/x", "https://h/x");
}

static struct sigv4 *
opened(const char *json)
{
	struct error err = ERROR_INIT;
	struct sigv4 *s = sigv4_open(span_of(json, strlen(json)), &err);

	if (s == NULL)
		fail_msg("%s", err.message);
	return s;
}

static void
headers_of_a_request(void **state)
{
	static const char *const headers[] = { "content-type: application/json", NULL };
	const struct sigv4_request r = { "POST", "https://h/x", headers, "{}", 2, suite_time() };
	struct sigv4 *s = opened("{\"sigv4\":{\"region\":\"us-east-1\",\"service\":\"bedrock\"}}");
	struct sigv4_signed out;
	struct error err = ERROR_INIT;

	(void)state;
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	unsetenv("AWS_SESSION_TOKEN");
	assert_int_equal(sigv4_sign(s, &r, &out, &err), -1);
	assert_int_equal(err.code, ERROR_AUTH);
	assert_non_null(strstr(err.message, "AWS_ACCESS_KEY_ID"));

	setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1);
	assert_int_equal(sigv4_sign(s, &r, &out, &err), 0);
	assert_string_equal(out.headers[0], "x-amz-date: 20150830T123600Z");
	assert_string_equal(out.headers[1], "x-amz-content-sha256: "
	    "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
	assert_non_null(strstr(out.headers[2], "Credential=AKID/20150830/us-east-1/bedrock/aws4_request, "
	    "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date, "));
	assert_null(out.headers[3]);
	assert_string_equal(out.secrets[0], "AKID");
	assert_string_equal(out.secrets[1], "SECRET");
	assert_null(out.secrets[2]);
	sigv4_signed_free(&out);

	setenv("AWS_SESSION_TOKEN", "TOKEN", 1);
	assert_int_equal(sigv4_sign(s, &r, &out, &err), 0);
	assert_string_equal(out.headers[2], "x-amz-security-token: TOKEN");
	assert_string_equal(out.secrets[0], "TOKEN");
	assert_string_equal(out.secrets[2], "SECRET");
	assert_non_null(strstr(out.headers[3], ";x-amz-security-token, "));
	sigv4_signed_free(&out);

	setenv("AWS_SECRET_ACCESS_KEY", "SECRET\n", 1);
	assert_int_equal(sigv4_sign(s, &r, &out, &err), -1);
	assert_int_equal(err.code, ERROR_AUTH);
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	unsetenv("AWS_SESSION_TOKEN");
	sigv4_close(s);
}

static void
keys_of_a_command(void **state)
{
	static const char *const headers[] = { NULL };
	const struct sigv4_request r = { "POST", "https://h/x", headers, "{}", 2, suite_time() };
	struct sigv4 *s = opened("{\"sigv4\":{\"region\":\"r\",\"service\":\"s\",\"command\":[\"printf\",\"%s\","
	    "\"{\\\"Version\\\":1,\\n\\\"AccessKeyId\\\":\\\"ID\\\",\\\"SecretAccessKey\\\":\\\"S\\\","
	    "\\\"SessionToken\\\":\\\"T\\\",\\\"Expiration\\\":\\\"2099-01-01T00:00:00Z\\\"}\"]}}");
	struct sigv4_signed out;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(sigv4_sign(s, &r, &out, &err), 0);
	assert_string_equal(out.secrets[0], "T");
	assert_string_equal(out.secrets[2], "S");
	assert_non_null(strstr(out.headers[3], "Credential=ID/20150830/r/s/aws4_request"));
	sigv4_signed_free(&out);
	sigv4_close(s);

	s = opened("{\"sigv4\":{\"region\":\"r\",\"service\":\"s\",\"command\":[\"echo\",\"{}\"]}}");
	assert_int_equal(sigv4_sign(s, &r, &out, &err), -1);
	assert_int_equal(err.code, ERROR_AUTH);
	sigv4_close(s);
	/* Its time limit stands beside it, as that of any command for a key. */
	s = opened("{\"timeout\":1,\"sigv4\":{\"region\":\"r\",\"service\":\"s\",\"command\":[\"sleep\",\"20\"]}}");
	assert_int_equal(sigv4_sign(s, &r, &out, &err), -1);
	assert_non_null(strstr(err.message, "timed out"));
	sigv4_close(s);
	assert_null(sigv4_open(span_of("{\"sigv4\":{\"region\":\"r\"}}", 24), &err));
	assert_int_equal(err.code, ERROR_DEFINITION);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suite_of_aws),
		cmocka_unit_test(one_request_written_in_ways),
		cmocka_unit_test(paths_are_encoded_again),
		cmocka_unit_test(headers_of_a_request),
		cmocka_unit_test(keys_of_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
