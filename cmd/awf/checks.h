/*
 * What awf doctor looks at: each function adds findings of its own, and none of them knows
 * another.
 */
#ifndef AWF_AWF_CHECKS_H
#define AWF_AWF_CHECKS_H

#include "awf/findings.h"
#include "proc/subprocess.h"

/* Which providers are asked here, by agents or as $AWF_MODEL says. */
struct demands {
	struct demand { char *provider, *who; } *list; /* each provider once */
	size_t count;
};
void demands_add(struct demands *d, const char *provider, const char *who);
/* Who asks it first; NULL: nobody here. */
const char *demands_who(const struct demands *d, const char *provider);
void demands_free(struct demands *d);

/* AWF's programs and their parts: all there, of one installation and version, in PATH. */
void check_programs(struct findings *f);
/* The keys file, $AWF_MODEL, and each provider: what it has, whether that is enough. */
void check_providers(struct findings *f, struct demands *d);
/* Of AWF's tools and of replays. */
void check_sandbox(struct findings *f);
void check_storage(struct findings *f);
void check_prices(struct findings *f);
/* What is found from this directory, loaded as a step would. */
void check_agents(struct findings *f, struct demands *d);
void check_tools(struct findings *f);
void check_skills(struct findings *f);

/* Asks programs: runs these, whose argv is set, at the same time. Their stderr is
 * kept. */
void checks_ask(struct subprocess *processes, size_t count);
/* The last line that a program said on stderr, or how it ended; in memory of its own. */
char *checks_complaint(const struct subprocess *b);

#endif
