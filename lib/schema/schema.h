/*
 * JSON Schema, drafts 2020-12 and 7: checks tool arguments and results, answers of models, and
 * lines of files. "$schema" at the root of a document (or of a part with an "$id" of its own) names
 * its draft; the default is 2020-12. Any other dialect is refused by name.
 *
 * References may point anywhere within the document, and to the meta-schemas of the two drafts,
 * which are built in; nothing is ever fetched. Unknown keywords are ignored, as the specification
 * demands. But where AWF itself relies on the check, a misspelt keyword would leave something
 * unchecked, so probable misspellings can be refused (SCHEMA_TYPOS). The keywords are in one table
 * (schema.c) and in awf-tool(5).
 *
 * Numbers are compared exactly as far as jansson represents them: integers of 64 bits, all others
 * as the nearest double, which is treated as its shortest decimal form (0.1 is exactly 1/10). A
 * check takes limited time and depth, whatever the schema.
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
	SCHEMA_TYPOS = 1,   /* refuse keywords that resemble known ones */
	SCHEMA_FORMATS = 2, /* check "format", for the formats that are known */
};

/* Compiles. ERROR_DEFINITION with place and the JSON pointer of what is wrong. Keeps a reference to
 * the document. options: flags from above, or 0. */
struct schema *schema_compile(json_t *document, unsigned options, const char *place,
    struct error *err);
/* 0 if valid, else -1; then why (if not NULL) gets one line: the JSON pointer of the wrong value,
 * what is wrong, and what was expected. */
int schema_check(const struct schema *schema, const json_t *instance, struct buffer *why);
/* The same for a value as bytes. If they are not JSON that jansson accepts, the line is "not JSON:
 * …". */
int schema_check_bytes(const struct schema *schema, const char *bytes, size_t len,
    struct buffer *why);
/* Adds default values: for each property that the value, or an object inside it, lacks, and that
 * the schema requires and has a default for. Returns whether there were any; then out, which must
 * be empty, gets the value with them, otherwise byte for byte the same. text: the text from which
 * the schema was parsed. */
bool schema_fill(const struct schema *schema, struct span text, struct span value,
    struct buffer *out);
void schema_free(struct schema *schema);

#endif
