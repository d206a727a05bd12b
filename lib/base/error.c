/*
 * A message may come from a server or contain a file's name: it is cut to the size of the struct,
 * between characters, and made one line that is harmless on a terminal. errno is preserved, as
 * callers still need it.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/text.h"

static const struct {
	const char *name;
	enum error_class class;
	int status;
	const char *phase;
} codes[ERROR_CODES] = {
	[ERROR_NONE] = {"none", CLASS_WORK, STATUS_OK, "execution"},
	[ERROR_USAGE] = {"usage", CLASS_CALLER, STATUS_USAGE, "usage"},
	[ERROR_DEFINITION] = {"definition", CLASS_CALLER, STATUS_DEFINITION, "definition"},
	[ERROR_TIMEOUT] = {"timeout", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_CANCELLED] = {"cancelled", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_INTERRUPTED] = {"interrupted", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_MAX_TURNS] = {"max_turns", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_MAX_TOKENS] = {"max_tokens", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_MAX_COST] = {"max_cost", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_MAX_ITERATIONS] = {"max_iterations", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_STUCK] = {"stuck", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_INCOMPLETE] = {"incomplete", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_EXIT_STATUS] = {"exit_status", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_TERMINAL] = {"terminal", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_NO_INPUT] = {"no_input", CLASS_CALLER, STATUS_USAGE, "input"},
	[ERROR_UPSTREAM_INCOMPLETE] = {"upstream_incomplete", CLASS_WORK, STATUS_WORK, "input"},
	[ERROR_DOWNSTREAM_CLOSED] = {"downstream_closed", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_INVALID_INPUT] = {"invalid_input", CLASS_CALLER, STATUS_USAGE, "input"},
	[ERROR_SCHEMA] = {"schema", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_TOOL] = {"tool", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_BLOCKED] = {"blocked", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_DENIED] = {"denied", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_WAITING] = {"waiting", CLASS_WAITING, STATUS_WAITING, "execution"},
	[ERROR_DIVERGENCE] = {"divergence", CLASS_WORK, STATUS_WORK, "execution"},
	[ERROR_SYSTEM] = {"system", CLASS_SYSTEM, STATUS_SYSTEM, "system"},
	[ERROR_LOST] = {"lost", CLASS_TRANSIENT, STATUS_WORK, "execution"},
	[ERROR_CANNOT_LAUNCH] = {"cannot_launch", CLASS_CALLER, STATUS_WORK, "execution"},
	[ERROR_RATE_LIMIT] = {"rate_limit", CLASS_TRANSIENT, STATUS_WORK, "provider"},
	[ERROR_OVERLOADED] = {"overloaded", CLASS_TRANSIENT, STATUS_WORK, "provider"},
	[ERROR_NETWORK] = {"network", CLASS_TRANSIENT, STATUS_WORK, "provider"},
	[ERROR_AUTH] = {"auth", CLASS_CALLER, STATUS_WORK, "provider"},
	[ERROR_INVALID] = {"invalid", CLASS_CALLER, STATUS_WORK, "provider"},
	[ERROR_CONTEXT_LENGTH] = {"context_length", CLASS_CALLER, STATUS_WORK, "provider"},
	[ERROR_REFUSED] = {"refused", CLASS_WORK, STATUS_WORK, "provider"},
	[ERROR_PROVIDER] = {"provider", CLASS_TRANSIENT, STATUS_WORK, "provider"},
	[ERROR_CUT_OFF] = {"cut_off", CLASS_WORK, STATUS_WORK, "provider"},
};

/* Makes it one line; if the text did not fit, removes a character that was cut in half. */
static void
make_line(char *text)
{
	text[utf8_whole(text, strlen(text))] = '\0';
	text_line(text);
}

static void
error_fill(struct error *err, enum error_code code, const char *place, const char *format,
    va_list args)
{
	err->code = code;
	snprintf(err->place, sizeof err->place, "%s", place ? place : "");
	vsnprintf(err->message, sizeof err->message, format, args);
	make_line(err->place);
	make_line(err->message);
	INVARIANT(code < ERROR_CODES && strpbrk(err->place, "\n\r\t") == NULL &&
	    strpbrk(err->message, "\n\r\t") == NULL);
}

#undef error_set
#undef error_errno

int
error_set(struct error *err, enum error_code code, const char *place, const char *format, ...)
{
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	error_fill(err, code, place, format, args);
	va_end(args);
	return -1;
}

int
error_errno(struct error *err, enum error_code code, const char *place, const char *format, ...)
{
	int saved = errno;
	va_list args;
	size_t len;

	if (!err)
		return -1;
	va_start(args, format);
	error_fill(err, code, place, format, args);
	va_end(args);
	len = strlen(err->message);
	snprintf(err->message + len, sizeof err->message - len, ": %s", strerror(saved));
	make_line(err->message);
	errno = saved;
	return -1;
}

const char *
error_text(const struct error *err, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", err->place, *err->place ? ": " : "", err->message);
	buf[utf8_whole(buf, strlen(buf))] = '\0';
	return buf;
}

const char *
error_name(enum error_code code)
{
	INVARIANT(code < ERROR_CODES && codes[code].name != NULL);
	return codes[code].name;
}

enum error_code
error_from_name(const char *name, size_t len)
{
	for (enum error_code code = ERROR_NONE + 1; code < ERROR_CODES; code++)
		if (strlen(codes[code].name) == len && memcmp(codes[code].name, name, len) == 0)
			return code;
	return ERROR_NONE;
}

enum error_class
error_class(enum error_code code)
{
	return codes[code].class;
}

bool
error_of_work(enum error_code code)
{
	return code != ERROR_WAITING && code != ERROR_CANCELLED && code != ERROR_INTERRUPTED &&
	    code != ERROR_UPSTREAM_INCOMPLETE && code != ERROR_DOWNSTREAM_CLOSED &&
	    code != ERROR_SYSTEM;
}

int
error_status(enum error_code code)
{
	INVARIANT(code < ERROR_CODES && (code == ERROR_NONE) == (codes[code].status == STATUS_OK));
	return codes[code].status;
}

const char *
error_phase(enum error_code code)
{
	return codes[code].phase;
}

bool
error_is_of_circumstances(enum error_code code)
{
	switch (code) {
	case ERROR_TIMEOUT:
	case ERROR_CANCELLED:
	case ERROR_INTERRUPTED:
	case ERROR_DOWNSTREAM_CLOSED:
	case ERROR_UPSTREAM_INCOMPLETE:
	case ERROR_LOST:
	case ERROR_CANNOT_LAUNCH:
	case ERROR_MAX_COST: /* prices may change */
		return true;
	default:
		return code >= ERROR_RATE_LIMIT && code < ERROR_CODES;
	}
}
