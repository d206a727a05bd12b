/*
 * The command line of awf-sandbox.
 */
#ifndef AWF_SANDBOX_SETTINGS_H
#define AWF_SANDBOX_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/options.h"
#include "isolate/limits.h"
#include "isolate/sandbox.h"

/* What a sandbox is made of; a bit for each. */
enum part { PART_LANDLOCK = 1, PART_NAMESPACES = 2, PART_SECCOMP = 4 };

struct settings {
	const char *workspace;
	const char *directory;       /* to start in; NULL: this one, or the workspace */
	bool read_only;
	bool network;
	enum sandbox_lacking lacking;
	bool quiet;
	char **readable, **hidden;   /* end with NULL; NULL: none */
	char **passed;               /* names of variables, likewise */
	char **kept, **opened;       /* of the workspace, not to be changed; nevertheless to be */
	struct limits limits;
	int64_t temporary;           /* bytes of the private temporary directory */
	int64_t loopback;        /* descriptor over which a socket is handed out; 0: none */
	int64_t parent;              /* 0: whoever it is */
	bool check;                  /* nothing is run: whether it could be */
	unsigned without;            /* parts not to be used */
	char *const *command;
};

extern const char sandbox_usage[];
extern const struct option_spec sandbox_options[];
/* "landlock" …; ends with NULL. The order is that of the bits. */
extern const char *const part_names[];

/* Reads the command line. 0: go on; else one of OPTION_ASKS(), or -1 with *err. */
int settings_parse(struct settings *s, int argc, char **argv, struct error *err);
void settings_free(struct settings *s);

#endif
