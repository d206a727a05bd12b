/*
 * The text of a step's prompt or question, given as an argument or as @FILE. It may contain names
 * of values (formats/prompt.h), which are replaced for each item.
 */
#ifndef AWF_STEP_KINDS_TEMPLATE_H
#define AWF_STEP_KINDS_TEMPLATE_H

#include "base/buffer.h"
#include "base/error.h"
#include "json/writer.h"
#include "step_call/step.h"

struct template {
	const char *text;
	const char *place;           /* its file, or the option, for messages */
	const char *file;            /* NULL: it is the text of an option */
	struct buffer loaded;
};

/* given must outlive it. ERROR_DEFINITION. template_free() is called in both cases. */
int template_load(struct template *t, const char *given, const char *option, struct error *err);
/* Appends it with its values. ERROR_INVALID_INPUT. */
int template_render(const struct template *t, const struct step *s, const struct item *item,
    struct buffer *out, struct error *err);
/* Writes the inputs of the run that it names, for the digest of a definition. */
void template_define_inputs(const struct template *t, const struct step *s, struct writer *w);
void template_free(struct template *t);

#endif
