/*
 * The token that a command with --models gets instead of API keys: it is valid for its call only,
 * and its proxy accepts it in requests (awf-models-proxy(1)).
 *
 * AWF's own steps inside that command send requests as well, and record them themselves. They use
 * another token, derived from that of the command: the proxy forwards requests with it without
 * recording them, so that each is recorded, and counted for the run, once.
 */
#ifndef AWF_PROC_MODEL_TOKEN_H
#define AWF_PROC_MODEL_TOKEN_H

#include <stdbool.h>

#define MODEL_TOKEN_DIGITS 48
#define MODEL_TOKEN_BEGIN "sk-awf-" /* some programs look how a key begins */
#define MODEL_TOKEN_WITHIN "sk-awf-within-"
#define MODEL_TOKEN_SIZE (sizeof MODEL_TOKEN_WITHIN + MODEL_TOKEN_DIGITS)

/* Makes a token that cannot be guessed; or for a replay, where no model is asked, one derived from
 * the name of the call. */
void model_token_make(const char *replayed, char token[MODEL_TOKEN_SIZE]);
/* Whether a key (NULL: none) is the token of a command. */
bool model_token_is(const char *key);
/* The one with which a step inside of that command asks. */
void model_token_within(const char *token, char within[MODEL_TOKEN_SIZE]);

#endif
