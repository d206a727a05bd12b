/*
 * The internals of JSON Schema: what a schema is compiled to. schema_document.c makes nodes of
 * documents and links them; schema_compile.c compiles the value of each keyword. schema_check.c
 * checks values against nodes, with the keywords about a single value in schema_value.c and those
 * that apply subschemas in schema_apply.c. schema.c has the table of keywords, and is on top of all
 * of them; schema_default.c fills in missing values.
 *
 * - Every subschema is a node; a node is found by its place in the document, so a
 *   reference to it, also from inside it, is one pointer.
 * - Each keyword of a node is a rule, in the order of the document; but "unevaluatedProperties" and
 *   "unevaluatedItems", which depend on other keywords, come last.
 * - A document, and each part of it with an "$id", is a resource: references below it
 *   are resolved against its URI.
 */
#ifndef AWF_SCHEMA_SCHEMA_RULE_H
#define AWF_SCHEMA_SCHEMA_RULE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "schema/pattern.h"
#include "schema/schema_format.h"

enum { DRAFT_7 = 1, DRAFT_2020 = 2, DRAFTS = DRAFT_7 | DRAFT_2020 };

struct node;

struct anchor {
	char *name;
	bool dynamic;
	struct node *node;
};

struct resource {
	char *uri;                /* without fragment; "" if the document has none */
	unsigned draft;
	struct node *root;
	struct anchor *anchors;
	size_t anchor_count;
	struct resource *next;
};

/* A subschema in a keyword's value; for some keywords it has a name or a pattern. */
struct member {
	const char *name;
	struct pattern *pattern;
	struct node *node;
};

struct rule {
	const struct keyword *keyword;
	const struct node *node;  /* the node of which this is a rule */
	json_t *value;
	struct member *members;
	size_t member_count;
	size_t count;             /* value of minLength and the like */
	struct pattern *pattern;
	const struct format *format; /* NULL: not checked */
	const char *anchor;       /* for a dynamic reference: the anchor to be looked up during a
	                             check */
};

struct node {
	json_t *document;
	char *pointer;            /* of the node, in its document */
	struct resource *resource;
	struct rule *rules;
	size_t rule_count;
	bool counts;              /* a rule of it needs to know which parts were evaluated */
	bool foreign;             /* it is in a built-in document */
	enum { UNSEEN, ENTERED, LEFT } visit; /* state of the search for cycles */
	struct node *next;
};

struct schema {
	json_t *documents;        /* the caller's document, then the built-in ones that it uses */
	struct node *first, *last;
	size_t node_count;
	bool defaults;            /* a node has a "default" */
	struct resource *resources;
};

struct compiler {
	struct schema *schema;
	const struct keyword *keywords; /* all keywords; ends with an entry without name */
	unsigned options;
	bool foreign;             /* a built-in document is being compiled */
	const char *place;
	struct error *err;
};

/* The parts of an object or array that were evaluated so far, for unevaluatedProperties and
 * unevaluatedItems. */
struct seen {
	json_t *properties;       /* an object whose keys are the evaluated properties; NULL: none
	                             yet */
	bool all_properties;
	size_t items;             /* this many items at the beginning were evaluated */
	struct buffer contained;  /* a byte for each item after these: whether it was evaluated */
};

/* The resources through which a check has come, innermost first (the dynamic scope). */
struct scope {
	const struct resource *resource;
	const struct scope *outer;
};

struct check {
	struct buffer pointer;    /* JSON pointer of the current value */
	struct buffer *why;       /* NULL: no message is needed */
	struct seen *seen;        /* NULL: not needed for the current value */
	const struct scope *scope;
	unsigned depth;
	long work;                /* steps left */
	const char *stopped;      /* which limit was reached: the result is unknown, so the check
	                             fails */
};

enum {
	KEYWORD_SAME = 1,         /* its subschemas apply to the value itself */
	KEYWORD_LAST = 2,         /* it depends on what other keywords have evaluated: compiled
	                             last */
};

struct keyword {
	const char *name;
	unsigned drafts;          /* the drafts that have the keyword */
	char type;                /* types of values that it applies to ("anos"); 0: any */
	unsigned flags;
	int (*compile)(struct compiler *c, struct rule *r);
	int (*check)(struct check *c, const struct rule *r, json_t *value);
};

/* Compile functions of the table: 0, or -1 with the error. */
int rule_compile_schema(struct compiler *c, struct rule *r);
int rule_compile_schemas(struct compiler *c, struct rule *r);
int rule_compile_items(struct compiler *c, struct rule *r);
int rule_compile_schema_map(struct compiler *c, struct rule *r);
int rule_compile_pattern_map(struct compiler *c, struct rule *r);
int rule_compile_pattern(struct compiler *c, struct rule *r);
int rule_compile_format(struct compiler *c, struct rule *r);
int rule_compile_count(struct compiler *c, struct rule *r);
int rule_compile_number(struct compiler *c, struct rule *r);
int rule_compile_divisor(struct compiler *c, struct rule *r);
int rule_compile_flag(struct compiler *c, struct rule *r);
int rule_compile_text(struct compiler *c, struct rule *r);
int rule_compile_names(struct compiler *c, struct rule *r);
int rule_compile_name_map(struct compiler *c, struct rule *r);
int rule_compile_dependencies(struct compiler *c, struct rule *r);
int rule_compile_type(struct compiler *c, struct rule *r);
int rule_compile_enum(struct compiler *c, struct rule *r);
int rule_compile_reference(struct compiler *c, struct rule *r);

/* Check functions of the table: 0, or -1 with the reason in c->why. */
int rule_check_type(struct check *c, const struct rule *r, json_t *value);
int rule_check_const(struct check *c, const struct rule *r, json_t *value);
int rule_check_enum(struct check *c, const struct rule *r, json_t *value);
int rule_check_minimum(struct check *c, const struct rule *r, json_t *value);
int rule_check_maximum(struct check *c, const struct rule *r, json_t *value);
int rule_check_above(struct check *c, const struct rule *r, json_t *value);
int rule_check_below(struct check *c, const struct rule *r, json_t *value);
int rule_check_multiple(struct check *c, const struct rule *r, json_t *value);
int rule_check_at_least(struct check *c, const struct rule *r, json_t *value);
int rule_check_at_most(struct check *c, const struct rule *r, json_t *value);
int rule_check_pattern(struct check *c, const struct rule *r, json_t *value);
int rule_check_format(struct check *c, const struct rule *r, json_t *value);
int rule_check_required(struct check *c, const struct rule *r, json_t *value);
int rule_check_dependent_required(struct check *c, const struct rule *r, json_t *value);
int rule_check_unique(struct check *c, const struct rule *r, json_t *value);
int rule_check_properties(struct check *c, const struct rule *r, json_t *value);
int rule_check_pattern_properties(struct check *c, const struct rule *r, json_t *value);
int rule_check_additional_properties(struct check *c, const struct rule *r, json_t *value);
int rule_check_unevaluated_properties(struct check *c, const struct rule *r, json_t *value);
int rule_check_property_names(struct check *c, const struct rule *r, json_t *value);
int rule_check_dependent_schemas(struct check *c, const struct rule *r, json_t *value);
int rule_check_dependencies(struct check *c, const struct rule *r, json_t *value);
int rule_check_prefix_items(struct check *c, const struct rule *r, json_t *value);
int rule_check_items(struct check *c, const struct rule *r, json_t *value);
int rule_check_additional_items(struct check *c, const struct rule *r, json_t *value);
int rule_check_unevaluated_items(struct check *c, const struct rule *r, json_t *value);
int rule_check_contains(struct check *c, const struct rule *r, json_t *value);
int rule_check_all(struct check *c, const struct rule *r, json_t *value);
int rule_check_any(struct check *c, const struct rule *r, json_t *value);
int rule_check_one(struct check *c, const struct rule *r, json_t *value);
int rule_check_not(struct check *c, const struct rule *r, json_t *value);
int rule_check_if(struct check *c, const struct rule *r, json_t *value);
int rule_check_dynamic(struct check *c, const struct rule *r, json_t *value);

/* Notes that an item was evaluated. */
void seen_item(struct seen *seen, size_t index);
/* Checks a value against a node, as part of a check. */
int check_node(struct check *c, const struct node *n, json_t *value);
/* Counts this much work: 0, or -1 if the check has been stopped. */
int check_spend(struct check *c, long work);
/* Whether a pattern matches. Also false if the limit on work is reached; then the check is
 * stopped. */
bool check_matches(struct check *c, const struct pattern *p, const char *text, size_t len);
/* Makes the message about the current value, unless there is one already. Returns -1. */
int check_fail(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "item" or "items", by the count. */
const char *check_plural(const char *unit, size_t count);
/* 'o' 'a' 's' 'n' 'b' '0' */
char schema_type_of(const json_t *value);
/* Whether it is the name of a type ("null", "integer" …). */
bool schema_type_known(const json_t *name);
/* The rule of a node for a keyword, or NULL. */
const struct rule *node_rule(const struct node *n, const char *keyword);

/* Refuses the schema because of the value of a rule's keyword. Returns -1. */
int rule_refuse(struct compiler *c, const struct rule *r, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Makes a node for a subschema and adds it to the list; takes ownership of the pointer. NULL with
 * an error if the document is not a schema. */
struct node *node_make(struct compiler *c, json_t *document, char *pointer,
    struct resource *resource);
/* Compiles all nodes from n on, including those that are added meanwhile. */
int nodes_compile(struct compiler *c, struct node *n);

/* Begins a document: determines its draft, and makes a resource for its root. */
int document_begin(struct compiler *c, json_t *document);
/* Resolves all references. */
int references_resolve(struct compiler *c);
/* Refuses a schema that refers to itself for the same value: checking it would never end. */
int circles_refuse(struct compiler *c);
/* The node with an anchor; if dynamic, only $dynamicAnchor counts. NULL if there is none. */
struct node *resource_anchor(const struct resource *resource, const char *name, bool dynamic);
void resources_free(struct schema *s);

#endif
