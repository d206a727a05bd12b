/* schema/uri: the examples of RFC 3986, section 5.4, and names that are no URLs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/uri.h"

static const struct {
	const char *base, *reference, *target;
} cases[] = {
#define BASE "http://a/b/c/d;p?q"
	{ BASE, "g:h", "g:h" },
	{ BASE, "g", "http://a/b/c/g" },
	{ BASE, "./g", "http://a/b/c/g" },
	{ BASE, "g/", "http://a/b/c/g/" },
	{ BASE, "/g", "http://a/g" },
	{ BASE, "//g", "http://g" },
	{ BASE, "?y", "http://a/b/c/d;p?y" },
	{ BASE, "g?y", "http://a/b/c/g?y" },
	{ BASE, "#s", "http://a/b/c/d;p?q" },
	{ BASE, "g#s", "http://a/b/c/g" },
	{ BASE, ";x", "http://a/b/c/;x" },
	{ BASE, "", "http://a/b/c/d;p?q" },
	{ BASE, ".", "http://a/b/c/" },
	{ BASE, "./", "http://a/b/c/" },
	{ BASE, "..", "http://a/b/" },
	{ BASE, "../g", "http://a/b/g" },
	{ BASE, "../..", "http://a/" },
	{ BASE, "../../g", "http://a/g" },
	{ BASE, "../../../g", "http://a/g" },
	{ BASE, "/./g", "http://a/g" },
	{ BASE, "/../g", "http://a/g" },
	{ BASE, "g.", "http://a/b/c/g." },
	{ BASE, "..g", "http://a/b/c/..g" },
	{ BASE, "./g/.", "http://a/b/c/g/" },
	{ BASE, "g/../h", "http://a/b/c/h" },
	{ BASE, "g;x=1/../y", "http://a/b/c/y" },
	{ BASE, "g?y/../x", "http://a/b/c/g?y/../x" },
	{ "http://a", "g", "http://a/g" },
	{ "", "g/h.json#x", "g/h.json" },
	{ "", "#x", "" },
	{ "g/h.json", "i.json", "g/i.json" },
	{ "urn:uuid:1234", "#/x", "urn:uuid:1234" },
	{ "urn:example:a?=b&c=d", "#", "urn:example:a?=b&c=d" },
	{ "file:///folder/file.json", "other.json", "file:///folder/other.json" },
	{ "http://a/b", "1:2", "http://a/1:2" },
};

static const struct {
	const char *reference, *fragment;
} fragments[] = {
	{ "a", "" },
	{ "a#", "" },
	{ "a#b", "b" },
	{ "#/a%20b/%25/%C3%A9", "/a b/%/\xc3\xa9" },
	{ "#%4", "%4" },
	{ "#%zz%", "%zz%" },
	{ "#%\x10\x11%4\x19", "%\x10\x11%4\x19" },
	{ "#%c3%A9%4A", "\xc3\xa9J" },
};

static void
references_are_resolved(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *target = uri_resolve(cases[i].base, cases[i].reference);

		if (strcmp(target, cases[i].target) != 0)
			fail_msg("%s at %s: %s", cases[i].reference, cases[i].base, target);
		free(target);
	}
}

static void
fragments_are_decoded(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fragments / sizeof *fragments; i++) {
		char *fragment = uri_fragment(fragments[i].reference);

		assert_string_equal(fragment, fragments[i].fragment);
		free(fragment);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_are_resolved),
		cmocka_unit_test(fragments_are_decoded),
	};

	return cmocka_run_group_tests_name("uri", tests, NULL, NULL);
}
