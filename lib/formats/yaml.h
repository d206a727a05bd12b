/*
 * YAML (libyaml) as JSON: one document, the core schema of YAML 1.2 for plain
 * scalars. What JSON cannot say, or what makes a file mean more than it shows, is
 * refused with its line: anchors and aliases, merge keys, tags, duplicate keys,
 * keys that are not scalars, infinities.
 */
#ifndef AWF_FORMATS_YAML_H
#define AWF_FORMATS_YAML_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

#define YAML_SIZE_LIMIT ((size_t)1 << 20)
#define YAML_DEPTH_LIMIT 64

/* A new reference (null for an empty document), or NULL with ERROR_DEFINITION.
 * path and first_line (the number of its first line in that file) go into places.
 * If lines is not NULL, *lines becomes an object that tells the line numbers of keys and
 * elements by their places: "KEY", "KEY/0", "KEY/0/KEY". */
json_t *yaml_parse(const char *bytes, size_t len, const char *path, int first_line,
    json_t **lines, struct error *err);

#endif
