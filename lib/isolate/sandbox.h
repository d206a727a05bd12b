/*
 * Sandboxes: what the programs that a step starts may access. Run, step, agent and tool can each
 * set a policy; the strictest one applies. A command is run in a sandbox by putting awf-sandbox(1)
 * with its options in front of the command line: that program restricts itself and executes the
 * rest. The calling process is not restricted.
 *
 *     sandbox_decide() → sandbox_argv() → subprocess or process → sandbox_blocked()
 *
 * awf-sandbox itself runs outside, with AWF's own environment, in this directory: a program's
 * variables and directory that a definition sets are passed to it as data, and take effect only
 * inside (sandbox_set_variable(), the member directory).
 *
 * Inside, AWF_SANDBOX tells the mode, TMPDIR and HOME are private directories. A program that ends
 * with SANDBOX_REFUSED was refused something by the sandbox, or the sandbox could not be made and
 * nothing ran; its stderr says what.
 */
#ifndef AWF_ISOLATE_SANDBOX_H
#define AWF_ISOLATE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "proc/environment.h"

enum { SANDBOX_REFUSED = 77 }; /* EX_NOPERM of sysexits.h */

/* In order of strictness. */
enum sandbox_mode { SANDBOX_UNSAID, SANDBOX_NONE, SANDBOX_WORKSPACE, SANDBOX_READ_ONLY };
/* What to do if the system lacks a part of the sandbox: refuse, or go on with a warning. */
enum sandbox_lacking { SANDBOX_LACKING_UNSAID, SANDBOX_REQUIRES, SANDBOX_PREFERS };
enum sandbox_network { SANDBOX_NETWORK_UNSAID, SANDBOX_NETWORK_ALLOWED, SANDBOX_NETWORK_DENIED };

struct sandbox {
	enum sandbox_mode mode;
	enum sandbox_network network;
	bool preset; /* policy of a built-in tool: used only for what no other policy sets */
	enum sandbox_lacking lacking;
	bool told;   /* the warning about a missing part was printed */
	char *const *opened; /* paths that may be changed even if AWF reads them as definitions;
	                        ends with NULL; may be NULL */
	char *const *passed; /* variables that are passed even if they contain secrets; ends with
	                        NULL; may be NULL */
	const char *directory; /* directory in the workspace in which the program starts; NULL: the
	                          current one */
	int loopback; /* descriptor over which a listening socket is sent out (isolate/loopback.h),
	                 the only thing that a program without network can reach; 0: none */
};

/* The modes' names, from SANDBOX_NONE on; ends with NULL. */
extern const char *const sandbox_modes[];
const char *sandbox_mode_name(enum sandbox_mode mode); /* NULL for SANDBOX_UNSAID */

extern const char *const sandbox_lackings[]; /* from SANDBOX_REQUIRES on */
/* The default: that of the user's configuration (io/config.h), otherwise SANDBOX_REQUIRES. *place:
 * where it is configured, to be freed by the caller, or NULL; place may be NULL. */
int sandbox_lacking_default(enum sandbox_lacking *lacking, char **place, struct error *err);

/* Combines policies (ends with NULL; a preset is last): the result has a mode, at least
 * SANDBOX_NONE, and says whether the network is allowed; in a sandbox, it is allowed only if a
 * policy allows it. ERROR_DEFINITION if the network is denied without a sandbox. */
int sandbox_decide(struct sandbox *decided, const struct sandbox *const *policies,
    struct error *err);
/* Whether the mode is a sandbox. */
bool sandbox_holds(const struct sandbox *s);

/* The options of awf-sandbox(1) for this sandbox, without --parent: a new list, never NULL.
 * Parameters as for sandbox_argv(). */
char **sandbox_words(const struct sandbox *s, const char *workspace, char *const *readable,
    char *const *passed);
/* A command line with these options, which any process may start. NULL: awf-sandbox is not
 * installed. */
char **sandbox_argv_of(char *const *options, char *const *argv);

/* The command line that runs argv in the sandbox: a new list (base/list.h). workspace NULL: the
 * current directory. readable: further files and directories that may be read; passed: variables
 * besides those of *s; both end with NULL, and may be NULL. The program is ended when this process
 * ends. */
char **sandbox_argv(const struct sandbox *s, const char *workspace, char *const *readable,
    char *const *passed, char *const *argv);

/* Sets a variable only for the program: awf-sandbox sets it after it has restricted itself, so that
 * it does not affect awf-sandbox, and is not removed as a secret. e: the environment of the process
 * that starts the command line. */
void sandbox_set_variable(struct environment *e, const char *name, const char *value);
/* For awf-sandbox: moves variables that were set in this way out of e. */
void sandbox_take_variables(struct environment *e, struct environment *variables);

/* Changes a command line so that another process may start it: the program is ended when that
 * process ends. */
void sandbox_end_with(char **argv, pid_t process);

/* If the exit code is SANDBOX_REFUSED, makes the error ERROR_BLOCKED, with the program's stderr as
 * message. */
void sandbox_blocked(int exit_code, const char *errors, size_t len, struct error *err);

#endif
