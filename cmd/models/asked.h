/*
 * Extracts what a request asks of a model, in the terms of a transcript: the turns since the
 * model's last answer, and the system prompt. The rest of the conversation is in earlier requests,
 * and in the body, which is recorded unchanged.
 */
#ifndef AWF_MODELS_ASKED_H
#define AWF_MODELS_ASKED_H

#include "api/stream.h"
#include "json/scan.h"
#include "json/writer.h"

/* Writes the members "model", "system_prompt" and "blocks" that exist; body is valid JSON. target:
 * the path, which contains the model's name for some APIs. */
void asked_write(struct writer *w, const struct stream_api *api, struct span body,
    struct span target);

#endif
