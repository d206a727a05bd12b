/*
 * What one model gave, and another is sent. Ids of calls have another form with each API, and some
 * refuse those of others: such an id goes out in a form that fits, the same for the call and for
 * its result, and the giver is sent its own. What only the giver understands (signatures, thoughts,
 * members in `raw`) goes to nobody else: `from` of a message says who gave it, a model under the
 * name of its provider.
 *
 * A message of the model without `from` is of somebody who does not say: there `api` of the blocks
 * decides alone, awf-provider(7).
 */
#ifndef AWF_PROVIDER_FOREIGN_H
#define AWF_PROVIDER_FOREIGN_H

#include <stdbool.h>

#include "base/buffer.h"
#include "json/scan.h"

struct foreign {
	const char *own;   /* who is asked: NAME/MODEL */
	bool echoes;       /* its own goes back to it; else it is like any other's */
	const char *ids;   /* that it takes: an extended regular expression for all of one; NULL: any */
};

/* Writes the messages as they go out. False: that is as they are, and nothing is written. */
bool foreign_write(const struct foreign *f, struct span messages, struct buffer *out);

#endif
