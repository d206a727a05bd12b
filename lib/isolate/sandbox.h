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

/* In the order of strictness. */
enum sandbox_mode { SANDBOX_UNSAID, SANDBOX_NONE, SANDBOX_WORKSPACE, SANDBOX_READ_ONLY };
/* Where the system lacks a part: it is refused, or goes on and says so. */
enum sandbox_lacking { SANDBOX_LACKING_UNSAID, SANDBOX_REQUIRES, SANDBOX_PREFERS };
enum sandbox_network { SANDBOX_NETWORK_UNSAID, SANDBOX_NETWORK_ALLOWED, SANDBOX_NETWORK_DENIED };

struct sandbox {
	enum sandbox_mode mode;
	enum sandbox_network network;
	bool preset; /* holds only as far as nobody else says anything: a built-in tool's */
	enum sandbox_lacking lacking;
	bool told;   /* it has been said before, and is not said again */
	char *const *opened; /* what may be changed though AWF takes it up; likewise */
	char *const *passed; /* variables that are seen though they hold secrets; ends with NULL;
	                        may be NULL */
	const char *directory; /* in which the program starts, in the workspace; NULL: this one */
	int loopback; /* without network: the program reaches what takes the socket that is handed out
	                 over this descriptor (isolate/loopback.h); 0: nothing */
};

/* Ends with NULL; in the order of the modes from SANDBOX_NONE on. */
extern const char *const sandbox_modes[];
const char *sandbox_mode_name(enum sandbox_mode mode); /* NULL for SANDBOX_UNSAID */

extern const char *const sandbox_lackings[]; /* from SANDBOX_REQUIRES on */
/* What holds where nobody says it: what the user's config does (io/config.h), else
 * SANDBOX_REQUIRES. *place: who says it, in memory of its own, or NULL; place may be NULL. */
int sandbox_lacking_default(enum sandbox_lacking *lacking, char **place, struct error *err);

/* What several policies (ends with NULL; a preset one last) come to: a mode, none at the
 * least, and whether the network is allowed, which in a sandbox it is if somebody says
 * so. ERROR_DEFINITION if there is no sandbox and yet no network is to be. */
int sandbox_decide(struct sandbox *decided, const struct sandbox *const *policies,
    struct error *err);
/* Whether there is one. */
bool sandbox_holds(const struct sandbox *s);

/* The options of awf-sandbox(1) that it comes to, a list of its own; never NULL. As sandbox_argv(),
 * but that who starts it is said there. */
char **sandbox_words(const struct sandbox *s, const char *workspace, char *const *readable,
    char *const *passed);
/* Such a command line, whoever starts it, with options that are there already. NULL: this machine
 * has no awf-sandbox. */
char **sandbox_argv_of(char *const *options, char *const *argv);

/* The command line in the sandbox: a list of its own (base/list.h). workspace NULL: this
 * directory. readable: files and directories that may be read as well; passed: variables
 * beside those of *s; both end with NULL, and may be NULL. The program ends when this process
 * does. */
char **sandbox_argv(const struct sandbox *s, const char *workspace, char *const *readable,
    char *const *passed, char *const *argv);

/* Has the program see a variable, which awf-sandbox sets when it has closed itself in: it is none of
 * awf-sandbox's own, nor is it taken out as a secret. e: of who starts the command line. */
void sandbox_set_variable(struct environment *e, const char *name, const char *value);
/* For awf-sandbox: takes these out of its environment into one of nothing else. */
void sandbox_take_variables(struct environment *e, struct environment *variables);

/* Such a command line for another process to start: its program ends when that one does. */
void sandbox_end_with(char **argv, pid_t process);

/* Makes the error of a program that ran in a sandbox ERROR_BLOCKED, with its stderr as
 * the message, if it ended with SANDBOX_REFUSED. */
void sandbox_blocked(int exit_code, const char *errors, size_t len, struct error *err);

#endif
