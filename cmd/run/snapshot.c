/* A copy of the tree (base/copytree.h) without the storage, should that lie in the workspace. */
#include "run/snapshot.h"

#include <stdlib.h>

#include "base/copytree.h"

int
snapshot_take(const struct storage *s, const char *run_id, const char *workspace,
    bool (*stopped)(void), struct error *err)
{
	char *path = storage_snapshot(s, run_id);
	int failed = copytree_until(workspace, path, s->root, stopped, err);

	free(path);
	return failed;
}

void
snapshot_drop(const struct storage *s, const char *run_id)
{
	char *path = storage_snapshot(s, run_id);

	copytree_remove(path, NULL);
	free(path);
}
