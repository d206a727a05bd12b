/*
 * Checks files that a recording names and whose current version is read: agents, tools, and other
 * definitions of its steps. A recording may come from somebody else, and name any file.
 *
 * A recording in the user's storage is of what the user has run: it may name any file except those
 * hidden in the home directory, also through a link, and the user's API keys. Any other recording
 * may only name files in these places:
 *   - the workspace and the directory of the workflow, if the current directory is inside, and
 *     unless they are the root, the home directory or one above it, or hidden in it,
 *   - the user's and the system's agents, tools and skills, and $AWF_TOOL_PATH, never through a
 *     link out of these, and never hidden files in them, except .awf, .agents, .claude and
 *     .mcp.json. Both kinds may name what the user allows with --visible.
 */
#ifndef AWF_REPLAY_RUN_RECORDED_FILE_H
#define AWF_REPLAY_RUN_RECORDED_FILE_H

#include "base/error.h"
#include "replay_run/source.h"

/* Whether the file, an absolute path, may be read for this recording; visible: directories,
 * NULL-terminated, may be NULL. A missing file is allowed. ERROR_USAGE at path. */
int recorded_file_check(const struct source *s, char *const *visible, const char *path,
    struct error *err);

/* Whether the current workspace may be used as the recorded one. ERROR_USAGE. */
int recorded_workspace_check(const struct source *s, struct error *err);

#endif
