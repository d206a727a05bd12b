/*
 * File systems that keep locks on another machine, or have none; and file systems that any user can
 * mount. The numbers are Linux's (statfs(2)). On other systems nothing is known about file systems,
 * and none is refused.
 */
#include "io/file.h"

#ifndef AWF_PORTABLE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/text.h"

#define FUSE_MAGIC 0x65735546u

static const struct {
	uint32_t magic;
	const char *name;
} remote_systems[] = {
	{0x00006969, "NFS"},
	{0x0000517b, "SMB"},
	{0xff534d42, "CIFS"},
	{0xfe534d42, "SMB2"},
	{0x5346414f, "AFS"},
	{0x6b414653, "AFS"},
	{0x0000564c, "NCP"},
	{0x01021997, "9P"},
	{0x00c36400, "Ceph"},
	{0x0bd00bd0, "Lustre"},
	{0x47504653, "GPFS"},
	{0x73757245, "Coda"},
	{0x7461636f, "OCFS2"},
	{0x01161970, "GFS2"},
	{0x19830326, "BeeGFS"},
	{0x20030528, "OrangeFS"},
	{0xaad7aaea, "PanFS"},
	{0x013111a8, "IBRIX"},
};

/* Types of FUSE file systems in /proc/self/mountinfo. */
static const char *const remote_fuse[] = {
	"fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.s3fs", "fuse.goofys",
	"fuse.mount-s3", "fuse.mountpoint-s3", "fuse.geesefs", "fuse.gcsfuse", "fuse.blobfuse",
	"fuse.blobfuse2", "fuse.rclone", "fuse.davfs", "fuse.davfs2", "fuse.curlftpfs",
	"fuse.juicefs", "fuse.mfs", "fuse.moosefs", "fuse.lizardfs",
	"fuse.seaweedfs", "fuse.orangefs", "fuse.beegfs", "fuse.cvmfs2", "fuse.nfs", "fuse.smbnetfs",
	"fuse.gvfsd-fuse", "fuse.google-drive-ocamlfuse", "fuse.hdfs", "fuse.fuse_dfs", NULL
};

/* The name in remote_fuse of the file system with this device number, or NULL. */
static const char *
find_fuse(dev_t device)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	const char *found = NULL;
	char *line = NULL;
	size_t size = 0;

	if (!mounts)
		return NULL;
	while (!found && getline(&line, &size, mounts) > 0) {
		unsigned major_number, minor_number;
		char *type;
		int index;

		if (sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) != 2 ||
		    makedev(major_number, minor_number) != device || !(type = strstr(line, " - ")))
			continue;
		type += 3; /* the field after " - " */
		type[strcspn(type, " \n")] = '\0';
		index = text_index(type, remote_fuse);
		if (index != -1)
			found = remote_fuse[index];
	}
	free(line);
	fclose(mounts);
	return found;
}

int
file_is_remote(const char *path, const char **name, struct error *err)
{
	struct statfs fs;
	struct stat st;

	*name = NULL;
	if (statfs(path, &fs) < 0 || stat(path, &st) < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to look at the file system");
	for (size_t i = 0; i < sizeof remote_systems / sizeof *remote_systems; i++)
		if (remote_systems[i].magic == (uint32_t)fs.f_type)
			*name = remote_systems[i].name;
	if ((uint32_t)fs.f_type == FUSE_MAGIC)
		*name = find_fuse(st.st_dev);
	return *name != NULL;
}

bool
file_is_users_mount(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) < 0 || (uint32_t)fs.f_type == FUSE_MAGIC;
}

#else

int
file_is_remote(const char *path, const char **name, struct error *err)
{
	(void)path;
	(void)err;
	*name = NULL;
	return 0;
}

bool
file_is_users_mount(const char *path)
{
	(void)path;
	return true;
}

#endif
