/* The directory is opened anew for reading, as the position of its own descriptor is shared. */
#include "io/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/file.h"

#define SWEPT "swept"

int64_t
sweep_age(const struct stat *status)
{
	return clock_wall() / 1000000 - (int64_t)status->st_mtime;
}

void
sweep_files(int directory, sweep_chooses *chooses, void *context)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = fd != -1 ? fdopendir(fd) : NULL;
	const struct dirent *found;
	struct stat status;

	if (names == NULL) {
		file_close(&fd);
		return;
	}
	while ((found = readdir(names)) != NULL)
		if (strcmp(found->d_name, SWEPT) != 0 &&
		    fstatat(directory, found->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(status.st_mode) && chooses(context, directory, found->d_name, &status))
			unlinkat(directory, found->d_name, 0);
	closedir(names);
}

void
sweep_daily(int directory, int64_t most, sweep_chooses *chooses, void *context)
{
	int mark = openat(directory, SWEPT, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat status;
	int64_t age = 0;

	if (mark != -1 && fstat(mark, &status) == 0)
		age = sweep_age(&status);
	if (age < 0 || age >= SWEEP_DAY)
		futimens(mark, NULL);
	file_close(&mark);
	if (age >= SWEEP_DAY && age < most)
		sweep_files(directory, chooses, context);
}
