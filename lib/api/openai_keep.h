/*
 * Keeps what a Chat Completions server sends besides the members that api/openai.c reads:
 * signatures, encrypted thoughts, pictures, members of its own. It may require them in the next
 * request, so they are kept in `raw`: of the call that they came with, else of the last thought, or
 * of the last text. Pieces are joined: strings and lists are appended, and parts of a list with the
 * same `index` and `type` are one part.
 *
 *     {"reasoning_content": ""}   on any block: a member of the message
 *     {"images": [...]}           on a text that describes them
 *     {"part": {...}}             on a text: a part of the content, unchanged
 *     {"extra_content": {...}}    on a call: a member of the call
 *
 * Members that no server wants back (openai_silent) are kept only if they are useful to a reader.
 */
#ifndef AWF_API_OPENAI_KEEP_H
#define AWF_API_OPENAI_KEEP_H

#include "api/stream.h"

#define OPENAI "openai"
#define IMAGES "images"
#define PART "part"
#define CONTENT_FIELD "content" /* `field` of a thought that is a part of the content */
#define SUMMARY_FIELD "summary" /* the same, if the part is a list of summaries */
#define TAG_FIELD "think"       /* the same, if it is in the text, between tags */
#define TAG_BEGIN "<think>"
#define TAG_END "</think>"

/* Members that are only for readers and never sent back. Ends with NULL. */
extern const char *const openai_silent[];

/* Keeps the members of a piece of the message, or of the whole message, that have no place in a
 * block. */
void openai_keep_delta(struct stream *s, struct span delta);
/* Keeps citations, which are a member of the piece itself and may be sent several times. */
void openai_keep_citations(struct stream *s, struct span citations);
/* Keeps the members of a call, or of a piece of it, that have no place in a block. */
void openai_keep_call(struct block *b, struct span call);
/* Keeps a part of the content that is neither text nor thoughts. */
void openai_keep_part(struct stream *s, struct span part);
/* Keeps the other members of a part that is a thought. */
void openai_keep_thought(struct block *b, struct span part);
/* If a text of the answer begins with a thought between tags, moves it into a thought block. */
void openai_take_tags(struct message *m);
/* Marks a thought that was sent as a summary, and keeps its signature. */
void openai_keep_summary(struct block *b, struct span summary);
/* Sets `raw` of each such thought to the part that is sent back: with the whole text, although it
 * arrived in pieces. */
void openai_place_summaries(struct message *m);
/* Puts the joined members of the message into a block. */
void openai_place_kept(struct stream *s);

#endif
