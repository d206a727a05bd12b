/*
 * Prompts: text with the names of values in it. {{data}}, {{data.x.y}},
 * {{data.list.0}} and {{inputs.k}} are replaced, strings as they are, other values
 * as JSON; white space around the name is allowed. A name that is missing is an
 * error, unless it ends with a question mark: {{data.x?}} is then empty. "\{{"
 * stands for "{{".
 */
#ifndef AWF_FORMATS_PROMPT_H
#define AWF_FORMATS_PROMPT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

/* Appends the prompt with its values. inputs: a JSON object, or absent. place is
 * where the prompt stands (may be NULL). ERROR_INVALID_INPUT names what is missing,
 * ERROR_DEFINITION what is no name. */
int prompt_render(const char *prompt, struct span data, struct span inputs, const char *place,
    struct buffer *out, struct error *err);
/* Whether a prompt names nothing but values: 0, or -1 and ERROR_DEFINITION. */
int prompt_check(const char *prompt, const char *place, struct error *err);
/* Whether a prompt that is right names data, all of it or a part. */
bool prompt_has_data(const char *prompt);

#endif
