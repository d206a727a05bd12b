/*
 * What the system knows of this user, whatever the environment says.
 */
#ifndef AWF_SANDBOX_ACCOUNT_H
#define AWF_SANDBOX_ACCOUNT_H

#include "base/error.h"

/* The user's home directory, in memory of its own; NULL: nobody knows one. -1 (ERROR_BLOCKED): nobody
 * could be asked. */
int account_home(char **home, struct error *err);

#endif
