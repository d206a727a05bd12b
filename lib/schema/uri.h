/*
 * URI references (RFC 3986), only as names: resolves one against another, so that equal ones have
 * the same text. Nothing is fetched.
 */
#ifndef AWF_SCHEMA_URI_H
#define AWF_SCHEMA_URI_H

/* Resolves the reference against a base (section 5.2), without its fragment; allocated. A base
 * may be relative, or empty. */
char *uri_resolve(const char *base, const char *reference);
/* The text after the '#' with %XX decoded, allocated; "" if there is none. */
char *uri_fragment(const char *reference);

#endif
