/*
 * awf doctor: reports which programs, providers, keys, sandbox parts, storage, prices, agents,
 * tools and skills are available, and what is missing. It changes nothing, asks no model, and uses
 * no network, except with --ask. Each answer comes from the code that would use the thing: the
 * library's own functions, providers and awf-sandbox (--check).
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
	FINDING_NOTE,  /* something is missing or notable, but nothing fails because of it */
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

/* Providers that are needed here, by agents or by $AWF_MODEL. */
struct demands {
	struct demand { char *provider, *who; } *list; /* each provider once */
	size_t count;
	char **stop_tools;   /* tools named by stop_when of agents: they need no program */
};
void demands_add(struct demands *d, const char *provider, const char *who);
/* Who needs it first; NULL: nobody here. */
const char *demands_who(const struct demands *d, const char *provider);

/* AWF's programs and helpers: all present, from one installation and of one version, in PATH. */
void check_programs(struct findings *f);
/* The keys file, $AWF_MODEL, and each provider: whether it has what it needs. */
void check_providers(struct findings *f, struct demands *d);
/* The files of endpoints: those of the user, of servers of this machine, and for which there is a key. */
void check_endpoints(struct findings *f, const struct demands *d);
/* Requests the list of models from the server of an endpoint, with its key; adds one finding. */
void ask_endpoint(struct findings *f, const char *name);
/* The sandbox of AWF's tools, and the isolation of replays. */
void check_sandbox(struct findings *f);
void check_storage(struct findings *f);
void check_prices(struct findings *f);
/* Names of all definitions found from this directory, each once. group: FINDING_AGENTS,
 * FINDING_TOOLS or FINDING_SKILLS. A list (base/list.h). */
char **definitions_found(enum finding_group group);
/* Loads all agents, tools and skills found from this directory as a step would. */
void check_definitions(struct findings *f, struct demands *d);

/* Runs these programs, whose argv is set, at the same time. Their stderr is kept. */
void checks_ask(struct subprocess *processes, size_t count);
/* Runs the programs at the paths (NULL: skipped), whose names are given too, with one option.
 * environment NULL: this process's. Returns how many were run; free with checks_free(). */
size_t checks_ask_all(char *const *names, char *const *paths, size_t count, char *option,
    char *const *environment, struct subprocess **processes);
void checks_free(struct subprocess *processes, size_t count);
/* The JSON value that a program wrote to stdout; .at NULL if it is not JSON. Points into b. */
struct span checks_answer(const struct subprocess *b);

#endif
