/*
 * Aliases for models, which do not change with each version: a table, awf-models(5), says which
 * model an alias currently stands for. A line is
 *
 *     ALIAS  PROVIDER/MODEL
 *
 * that of the user (~/.config/awf/models) before what comes with AWF (share/awf/models).
 */
#ifndef AWF_FORMATS_MODEL_ALIAS_H
#define AWF_FORMATS_MODEL_ALIAS_H

#include "base/error.h"

/* *model becomes PROVIDER/MODEL in memory of its own, NULL if no table has the alias. -1: a table
 * cannot be read, or has a line that is none: ERROR_DEFINITION with FILE:LINE. */
int model_alias_find(const char *alias, char **model, struct error *err);
/* What was meant by a model that nobody has, in memory of its own: an alias that is near, or the
 * model with its provider before it. NULL: nobody knows. */
char *model_meant(const char *model);
/* What can be said of models: all aliases, and PROVIDER/MODEL of the price tables as far as they
 * name one. A list (base/list.h). */
char **model_names(void);
/* The model of agents that name none: *model becomes that of AWF_MODEL, else that of the user's
 * config (io/config.h), in memory of its own, an alias or not; NULL if there is neither. *place
 * says where it was said. -1: the config cannot be read. */
int model_default(char **model, const char **place, struct error *err);

#endif
