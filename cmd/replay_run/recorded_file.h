/*
 * Files that a recording names, and that are read as they are today: agents, tools, what
 * else its steps were made of. A recording may be somebody else's, and name any file. One in
 * the user's storage tells what the user has run; it leads anywhere but to what is hidden in
 * the home directory, by a link neither, and to the user's API keys. Another one leads only
 * to where such files lie:
 *
 *   - in the workspace and the directory of the workflow, if the user stands in there, and
 *     unless these are the root, the home directory or one above it, or hidden in it,
 *   - in the user's and the system's agents, tools and skills, and $AWF_TOOL_PATH,
 *
 * never by a link that leads out of these, and never to what is hidden in them, but for
 * .awf, .agents, .claude and .mcp.json. Both lead to what the user has named (--visible).
 */
#ifndef AWF_REPLAY_RUN_RECORDED_FILE_H
#define AWF_REPLAY_RUN_RECORDED_FILE_H

#include "base/error.h"
#include "replay_run/source.h"

/* Whether the file, absolute, may be read for this recording; visible: directories, ends
 * with NULL, may be NULL. What is not there is no question. ERROR_USAGE at path. */
int recorded_file_check(const struct source *s, char *const *visible, const char *path,
    struct error *err);

/* Whether today's workspace may be taken for the recorded one. ERROR_USAGE. */
int recorded_workspace_check(const struct source *s, struct error *err);

#endif
