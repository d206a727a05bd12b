/* Each word of what was printed is taken for a path, or for a program in PATH. The first that
 * leads to a private place of the isolation (isolate/isolate.h), and is not in what the replay
 * saw of those, is told. */
#include "inspect/unseen.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "transcript/event_keys.h"

#define WORDS_MAX 256
/* What ends a word of a message. */
#define ENDS " \t\r\n\"'`:;,()[]{}<>="

/* list: a recorded PATH; NULL: none. */
static bool
was_seen(const struct replay_env_spec *spec, const char *list, const char *path)
{
	const struct source *s = spec->source;
	bool seen = beneath_there(s->workspace, path) || beneath_there(s->directory, path) ||
	    beneath_there(spec->place, path);

	for (char *const *v = spec->visible; !seen && v != NULL && *v != NULL; v++)
		seen = beneath_there(*v, path);
	while (!seen && list != NULL) {
		size_t len;
		const char *part = text_part(&list, ':', &len);
		char *directory = memory_copy(part, len);

		seen = *directory == '/' && beneath_there(directory, path);
		free(directory);
	}
	return seen;
}

static bool
is_one_of(const char *name, const char *const *names)
{
	while (*names != NULL && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* The directory of a hidden program's tree: ~/.pyenv is of use as a whole only, while
 * ~/.local is everybody's. Names of what holds secrets are not told. home NULL: it lies
 * elsewhere. */
static char *
tree_of(const char *home, const char *path)
{
	static const char *const secret[] = { ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker",
		".password-store", ".config", ".mozilla", NULL };
	static const char *const shared[] = { ".local", ".cache", ".awf", NULL };
	const char *part = home != NULL ? beneath_part(home, path) : NULL;
	char *first, *tree = NULL;

	if (part == NULL || strchr(part, '/') == NULL)
		return part == NULL ? path_directory(path) : NULL;
	first = memory_copy(part, strcspn(part, "/"));
	if (!is_one_of(first, secret))
		tree = is_one_of(first, shared) ? path_directory(path) : path_join(home, first);
	free(first);
	return tree;
}

/* Of a path without links. */
static char *
hidden_directory(const char *path)
{
	static const char *const places[] = { "/home", "/root", "/run", "/tmp", "/var/tmp", NULL };
	const char *home = path_home();
	char *root = home != NULL ? realpath(home, NULL) : NULL, *tree = NULL;
	bool hidden = root != NULL && strcmp(root, "/") != 0 && beneath_part(root, path) != NULL;

	if (hidden)
		tree = tree_of(root, path);
	for (size_t i = 0; !hidden && places[i] != NULL; i++) {
		hidden = beneath_part(places[i], path) != NULL;
		if (hidden && strchr(beneath_part(places[i], path), '/') != NULL)
			tree = tree_of(NULL, path);
	}
	free(root);
	return tree;
}

/* The directory to name for the first file that the text speaks of and that was not seen. In
 * memory of its own; NULL: none. */
static char *
unseen_directory(const struct replay_env_spec *spec, const char *text)
{
	char *list = span_text(span_path(spec->source->payload, KEY_ENV, "PATH", NULL));
	char *tree = NULL, *word, *path, *real;

	for (size_t i = 0; tree == NULL && i < WORDS_MAX && *(text += strspn(text, ENDS)) != '\0'; i++) {
		size_t len = strcspn(text, ENDS);

		word = memory_copy(text, len);
		text += len;
		path = strchr(word, '/') != NULL || list == NULL ? memory_text(word)
		    : path_search(list, word);
		real = path != NULL && *path == '/' ? realpath(path, NULL) : NULL;
		if (real != NULL && !was_seen(spec, list, real))
			tree = hidden_directory(real);
		free(real);
		free(path);
		free(word);
	}
	free(list);
	return tree;
}

void
unseen_tell(const struct replay_env_spec *spec, const struct difference *d, struct buffer *out)
{
	char *directory;

	if (d->failure.len == 0 || spec->isolation != ISOLATION_NAMESPACES)
		return;
	directory = unseen_directory(spec, buffer_string(&d->errors));
	if (directory == NULL)
		directory = unseen_directory(spec, buffer_string(&d->failure));
	if (directory == NULL)
		return;
	buffer_text(out, "  ");
	text_visible(out, directory, strlen(directory), 0);
	buffer_text(out, " is not seen by a replay; --visible ");
	text_visible(out, directory, strlen(directory), 0);
	buffer_text(out, " shows it\n");
	free(directory);
}
