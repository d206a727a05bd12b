/* What the system's user database says about this user, regardless of the environment. */
#ifndef AWF_SANDBOX_ACCOUNT_H
#define AWF_SANDBOX_ACCOUNT_H

#include "base/error.h"

/* Sets *home to the user's home directory, to be freed by the caller; NULL: none is known. -1
 * (ERROR_BLOCKED): the database could not be read. */
int account_home(char **home, struct error *err);

#endif
