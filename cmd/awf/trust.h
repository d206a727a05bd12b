/*
 * awf trust: what the definitions of this project would run outside of a sandbox is shown, and
 * allowed if the user says so (definitions/trust.h has the rule).
 */
#ifndef AWF_AWF_TRUST_H
#define AWF_AWF_TRUST_H

/* words: those behind `awf trust`; end with NULL. The exit status. */
int trust_command(char *const *words);

#endif
