/*
 * awf init: a workflow to begin with. What is installed as a beginning (share/init) is copied:
 * two agents, a tool, a workflow of them, and answers of a model that it runs against.
 */
#ifndef AWF_AWF_INIT_H
#define AWF_AWF_INIT_H

#include "base/error.h"

/* Into the directory, which is made if it is not there. ERROR_USAGE, and nothing is written, if
 * something of it is there already; on any other failure nothing of it is left. */
int init(const char *directory, struct error *err);

#endif
