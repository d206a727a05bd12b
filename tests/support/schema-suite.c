/*
 * Runs the published JSON Schema Test Suite (json-schema-org/JSON-Schema-Test-Suite)
 * against lib/schema/schema: schema-suite PATH, where PATH/tests/draft7 and
 * PATH/tests/draft2020-12 are. A line for each file, required ones first; the tests that
 * fail by name. Those that need a document from elsewhere (the suite's own server,
 * http://localhost:1234) are not run, and listed. Exit status 1 if a required test fails.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "json/value.h"
#include "schema/schema.h"

#define SERVER "http://localhost:1234/"

struct count {
	int passed, failed, apart;
};

static const struct {
	const char *name, *schema;
} drafts[] = {
	{ "draft2020-12", "https://json-schema.org/draft/2020-12/schema" },
	{ "draft7", "http://json-schema.org/draft-07/schema#" },
};

static const struct {
	const char *name, *files;
	unsigned options;
} parts[] = {
	{ "required", "*.json", 0 },
	{ "optional", "optional/*.json", 0 },
	{ "formats", "optional/format/*.json", SCHEMA_FORMATS },
};

struct run {
	const char *file; /* below PATH/tests */
	const char *draft;
	unsigned options;
	struct count count;
};

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text == NULL ? "?" : text;
}

static bool
needs_server(const json_t *schema)
{
	struct buffer text = BUFFER_INIT;
	bool found;

	value_write(schema, &text);
	found = strstr(buffer_string(&text), SERVER) != NULL;
	buffer_free(&text);
	return found;
}

static void
run_tests(struct run *run, const json_t *group, const struct schema *schema)
{
	const json_t *tests = json_object_get(group, "tests"), *test;
	bool valid;

	for (size_t i = 0; i < json_array_size(tests); i++) {
		test = json_array_get(tests, i);
		valid = schema_check(schema, json_object_get(test, "data"), NULL) == 0;
		if (valid == json_is_true(json_object_get(test, "valid"))) {
			run->count.passed++;
			continue;
		}
		run->count.failed++;
		printf("FAILED %s: %s: %s: it is %s\n", run->file, text_of(group, "description"),
		    text_of(test, "description"), valid ? "valid" : "invalid");
	}
}

static void
run_group(struct run *run, json_t *group)
{
	json_t *document = json_object_get(group, "schema");
	int tests = (int)json_array_size(json_object_get(group, "tests"));
	struct error err = ERROR_INIT;
	struct schema *schema;

	if (json_is_object(document) && json_object_get(document, "$schema") == NULL)
		json_object_set_new(document, "$schema", json_string(run->draft));
	schema = schema_compile(document, run->options, run->file, &err);
	if (schema != NULL) {
		run_tests(run, group, schema);
	} else if (needs_server(document)) {
		run->count.apart += tests;
		printf("not run %s: %s: %d tests\n", run->file, text_of(group, "description"), tests);
	} else {
		run->count.failed += tests;
		printf("FAILED %s: %s: %s\n", run->file, text_of(group, "description"), err.message);
	}
	schema_free(schema);
}

static void
run_file(struct run *run, const char *path)
{
	struct error err = ERROR_INIT;
	json_t *groups = value_load(path, ERROR_DEFINITION, &err);

	if (groups == NULL) {
		run->count.failed++;
		printf("FAILED %s: %s\n", run->file, err.message);
	}
	for (size_t i = 0; i < json_array_size(groups); i++)
		run_group(run, json_array_get(groups, i));
	json_decref(groups);
}

static struct count
run_part(const char *suite, size_t draft, size_t part)
{
	char *root = memory_format("%s/tests/", suite);
	char *pattern = memory_format("%s%s/%s", root, drafts[draft].name, parts[part].files);
	struct count sum = { 0, 0, 0 };
	glob_t found;

	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			struct run run = { found.gl_pathv[i] + strlen(root), drafts[draft].schema,
				parts[part].options, { 0, 0, 0 } };

			run_file(&run, found.gl_pathv[i]);
			printf("%5d of %-5d %s\n", run.count.passed,
			    run.count.passed + run.count.failed, run.file);
			sum.passed += run.count.passed;
			sum.failed += run.count.failed;
			sum.apart += run.count.apart;
		}
		globfree(&found);
	}
	free(pattern);
	free(root);
	return sum;
}

int
main(int argc, char **argv)
{
	struct count counts[2][3];
	int status = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: schema-suite PATH\n");
		return 2;
	}
	for (size_t p = 0; p < 3; p++)
		for (size_t d = 0; d < 2; d++)
			counts[d][p] = run_part(argv[1], d, p);
	for (size_t d = 0; d < 2; d++)
		for (size_t p = 0; p < 3; p++) {
			const struct count *c = &counts[d][p];
			int all = c->passed + c->failed;

			printf("%s, %s: %d of %d pass (%.1f %%), %d not run\n", drafts[d].name,
			    parts[p].name, c->passed, all, all == 0 ? 0.0 : 100.0 * c->passed / all,
			    c->apart);
			if (p == 0 && (c->failed > 0 || all == 0))
				status = 1;
		}
	return status;
}
