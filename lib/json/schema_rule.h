/*
 * Inside of JSON Schema: what a schema is compiled to. schema_compile.c makes nodes
 * and rules of a document, schema.c checks values against them.
 *
 * - Every subschema is a node; a node is found again by its place in the document,
 *   so a reference to it, also to itself, is one pointer.
 * - Each keyword of a node is a rule, in the order of the document.
 */
#ifndef AWF_JSON_SCHEMA_RULE_H
#define AWF_JSON_SCHEMA_RULE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/pattern.h"

/* A subschema that a keyword applies, by name or by pattern where it has one. */
struct member {
	const char *name;
	struct pattern *pattern;
	struct node *node;
};

struct rule {
	const struct keyword *keyword;
	const struct node *node;  /* whose rule it is */
	json_t *value;
	struct member *members;
	size_t member_count;
	size_t count;             /* minLength … */
	struct pattern *pattern;
};

struct node {
	json_t *document;
	char *pointer;            /* of the node in the document */
	struct rule *rules;
	size_t rule_count;
	enum { UNSEEN, ENTERED, LEFT } visit; /* of the search for circles */
	struct node *next;
};

struct schema {
	json_t *document;
	struct node *first, *last;
	size_t node_count;
};

struct compiler {
	struct schema *schema;
	const char *place;
	struct error *err;
};

struct check;

struct keyword {
	const char *name;
	char type;                /* of the values it speaks of ("anos"), 0: of any */
	bool same_value;          /* its subschemas apply to the value itself */
	int (*compile)(struct compiler *c, struct rule *r);
	int (*check)(struct check *c, const struct rule *r, json_t *value);
};

/* The table of all keywords (schema.c); ends with an entry without name. */
extern const struct keyword schema_keywords[];

/* Compile functions of the table: 0, or -1 with the error. */
int rule_compile_schema(struct compiler *c, struct rule *r);
int rule_compile_schemas(struct compiler *c, struct rule *r);
int rule_compile_items(struct compiler *c, struct rule *r);
int rule_compile_schema_map(struct compiler *c, struct rule *r);
int rule_compile_pattern_map(struct compiler *c, struct rule *r);
int rule_compile_pattern(struct compiler *c, struct rule *r);
int rule_compile_count(struct compiler *c, struct rule *r);
int rule_compile_number(struct compiler *c, struct rule *r);
int rule_compile_divisor(struct compiler *c, struct rule *r);
int rule_compile_flag(struct compiler *c, struct rule *r);
int rule_compile_text(struct compiler *c, struct rule *r);
int rule_compile_names(struct compiler *c, struct rule *r);
int rule_compile_name_map(struct compiler *c, struct rule *r);
int rule_compile_type(struct compiler *c, struct rule *r);
int rule_compile_enum(struct compiler *c, struct rule *r);
int rule_compile_id(struct compiler *c, struct rule *r);
int rule_compile_reference(struct compiler *c, struct rule *r);

/* Whether it is the name of a type ("null", "integer" …). */
bool schema_type_known(const json_t *name);
/* Appends "/" and a key to a JSON pointer (RFC 6901). */
void schema_pointer_key(struct buffer *pointer, const char *key);

#endif
