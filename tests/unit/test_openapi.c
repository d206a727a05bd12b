/* share/openapi.json and the table of routes tell the same: each that one has the other has, with
 * the same parameters, role, and type of body. */
#include "unit.h"

#include "base/list.h"
#include "base/memory.h"
#include "io/file.h"
#include "json/scan.h"
#include "projection/projection.h"
#include "serve/request.h"
#include "serve/routes.h"

#define DOCUMENT "share/openapi.json"

static struct buffer text;
static struct span document;

static int
load(void **state)
{
	size_t bad;

	(void)state;
	assert_int_equal(file_load(DOCUMENT, 1 << 20, &text, NULL), 0);
	assert_null(scan_check(text.data, text.len, &bad));
	document = span_of(text.data, text.len);
	return 0;
}

static int
unload(void **state)
{
	(void)state;
	buffer_free(&text);
	return 0;
}

/* Whether a path is the pattern of a route: a name in braces is an asterisk there. */
static bool
is_pattern(struct span key, const char *pattern)
{
	char *path = span_text(key), *at = path, *to = path;
	bool same;

	while (*at != '\0') {
		bool brace = *at == '{';

		*to++ = brace ? '*' : *at;
		at += brace ? strcspn(at, "}") + 1 : 1;
	}
	*to = '\0';
	same = *path == '/' && strcmp(path + 1, pattern) == 0;
	free(path);
	return same;
}

/* The method of a route as the document has it. */
static char *
method_of(const struct route *route)
{
	char *method = memory_text(route->method);

	for (char *at = method; *at != '\0'; at++)
		*at = (char)(*at - 'A' + 'a');
	return method;
}

static struct span
operation_of(const struct route *route, struct span *path)
{
	struct span found = SPAN_NONE;
	char *method = method_of(route);

	*path = SPAN_NONE;
	for (struct span_walk walk = span_walk(span_member(document, "paths")); span_next(&walk);)
		if (is_pattern(walk.key, route->pattern)) {
			*path = walk.value;
			found = span_member(walk.value, method);
		}
	free(method);
	return found;
}

static struct span
resolved(struct span value)
{
	char *reference = span_text(span_member(value, "$ref"));

	if (reference != NULL)
		value = pointer_find(document, reference + 1);
	free(reference);
	return value;
}

/* The names of parameters that stand in the query, or in the path. */
static void
add_parameters(char ***names, struct span list, const char *where)
{
	if (span_type(list) != 'a')
		return;
	for (struct span_walk walk = span_walk(list); span_next(&walk);) {
		struct span parameter = resolved(walk.value);

		assert_int_equal(span_type(parameter), 'o');
		if (span_is(span_member(parameter, "in"), where))
			list_take(names, span_text(span_member(parameter, "name")));
	}
}

static void
test_routes(void **state)
{
	static const struct { unsigned may; const char *role; } roles[] = {
		{ MAY_READ, "read" }, { MAY_DECIDE, "decide" }, { MAY_INGEST, "ingest" },
		{ MAY_START, "start" },
	};

	(void)state;
	for (const struct route *route = routes; route->method != NULL; route++) {
		struct span path, operation = operation_of(route, &path), security, role;
		bool is_signed = false, is_own = false;
		char **have = NULL, **want = list_split(route->parameters, ' '), **stars = NULL;
		size_t braces = 0;

		if (operation.at == NULL)
			fail_msg(DOCUMENT " does not have %s /%s", route->method, route->pattern);
		add_parameters(&have, span_member(operation, "parameters"), "query");
		for (char **name = want; name != NULL && *name != NULL; name++)
			if (!list_has(have, *name))
				fail_msg("%s /%s: parameter %s", route->method, route->pattern, *name);
		assert_int_equal(list_count(have), list_count(want));
		add_parameters(&stars, span_member(path, "parameters"), "path");
		for (const char *at = route->pattern; *at != '\0'; at++)
			braces += *at == '*';
		assert_int_equal(list_count(stars), braces);

		security = span_member(operation, "security");
		role = span_element(span_member(span_element(security, 0), "token"), 0);
		for (size_t i = 0; i < COUNT(roles); i++)
			if (span_is(role, roles[i].role) != ((route->may & MAY_ALL) == roles[i].may))
				fail_msg("%s /%s: role %s", route->method, route->pattern, roles[i].role);
		for (struct span_walk walk = span_walk(security); span_next(&walk);) {
			is_signed |= span_member(walk.value, "signature").at != NULL;
			is_own |= span_is(span_element(span_member(walk.value, "token"), 0), "start");
		}
		assert_int_equal(is_signed, (route->may & MAY_SIGNED) != 0);
		if ((route->may & MAY_START) == 0)
			assert_int_equal(is_own, (route->may & MAY_OWN) != 0);

		if (route->type != NULL) {
			struct span content = span_path(operation, "requestBody", "content", NULL);

			if (span_member(content, route->type).at == NULL)
				fail_msg("%s /%s: body %s", route->method, route->pattern, route->type);
		}
		list_free(have);
		list_free(want);
		list_free(stars);
	}
}

/* What the document has and the server does not. */
static void
test_paths(void **state)
{
	static const char *const methods[] = { "get", "put", "post", "delete", "patch", NULL };

	(void)state;
	for (struct span_walk path = span_walk(span_member(document, "paths")); span_next(&path);)
		for (struct span_walk walk = span_walk(path.value); span_next(&walk);) {
			const char *method = span_one_of(walk.key, methods);
			bool found = false;

			for (const struct route *route = routes; method != NULL && route->method != NULL; route++) {
				char *own = method_of(route);

				found |= strcmp(own, method) == 0 && is_pattern(path.key, route->pattern);
				free(own);
			}
			if (method != NULL && !found)
				fail_msg("the server has no %s %.*s", method, (int)path.key.len, path.key.at);
		}
}

/* What is listed there and here. */
static void
test_words(void **state)
{
	struct span as = span_path(document, "components", "parameters", "as", "schema", "enum", NULL);
	size_t count = 0;

	(void)state;
	assert_true(span_is(span_path(document, "info", "version", NULL), "@AWF_VERSION@"));
	for (const char *const *name = projection_names(); *name != NULL; name++) {
		bool found = false, lines = projection_find(*name, "as", NULL)->document == NULL;

		for (struct span_walk walk = span_walk(as); span_next(&walk);)
			found |= span_is(walk.value, *name);
		assert_int_equal(found, lines);
		count += lines;
	}
	for (struct span_walk walk = span_walk(as); span_next(&walk);)
		count--;
	assert_int_equal(count, 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_words)
	};

	return cmocka_run_group_tests(tests, load, unload);
}
