/*
 * What counts as remote. There is no NFS to try it on, so statfs() and the list
 * of mounts are this program's own.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/memory.h"
#include "io/file.h"

static long magic;
static char *mounts;

int
statfs(const char *path, struct statfs *fs)
{
	if (!*path) {
		errno = ENOENT;
		return -1;
	}
	memset(fs, 0, sizeof *fs);
	fs->f_type = (__typeof__(fs->f_type))magic;
	return 0;
}

FILE *
fopen(const char *path, const char *mode)
{
	assert_string_equal(path, "/proc/self/mountinfo");
	return mounts ? fmemopen(mounts, strlen(mounts), *mode == 'r' ? "r" : "w") : NULL;
}

static void
by_number(void **state)
{
	static const struct {
		long magic;
		const char *name;
	} rows[] = {
		{0x6969, "NFS"}, {0x517b, "SMB"}, {(long)0xff534d42, "CIFS"},
		{(long)0xfe534d42, "SMB2"}, {(int32_t)0xfe534d42, "SMB2"}, {0x5346414f, "AFS"},
		{0x01021997, "9P"}, {0x00c36400, "Ceph"}, {0x0bd00bd0, "Lustre"},
		{0x47504653, "GPFS"}, {0x73757245, "Coda"}, {0x7461636f, "OCFS2"},
		{0xef53, NULL}, {0x01021994, NULL}, {(long)0x9123683e, NULL}, {0x794c7630, NULL},
	};
	struct error err;
	const char *name;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		magic = rows[i].magic;
		assert_int_equal(file_is_remote("/", &name, &err), rows[i].name != NULL);
		if (rows[i].name)
			assert_string_equal(name, rows[i].name);
		else
			assert_null(name);
	}
}

static void
fuse_by_type(void **state)
{
	static const struct {
		const char *type;
		int remote;
	} rows[] = {
		{"fuse.sshfs", 1}, {"fuse.glusterfs", 1}, {"fuse.s3fs", 1}, {"fuse.rclone", 1},
		{"fuse.ceph", 1}, {"fuse.gocryptfs", 0}, {"fuseblk", 0}, {"fuse.ssh", 0},
	};
	struct stat st;
	struct error err;
	const char *name;

	(void)state;
	magic = 0x65735546;
	assert_int_equal(stat("/", &st), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		mounts = memory_format("no mount\n20 1 999:999 / /o rw - fuse.sshfs o rw\n"
		    "21 1 %u:%u / /x rw shared:1 - %s x rw\n", major(st.st_dev), minor(st.st_dev),
		    rows[i].type);
		assert_int_equal(file_is_remote("/", &name, &err), rows[i].remote);
		if (rows[i].remote)
			assert_string_equal(name, rows[i].type);
		free(mounts);
	}
	mounts = NULL;
	assert_int_equal(file_is_remote("/", &name, &err), 0);
}

static void
anybody_mounts_fuse(void **state)
{
	static const struct { long magic; bool anybodys; } rows[] = {
		{ 0x65735546, true }, { 0xef53, false }, { 0x01021994, false }, { 0x6969, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		magic = rows[i].magic;
		assert_int_equal(file_is_users_mount("/"), rows[i].anybodys);
	}
	assert_true(file_is_users_mount(""));
}

static void
missing_path(void **state)
{
	struct error err;
	const char *name;

	(void)state;
	assert_int_equal(file_is_remote("", &name, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_number),
		cmocka_unit_test(fuse_by_type),
		cmocka_unit_test(anybody_mounts_fuse),
		cmocka_unit_test(missing_path),
	};

	return cmocka_run_group_tests_name("io/remote", tests, NULL, NULL);
}
