/*
 * Names and references. A URI is resolved against that of the resource it stands in and
 * looked up among those of the documents at hand; that is all there is, nothing is
 * fetched.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/value.h"
#include "schema/schema_rule.h"
#include "schema/uri.h"

#define REFERENCE_LIMIT 1000 /* in a row */

extern const char draft_07_schema[], draft_2020_12_schema[];

/* What "$schema" may say; and whatever begins so is built in. */
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

/* The draft that "$schema" of a node says, into *draft; as it is without one. */
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

/* Takes over the URI. */
static struct resource *
add_resource(struct schema *s, char *uri, unsigned draft, struct node *root)
{
	struct resource *resource = memory_zero(1, sizeof *resource);

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

/* Takes over the name. */
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

static int
begin_resource(struct compiler *c, struct node *n, const char *id)
{
	unsigned draft = n->resource->draft;
	char *uri = uri_resolve(n->resource->uri, id);

	if (n == n->resource->root) {
		free(n->resource->uri);
		n->resource->uri = uri;
		return 0;
	}
	if (read_draft(c, n, &draft) == 0 && (find_resource(c->schema, uri) == NULL ||
	    refuse_member(c, n, "$id", "'%s' is there twice", uri) == 0)) {
		n->resource = add_resource(c->schema, uri, draft, n);
		return 0;
	}
	free(uri);
	return -1;
}

/* In draft 7 the fragment of an "$id" is an anchor, and one beside "$ref" means nothing. */
static int
read_id(struct compiler *c, struct node *n)
{
	const char *id = json_string_value(json_object_get(n->document, "$id"));
	bool old = n->resource->draft == DRAFT_7;
	char *fragment;

	if (id == NULL || (old && json_object_get(n->document, "$ref") != NULL))
		return 0;
	fragment = uri_fragment(id);
	if (*fragment != '\0' && !old) {
		free(fragment);
		return refuse_member(c, n, "$id", "'%s' has a fragment (\"$anchor\" makes one)", id);
	}
	if (*id != '#' && *id != '\0' && begin_resource(c, n, id) != 0) {
		free(fragment);
		return -1;
	}
	if (*fragment != '\0')
		return add_anchor(c, n, "$id", fragment, false);
	free(fragment);
	return 0;
}

int
node_identify(struct compiler *c, struct node *n)
{
	static const char *const keys[] = { "$anchor", "$dynamicAnchor" };
	const char *name;

	if (read_id(c, n) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		name = json_string_value(json_object_get(n->document, keys[i]));
		if (n->resource->draft == DRAFT_2020 && name != NULL &&
		    add_anchor(c, n, keys[i], memory_text(name), i == 1) != 0)
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

/* Adds the meta-schema that the URI belongs to: 0; 1 if it is none's. */
static int
add_built_in(struct compiler *c, const char *uri)
{
	const struct dialect *d = dialects;
	struct node *last = c->schema->last;
	json_t *document;
	int result;

	while (d < dialects + DIALECTS && strncmp(uri, d->beginning, strlen(d->beginning)) != 0)
		d++;
	if (d == dialects + DIALECTS || find_resource(c->schema, d->uri) != NULL)
		return 1;
	document = value_parse(d->text, strlen(d->text), d->uri, ERROR_DEFINITION, c->err);
	if (document == NULL)
		return -1;
	c->foreign = true;
	result = document_begin(c, document) != 0 || nodes_compile(c, last->next) != 0 ? -1 : 0;
	c->foreign = false;
	return result;
}

/* One token of a JSON pointer, unescaped; *at is moved to what follows it. */
static char *
pointer_token(const char **at)
{
	struct buffer token = BUFFER_INIT;
	char c;

	buffer_text(&token, "");
	while (**at != '\0' && **at != '/') {
		c = *(*at)++;
		if (c == '~' && (**at == '0' || **at == '1'))
			c = *(*at)++ == '0' ? '~' : '/';
		buffer_byte(&token, c);
	}
	return buffer_take(&token);
}

static json_t *
child_of(const json_t *value, const char *token)
{
	char *end;
	unsigned long index;

	if (!json_is_array(value))
		return json_object_get(value, token);
	index = strtoul(token, &end, 10);
	return *token >= '0' && *token <= '9' && *end == '\0' ? json_array_get(value, index)
	    : NULL;
}

static struct node *
find_node(const struct schema *s, const json_t *document)
{
	struct node *n = s->first;

	while (n != NULL && n->document != document)
		n = n->next;
	return n;
}

/* The resource whose root it is, else the one that it lies in. */
static struct resource *
resource_at(const struct schema *s, const json_t *document, struct resource *outer)
{
	struct resource *resource = s->resources;

	while (resource != NULL && resource->root->document != document)
		resource = resource->next;
	return resource != NULL && json_is_object(document) ? resource : outer;
}

/* What a pointer leads to in a resource, and the resource of that; NULL: nowhere. */
static json_t *
follow_pointer(const struct schema *s, const char *at, struct resource **resource)
{
	json_t *document = (*resource)->root->document;
	char *token;

	while (document != NULL && *at == '/') {
		at++;
		token = pointer_token(&at);
		document = child_of(document, token);
		*resource = resource_at(s, document, *resource);
		free(token);
	}
	return document;
}

/* The node that a pointer leads to. A place that no keyword has made a schema is made
 * one. */
static struct node *
pointed_node(struct compiler *c, const struct rule *r, struct resource *resource,
    const char *pointer)
{
	struct buffer whole = BUFFER_INIT;
	struct node *n;
	json_t *document;

	buffer_format(&whole, "%s%s", resource->root->pointer, pointer);
	document = follow_pointer(c->schema, pointer, &resource);
	n = document == NULL ? NULL : find_node(c->schema, document);
	if (document == NULL)
		rule_refuse(c, r, "'%s' leads nowhere", json_string_value(r->value));
	if (document == NULL || n != NULL) {
		buffer_free(&whole);
		return n;
	}
	n = node_make(c, document, buffer_take(&whole), resource);
	return n == NULL || nodes_compile(c, n) != 0 ? NULL : n;
}

static struct resource *
referred_resource(struct compiler *c, const struct rule *r)
{
	char *uri = uri_resolve(r->node->resource->uri, json_string_value(r->value));
	struct resource *resource = find_resource(c->schema, uri);
	int added = resource != NULL ? 0 : add_built_in(c, uri);

	if (resource == NULL && added == 0)
		resource = find_resource(c->schema, uri);
	if (resource == NULL && added >= 0)
		rule_refuse(c, r, "'%s' is not in this schema, and nothing is fetched", uri);
	free(uri);
	return resource;
}

int
rule_compile_reference(struct compiler *c, struct rule *r)
{
	return json_is_string(r->value) ? 0 : rule_refuse(c, r, "expected a string");
}

static int
resolve_reference(struct compiler *c, struct rule *r)
{
	struct resource *resource = referred_resource(c, r);
	struct node *target;
	char *fragment;

	if (resource == NULL)
		return -1;
	fragment = uri_fragment(json_string_value(r->value));
	if (*fragment == '\0' || *fragment == '/') {
		target = pointed_node(c, r, resource, fragment);
	} else {
		target = resource_anchor(resource, fragment, false);
		if (target == NULL)
			rule_refuse(c, r, "'%s' leads nowhere", json_string_value(r->value));
		else if (resource_anchor(resource, fragment, true) == target)
			r->anchor = strchr(json_string_value(r->value), '#') + 1;
	}
	free(fragment);
	if (target == NULL)
		return -1;
	r->members = memory_zero(1, sizeof *r->members);
	r->members[0].node = target;
	r->member_count = 1;
	return 0;
}

int
references_resolve(struct compiler *c)
{
	for (struct node *n = c->schema->first; n != NULL; n = n->next)
		for (size_t i = 0; i < n->rule_count; i++)
			if (n->rules[i].keyword->compile == rule_compile_reference &&
			    resolve_reference(c, &n->rules[i]) != 0)
				return -1;
	return 0;
}

/* Follows what applies to the same value; a node met while it is entered closes a
 * circle. The depth of the recursion is that of the longest such chain. */
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
