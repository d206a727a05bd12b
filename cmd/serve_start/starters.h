/*
 * Who has started a run: a token of the role start may read the runs that it has started, and no
 * others.
 *
 *    serve/started/RUN (0600)   the digest of the token, and a line feed
 *
 * The file is written before the run is started, so that whoever is told its id may read it. It is
 * removed if the run was not started; and, within days, if the run is removed.
 */
#ifndef AWF_SERVE_START_STARTERS_H
#define AWF_SERVE_START_STARTERS_H

#include <stdbool.h>

#include "base/error.h"
#include "storage/storage.h"

/* Notes that the token with this digest starts the run. Once a day, it also removes the notes about
 * runs that do not exist any more. */
int starters_note(const struct storage *s, const char *run_id, const char *digest,
    struct error *err);
void starters_drop(const struct storage *s, const char *run_id);
/* Whether the token with this digest has started the run. */
bool starters_has(const struct storage *s, const char *run_id, const char *digest);

#endif
