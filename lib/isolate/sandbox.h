/*
 * Sandboxes: what the programs that a step starts may access. Run, step, agent and tool can each
 * set a policy; the strictest one applies. A command is run in a sandbox by putting awf-sandbox(1)
 * with its options in front of the command line: that program restricts itself and executes the
 * rest. The calling process is not restricted.
 *
 *     sandbox_decide() → sandbox_argv() → subprocess or process → sandbox_blocked()
 *
 * awf-sandbox itself runs outside, with AWF's own environment, in this directory: what a
 * definition says of a program's variables and directory is handed to it as data, and holds inside
 * alone (sandbox_set_variable(), the member directory).
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
/* If the system lacks a part of the sandbox: refuse, or go on with a warning. */
enum sandbox_lacking { SANDBOX_LACKING_UNSAID, SANDBOX_REQUIRES, SANDBOX_PREFERS };
enum sandbox_network { SANDBOX_NETWORK_UNSAID, SANDBOX_NETWORK_ALLOWED, SANDBOX_NETWORK_DENIED };

struct sandbox {
	enum sandbox_mode mode;
	enum sandbox_network network;
	bool preset; /* used only for what no other policy says: that of a built-in tool */
	enum sandbox_lacking lacking;
	bool told;   /* the warning was printed already */
	char *const *opened; /* paths that may be changed although AWF uses them; ends with NULL;
	                        may be NULL */
	char *const *passed; /* variables that are passed although they hold secrets; ends with
	                        NULL; may be NULL */
	const char *directory; /* in the workspace, to start the program in; NULL: the
	                          current one */
	int loopback; /* descriptor on which a listening socket is passed out (isolate/loopback.h),
	                 the only thing that a program without network can reach; 0: none */
};

/* Ends with NULL; in the order of the modes from SANDBOX_NONE on. */
extern const char *const sandbox_modes[];
const char *sandbox_mode_name(enum sandbox_mode mode); /* NULL for SANDBOX_UNSAID */

extern const char *const sandbox_lackings[]; /* in the order from SANDBOX_REQUIRES on */
/* The default: that of the user's configuration (io/config.h), otherwise SANDBOX_REQUIRES. *place:
 * where it is configured, to be freed by the caller, or NULL; place may be NULL. */
int sandbox_lacking_default(enum sandbox_lacking *lacking, char **place, struct error *err);

/* Combines policies (ends with NULL; a preset is last): a mode, at least SANDBOX_NONE, and whether
 * the network is allowed; in a sandbox it is only if a policy allows it. ERROR_DEFINITION if the
 * network is denied without a sandbox. */
int sandbox_decide(struct sandbox *decided, const struct sandbox *const *policies,
    struct error *err);
/* Whether there is a sandbox. */
bool sandbox_holds(const struct sandbox *s);

/* The options of awf-sandbox(1) for this sandbox, a new list, never NULL; like sandbox_argv(), but
 * without --parent. */
char **sandbox_words(const struct sandbox *s, const char *workspace, char *const *readable,
    char *const *passed);
/* A command line with given options, for any process to start. NULL: awf-sandbox is
 * not installed. */
char **sandbox_argv_of(char *const *options, char *const *argv);

/* The command line in the sandbox: a new list (base/list.h). workspace NULL: the current directory.
 * readable: files and directories that may be read as well; passed: variables in addition to those
 * of *s; both end with NULL, and may be NULL. The program ends when this process does. */
char **sandbox_argv(const struct sandbox *s, const char *workspace, char *const *readable,
    char *const *passed, char *const *argv);

/* Sets a variable for the program only: awf-sandbox sets it when it has restricted itself, so it
 * does not affect awf-sandbox and is not removed as a secret. e: the environment of the process
 * that starts the command line. */
void sandbox_set_variable(struct environment *e, const char *name, const char *value);
/* For awf-sandbox: moves these variables from its environment into one of their own. */
void sandbox_take_variables(struct environment *e, struct environment *variables);

/* Adapts a command line for another process to start: the program ends when that process does. */
void sandbox_end_with(char **argv, pid_t process);

/* If the program ended with SANDBOX_REFUSED, makes its error ERROR_BLOCKED, with its stderr as
 * the message. */
void sandbox_blocked(int exit_code, const char *errors, size_t len, struct error *err);

#endif
