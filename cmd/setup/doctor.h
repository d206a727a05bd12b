/*
 * awf doctor: what of programs, providers, keys, sandbox, storage, prices, agents, tools and
 * skills is there, and what is missing. Nothing is made or changed, no model is asked, and
 * nothing goes over a network, but with --ask. Whether something is good is asked of who goes by it: the
 * library's own functions, the providers and awf-sandbox (--check).
 *
 * Each check adds findings of its own, and none of them knows another. A finding is a line: its
 * text has no line ends, no control characters and no API keys.
 */
#ifndef AWF_SETUP_DOCTOR_H
#define AWF_SETUP_DOCTOR_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"
#include "proc/subprocess.h"

/* In the order in which they are told. */
enum finding_group {
	FINDING_PROGRAMS, FINDING_PROVIDERS, FINDING_ENDPOINTS, FINDING_SANDBOX, FINDING_STORAGE, FINDING_PRICES,
	FINDING_AGENTS, FINDING_TOOLS, FINDING_SKILLS, FINDING_GROUPS
};

enum finding_status {
	FINDING_OK,
	FINDING_NOTE,  /* something is missing, or to be known, and stops nothing that is here */
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
/* What an error says, with its place: it is wrong. */
void findings_add_error(struct findings *f, enum finding_group group, const char *name,
    const struct error *err);

/* Which providers are asked here, by agents or as $AWF_MODEL says. */
struct demands {
	struct demand { char *provider, *who; } *list; /* each provider once */
	size_t count;
	char **stop_tools;   /* that agents' stop_when names: they need no program */
};
void demands_add(struct demands *d, const char *provider, const char *who);
/* Who asks it first; NULL: nobody here. */
const char *demands_who(const struct demands *d, const char *provider);

/* AWF's programs and their parts: all there, of one installation and version, in PATH. */
void check_programs(struct findings *f);
/* The keys file, $AWF_MODEL, and each provider: what it has, whether that is enough. */
void check_providers(struct findings *f, struct demands *d);
/* The files of endpoints: those of the user, of servers of this machine, and for which there is a key. */
void check_endpoints(struct findings *f, const struct demands *d);
/* Asks the server of one for its models, with its key: a finding, and nothing else. */
void ask_endpoint(struct findings *f, const char *name);
/* Of AWF's tools and of replays. */
void check_sandbox(struct findings *f);
void check_storage(struct findings *f);
void check_prices(struct findings *f);
/* The names of a group's that are found from this directory, each once: of FINDING_AGENTS,
 * FINDING_TOOLS or FINDING_SKILLS. A list (base/list.h). */
char **definitions_found(enum finding_group group);
/* Agents, tools and skills that are found from this directory, loaded as a step would. */
void check_definitions(struct findings *f, struct demands *d);

/* Asks programs: runs these, whose argv is set, at the same time. Their stderr is kept. */
void checks_ask(struct subprocess *processes, size_t count);
/* Asks the programs at the paths, of the names beside them, by one option; a path that is NULL is
 * left out. environment NULL: this process's. How many were asked; checks_free(). */
size_t checks_ask_all(char *const *names, char *const *paths, size_t count, char *option,
    char *const *environment, struct subprocess **processes);
void checks_free(struct subprocess *processes, size_t count);
/* The JSON value that a program said on stdout; .at NULL if it is none. Within b. */
struct span checks_answer(const struct subprocess *b);

#endif
