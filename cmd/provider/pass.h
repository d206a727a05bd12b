/*
 * JSON passed on as its own bytes, minified (an answer is one line): arguments,
 * results and whatever an API says are never decoded and encoded again.
 */
#ifndef AWF_PROVIDER_PASS_H
#define AWF_PROVIDER_PASS_H

#include <stdbool.h>

#include "json/scan.h"
#include "json/writer.h"

/* A member with its value; nothing if there is no value. */
void pass_member(struct writer *w, const char *key, struct span value);
/* The same, the value being a member of an object. */
void pass_of(struct writer *w, const char *key, struct span object, const char *member);
/* The same, the key being a token as it came. */
void pass_raw(struct writer *w, struct span key, struct span value);
/* All members of an object but those in a list that ends with NULL, or all if it is NULL; of
 * anything else nothing. */
void pass_others(struct writer *w, struct span object, const char *const *without);
/* For APIs that take objects alone as the input of a tool: what the model wrote otherwise goes
 * into one, as `invalid_json`. */
void pass_input(struct writer *w, const char *key, struct span input);
/* The same for APIs that take the object as a text. */
void pass_arguments(struct writer *w, const char *key, struct span input);
/* For APIs that take text where any JSON may stand: strings as they are, other
 * values as a string of their minified bytes, "" if there is no value. */
void pass_as_text(struct writer *w, const char *key, struct span value);
/* The blocks of a tool's result that is more than text; .at NULL: it is not. */
struct span pass_result_blocks(struct span result);
/* Whether one of them goes to the API as the file that it is; else its text does, if it has any. */
bool pass_is_file(struct span block, const char *const *media_types);
/* A member that is a string: an attachment as the URL data:MEDIA_TYPE;base64,DATA. */
void pass_data_url(struct writer *w, const char *key, struct span attachment);

#endif
