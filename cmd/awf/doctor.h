/*
 * awf doctor: what of programs, providers, keys, sandbox, storage, prices, agents, tools and
 * skills is there, and what is missing. Nothing is made or changed, no model is asked, and
 * nothing goes over a network. Whether something is good is asked of who goes by it: the
 * library's own functions, the providers and awf-sandbox (--check).
 */
#ifndef AWF_AWF_DOCTOR_H
#define AWF_AWF_DOCTOR_H

/* argv[0] is the command's name. Prints, and returns the exit status. */
int doctor(int argc, char **argv);

#endif
