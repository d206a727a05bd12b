/*
 * Prompts: text with placeholders. {{data}}, {{data.x.y}}, {{data.list.0}} and {{inputs.k}} are
 * replaced by values: strings are inserted as they are, other values as JSON. White space around
 * the name is allowed. A missing value is an error, unless the name ends with a question mark:
 * {{data.x?}} is then empty. "\{{" stands for "{{".
 */
#ifndef AWF_FORMATS_PROMPT_H
#define AWF_FORMATS_PROMPT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

/* Appends the prompt to out, with values in place of its placeholders. data: what {{data}} stands
 * for; inputs: a JSON object, or absent; place: the file of the prompt, for error messages (may be
 * NULL). -1: ERROR_INVALID_INPUT if a value is missing, ERROR_DEFINITION if a placeholder is
 * invalid. */
int prompt_render(const char *prompt, struct span data, struct span inputs, const char *place,
    struct buffer *out, struct error *err);
/* Checks the placeholders of a prompt: 0, or -1 and ERROR_DEFINITION. */
int prompt_check(const char *prompt, const char *place, struct error *err);
/* Whether a valid prompt refers to data or a part of it. */
bool prompt_has_data(const char *prompt);

#endif
