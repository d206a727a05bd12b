/*
 * A parser for a part of git-config(1)'s syntax that is never more lenient than git: any line that
 * is not in the plain form (quotes, comments after a value, a setting on the line of a section
 * header, continued lines) is reported as odd.
 */
#include "isolate/git_config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"

/* In lower case; "*" stands for a subsection. git executes no value of these settings, reads no
 * further settings from a file that they name, and does not contact a remote because of them, as it
 * would for a partial clone. */
static const char *const plain[] = {
	"advice.*", "branch.*.description", "branch.*.merge", "branch.*.mergeoptions", "branch.*.pushremote",
	"branch.*.rebase", "branch.*.remote", "branch.*.vscode-merge-base", "branch.autosetupmerge",
	"branch.autosetuprebase", "color.ui", "commit.gpgsign", "core.abbrev", "core.autocrlf",
	"core.bare", "core.bigfilethreshold", "core.checkstat", "core.commitgraph", "core.compression",
	"core.eol", "core.filemode", "core.ignorecase", "core.logallrefupdates", "core.multipackindex",
	"core.precomposeunicode", "core.preloadindex", "core.quotepath", "core.repositoryformatversion",
	"core.safecrlf", "core.sparsecheckout", "core.sparsecheckoutcone", "core.splitindex",
	"core.symlinks", "core.trustctime", "core.untrackedcache", "core.whitespace",
	"extensions.compatobjectformat", "extensions.noop", "extensions.objectformat",
	"extensions.preciousobjects",
	"extensions.relativeworktrees", "extensions.worktreeconfig", "fetch.parallel", "fetch.prune",
	"fetch.prunetags", "fetch.writecommitgraph", "gc.auto", "gc.autodetach", "index.sparse",
	"index.threads", "index.version", "init.defaultbranch", "lfs.*.access", "lfs.repositoryformatversion",
	"maintenance.auto", "maintenance.strategy", "merge.conflictstyle", "merge.ff", "pull.ff",
	"pull.rebase", "push.autosetupremote", "push.default", "push.followtags", "rebase.autosquash",
	"rebase.autostash", "rebase.updaterefs", "remote.*.fetch", "remote.*.gh-resolved", "remote.*.mirror",
	"remote.*.prune", "remote.*.push",
	"remote.*.pushurl", "remote.*.skipdefaultupdate", "remote.*.tagopt", "remote.*.url",
	"remote.pushdefault", "status.showuntrackedfiles", "submodule.*.active", "submodule.*.branch",
	"submodule.*.url", "submodule.active", "submodule.recurse", "tag.gpgsign", "user.email", "user.name",
	NULL
};

static const char *const plain_options[] = {
	"options.allow-empty", "options.allow-empty-message", "options.allow-ff", "options.allow-rerere-auto",
	"options.default-msg-cleanup", "options.drop-redundant-commits", "options.edit",
	"options.keep-redundant-commits", "options.mainline", "options.no-commit", "options.record-origin",
	"options.signoff", NULL
};

struct reader {
	const char *const *plain;
	char *section;     /* in lower case; NULL: it could not be parsed */
	char *subsection;  /* NULL: none */
	char **odd;
};

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static char *
copy_lower(const char *text, size_t len)
{
	char *copy = memory_copy(text, len);

	for (size_t i = 0; i < len; i++)
		if (copy[i] >= 'A' && copy[i] <= 'Z')
			copy[i] = (char)(copy[i] - 'A' + 'a');
	return copy;
}

/* A remote helper (ext::sh -c …) executes its address; values that begin with - or ! are options
 * and commands. */
static bool
is_plain_value(const char *value)
{
	for (const char *at = value; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || strchr("\"\\#;\177", *at) != NULL)
			return false;
	return *value != '-' && *value != '!' && strstr(value, "::") == NULL;
}

static bool
is_plain_key(const struct reader *r, const char *key)
{
	char *name = memory_format("%s.%s%s", r->section, r->subsection != NULL ? "*." : "", key);
	size_t all = strlen(r->section) + 1;
	bool found = false;

	for (size_t i = 0; !found && r->plain[i] != NULL; i++)
		found = strcmp(r->plain[i], name) == 0 || (r->subsection == NULL &&
		    strncmp(r->plain[i], name, all) == 0 && strcmp(r->plain[i] + all, "*") == 0);
	free(name);
	return found;
}

/* Reads [section] or [section "subsection"], with nothing after it. */
static bool
read_section(struct reader *r, const char *line)
{
	const char *name = line + 1, *end = name, *sub = NULL;

	free(r->section);
	free(r->subsection);
	r->section = r->subsection = NULL;
	while (is_word(*end))
		end++;
	if (end == name)
		return false;
	r->section = copy_lower(name, (size_t)(end - name));
	if (*end == ' ' || *end == '\t') {
		end += strspn(end, " \t");
		sub = *end == '"' ? end + 1 : NULL;
		end = sub == NULL ? NULL : sub + strcspn(sub, "\"\\");
		if (end != NULL && *end == '"')
			r->subsection = memory_copy(sub, (size_t)(end++ - sub));
	}
	if (end == NULL || *end != ']' || (sub != NULL && r->subsection == NULL) || end[1] != '\0') {
		free(r->section);
		r->section = NULL;
		return false;
	}
	return true;
}

static void
read_setting(struct reader *r, const char *line)
{
	const char *end = line, *value;
	char *key;

	while (is_word(*end))
		end++;
	value = end + strspn(end, " \t");
	if (r->section == NULL || end == line || (*value != '\0' && *value != '=')) {
		list_add(&r->odd, line);
		return;
	}
	if (*value == '=')
		value += 1 + strspn(value + 1, " \t");
	key = copy_lower(line, (size_t)(end - line));
	if (!is_plain_value(value) || !is_plain_key(r, key))
		list_take(&r->odd, memory_format("%s.%s%s%s=%s", r->section,
		    r->subsection != NULL ? r->subsection : "", r->subsection != NULL ? "." : "", key,
		    value));
	free(key);
}

static char **
read_all(const char *const *names, const char *text, size_t len)
{
	struct reader r = { .plain = names };
	const char *end = text + len;

	/* With continued lines, the meaning of a line depends on others, so the whole text is
	 * reported. */
	if (memchr(text, '\0', len) != NULL || (len > 0 && text[len - 1] == '\\'))
		list_take(&r.odd, memory_copy(text, len));
	for (const char *at = text; r.odd == NULL && at < end; at++)
		if (*at == '\\' && (at[1] == '\n' || at[1] == '\r'))
			list_take(&r.odd, memory_copy(text, len));
	if (r.odd != NULL)
		return r.odd;
	while (text < end) {
		const char *next = memchr(text, '\n', (size_t)(end - text));
		size_t size = (size_t)((next != NULL ? next : end) - text);
		char *line;

		while (size > 0 && is_space(*text)) {
			text++;
			size--;
		}
		while (size > 0 && is_space(text[size - 1]))
			size--;
		line = memory_copy(text, size);
		if (*line == '[') {
			if (!read_section(&r, line))
				list_add(&r.odd, line);
		} else if (*line != '\0' && *line != '#' && *line != ';') {
			read_setting(&r, line);
		}
		free(line);
		text = next != NULL ? next + 1 : end;
	}
	free(r.section);
	free(r.subsection);
	return r.odd;
}

bool
git_config_is_plain(const char *name)
{
	const char *first = strchr(name, '.'), *last = strrchr(name, '.');
	struct reader r = { .plain = plain };
	char *section, *subsection;
	bool is;

	if (first == NULL)
		return false;
	section = memory_copy(name, (size_t)(first - name));
	subsection = first == last ? NULL : memory_copy(first + 1, (size_t)(last - first - 1));
	r.section = section;
	r.subsection = subsection;
	is = is_plain_key(&r, last + 1);
	free(section);
	free(subsection);
	return is;
}

char **
git_config_odd(const char *text, size_t len)
{
	return read_all(plain, text, len);
}

char **
git_config_odd_options(const char *text, size_t len)
{
	return read_all(plain_options, text, len);
}
