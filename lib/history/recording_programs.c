/*
 * Programs: which calls were made with which version of the files that their commands run, and
 * which results come from another version than the present one.
 *
 * Calls of one process name the same files in the same text: each text is parsed once, and each
 * version of a file is compared once. Paths are kept relative to the workspace, which may have
 * moved.
 */
#include "history/recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/file.h"
#include "transcript/definition_file.h"
#include "transcript/event_keys.h"

/* A version of a file. */
struct recorded_program {
	struct definition_file file; /* its path is relative if the file was in the workspace */
	bool changed;                /* the file has another version now */
	bool last;                   /* no other version of the file was recorded later */
	int64_t results;             /* results of its own calls that are still valid */
};

/* The programs named in one text. */
struct recorded_programs {
	uint32_t *list;              /* numbers of programs */
	size_t count;
};

void
recording_take_workspace(struct recording *rec, struct span payload)
{
	free(rec->workspace);
	rec->workspace = span_text(span_member(payload, KEY_CWD));
}

static void
note_last(struct recording *rec, uint32_t number)
{
	const char *path = rec->programs[number].file.path;

	for (uint32_t i = 0; i < rec->program_count; i++)
		if (strcmp(rec->programs[i].file.path, path) == 0)
			rec->programs[i].last = i == number;
}

/* The number of a version, which becomes owned here. */
static uint32_t
add_program(struct recording *rec, struct definition_file *file)
{
	size_t len = rec->workspace != NULL ? strlen(rec->workspace) : 0;
	uint32_t i = 0;

	if (len > 1 && strncmp(file->path, rec->workspace, len) == 0 && file->path[len] == '/')
		memmove(file->path, file->path + len + 1, strlen(file->path + len + 1) + 1);
	while (i < rec->program_count && (strcmp(rec->programs[i].file.path, file->path) != 0 ||
	    strcmp(rec->programs[i].file.sha256, file->sha256) != 0))
		i++;
	if (i < rec->program_count) {
		definition_file_free(file);
	} else {
		rec->programs = memory_array(rec->programs, (size_t)rec->program_count + 1,
		    sizeof *rec->programs);
		rec->programs[rec->program_count++] = (struct recorded_program){ .file = *file };
	}
	note_last(rec, i);
	return i;
}

/* Only programs of a command: everything else that makes up a call is part of its key. For a
 * child run, the program is its workflow file. */
void
recording_take_programs(struct recording *rec, struct recorded_call *c, struct span files)
{
	struct recorded_programs programs = { NULL, 0 };
	struct definition_file file;
	const size_t *known;

	if (span_type(files) != 'a' || rec->spec->mode != RECALL_RESUME)
		return;
	known = map_get(&rec->programs_by_text, files.at, files.len);
	if (known != NULL) {
		c->programs = (uint32_t)*known;
		programs = rec->program_lists[c->programs - 1];
		for (size_t i = 0; i < programs.count; i++)
			if (!rec->programs[programs.list[i]].last)
				note_last(rec, programs.list[i]);
		return;
	}
	for (struct span_walk walk = span_walk(files); span_next(&walk);) {
		if (!definition_file_read(&file, walk.value))
			continue;
		if ((!file.program && !c->kind.child) || file.sha256[0] == '\0') {
			definition_file_free(&file);
			continue;
		}
		programs.list = memory_array(programs.list, programs.count + 1, sizeof *programs.list);
		programs.list[programs.count++] = add_program(rec, &file);
	}
	if (programs.count == 0)
		return;
	rec->program_lists = memory_array(rec->program_lists, (size_t)rec->program_list_count + 1,
	    sizeof *rec->program_lists);
	rec->program_lists[rec->program_list_count++] = programs;
	c->programs = rec->program_list_count;
	map_put(&rec->programs_by_text, files.at, files.len, c->programs);
}

/* ---- when everything is read ---- */

/* The call whose condition said no; calls that took that over did not evaluate it again. */
static uint32_t
who_said_no(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	while (c->links.claims != NO_CALL && !c->status.made_again &&
	    rec->calls[c->links.claims].status.state == RECALL_SKIPPED &&
	    !rec->calls[c->links.claims].status.by_user) {
		call = c->links.claims;
		c = &rec->calls[call];
	}
	return call;
}

/* The call that did the work of the result; NO_CALL: nothing of the call is taken over. */
static uint32_t
who_made(const struct recording *rec, uint32_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	if (!recording_counts(rec, call) || c->status.reopened)
		return NO_CALL;
	if (c->status.state == RECALL_SUCCEEDED)
		return c->links.result_from != NO_CALL ? c->links.result_from : call;
	if (c->status.state == RECALL_SKIPPED)
		return c->status.by_user ? NO_CALL : who_said_no(rec, call);
	return c->status.state == RECALL_FAILED && recording_failure_stands(rec, call) ? c->failure.first : NO_CALL;
}

static bool
made_by_another(const struct recording *rec, uint32_t maker)
{
	const struct recorded_programs *programs;
	uint32_t number = rec->calls[maker].programs;

	if (number == 0)
		return false;
	programs = &rec->program_lists[number - 1];
	for (size_t i = 0; i < programs->count; i++)
		if (rec->programs[programs->list[i]].changed)
			return true;
	return false;
}

static void
count_results(struct recording *rec, uint32_t maker)
{
	const struct recorded_programs *programs;
	uint32_t number = rec->calls[maker].programs;

	if (number == 0)
		return;
	programs = &rec->program_lists[number - 1];
	for (size_t i = 0; i < programs->count; i++)
		rec->programs[programs->list[i]].results++;
}

void
recording_repeat(struct recording *rec, uint32_t call)
{
	struct recorded_call *c = &rec->calls[call];
	const struct recorded_call *maker = &rec->calls[c->links.result_from != NO_CALL ? c->links.result_from :
	    c->failure.first];

	c->status.repeated = true;
	/* A child run, or a body, continues, and the steps in it take over their own records. */
	c->status.reopened = c->kind.child || (c->kind.runs_command && maker->kind.encloses);
	rec->calls[c->links.root].chain.redone = true;
	recording_reopen_around(rec, call);
}

void
recording_check_programs(struct recording *rec, const char *directory)
{
	if (rec->programs_checked || rec->program_count == 0)
		return;
	rec->programs_checked = true;
	for (uint32_t i = 0; i < rec->program_count; i++) {
		struct recorded_program *program = &rec->programs[i];
		char *path = path_join(*program->file.path == '/' ? "" : directory, program->file.path);

		program->changed = !definition_file_is_at(&program->file, path);
		free(program->file.path);
		program->file.path = path;
	}
	for (uint32_t i = 0; i < rec->call_count; i++) {
		uint32_t maker = who_made(rec, i);

		if (maker == NO_CALL)
			continue;
		count_results(rec, maker);
		rec->calls[i].status.outdated = made_by_another(rec, maker);
	}
	if (!rec->spec->answers.redo_changed)
		return;
	for (uint32_t i = 0; i < rec->call_count; i++)
		if (rec->calls[i].status.outdated)
			recording_repeat(rec, i);
	recording_note_effects(rec);
}

/* Versions of one file are reported together. */
void
recording_changed_programs(const struct recording *rec, struct history_summary *summary)
{
	for (uint32_t i = 0; i < rec->program_count; i++) {
		const struct recorded_program *program = &rec->programs[i];
		struct history_program *told = NULL;

		if (!program->changed || (!program->last && program->results == 0))
			continue;
		for (size_t k = 0; told == NULL && k < summary->program_count; k++)
			if (strcmp(summary->programs[k].path, program->file.path) == 0)
				told = &summary->programs[k];
		if (told == NULL) {
			summary->programs = memory_array(summary->programs, summary->program_count + 1,
			    sizeof *summary->programs);
			told = &summary->programs[summary->program_count++];
			*told = (struct history_program){ .path = memory_text(program->file.path) };
		}
		told->results += program->results;
	}
}

void
recording_free_programs(struct recording *rec)
{
	for (uint32_t i = 0; i < rec->program_count; i++)
		definition_file_free(&rec->programs[i].file);
	for (uint32_t i = 0; i < rec->program_list_count; i++)
		free(rec->program_lists[i].list);
	free(rec->programs);
	free(rec->program_lists);
	free(rec->workspace);
	map_free(&rec->programs_by_text);
}
