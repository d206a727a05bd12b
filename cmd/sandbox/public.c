/*
 * A directory is one place if all below it is open to everybody, else its names are listed
 * and each part is looked at in the same way. So a few closed files cost a few places more,
 * and the rest stays whole.
 */
#include "sandbox/public.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

/* A symbolic link is there for all: what it leads to is looked at where that lies. */
enum sight { SIGHT_CLOSED, SIGHT_LINK, SIGHT_FILE, SIGHT_DIRECTORY };

static enum sight
sight_of(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return SIGHT_CLOSED;
	if (S_ISLNK(st.st_mode))
		return SIGHT_LINK;
	if (S_ISDIR(st.st_mode))
		return (~st.st_mode & (S_IROTH | S_IXOTH)) == 0 ? SIGHT_DIRECTORY : SIGHT_CLOSED;
	return (st.st_mode & S_IROTH) != 0 ? SIGHT_FILE : SIGHT_CLOSED;
}

/* Calls a function with each entry, until one says false. Of links, which most are, nothing
 * is asked. */
static bool
each_entry(struct places *p, const char *directory, bool (*look)(struct places *, const char *))
{
	DIR *entries = opendir(directory);
	const struct dirent *entry;
	bool going = entries != NULL;

	while (going && (entry = readdir(entries)) != NULL) {
		char *path;

		if (entry->d_type == DT_LNK || strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		path = path_join(directory, entry->d_name);
		going = look(p, path);
		free(path);
	}
	if (entries != NULL)
		closedir(entries);
	return going;
}

static bool
all_public(struct places *p, const char *path)
{
	enum sight sight = sight_of(path);

	return sight == SIGHT_DIRECTORY ? each_entry(p, path, all_public) : sight != SIGHT_CLOSED;
}

static bool
add_parts(struct places *p, const char *path)
{
	enum sight sight = sight_of(path);

	if (sight == SIGHT_CLOSED || sight == SIGHT_LINK)
		return true;
	if (sight == SIGHT_FILE || each_entry(p, path, all_public)) {
		places_add(p, path, PLACE_READ);
		return true;
	}
	places_add(p, path, PLACE_LIST);
	return each_entry(p, path, add_parts);
}

void
public_add(struct places *p, const char *path)
{
	char *real = realpath(path, NULL);

	if (real != NULL)
		add_parts(p, real);
	free(real);
}
