/*
 * Aliases for models, which stay the same when a new version comes out: a table, awf-models(5),
 * says which model an alias currently stands for. A line is
 *
 *     ALIAS  PROVIDER/MODEL
 *
 * The user's table (~/.config/awf/models) takes precedence over the installed one
 * (share/awf/models).
 */
#ifndef AWF_FORMATS_MODEL_ALIAS_H
#define AWF_FORMATS_MODEL_ALIAS_H

#include "base/error.h"

/* Sets *model to PROVIDER/MODEL, allocated; NULL if no table has the alias. -1: a table cannot be
 * read, or has an invalid line: ERROR_DEFINITION with FILE:LINE. */
int model_alias_find(const char *alias, char **model, struct error *err);
/* A suggestion for an unknown model, allocated: a similar alias, or the model with its provider.
 * NULL: there is none. */
char *model_meant(const char *model);
/* All names that may be given for a model: the aliases, and each PROVIDER/MODEL that a line of the
 * price tables names. A list (base/list.h). */
char **model_names(void);
/* The default model, for agents that name none: sets *model to that of AWF_MODEL or, without it,
 * that of the user's config (io/config.h), allocated; it may be an alias; NULL if there is neither.
 * *place is where it is set. -1: the config cannot be read. */
int model_default(char **model, const char **place, struct error *err);

#endif
