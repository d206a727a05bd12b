/*
 * Standard error: systemd notes it, and adds the time.
 */
#include "serve/log.h"

#include <stdio.h>

#include "proc/api_keys.h"

void
log_warn(const struct error *warning)
{
	char text[sizeof warning->place + sizeof warning->message + 4];

	error_text(warning, text, sizeof text);
	api_keys_hide(text);
	fprintf(stderr, "awf-serve: %s\n", text);
}
