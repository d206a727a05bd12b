/* Where other programs keep the agent files of a user. */
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "definitions/dialect.h"
#include "io/file.h"

char *
dialect_user_directories(void)
{
	static const char *const below[] = { ".claude/agents", ".copilot/agents", ".gemini/agents",
		".config/opencode/agent", ".config/opencode/agents" };
	const char *home = path_home();
	struct buffer text = BUFFER_INIT;

	for (size_t i = 0; home != NULL && i < sizeof below / sizeof *below; i++) {
		char *directory = path_join(home, below[i]);

		if (access(directory, F_OK) == 0)
			buffer_format(&text, "%s%s", text.len > 0 ? ":" : "", directory);
		free(directory);
	}
	return text.len > 0 ? buffer_take(&text) : NULL;
}
