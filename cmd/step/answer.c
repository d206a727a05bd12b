/*
 * A struct as it is in memory, as both ends are the same program after a fork(), and behind
 * it the lines, whose buffer in the struct is empty.
 */
#include "step/answer.h"

#include <string.h>

/* It stands before the lines; the buffer in it is empty. */
struct answer_head {
	bool broken;
	struct error error;
	struct step_result result;
};

void
answer_pack(struct buffer *answer, const struct step_result *result,
    const struct error *broken)
{
	struct answer_head head;

	memset(&head, 0, sizeof head); /* its padding is sent too */
	head.broken = broken != NULL;
	if (broken != NULL)
		head.error = *broken;
	head.result = *result;
	head.result.out = (struct buffer)BUFFER_INIT;
	buffer_append(answer, &head, sizeof head);
	buffer_append(answer, buffer_string(&result->out), result->out.len);
}

enum error_code
answer_code(const struct buffer *answer)
{
	struct answer_head head;

	memcpy(&head, answer->data, sizeof head);
	return head.broken ? head.error.code : head.result.error.code;
}

int
answer_unpack(const struct buffer *answer, struct step_result *result, struct error *err)
{
	struct buffer out = result->out;
	struct answer_head head;

	memcpy(&head, answer->data, sizeof head);
	if (head.broken) {
		*err = head.error;
		return -1;
	}
	*result = head.result;
	result->out = out;
	buffer_append(&result->out, answer->data + sizeof head, answer->len - sizeof head);
	return 0;
}
