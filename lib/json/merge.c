/* Both functions use one recursive walk; its depth is limited because values have been checked. */
#include "json/merge.h"

#include <stdbool.h>
#include <string.h>

#include "json/writer.h"

/* The value of a key, a raw token, in an object. */
static struct span
merge_find(struct span object, struct span key)
{
	struct buffer name = BUFFER_INIT, other = BUFFER_INIT;
	struct span found = SPAN_NONE;

	span_decode(key, &name);
	for (struct span_walk w = span_walk(object); w.object && span_next(&w);) {
		buffer_clear(&other);
		span_decode(w.key, &other);
		if (other.len == name.len &&
		    memcmp(buffer_string(&other), buffer_string(&name), name.len) == 0)
			found = w.value;
	}
	buffer_free(&name);
	buffer_free(&other);
	return found;
}

static void
merge_write_key(struct writer *w, struct span key)
{
	struct buffer name = BUFFER_INIT;

	span_decode(key, &name);
	writer_key_quoted(w, buffer_string(&name), name.len);
	buffer_free(&name);
}

static void
merge_write(struct writer *w, struct span target, struct span patch, bool nulls_stay)
{
	if (span_type(patch) != 'o') {
		writer_span(w, patch);
		return;
	}
	if (span_type(target) != 'o')
		target = SPAN_NONE;
	writer_object(w);
	for (struct span_walk old = span_walk(target); old.object && span_next(&old);) {
		struct span change = merge_find(patch, old.key);

		if (change.at == NULL) {
			writer_raw_member(w, old.key, old.value);
		} else if (nulls_stay || span_type(change) != '0') {
			merge_write_key(w, old.key);
			merge_write(w, old.value, change, nulls_stay);
		}
	}
	for (struct span_walk new = span_walk(patch); span_next(&new);)
		if ((nulls_stay || span_type(new.value) != '0') &&
		    merge_find(target, new.key).at == NULL) {
			merge_write_key(w, new.key);
			merge_write(w, SPAN_NONE, new.value, nulls_stay);
		}
	writer_object_end(w);
}

void
merge_patch(struct span target, struct span patch, struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	merge_write(&w, target, patch, false);
}

void
merge_patches(struct span first, struct span second, struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	merge_write(&w, first, second, true);
}
