/*
 * The events of one call. All code that does the work of a call (running a command, the turn loop)
 * appends its events with these functions, which set their causes as awf-transcript(5) requires:
 * inside a call the parent of an event is the event before it, unless another one is named.
 */
#ifndef AWF_TRANSCRIPT_CALL_H
#define AWF_TRANSCRIPT_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/writer.h"
#include "transcript/event.h"
#include "transcript/transcript.h"

struct call {
	struct transcript *transcript;
	const char *name;           /* name of the step */
	const char *path;           /* path of the step, names with dots */
	const char *id;             /* id of the call: NAME:OCCURRENCE:ITEM for it and each call
	                               around it, with slashes */
	int64_t iteration;
	char last[ID_SIZE];         /* event id of the parent of the next event */
	struct buffer links;        /* the inside of a JSON array: further causes of
	                               the next event */
	char next[ID_SIZE];         /* id of the next event; "": a new one */
	const struct event_raw *raws; /* bytes for values of the next event that are not UTF-8 */
	size_t raw_count;
};

/* Appends an event of this call. If parent is NULL, the parent is the last event, and the
 * collected links are used and cleared. An event that explicitly names the last event as its
 * parent gets the links, too, but does not clear them. The event's id is copied to id (may be
 * NULL); unless parent was given, it becomes the last event. */
int call_event(struct call *c, enum event_type type, const char *parent,
    const struct buffer *payload, char id[ID_SIZE], struct error *err);
/* Sets several events as causes of the next one, such as the results of several tool calls: the
 * first is its parent, the others become links. */
void call_follow(struct call *c, const char *const *ids, size_t count);
/* Appends an event that is not the cause of any later event. id NULL: a new id. */
int call_aside(const struct call *c, enum event_type type, const char *id, const char *parent,
    struct span payload, struct error *err);
/* Adds a cause of the next event. */
void call_add_link(struct call *c, const char *id);
/* The next event's parent is an event of an earlier attempt (recorded); the event `own` of this
 * call becomes a link. */
void call_follow_recorded(struct call *c, const char *recorded, const char *own);
/* Sets the id of the next event. */
void call_name_next(struct call *c, const char *id);
/* Whether text is the id of a call (NAME:OCCURRENCE:ITEM, separated by slashes), or the path of a
 * step (names separated by dots). For values from the environment. */
bool call_id_valid(const char *text);
bool call_path_valid(const char *text);
/* How users name a call: by its id, by the path of its step, or by the path and the item,
 * "map[3]", as in messages. The first checks that a text is such a name, the second whether it
 * names the given call. */
bool call_name_valid(const char *name);
bool call_is_named(const char *name, const char *call, const char *path, int64_t item);
/* Whether the call has the same name as the enclosing call, like rounds and branches of a group
 * (and a step in the group that has the group's name). */
bool call_is_member(const char *id);
/* The name of a call's step, to be freed by the caller: send for brief:0:0/send:1:0. */
char *call_id_name(const char *id);
/* Write members of payloads: an error, {"code": …, "message": …}; and the block of what is run, or
 * one block for each branch. argv, commands: end with NULL; NULL if a step was refused before it
 * had any. */
void call_write_error(struct writer *w, const char *key, const struct error *error);
void call_write_command(struct writer *w, char *const *argv);
void call_write_branches(struct writer *w, char *const *commands);
/* Reads the enclosing call and the path of this process from the environment; "": none.
 * ERROR_SYSTEM if AWF cannot have set these values. */
int call_around(const char **call, const char **path, struct error *err);
/* In which try of the enclosing call this process runs: how many tries have failed before. */
int64_t call_try_around(void);
#define CALL_TRY "AWF_TRY" /* the variable that contains it */
/* The tool call of an agent that started this process, by an id that is the same in every attempt
 * of the run; NULL: none did. */
const char *call_tool_around(void);
#define CALL_TOOL "AWF_TOOL_CALL" /* the variable that contains it */
/* ", try 2 of 3 in 2.5 s", for people. */
void call_retry_text(long long next, long long tries, long long delay_ms, struct buffer *out);
/* The text for `wait` of a payload: "waiting for anthropic: 4 of 4 calls under way", and, if
 * delay_ms is not 0, ", next try in 2.5 s". */
void call_wait_text(struct span wait, long long delay_ms, struct buffer *out);
int call_sync(struct call *c, struct error *err);

#endif
