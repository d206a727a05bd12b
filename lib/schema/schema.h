/*
 * JSON Schema, drafts 2020-12 and 7: checks tool arguments and results, answers of
 * models, and lines of files. "$schema" at the root of a document (or of a part with an
 * "$id" of its own) says which draft it is written in; without it 2020-12. Any other
 * dialect is refused by name.
 *
 * References go anywhere within the document, and to the meta-schemas of the two drafts,
 * which are built in; nothing is ever fetched. A keyword that is not known says nothing,
 * as the specification has it; but where a schema is AWF's own to check, a typo of one
 * that is would leave something unchecked, so what looks like a typo is refused there
 * (SCHEMA_TYPOS). The keywords stand in one table (schema.c) and in awf-tool(5).
 *
 * Numbers are compared exactly as far as jansson holds them: integers of 64 bits,
 * all others as the nearest double, of which the shortest decimal is meant (0.1 is
 * 1/10). A check takes bounded time and depth, whatever the schema.
 */
#ifndef AWF_SCHEMA_SCHEMA_H
#define AWF_SCHEMA_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

struct schema;

enum {
	SCHEMA_TYPOS = 1,   /* refuse keywords that are nearly those of the table */
	SCHEMA_FORMATS = 2, /* "format" is checked, where the format is known */
};

/* Compiles. ERROR_DEFINITION with place and the JSON pointer of what is wrong.
 * Keeps a reference to the document. options: of the above, or 0. */
struct schema *schema_compile(json_t *document, unsigned options, const char *place,
    struct error *err);
/* 0 if valid; else -1, and why (when not NULL) holds one line: the pointer of the
 * offending value, what is wrong, and what was expected. */
int schema_check(const struct schema *schema, const json_t *instance, struct buffer *why);
/* The same of a value's bytes; what is no JSON, or no JSON that jansson takes, is told
 * as "not JSON: …". */
int schema_check_bytes(const struct schema *schema, const char *bytes, size_t len,
    struct buffer *why);
/* Fills in the properties that a value lacks, the schema requires and has a default for, in
 * objects within it too. Whether there were any: then out, which is empty before, is the
 * value with them, its own bytes otherwise. text: what the schema was parsed from. */
bool schema_fill(const struct schema *schema, struct span text, struct span value,
    struct buffer *out);
void schema_free(struct schema *schema);

#endif
