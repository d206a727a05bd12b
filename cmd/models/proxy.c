/* Messages to awf-step are lines; errors for the program have the format of its API. */
#include "proxy.h"

#include <unistd.h>

#include "io/terminal.h"

void
proxy_say(struct buffer *line)
{
	buffer_byte(line, '\n');
	/* If awf-step has gone, stdin is closed too. */
	(void)terminal_write_json(STDOUT_FILENO, line->data, line->len);
	buffer_free(line);
}

void
proxy_error(struct connection *c, enum family family, unsigned status, const char *more,
    const char *message)
{
	struct buffer fields = BUFFER_INIT, body = BUFFER_INIT;

	apis_error(&body, family, status, message);
	buffer_text(&fields, "Content-Type: application/json\r\n");
	buffer_text(&fields, more);
	connection_answer(c, status, &fields, &body);
}
