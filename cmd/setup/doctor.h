/*
 * awf doctor: reports which programs, providers, keys, sandbox parts, storage, prices, agents,
 * tools and skills are available, and what is missing. It changes nothing, asks no model, and uses
 * no network, except with --ask. Each thing is checked by the code that would use it: the library's
 * own functions, or providers and awf-sandbox with --check.
 *
 * Each check adds findings and is independent of the others. A finding is one line of text without
 * control characters and API keys.
 */
#ifndef AWF_SETUP_DOCTOR_H
#define AWF_SETUP_DOCTOR_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"
#include "proc/subprocess.h"

/* In the order of the output. */
enum finding_group {
	FINDING_PROGRAMS, FINDING_PROVIDERS, FINDING_ENDPOINTS, FINDING_SANDBOX, FINDING_STORAGE, FINDING_PRICES,
	FINDING_AGENTS, FINDING_TOOLS, FINDING_SKILLS, FINDING_GROUPS
};

enum finding_status {
	FINDING_OK,
	FINDING_NOTE,  /* something is missing or unusual, but nothing fails because of it */
	FINDING_WRONG
};

struct findings {
	struct finding {
		enum finding_group group;
		enum finding_status status;
		char *name, *message;
	} *list;
	size_t count, wrong;
};
void findings_add(struct findings *f, enum finding_group group, enum finding_status status,
    const char *name, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Adds a finding FINDING_WRONG with the error's message and place. */
void findings_add_error(struct findings *f, enum finding_group group, const char *name,
    const struct error *err);

/* Providers that agents of this directory, or $AWF_MODEL, use. */
struct demands {
	struct demand { char *provider, *who; } *list; /* each provider once */
	size_t count;
	char **stop_tools;   /* tools that agents name in stop_when: they need no program */
};
void demands_add(struct demands *d, const char *provider, const char *who);
/* The first agent or setting that uses a provider; NULL: none does. */
const char *demands_who(const struct demands *d, const char *provider);

/* Checks AWF's programs and helpers: all are there, from one installation, of one version, and in
 * PATH. */
void check_programs(struct findings *f);
/* Checks the keys file, $AWF_MODEL, and whether each provider has what it needs. */
void check_providers(struct findings *f, struct demands *d);
/* Checks endpoints: the user's own, those on this machine, and those for which there is a key. */
void check_endpoints(struct findings *f, const struct demands *d);
/* Requests the list of models from the server of an endpoint, with its key; adds one finding. */
void ask_endpoint(struct findings *f, const char *name);
/* Checks the sandbox of AWF's tools, and the isolation of replays. */
void check_sandbox(struct findings *f);
void check_storage(struct findings *f);
void check_prices(struct findings *f);
/* Lists the names of all definitions that are found from this directory, each once. group:
 * FINDING_AGENTS, FINDING_TOOLS or FINDING_SKILLS. The list (base/list.h) is the caller's. */
char **definitions_found(enum finding_group group);
/* Loads all agents, tools and skills that are found from this directory, as a step would. */
void check_definitions(struct findings *f, struct demands *d);

/* Runs these programs, whose argv is set, at the same time. Their stderr is kept. */
void checks_ask(struct subprocess *processes, size_t count);
/* Runs programs, all with the same option, at the same time; those whose path is NULL are left out.
 * environment NULL: that of this process. Returns how many were run; free the results with
 * checks_free(). */
size_t checks_ask_all(char *const *names, char *const *paths, size_t count, char *option,
    char *const *environment, struct subprocess **processes);
void checks_free(struct subprocess *processes, size_t count);
/* The JSON value that a program wrote to stdout; .at NULL if it is not JSON. Points into b. */
struct span checks_answer(const struct subprocess *b);

#endif
