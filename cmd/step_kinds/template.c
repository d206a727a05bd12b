/* The file is read once and its text is checked then, so that later only values can be missing. */
#include "step_kinds/template.h"

#include <string.h>

#include "formats/prompt.h"
#include "io/file.h"

int
template_load(struct template *t, const char *given, const char *option, struct error *err)
{
	t->text = given;
	t->place = option;
	if (given[0] == '@') {
		t->place = t->file = given + 1;
		if (file_load(t->file, SCAN_LINE_LIMIT, &t->loaded, err) == -1) {
			err->code = ERROR_DEFINITION;
			return -1;
		}
		t->text = buffer_string(&t->loaded);
	}
	return prompt_check(t->text, t->place, err);
}

int
template_render(const struct template *t, const struct step *s, const struct item *item,
    struct buffer *out, struct error *err)
{
	return prompt_render(t->text, span_of(item->data.json.data, item->data.json.len),
	    span_of(s->place.inputs.data, s->place.inputs.len), t->place, out, err);
}

void
template_define_inputs(const struct template *t, const struct step *s, struct writer *w)
{
	if (strstr(t->text, "inputs.") != NULL)
		writer_raw(w, buffer_string(&s->place.inputs), s->place.inputs.len);
}

void
template_free(struct template *t)
{
	buffer_free(&t->loaded);
}
