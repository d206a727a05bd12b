/*
 * Documents: compiles their nodes, registers names, and resolves references. Nodes are compiled
 * from a list, without recursion, so no document can overflow the stack. A URI is resolved against
 * that of the enclosing resource and looked up only among the loaded documents; nothing is fetched.
 */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/value.h"
#include "schema/schema.h"
#include "schema/schema_rule.h"
#include "schema/uri.h"

#define KEYWORD_LIMIT 128
#define REFERENCE_LIMIT 1000 /* longest chain of references */

extern const char draft_07_schema[], draft_2020_12_schema[];

/* Known values of "$schema", and the beginnings of the URIs of their meta-schemas, which are built
 * in. */
static const struct dialect {
	unsigned draft;
	const char *uri, *beginning, *text;
} dialects[] = {
	{ DRAFT_2020, "https://json-schema.org/draft/2020-12/schema",
	  "https://json-schema.org/draft/2020-12/", draft_2020_12_schema },
	{ DRAFT_7, "http://json-schema.org/draft-07/schema",
	  "http://json-schema.org/draft-07/", draft_07_schema },
};

#define DIALECTS (sizeof dialects / sizeof *dialects)

static int
refuse_member(struct compiler *c, const struct node *n, const char *key, const char *message,
    const char *text)
{
	struct keyword keyword = { .name = key };
	struct rule r = { .keyword = &keyword, .node = n };

	return rule_refuse(c, &r, message, text);
}

/* Sets *draft to the draft in a node's "$schema"; unchanged without one. */
static int
read_draft(struct compiler *c, const struct node *n, unsigned *draft)
{
	const json_t *value = json_object_get(n->document, "$schema");
	const char *uri = json_string_value(value);
	size_t len;

	if (value == NULL)
		return 0;
	for (size_t i = 0; uri != NULL && i < DIALECTS; i++) {
		len = strlen(dialects[i].uri);
		if (strncmp(uri, dialects[i].uri, len) == 0 &&
		    (uri[len] == '\0' || strcmp(uri + len, "#") == 0)) {
			*draft = dialects[i].draft;
			return 0;
		}
	}
	return refuse_member(c, n, "$schema", "'%s' is not supported (known are "
	    "https://json-schema.org/draft/2020-12/schema and "
	    "http://json-schema.org/draft-07/schema#)", uri == NULL ? "" : uri);
}

static struct resource *
find_resource(const struct schema *s, const char *uri)
{
	struct resource *resource = s->resources;

	while (resource != NULL && strcmp(resource->uri, uri) != 0)
		resource = resource->next;
	return resource;
}

/* Takes ownership of uri. */
static struct resource *
add_resource(struct schema *s, char *uri, unsigned draft, struct node *root)
{
	struct resource *resource = memory_zero(1, sizeof *resource);

	INVARIANT(uri != NULL && (draft == DRAFT_7 || draft == DRAFT_2020));
	INVARIANT(*uri == '\0' || find_resource(s, uri) == NULL);
	*resource = (struct resource){ .uri = uri, .draft = draft, .root = root,
		.next = s->resources };
	s->resources = resource;
	return resource;
}

struct node *
resource_anchor(const struct resource *resource, const char *name, bool dynamic)
{
	for (size_t i = 0; i < resource->anchor_count; i++)
		if ((resource->anchors[i].dynamic || !dynamic) &&
		    strcmp(resource->anchors[i].name, name) == 0)
			return resource->anchors[i].node;
	return NULL;
}

/* Takes ownership of name. */
static int
add_anchor(struct compiler *c, struct node *n, const char *key, char *name, bool dynamic)
{
	struct resource *resource = n->resource;

	if (resource_anchor(resource, name, false) != NULL) {
		refuse_member(c, n, key, "'%s' is there twice", name);
		free(name);
		return -1;
	}
	resource->anchors = memory_array(resource->anchors, resource->anchor_count + 1,
	    sizeof *resource->anchors);
	resource->anchors[resource->anchor_count++] = (struct anchor){ name, dynamic, n };
	return 0;
}

/* Makes a node with an "$id" the root of a resource, and registers its anchors. In draft 7 the
 * fragment of an "$id" is an anchor, and an "$id" beside "$ref" is ignored. */
static int
schema_identify_resource(struct compiler *c, struct node *n)
{
	static const char *const keys[] = { "$anchor", "$dynamicAnchor" };
	const char *id = json_string_value(json_object_get(n->document, "$id"));
	bool old = n->resource->draft == DRAFT_7;
	unsigned draft = n->resource->draft;
	char *fragment, *uri;

	if (id != NULL && !(old && json_object_get(n->document, "$ref") != NULL)) {
		fragment = uri_fragment(id);
		if (*fragment != '\0' && !old) {
			free(fragment);
			return refuse_member(c, n, "$id", "'%s' has a fragment (\"$anchor\" makes one)",
			    id);
		}
		uri = *id == '#' || *id == '\0' ? NULL : uri_resolve(n->resource->uri, id);
		if (uri != NULL && n == n->resource->root) {
			free(n->resource->uri);
			n->resource->uri = uri;
		} else if (uri != NULL) {
			if (read_draft(c, n, &draft) != 0 || (find_resource(c->schema, uri) != NULL &&
			    refuse_member(c, n, "$id", "'%s' is there twice", uri) != 0)) {
				free(uri);
				free(fragment);
				return -1;
			}
			n->resource = add_resource(c->schema, uri, draft, n);
		}
		if (*fragment == '\0')
			free(fragment);
		else if (add_anchor(c, n, "$id", fragment, false) != 0)
			return -1;
	}
	for (int i = 0; i < 2; i++) {
		const char *name = json_string_value(json_object_get(n->document, keys[i]));

		if (n->resource->draft == DRAFT_2020 && name != NULL &&
		    add_anchor(c, n, keys[i], memory_text(name), i == 1) != 0)
			return -1;
	}
	return 0;
}

/* A keyword unknown to the draft is ignored; but with SCHEMA_TYPOS one that resembles another
 * keyword, or belongs to the other draft, is refused. */
static int
pass_unknown(struct compiler *c, const struct node *n, const char *name,
    const struct keyword *other)
{
	const char *names[KEYWORD_LIMIT] = { NULL }, *meant;
	struct keyword unknown = { .name = name };
	struct rule r = { .keyword = &unknown, .node = n };

	if (!(c->options & SCHEMA_TYPOS) || n->foreign)
		return 0;
	if (other != NULL && other->compile != NULL)
		return rule_refuse(c, &r, "draft 7 has no such keyword, and \"$schema\" says draft 7");
	for (size_t i = 0; i + 1 < KEYWORD_LIMIT && c->keywords[i].name != NULL; i++)
		names[i] = c->keywords[i].name;
	meant = other != NULL ? NULL : text_suggest(name, names);
	return meant == NULL ? 0 : rule_refuse(c, &r, "unknown keyword (did you mean '%s'?)", meant);
}

/* Compiles the keywords of a node: those with the flag KEYWORD_LAST if flags has it, else the
 * others. */
static int
compile_rules(struct compiler *c, struct node *n, unsigned flags)
{
	/* In draft 7, keywords beside "$ref" are ignored, except "definitions", which may contain
	 * the target. */
	bool alone = n->resource->draft == DRAFT_7 && json_object_get(n->document, "$ref") != NULL;
	const char *name;
	json_t *value;

	json_object_foreach(n->document, name, value) {
		const struct keyword *keyword = c->keywords;
		struct rule *r;

		while (keyword->name != NULL && strcmp(keyword->name, name) != 0)
			keyword++;
		if ((alone && strcmp(name, "$ref") != 0 && strcmp(name, "definitions") != 0 &&
		    strcmp(name, "$defs") != 0) ||
		    (keyword->name != NULL && (keyword->flags & KEYWORD_LAST) != flags))
			continue;
		if ((keyword->drafts & n->resource->draft) == 0) {
			if (pass_unknown(c, n, name, keyword->name == NULL ? NULL : keyword) != 0)
				return -1;
			continue;
		}
		r = &n->rules[n->rule_count++];
		*r = (struct rule){ .keyword = keyword, .node = n, .value = value };
		n->counts |= (keyword->flags & KEYWORD_LAST) != 0;
		c->schema->defaults |= strcmp(name, "default") == 0;
		if (keyword->compile != NULL && keyword->compile(c, r) != 0)
			return -1;
	}
	return 0;
}

int
nodes_compile(struct compiler *c, struct node *n)
{
	for (; n != NULL; n = n->next) {
		if (schema_identify_resource(c, n) != 0)
			return -1;
		n->rules = memory_zero(json_object_size(n->document) + 1, sizeof *n->rules);
		if (compile_rules(c, n, 0) != 0 || compile_rules(c, n, KEYWORD_LAST) != 0)
			return -1;
	}
	return 0;
}

int
document_begin(struct compiler *c, json_t *document)
{
	struct node *n;

	json_array_append_new(c->schema->documents, document);
	n = node_make(c, document, memory_text(""), NULL);
	if (n == NULL)
		return -1;
	n->resource = add_resource(c->schema, memory_text(""), DRAFT_2020, n);
	return read_draft(c, n, &n->resource->draft);
}

/* The resource with a URI; a built-in meta-schema is loaded when it is first used. */
static struct resource *
referred_resource(struct compiler *c, const struct rule *r)
{
	char *uri = uri_resolve(r->node->resource->uri, json_string_value(r->value));
	struct resource *resource = find_resource(c->schema, uri);
	const struct dialect *d = dialects;
	struct node *last = c->schema->last;

	while (d < dialects + DIALECTS && strncmp(uri, d->beginning, strlen(d->beginning)) != 0)
		d++;
	if (resource == NULL && d < dialects + DIALECTS && find_resource(c->schema, d->uri) == NULL) {
		json_t *document = value_parse(d->text, strlen(d->text), d->uri, ERROR_DEFINITION,
		    c->err);
		bool failed;

		c->foreign = true;
		failed = document == NULL || document_begin(c, document) != 0 ||
		    nodes_compile(c, last->next) != 0;
		c->foreign = false;
		if (failed) {
			free(uri);
			return NULL;
		}
		resource = find_resource(c->schema, uri);
	}
	if (resource == NULL)
		rule_refuse(c, r, "'%s' is not in this schema, and nothing is fetched", uri);
	free(uri);
	return resource;
}

/* The node at a JSON pointer in a resource. Makes one if no keyword has made one there. */
static struct node *
pointed_node(struct compiler *c, const struct rule *r, struct resource *resource,
    const char *pointer)
{
	char *whole = memory_format("%s%s", resource->root->pointer, pointer);
	json_t *document = resource->root->document;
	struct node *n;

	for (const char *at = pointer; document != NULL && *at == '/';) {
		char *part = value_pointer_part(&at);
		size_t index;

		if (!json_is_array(document))
			document = json_object_get(document, part);
		else if (value_pointer_index(part, &index))
			document = json_array_get(document, index);
		else
			document = NULL;
		free(part);
		/* The schema there may have an "$id", and so be the root of another resource. */
		for (struct resource *o = c->schema->resources; json_is_object(document) && o != NULL;
		    o = o->next)
			if (o->root->document == document) {
				resource = o;
				break;
			}
	}
	if (document == NULL) {
		rule_refuse(c, r, "'%s' leads nowhere", json_string_value(r->value));
		free(whole);
		return NULL;
	}
	for (n = c->schema->first; n != NULL; n = n->next)
		if (n->document == document) {
			free(whole);
			return n;
		}
	n = node_make(c, document, whole, resource);
	return n == NULL || nodes_compile(c, n) != 0 ? NULL : n;
}

int
references_resolve(struct compiler *c)
{
	for (struct node *n = c->schema->first; n != NULL; n = n->next)
		for (size_t i = 0; i < n->rule_count; i++) {
			struct rule *r = &n->rules[i];
			struct resource *resource;
			struct node *target;
			char *fragment;

			if (r->keyword->compile != rule_compile_reference)
				continue;
			resource = referred_resource(c, r);
			if (resource == NULL)
				return -1;
			fragment = uri_fragment(json_string_value(r->value));
			if (*fragment == '\0' || *fragment == '/') {
				target = pointed_node(c, r, resource, fragment);
			} else {
				target = resource_anchor(resource, fragment, false);
				if (target == NULL)
					rule_refuse(c, r, "'%s' leads nowhere",
					    json_string_value(r->value));
				else if (resource_anchor(resource, fragment, true) == target)
					r->anchor = strchr(json_string_value(r->value), '#') + 1;
			}
			free(fragment);
			if (target == NULL)
				return -1;
			r->members = memory_zero(1, sizeof *r->members);
			r->members[0].node = target;
			r->member_count = 1;
		}
	return 0;
}

/* Finds cycles: follows the subschemas that apply to the same value; if it comes to a node from
 * which it has not returned yet, there is a cycle. The recursion is as deep as the longest chain of
 * such subschemas. */
static int
find_circle(struct compiler *c, struct node *n, unsigned depth)
{
	if (n->visit == LEFT)
		return 0;
	if (n->visit == ENTERED || depth > REFERENCE_LIMIT)
		return error_set(c->err, ERROR_DEFINITION, c->place, n->visit == ENTERED
		    ? "%s: refers to itself without end" : "%s: refers on too often",
		    *n->pointer == '\0' ? "/" : n->pointer);
	n->visit = ENTERED;
	for (size_t i = 0; i < n->rule_count; i++)
		for (size_t j = 0; (n->rules[i].keyword->flags & KEYWORD_SAME) != 0 &&
		    j < n->rules[i].member_count; j++)
			if (find_circle(c, n->rules[i].members[j].node, depth + 1) != 0)
				return -1;
	n->visit = LEFT;
	return 0;
}

int
circles_refuse(struct compiler *c)
{
	for (struct node *n = c->schema->first; n != NULL; n = n->next)
		if (find_circle(c, n, 0) != 0)
			return -1;
	return 0;
}

void
resources_free(struct schema *s)
{
	struct resource *resource, *next;

	for (resource = s->resources; resource != NULL; resource = next) {
		next = resource->next;
		for (size_t i = 0; i < resource->anchor_count; i++)
			free(resource->anchors[i].name);
		free(resource->anchors);
		free(resource->uri);
		free(resource);
	}
}
