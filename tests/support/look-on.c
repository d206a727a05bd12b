/*
 * Looks on while models write: prints what lib/view/live.h tells of a run, a JSON object each,
 * until the run's directory is gone.
 * usage: look-on STORAGE/runs/ID
 */
#include <stdio.h>
#include <sys/stat.h>

#include "json/writer.h"
#include "view/live.h"

#define LOOK_MS 500 /* whether the run is gone, though nothing tells of it */

static void
print(void *context, const struct live_news *news)
{
	static const char *const words[] = { [LIVE_RESTARTED] = "restart", [LIVE_CUT] = "cut",
		[LIVE_DONE] = "done" };
	struct buffer line = BUFFER_INIT;
	struct writer w;

	(void)context;
	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_string(&w, "call", news->call);
	if (news->event != LIVE_DONE)
		writer_member_integer(&w, "turn", news->turn);
	if (news->event == LIVE_APPENDED) {
		writer_member_string(&w, "kind", live_kinds[news->kind]);
		writer_key(&w, "append");
		writer_bytes(&w, news->text.at, news->text.len);
	} else {
		writer_member_bool(&w, words[news->event], true);
	}
	writer_object_end(&w);
	puts(line.data);
	fflush(stdout);
	buffer_free(&line);
}

int
main(int argc, char **argv)
{
	struct live_follow follow;
	struct watch watch;
	struct stat status;

	if (argc != 2) {
		fputs("usage: look-on STORAGE/runs/ID\n", stderr);
		return 1;
	}
	watch_open(&watch);
	live_follow_begin(&follow, argv[1], &watch, print, NULL);
	for (;;) {
		bool gone = lstat(argv[1], &status) == -1;

		watch_drain(&watch);
		live_follow_look(&follow);
		if (gone)
			break;
		watch_wait(&watch, -1, LOOK_MS);
	}
	live_follow_end(&follow);
	watch_close(&watch);
	return 0;
}
