/*
 * awf-tool-write: writes a file, and makes the directories that it lies in.
 */
#include "builtin.h"

static int
write_tool_run(struct builtin *b, struct error *err)
{
	const char *path = NULL;
	struct words content = { NULL, 0 };
	const struct argument arguments[] = {
		{ "file_path", &path, ARGUMENT_NAME, .required = true },
		{ "content", &content, ARGUMENT_TEXT, .required = true },
		{ .name = NULL }
	};
	bool exists;

	if (builtin_arguments(b, arguments, err) != 0 ||
	    change_check(path, &exists, err) != 0 ||
	    change_write(path, content.text, content.len, err) != 0)
		return -1;
	change_tell(path, exists, content.len, &b->answer);
	return 0;
}

int
main(int argc, char **argv)
{
	return builtin_main("write", write_tool_run, argc, argv);
}
