/*
 * awf-tool-write: writes a file, and makes the directories that it lies in.
 */
#include "builtin.h"
#include "change.h"

static int
write_file(struct builtin *b, struct error *err)
{
	const char *path = NULL;
	struct words content = { NULL, 0 };
	bool exists;

	if (builtin_need(b, "file_path", err) != 0 || builtin_need(b, "content", err) != 0 ||
	    builtin_name(b, "file_path", &path, err) != 0 ||
	    builtin_text(b, "content", &content, err) != 0 ||
	    change_check(path, &exists, err) != 0 ||
	    change_write(path, content.text, content.len, err) != 0)
		return -1;
	change_tell(path, exists, content.len, &b->answer);
	return 0;
}

int
main(int argc, char **argv)
{
	return builtin_main("write", write_file, argc, argv);
}
