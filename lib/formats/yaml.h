/*
 * YAML (libyaml) as JSON: one document, the core schema of YAML 1.2 for plain scalars. What cannot
 * be expressed in JSON, or makes a file mean more than it shows, is rejected with its line: anchors
 * and aliases, merge keys, tags, duplicate keys, keys that are not scalars, infinities.
 */
#ifndef AWF_FORMATS_YAML_H
#define AWF_FORMATS_YAML_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

#define YAML_SIZE_LIMIT ((size_t)1 << 20)
#define YAML_DEPTH_LIMIT 64

/* A new reference (null for an empty document), or NULL with ERROR_DEFINITION. path and first_line
 * (the line of the file at which bytes begin) are used in the places of errors. If lines is not
 * NULL, *lines is set to an object with the line numbers of keys and elements by their path: "KEY",
 * "KEY/0", "KEY/0/KEY". */
json_t *yaml_parse(const char *bytes, size_t len, const char *path, int first_line,
    json_t **lines, struct error *err);

#endif
