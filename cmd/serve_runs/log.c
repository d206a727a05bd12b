/*
 * Writes to standard error: systemd records it and adds the time.
 */
#include "serve_runs/log.h"

#include <stdio.h>

#include "proc/message.h"

void
log_warn(const struct error *warning)
{
	char text[sizeof warning->place + sizeof warning->message + 4];

	message_print("awf-serve", "%s", error_text(warning, text, sizeof text));
}
