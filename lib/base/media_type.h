/*
 * Types of the images and documents that models accept, recognized by their first bytes, not by
 * their names.
 */
#ifndef AWF_BASE_MEDIA_TYPE_H
#define AWF_BASE_MEDIA_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#define MEDIA_TYPES_TOLD "PNG, JPEG, GIF, WebP, PDF"

/* The media type recognized from the first bytes: "image/png", "application/pdf" …; NULL: none. 16
 * bytes are enough. */
const char *media_type_of(const char *bytes, size_t len);
/* Whether it is one of the recognized types. */
bool media_type_told(const char *media_type);

#endif
