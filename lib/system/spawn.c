/*
 * posix_spawn_file_actions_addclosefrom_np() came with glibc 2.34, …_addtcsetpgrp_np() with 2.35;
 * musl, and other systems, have neither.
 */
#define _GNU_SOURCE /* posix_spawn_file_actions_add…_np() */
#include <spawn.h>

#include "system/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "system/descriptor.h"

#if defined __GLIBC__ && !defined AWF_OLDEST && !defined AWF_PORTABLE
#if __GLIBC_PREREQ(2, 34)
#define HAS_CLOSEFROM
#endif
#if __GLIBC_PREREQ(2, 35)
#define HAS_FOREGROUND
#endif
#endif

#ifdef AWF_PORTABLE
/* The name that macOS, FreeBSD and glibc have had it by before POSIX got it. */
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *directory);
#endif

int
spawn_directory(posix_spawn_file_actions_t *actions, const char *directory)
{
	return posix_spawn_file_actions_addchdir_np(actions, directory);
}

#ifndef HAS_CLOSEFROM
static int
close_inherited(int fd, void *actions)
{
	const int flags = fcntl(fd, F_GETFD);

	return flags == -1 || (flags & FD_CLOEXEC) != 0 ? 0 :
	    posix_spawn_file_actions_addclose(actions, fd);
}
#endif

int
spawn_close_from(posix_spawn_file_actions_t *actions, int first)
{
#ifdef HAS_CLOSEFROM
	return posix_spawn_file_actions_addclosefrom_np(actions, first);
#else
	return descriptor_each(first, close_inherited, actions);
#endif
}

int
spawn_foreground(posix_spawn_file_actions_t *actions, int terminal)
{
#ifdef HAS_FOREGROUND
	return posix_spawn_file_actions_addtcsetpgrp_np(actions, terminal);
#else
	(void)actions;
	(void)terminal;
	return 0;
#endif
}

/* It may have been stopped because it used the terminal before. */
void
spawn_foreground_after(int terminal, pid_t pid)
{
#ifdef HAS_FOREGROUND
	(void)terminal;
	(void)pid;
#else
	tcsetpgrp(terminal, pid);
	kill(-pid, SIGCONT);
#endif
}
