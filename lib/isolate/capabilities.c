/*
 * Uses the system calls directly, in version 3 with two words of 32 bits, so no library is needed.
 * The bounding set is reduced too, if that is allowed, so that executing a program with file
 * capabilities gives nothing back.
 */
#define _GNU_SOURCE
#include "isolate/capabilities.h"

#ifndef AWF_PORTABLE
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORDS _LINUX_CAPABILITY_U32S_3

int
capabilities_get(struct capabilities *c)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[WORDS];

	if (syscall(SYS_capget, &header, data) != 0)
		return -1;
	c->effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	c->permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	return 0;
}

int
capabilities_keep(const struct capabilities *kept)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	const struct __user_cap_data_struct data[WORDS] = {
		{ .effective = (uint32_t)kept->effective, .permitted = (uint32_t)kept->permitted },
		{ .effective = (uint32_t)(kept->effective >> 32),
		  .permitted = (uint32_t)(kept->permitted >> 32) },
	};
	struct capabilities now;
	bool bounds = capabilities_get(&now) == 0 && (now.effective & UINT64_C(1) << CAP_SETPCAP) != 0;

	/* Up to the last capability of the kernel. */
	for (int number = 0; bounds && number < 64; number++)
		if ((kept->permitted & UINT64_C(1) << number) == 0 &&
		    prctl(PR_CAPBSET_DROP, number) != 0) {
			if (errno != EINVAL)
				return -1;
			break;
		}
	return (int)syscall(SYS_capset, &header, data);
}
#endif
