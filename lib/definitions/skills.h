/*
 * The parts that are added to the system prompt of an agent: AGENTS.md files and skills,
 * awf-skills(7).
 *
 * A skill is a directory with a file SKILL.md, as agentskills.io has them: front matter with a
 * name, which should be the directory's and is that if there is none, and a description, and a
 * body of instructions. If an agent has the tool `read`, the prompt has only the name, the
 * description and the path of each skill, and the agent reads the file when it needs it; for other
 * agents the whole text is added.
 *
 * Files are read when the agent is loaded, and their bytes belong to its definition.
 */
#ifndef AWF_DEFINITIONS_SKILLS_H
#define AWF_DEFINITIONS_SKILLS_H

#include <stdbool.h>

#include "base/error.h"
#include "definitions/agent.h"

/* 1 to 64 of a-z 0-9, with single hyphens between them. */
bool skill_name_valid(const char *name);

/* The directories in which skills are searched for; a list (base/list.h). */
char **skill_directories(const char *workflow_directory);
/* The path of a skill's SKILL.md, to be freed by the caller. ERROR_DEFINITION lists the places that
 * were searched. */
char *skill_find(const char *name, const char *workflow_directory, struct error *err);
/* Finds the files that the agent needs, and adds them to the end of its system prompt.
 * ERROR_DEFINITION lists the places that were searched. */
int skills_compose(struct agent *a, bool reads, const char *workflow_directory,
    struct error *err);

#endif
