/*
 * All errors in paths are found here, before a process is started or anything is mounted. Paths are
 * resolved and sorted, so that parents come before what they contain; if two have the same path,
 * the later kind holds. All directories above a mount point (mountinfo), or above a place that must
 * be created, are divided: the view creates them instead of showing them as a whole.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "io/copytree.h"
#include "io/file.h"
#include "isolate/mounts.h"
#include "isolate/overlay.h"

const char *const isolate_private[] = { "/home", "/root", "/run", "/tmp", "/var/tmp", NULL };

int
isolate_refused(struct error *err, const char *format, ...)
{
	int reason = errno;
	char what[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return error_set(err, ERROR_SYSTEM, "isolation",
	    "unable to %s: %s; --isolation copy and --isolation none do without", what,
	    strerror(reason));
}

/* Whether path is below directory. */
static bool
overlay_plan_is_below(const char *path, const char *directory)
{
	return path_within(path, directory) && strcmp(path, directory) != 0;
}

/* Takes ownership of target and source. */
static void
add_place(struct overlay_plan *plan, enum overlay_kind kind, char *target, char *source,
    mode_t mode)
{
	plan->places = memory_array(plan->places, plan->count + 1, sizeof *plan->places);
	plan->places[plan->count++] = (struct overlay_place){ kind, target, source, mode };
}

static void
add_divided(struct overlay_plan *plan, char *path)
{
	plan->divided = memory_array(plan->divided, plan->divided_count + 1, sizeof *plan->divided);
	plan->divided[plan->divided_count++] = path;
}

/* Whether a path, whose links are resolved, is hidden: it is in a private directory, or in a
 * workspace as which something else is shown. */
static bool
overlay_plan_hides(const struct overlay_plan *plan, const char *path)
{
	if (plan->covered != NULL && overlay_plan_is_below(path, plan->covered))
		return true;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->places[i].kind == OVERLAY_PRIVATE && path_within(path, plan->places[i].target))
			return true;
	return false;
}

/* Adds an alias for a path that leads through hidden symbolic links, so that the place is visible
 * under this name, too; unless a part of the path is empty, "." or "..". Paths that are not hidden
 * are visible anyway. */
static void
add_visible(struct overlay_plan *plan, const char *path)
{
	char *real = *path == '/' ? realpath(path, NULL) : NULL;
	bool plain = true;

	if (real == NULL)
		return;
	for (const char *part = path; *part == '/';) {
		size_t len = strcspn(++part, "/");

		plain = plain && len > 0 &&
		    !(*part == '.' && (len == 1 || (len == 2 && part[1] == '.')));
		part += len;
	}
	if (strcmp(real, path) != 0 && plain && overlay_plan_hides(plan, path))
		add_place(plan, OVERLAY_ALIAS, memory_text(path), memory_text(real), 0);
	if (overlay_plan_hides(plan, real))
		add_place(plan, OVERLAY_VISIBLE, memory_text(real), memory_text(real), 0);
	free(real);
}

static int
add_real(struct overlay_plan *plan, enum overlay_kind kind, const char *target, const char *source,
    struct error *err)
{
	char *real = realpath(source, NULL), *shown;
	struct stat st;

	if (real == NULL || stat(real, &st) != 0) {
		free(real);
		return error_errno(err, ERROR_SYSTEM, source, "unable to show it");
	}
	if (!S_ISDIR(st.st_mode)) {
		free(real);
		return error_set(err, ERROR_SYSTEM, source, "is no directory");
	}
	shown = realpath(target, NULL);
	if (shown == NULL) {
		shown = memory_text(target);
		add_divided(plan, memory_text(target));
	}
	if (kind == OVERLAY_WORKSPACE) {
		plan->workspace = memory_text(shown);
		plan->source = memory_text(real);
	}
	add_place(plan, kind, shown, real, 0);
	return 0;
}

static int
add_mount(const char *point, void *plan)
{
	add_divided(plan, memory_text(point));
	return 0;
}

static int
by_target(const void *a, const void *b)
{
	const struct overlay_place *p = a, *q = b;
	int order = (p->kind == OVERLAY_ALIAS) - (q->kind == OVERLAY_ALIAS);

	if (order == 0)
		order = strcmp(p->target, q->target);
	return order != 0 ? order : (int)p->kind - (int)q->kind;
}

static void
place_free(struct overlay_place *place)
{
	free(place->target);
	free(place->source);
}

/* Makes a directory with upper/ and work/. */
static int
make_scratch(struct overlay_plan *plan, const char *parent, struct error *err)
{
	char *real = realpath(parent, NULL), *upper, *work;
	char *made = path_join(real != NULL ? real : parent, "isolate.XXXXXX");
	int failed = real == NULL || mkdtemp(made) == NULL;

	free(real);
	if (failed) {
		free(made);
		return error_errno(err, ERROR_SYSTEM, parent, "unable to make a directory in it");
	}
	plan->scratch = made;
	upper = path_join(made, "upper");
	work = path_join(made, "work");
	if (mkdir(upper, 0755) != 0 || mkdir(work, 0755) != 0)
		failed = error_errno(err, ERROR_SYSTEM, made, "unable to write");
	free(upper);
	free(work);
	return failed;
}

/* Adds a private directory, if it exists. */
static void
add_private(struct overlay_plan *plan, const char *path)
{
	char *real = realpath(path, NULL);
	struct stat st;

	if (real != NULL && strcmp(real, "/") != 0 && stat(real, &st) == 0 && S_ISDIR(st.st_mode))
		add_place(plan, OVERLAY_PRIVATE, real, NULL, st.st_mode & 07777);
	else
		free(real);
}

/* Invariant: parents come before what they contain, aliases come last, and no path occurs twice. */
static bool
places_hold(const struct overlay_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct overlay_place *place = &plan->places[i];

		if (*place->target != '/' || (place->source == NULL) != (place->kind == OVERLAY_PRIVATE))
			return false;
		for (size_t j = i + 1; j < plan->count; j++)
			if (strcmp(plan->places[j].target, place->target) == 0 ||
			    ((plan->places[j].kind == OVERLAY_ALIAS) == (place->kind == OVERLAY_ALIAS) &&
			    overlay_plan_is_below(place->target, plan->places[j].target)) ||
			    (place->kind == OVERLAY_ALIAS && plan->places[j].kind != OVERLAY_ALIAS))
				return false;
	}
	return plan->workspace != NULL && plan->source != NULL;
}

static int
add_all(struct overlay_plan *plan, const struct isolate_spec *spec, struct error *err)
{
	const char *source = spec->source != NULL ? spec->source : spec->workspace;
	size_t kept = 0;
	struct stat st;

	if (spec->source != NULL)
		plan->covered = realpath(spec->workspace, NULL);
	for (const char *const *path = isolate_private; *path != NULL; path++)
		add_private(plan, *path);
	if (path_home() != NULL)
		add_private(plan, path_home());
	/* It does not matter what the machine's /dev/shm is, because all of /dev is created. */
	add_place(plan, OVERLAY_PRIVATE, memory_text("/dev/shm"), NULL, 01777);
	for (const char *const *path = spec->visible; path != NULL && *path != NULL; path++)
		add_visible(plan, *path);
	for (const struct isolate_shown *s = spec->shown; s != NULL && s->at != NULL; s++)
		if (stat(s->source, &st) != 0 || !S_ISREG(st.st_mode)) {
			if (add_real(plan, OVERLAY_VISIBLE, s->at, s->source, err) != 0)
				return -1;
		/* otherwise it is visible in its directory */
		} else if (overlay_plan_hides(plan, s->at)) {
			add_place(plan, OVERLAY_VISIBLE, memory_text(s->at), memory_text(s->source), 0);
		}
	for (const struct isolate_shown *f = spec->files; f != NULL && f->at != NULL; f++) {
		bool link = f->itself && lstat(f->at, &st) == 0 && S_ISLNK(st.st_mode);
		char *real = link ? NULL : realpath(f->at, NULL);

		if (real == NULL) {
			/* The directory of the file is created, so that the file can be shown in
			 * it. */
			char *parent = path_directory(f->at), *directory = realpath(parent, NULL);

			real = path_join(directory != NULL ? directory : parent, path_base(f->at));
			add_divided(plan, memory_text(real));
			free(parent);
			free(directory);
		}
		add_place(plan, OVERLAY_FILE, real, memory_text(f->source), 0);
	}
	for (const char *const *path = spec->writable; path != NULL && *path != NULL; path++)
		if (add_real(plan, OVERLAY_WRITABLE, *path, *path, err) != 0)
			return -1;
	if (add_real(plan, OVERLAY_WORKSPACE, spec->workspace, source, err) != 0)
		return -1;
	if (mounts_each(add_mount, plan) != 0)
		return isolate_refused(err, "read what is mounted from /proc");
	/* Sort parents before what they contain; of equal paths, keep that with the last kind. */
	qsort(plan->places, plan->count, sizeof *plan->places, by_target);
	for (size_t i = 0; i < plan->count; i++)
		if (i + 1 < plan->count &&
		    strcmp(plan->places[i].target, plan->places[i + 1].target) == 0)
			place_free(&plan->places[i]);
		else
			plan->places[kept++] = plan->places[i];
	plan->count = kept;
	INVARIANT(places_hold(plan));
	return spec->scratch != NULL ? make_scratch(plan, spec->scratch, err) : 0;
}

int
overlay_plan(struct overlay_plan *plan, const struct isolate_spec *spec, struct error *err)
{
	*plan = (struct overlay_plan){ 0 };
	if (add_all(plan, spec, err) == 0)
		return 0;
	overlay_plan_end(plan, NULL);
	return -1;
}

bool
overlay_plan_private(const struct overlay_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->places[i].kind == OVERLAY_PRIVATE &&
		    strcmp(path, plan->places[i].target) == 0)
			return true;
	return false;
}

bool
overlay_plan_has_file(const struct overlay_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->places[i].kind == OVERLAY_FILE && strcmp(plan->places[i].target, path) == 0)
			return true;
	return false;
}

bool
overlay_plan_divides(const struct overlay_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->divided_count; i++)
		if (overlay_plan_is_below(plan->divided[i], path))
			return true;
	return false;
}

int
overlay_plan_end(struct overlay_plan *plan, struct error *err)
{
	int failed = plan->scratch != NULL ? copytree_remove(plan->scratch, err) : 0;

	for (size_t i = 0; i < plan->count; i++)
		place_free(&plan->places[i]);
	for (size_t i = 0; i < plan->divided_count; i++)
		free(plan->divided[i]);
	free(plan->places);
	free(plan->divided);
	free(plan->workspace);
	free(plan->covered);
	free(plan->source);
	free(plan->scratch);
	*plan = (struct overlay_plan){ 0 };
	return failed;
}
