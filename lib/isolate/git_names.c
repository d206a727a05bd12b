/*
 * The rules of git-check-ref-format(1) and of git's verify_path(), for all file systems that git
 * supports: a name that one of them treats as ".git" is refused on all.
 */
#include "isolate/git_names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"

bool
git_ref_part_is_plain(const char *part, size_t len)
{
	char *text = memory_copy(part, len);
	bool plain = len > 0 && strlen(text) == len && *text != '.' && !text_ends(text, ".lock") &&
	    strstr(text, "..") == NULL && strstr(text, "@{") == NULL && strpbrk(text, " ~^:?*[\\\x7f") == NULL;

	for (size_t i = 0; plain && i < len; i++)
		plain = (unsigned char)text[i] >= 0x20;
	free(text);
	return plain;
}

bool
git_ref_is_plain(const char *name)
{
	static const char refs[] = "refs/";
	const char *part = name + sizeof refs - 1;

	if (strncmp(name, refs, sizeof refs - 1) != 0 || text_ends(name, "."))
		return false;
	for (;;) {
		size_t len = strcspn(part, "/");

		if (!git_ref_part_is_plain(part, len))
			return false;
		if (part[len] == '\0')
			return true;
		part += len + 1;
	}
}

/* Characters that HFS+ ignores when it compares names. */
static bool
is_ignored(uint32_t code)
{
	return (code >= 0x200c && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
	    (code >= 0x206a && code <= 0x206f) || code == 0xfeff;
}

/* Whether a part of a path is ".git" for some file system: in any case, with characters that NTFS
 * or HFS+ ignore, or as its short name on NTFS. */
static bool
is_repository(const char *part, size_t len)
{
	struct buffer name = BUFFER_INIT;
	char *text;
	bool is;

	for (size_t at = 0; at < len && part[at] != ':';) { /* what follows is a stream of NTFS */
		uint32_t code = 0;
		size_t one = utf8_decode(part + at, len - at, &code);

		if (one == 0 || !is_ignored(code))
			buffer_append(&name, part + at, one == 0 ? 1 : one);
		at += one == 0 ? 1 : one;
	}
	text = memory_text(buffer_string(&name));
	len = strlen(text);
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '.'))
		text[--len] = '\0';
	is = strcasecmp(text, ".git") == 0 || strcasecmp(text, "git~1") == 0;
	free(text);
	buffer_free(&name);
	return is;
}

/* A backslash is a separator on Windows. */
static bool
are_parts_plain(const char *path, const char *separators)
{
	for (;;) {
		size_t len = strcspn(path, separators);

		if (is_repository(path, len) || (len == 1 && *path == '.') || (len == 2 && memcmp(path, "..", 2) == 0))
			return false;
		if (path[len] == '\0')
			return true;
		path += len + 1;
	}
}

bool
git_path_is_plain(const char *path)
{
	return *path != '\0' && *path != '/' && strstr(path, "//") == NULL && !text_ends(path, "/") &&
	    are_parts_plain(path, "/") && are_parts_plain(path, "/\\");
}
