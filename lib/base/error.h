/*
 * Errors: how every library function reports what went wrong.
 *
 * A function that can fail returns 0 or -1 (or a pointer or NULL) and fills the caller's struct
 * error. The library never prints and never exits; programs print one line, `PROGRAM: PLACE:
 * MESSAGE`, and exit with the status of the code. The table of codes (error.c) is the only place
 * where a code, its class, its exit status and its phase are written down.
 */
#ifndef AWF_BASE_ERROR_H
#define AWF_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of the programs, awf(7). */
enum {
	STATUS_OK = 0,
	STATUS_USAGE = 1,      /* usage or bad input */
	STATUS_DEFINITION = 2, /* invalid agent, tool or schema */
	STATUS_WORK = 3,       /* a step, tool, provider, limit or check failed */
	STATUS_SYSTEM = 4,     /* disk, permission, lock */
	STATUS_WAITING = 75    /* waiting for a person */
};

enum error_code {
	ERROR_NONE,
	ERROR_USAGE,
	ERROR_DEFINITION,
	ERROR_TIMEOUT,
	ERROR_CANCELLED,
	ERROR_INTERRUPTED,
	ERROR_MAX_TURNS,
	ERROR_MAX_TOKENS,
	ERROR_MAX_COST,
	ERROR_MAX_ITERATIONS,
	ERROR_STUCK,
	ERROR_INCOMPLETE,
	ERROR_EXIT_STATUS,
	ERROR_TERMINAL,
	ERROR_NO_INPUT,
	ERROR_UPSTREAM_INCOMPLETE,
	ERROR_DOWNSTREAM_CLOSED,
	ERROR_INVALID_INPUT,
	ERROR_SCHEMA,
	ERROR_TOOL,
	ERROR_BLOCKED,
	ERROR_DENIED,
	ERROR_WAITING,
	ERROR_DIVERGENCE,
	ERROR_SYSTEM,
	/* what ran at the far end of a launcher (awf-launchers(7)) */
	ERROR_LOST,          /* it is not known how the command ended */
	ERROR_CANNOT_LAUNCH, /* the command was not started */
	/* what providers answer (awf-provider(7)) */
	ERROR_RATE_LIMIT,
	ERROR_OVERLOADED,
	ERROR_NETWORK,
	ERROR_AUTH,
	ERROR_INVALID,
	ERROR_CONTEXT_LENGTH,
	ERROR_REFUSED,
	ERROR_PROVIDER,
	ERROR_CUT_OFF,
	ERROR_CODES
};

/* Whether trying again can help, and who must act. */
enum error_class {
	CLASS_CALLER,    /* the caller must change something */
	CLASS_WORK,      /* the work itself failed */
	CLASS_TRANSIENT, /* the same request may succeed later */
	CLASS_SYSTEM,    /* the machine failed */
	CLASS_WAITING    /* a person must decide */
};

struct error {
	enum error_code code;
	char place[256];    /* file:line, option, path; "" if none */
	char message[1024]; /* one line without LF */
};

#define ERROR_INIT { ERROR_NONE, "", "" }

/*
 * Fills *err (which may be NULL) and returns -1. place may be NULL. Control
 * characters in the text are replaced, so that a message is always one line, and
 * harmless on a terminal.
 */
int error_set(struct error *err, enum error_code code, const char *place,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* As error_set(), with ": " and the text of errno at the end. */
int error_errno(struct error *err, enum error_code code, const char *place,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A static analyzer that sees one file at a time cannot know that these functions always return
 * -1. */
#ifdef __clang_analyzer__
#define error_set(...) (error_set(__VA_ARGS__), -1)
#define error_errno(...) (error_errno(__VA_ARGS__), -1)
#endif

/* "place: message" into buf, cut to fit; returns buf. */
const char *error_text(const struct error *err, char *buf, size_t size);

/* The code's name in transcripts ("exit_status"); never NULL. */
const char *error_name(enum error_code code);
/* The code of a name of len bytes, or ERROR_NONE if there is no such code. */
enum error_code error_from_name(const char *name, size_t len);
enum error_class error_class(enum error_code code);
/* Whether the error is an outcome of the work itself. Work that was cancelled, died, lacks its
 * input or waits might have ended differently, so no step may handle such a failure as a result
 * (--rescue, --allow-failure). */
bool error_of_work(enum error_code code);
/* Exit status of a program that ends because of this code. */
int error_status(enum error_code code);
/* "usage", "definition", "input", "execution", "provider" or "system". */
const char *error_phase(enum error_code code);
/* Whether an error is due to circumstances (a signal, a cancelled run) rather than the work, so
 * that it need not occur again. */
bool error_is_of_circumstances(enum error_code code);

#endif
