/*
 * URI references (RFC 3986), as names alone: what one means beside another, and
 * whether two are the same text then. Nothing is fetched.
 */
#ifndef AWF_SCHEMA_URI_H
#define AWF_SCHEMA_URI_H

/* The reference against a base (section 5.2), without its fragment, in memory of its
 * own. A base may be relative, or empty. */
char *uri_resolve(const char *base, const char *reference);
/* What stands behind the '#' with %XX decoded, in memory of its own; "" if there is
 * none. */
char *uri_fragment(const char *reference);

#endif
