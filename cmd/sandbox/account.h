/*
 * What the system knows of this user, whatever the environment says.
 */
#ifndef AWF_SANDBOX_ACCOUNT_H
#define AWF_SANDBOX_ACCOUNT_H

/* The user's home directory, in memory of its own; NULL: nobody knows one. */
char *account_home(void);

#endif
