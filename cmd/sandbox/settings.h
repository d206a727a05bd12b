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

/* The parts of a sandbox; a bit for each. */
enum part { PART_LANDLOCK = 1, PART_NAMESPACES = 2, PART_SECCOMP = 4 };

struct settings {
	const char *workspace;
	const char *directory;       /* to start in; NULL: the current one if it is in the
	                                workspace, otherwise the workspace */
	bool read_only;
	bool network;
	enum sandbox_lacking lacking;
	bool quiet;
	char **readable, **hidden;   /* NULL-terminated; NULL: none */
	char **passed;               /* names of environment variables; likewise */
	char **kept, **opened;       /* paths in the workspace: read-only ones;
	                                exceptions from that */
	struct limits limits;
	int64_t temporary;           /* size of the private temporary directory in bytes */
	int64_t loopback;        /* descriptor on which a socket is passed out; 0: none */
	int64_t parent;              /* pid of the expected parent; 0: any */
	bool check;                  /* run nothing, only report whether it would be possible */
	unsigned without;            /* parts that are not used */
	char *const *command;
};

extern const char sandbox_usage[];
extern const struct option_spec sandbox_options[];
/* "landlock" …, in the order of the bits; NULL-terminated. */
extern const char *const part_names[];

/* Reads the command line. Returns 0 to go on; otherwise one of OPTION_ASKS(), or -1 with *err. */
int settings_parse(struct settings *s, int argc, char **argv, struct error *err);
void settings_free(struct settings *s);

#endif
