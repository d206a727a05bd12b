/*
 * What a request to a model asks, in the vocabulary of a transcript: what is new in it since the
 * model's last answer, and who the model is told to be. The rest of the conversation stands in
 * earlier requests, and in the body, which is kept as it is.
 */
#ifndef AWF_MODELS_ASKED_H
#define AWF_MODELS_ASKED_H

#include "api/stream.h"
#include "json/scan.h"
#include "json/writer.h"

/* Writes members "model", "system_prompt" and "blocks", as far as they are there; body is checked
 * JSON. target: the path, which has the model's name in some APIs. */
void asked_write(struct writer *w, const struct stream_api *api, struct span body,
    struct span target);

#endif
