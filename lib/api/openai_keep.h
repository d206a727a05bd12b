/*
 * What a Chat Completions server says beyond the members that api/openai.c reads: signatures,
 * encrypted thoughts, pictures, members of its own. It may demand them back with the next request,
 * so they are kept in `raw`: of the call with which they came, else of the last thought, or of the
 * last text. What came in pieces is joined: texts and lists are appended, and parts of a list with
 * one `index` and `type` are one part.
 *
 *     {"reasoning_content": ""}   on any block: a member of the message
 *     {"images": [...]}           on a text that describes them
 *     {"part": {...}}             on a text: a part of the content, as it came
 *     {"extra_content": {...}}    on a call: a member of the call
 *
 * Members that no server takes back (openai_silent) are kept only if a reader may want them.
 */
#ifndef AWF_API_OPENAI_KEEP_H
#define AWF_API_OPENAI_KEEP_H

#include "api/stream.h"

#define OPENAI "openai"
#define IMAGES "images"
#define PART "part"
#define CONTENT_FIELD "content" /* `field` of a thought that is a part of the content */
#define SUMMARY_FIELD "summary" /* likewise, whose text is a list of this name in it */
#define TAG_FIELD "think"       /* likewise of one that stands in the text, between tags */
#define TAG_BEGIN "<think>"
#define TAG_END "</think>"

/* Members that are for readers: never sent back. Ends with NULL. */
extern const char *const openai_silent[];

/* Keeps what of a piece of the message, or of the whole message, has no place. */
void openai_keep_delta(struct stream *s, struct span delta);
/* Keeps a member of the piece around it, which is said once, or several times. */
void openai_keep_citations(struct stream *s, struct span citations);
/* Keeps what of a call, or a piece of it, has no place. */
void openai_keep_call(struct block *b, struct span call);
/* Keeps a part of the content that is neither text nor thoughts. */
void openai_keep_part(struct stream *s, struct span part);
/* Likewise the other members of a thought that is a part. */
void openai_keep_thought(struct block *b, struct span part);
/* Makes a thought of what a text of the answer begins with between tags. */
void openai_take_tags(struct message *m);
/* Marks a thought that came as a summary, and keeps its signature. */
void openai_keep_summary(struct block *b, struct span summary);
/* Makes of each of them the part that goes back: whole, though it came in pieces. */
void openai_place_summaries(struct message *m);
/* Puts what came in pieces into the blocks. */
void openai_place_kept(struct stream *s);

#endif
