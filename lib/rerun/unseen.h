/*
 * What a replay in namespaces did not see of the machine: a program in the home directory
 * runs there, as its directory is in PATH, but not what it needs beside it (pyenv, nvm), nor
 * what links lead to from the workspace (the Python of a virtual environment, npm link). What
 * such a program printed before it failed tells which file that was.
 */
#ifndef AWF_RERUN_UNSEEN_H
#define AWF_RERUN_UNSEEN_H

#include "base/buffer.h"
#include "rerun/canonical.h"
#include "rerun/replay_env.h"

/* Appends a line about a call that failed in the replay alone, if it spoke of a file, by its
 * path, as a program of the recorded PATH or as a module, that is there but was not seen: all
 * directories that --visible would have to name for that. Nothing of one that holds secrets. */
void unseen_tell(const struct replay_env_spec *spec, const struct difference *d,
    struct buffer *out);

#endif
