/*
 * Tries to get out of a sandbox: fault_escape NAME [ARGUMENT ...] makes one attempt. It
 * ends with 0 if that worked, 1 and a word on stderr if it was prevented, and 2 if the
 * attempt could not be made at all. Everything it aims at is named by its arguments,
 * and made by the test.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { WORKED, PREVENTED, NOT_TRIED };

static int
result(int64_t returned)
{
	if (returned >= 0)
		return WORKED;
	fprintf(stderr, "%s\n", strerror(errno));
	return PREVENTED;
}

static pid_t
pid_of(char **a)
{
	return (pid_t)strtol(a[0], NULL, 10);
}

/* ---- files ---- */

static int
try_read(char **a)
{
	char byte;
	int fd = open(a[0], O_RDONLY);

	return fd < 0 ? result(-1) : result(read(fd, &byte, 1));
}

static int
try_list(char **a)
{
	DIR *directory = opendir(a[0]);
	struct dirent *entry = NULL;

	do
		errno = directory == NULL ? errno : 0;
	while (directory != NULL && (entry = readdir(directory)) != NULL && *entry->d_name == '.');
	return result(entry == NULL ? -1 : 0);
}

static int
try_write(char **a)
{
	return result(open(a[0], O_WRONLY));
}

static int
try_create(char **a)
{
	return result(open(a[0], O_WRONLY | O_CREAT | O_EXCL, 0600));
}

static int
try_truncate(char **a)
{
	return result(truncate(a[0], 0));
}

static int
try_remove(char **a)
{
	return result(remove(a[0]));
}

static int
try_mkdir(char **a)
{
	return result(mkdir(a[0], 0700));
}

static int
try_rename(char **a)
{
	return result(rename(a[0], a[1]));
}

static int
try_exchange(char **a)
{
	return result(renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE));
}

static int
try_link(char **a)
{
	return result(link(a[0], a[1]));
}

/* Makes a symbolic link in the workspace, and reads, or writes, through it. */
static int
try_symlink_read(char **a)
{
	return symlink(a[0], a[1]) != 0 ? NOT_TRIED : try_read(a + 1);
}

static int
try_symlink_write(char **a)
{
	return symlink(a[0], a[1]) != 0 ? NOT_TRIED : try_write(a + 1);
}

static int
try_chmod(char **a)
{
	return result(chmod(a[0], 0777));
}

static int
try_fchmod(char **a)
{
	int fd = open(a[0], O_RDONLY);

	return fd < 0 ? result(-1) : result(fchmod(fd, 0777));
}

static int
try_chown(char **a)
{
	return result(chown(a[0], getuid(), getgid()));
}

static int
try_utimes(char **a)
{
	return result(utimes(a[0], NULL));
}

/* A name whose address has no low half, for a filter that looks at that alone. Lower
 * such addresses belong to AddressSanitizer. */
static int
try_utimes_far(char **a)
{
	void *far = mmap((void *)(UINT64_C(1) << 45), 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (far == MAP_FAILED)
		return NOT_TRIED;
	strcpy(far, a[0]);
	return result(syscall(SYS_utimensat, AT_FDCWD, far, NULL, 0));
}

/* Leaves a file that gives this user's rights to all who run it. */
static int
try_set_user_id(char **a)
{
	const mode_t mode = S_ISUID | 0755;
	struct { uint64_t flags, mode, resolve; } how = { O_WRONLY | O_CREAT, mode, 0 };
	struct stat st;
	int fd = open(a[1], O_WRONLY | O_CREAT, 0600);

	if (strcmp(a[0], "chmod") == 0)
		chmod(a[1], mode);
	else if (strcmp(a[0], "fchmod") == 0)
		fchmod(fd, mode);
	else if (strcmp(a[0], "fchmodat2") == 0)
		syscall(452, AT_FDCWD, a[1], mode, 0);
	else if (remove(a[1]) != 0)
		return NOT_TRIED;
	else if (strcmp(a[0], "open") == 0)
		open(a[1], O_WRONLY | O_CREAT, mode);
	else if (strcmp(a[0], "openat2") == 0)
		syscall(437, AT_FDCWD, a[1], &how, sizeof how);
	else
		mknod(a[1], S_IFREG | mode, 0);
	return result(stat(a[1], &st) == 0 && (st.st_mode & S_ISUID) != 0 ? 0 : -1);
}

static int
try_setxattr(char **a)
{
	return result(setxattr(a[0], "user.awf", "x", 1, 0));
}

static int
try_getxattr(char **a)
{
	char value[64];

	return result(getxattr(a[0], "user.awf", value, sizeof value) < 0 ? -1 : 0);
}

static int
try_listxattr(char **a)
{
	char names[64];

	return result(llistxattr(a[0], names, sizeof names) < 0 ? -1 : 0);
}

/* file_getattr(2), which headers may not know yet. */
static int
try_file_attributes(char **a)
{
	char attributes[64];

	return result(syscall(468, AT_FDCWD, a[0], attributes, 24, 0));
}

static int
try_watch(char **a)
{
	return result(inotify_add_watch(inotify_init1(0), a[0], IN_ALL_EVENTS) < 0 ? -1 : 0);
}

/* ---- other processes ---- */

static int
try_process_file(char **a)
{
	char path[128];

	snprintf(path, sizeof path, "/proc/%s/%s", a[0], a[1]);
	return try_read((char *[]){ path });
}

static int
try_process_memory(char **a)
{
	char path[128];

	snprintf(path, sizeof path, "/proc/%s/mem", a[0]);
	return result(open(path, O_RDWR));
}

static int
try_ptrace(char **a)
{
	return result(ptrace(PTRACE_SEIZE, pid_of(a), NULL, NULL));
}

static int
try_readv(char **a)
{
	char byte;
	struct iovec own = { &byte, 1 }, theirs = { (void *)(uintptr_t)&try_readv, 1 };

	return result(process_vm_readv(pid_of(a), &own, 1, &theirs, 1, 0));
}

static int
try_signal(char **a)
{
	return result(kill(pid_of(a), SIGUSR1));
}

static int
try_pidfd_signal(char **a)
{
	int fd = (int)syscall(SYS_pidfd_open, pid_of(a), 0);

	return fd < 0 ? result(-1) : result(syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0));
}

static int
try_prlimit(char **a)
{
	struct rlimit none = { 0, 0 };

	return result(prlimit(pid_of(a), RLIMIT_CORE, &none, NULL));
}

static int
try_renice(char **a)
{
	return result(setpriority(PRIO_PROCESS, (id_t)pid_of(a), 19));
}

/* ---- sockets ---- */

static int
connect_inet(int type, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtol(port, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, type, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
		return result(-1);
	return result(write(fd, "x", 1));
}

static int
try_tcp(char **a)
{
	return connect_inet(SOCK_STREAM, a[0]);
}

static int
try_udp(char **a)
{
	return connect_inet(SOCK_DGRAM, a[0]);
}

static int
try_socket(char **a)
{
	static const struct { const char *name; int domain, type, protocol; } kinds[] = {
		{ "raw", AF_INET, SOCK_RAW, IPPROTO_ICMP },
		{ "ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
		{ "netlink", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE },
		{ "packet", AF_PACKET, SOCK_RAW, 0 },
		{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
		{ "alg", AF_ALG, SOCK_SEQPACKET, 0 },
		{ "unix", AF_UNIX, SOCK_STREAM, 0 },
		{ "inet", AF_INET, SOCK_STREAM, 0 },
		{ "inet6", AF_INET6, SOCK_DGRAM, 0 },
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, a[0]) == 0)
			return result(socket(kinds[i].domain, kinds[i].type, kinds[i].protocol));
	return NOT_TRIED;
}

/* "@NAME" is abstract. */
static socklen_t
unix_address(struct sockaddr_un *to, const char *name)
{
	memset(to, 0, sizeof *to);
	to->sun_family = AF_UNIX;
	snprintf(to->sun_path, sizeof to->sun_path, "%s", name);
	if (*name == '@')
		to->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
}

static int
try_unix(char **a)
{
	struct sockaddr_un to;
	socklen_t len = unix_address(&to, a[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 ? result(-1) : result(connect(fd, (struct sockaddr *)&to, len));
}

/* One of a pair of datagram sockets can send to whom it likes. */
static int
try_pair(char **a)
{
	struct sockaddr_un to;
	socklen_t len = unix_address(&to, a[0]);
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
		return result(-1);
	return result(sendto(pair[0], "x", 1, 0, (struct sockaddr *)&to, len));
}

static int
try_stream_pair(char **a)
{
	int pair[2];

	(void)a;
	return result(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

/* ---- the kernel ---- */

static int
try_shm(char **a)
{
	void *at = shmat((int)strtol(a[0], NULL, 10), NULL, SHM_RDONLY);

	return result(at == (void *)-1 ? -1 : 0);
}

static int
try_terminal(char **a)
{
	(void)a;
	return result(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

static int
try_open_terminal(char **a)
{
	(void)a;
	return result(open("/dev/tty", O_RDWR));
}

static int
try_clone(char **a)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

	(void)a;
	if (pid == 0)
		_exit(0);
	return result(pid);
}

static int
try_descriptor(char **a)
{
	return result(fcntl((int)strtol(a[0], NULL, 10), F_GETFD));
}

/* Leads back out if it is a directory of the outside. */
static int
try_stdin_directory(char **a)
{
	(void)a;
	return result(openat(STDIN_FILENO, "..", O_RDONLY | O_DIRECTORY));
}

static int
try_privileges(char **a)
{
	(void)a;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
		errno = EPERM;
		return result(-1);
	}
	return WORKED;
}

/* The bounding set is root's to change, and gives nobody anything. */
static int
try_capabilities(char **a)
{
	char line[128];
	FILE *status = fopen("/proc/self/status", "re");

	(void)a;
	while (status != NULL && fgets(line, sizeof line, status) != NULL)
		if (strncmp(line, "Cap", 3) == 0 && (getuid() == 0 || strncmp(line, "CapBnd", 6) != 0) &&
		    strstr(line, "\t0000000000000000") == NULL)
			return WORKED;
	errno = EPERM;
	return status == NULL ? NOT_TRIED : result(-1);
}

/* By its name in a table: fails with EPERM, and not for its nonsense arguments. */
static int
try_call(char **a)
{
	static const struct { const char *name; long number; } calls[] = {
		{ "io_uring_setup", 425 }, { "clone3", 435 }, { "open_tree", 428 }, { "fsopen", 430 },
		{ "mount", SYS_mount }, { "umount2", SYS_umount2 }, { "unshare", SYS_unshare },
		{ "setns", SYS_setns }, { "pivot_root", SYS_pivot_root }, { "chroot", SYS_chroot },
		{ "bpf", SYS_bpf }, { "perf_event_open", SYS_perf_event_open },
		{ "userfaultfd", SYS_userfaultfd }, { "keyctl", SYS_keyctl }, { "add_key", SYS_add_key },
		{ "open_by_handle_at", SYS_open_by_handle_at }, { "finit_module", SYS_finit_module },
		{ "ptrace", SYS_ptrace }, { "process_vm_writev", SYS_process_vm_writev },
		{ "fanotify_init", SYS_fanotify_init },
	};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strcmp(calls[i].name, a[0]) == 0) {
			long returned = syscall(calls[i].number, -1L, -1L, -1L, -1L, -1L);

			if (returned == -1 && errno == (strcmp(a[0], "clone3") == 0 ? ENOSYS : EPERM))
				return result(-1);
			fprintf(stderr, "%s\n", strerror(errno));
			return WORKED;
		}
	return NOT_TRIED;
}

/* The calls of another kind of machine have other numbers: 20 is getpid() there. */
static int
try_other_machine(char **a)
{
	(void)a;
#if defined __x86_64__
	if (strcmp(a[0], "x32") == 0) {
		return result(syscall(0x40000000L | SYS_getpid));
	} else {
		long returned;

		__asm__ volatile("int $0x80" : "=a"(returned) : "a"(20) : "r8", "r9", "r10", "r11", "memory");
		errno = returned < 0 ? (int)-returned : 0;
		return result(returned < 0 ? -1 : 0);
	}
#else
	return NOT_TRIED;
#endif
}

/* ---- using things up ---- */

/* Forks until it cannot, or 5000 live; all of them end with this one. */
static int
try_forks(char **a)
{
	long wanted = strtol(a[0], NULL, 10), made = 0;
	int held[2];

	if (pipe(held) != 0)
		return NOT_TRIED;
	while (made < wanted) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			char byte;

			close(held[1]);
			_exit(read(held[0], &byte, 1) != 0);
		}
		made++;
	}
	fprintf(stderr, "made %ld\n", made);
	close(held[1]);
	return made == wanted ? WORKED : PREVENTED;
}

static const struct {
	const char *name;
	int arguments;
	int (*attempt)(char **arguments);
} attempts[] = {
	{ "read", 1, try_read }, { "list", 1, try_list }, { "write", 1, try_write },
	{ "create", 1, try_create }, { "truncate", 1, try_truncate }, { "remove", 1, try_remove },
	{ "mkdir", 1, try_mkdir }, { "rename", 2, try_rename }, { "exchange", 2, try_exchange },
	{ "link", 2, try_link }, { "symlink-read", 2, try_symlink_read },
	{ "symlink-write", 2, try_symlink_write }, { "chmod", 1, try_chmod },
	{ "fchmod", 1, try_fchmod }, { "chown", 1, try_chown }, { "utimes", 1, try_utimes },
	{ "utimes-far", 1, try_utimes_far }, { "setxattr", 1, try_setxattr },
	{ "getxattr", 1, try_getxattr }, { "listxattr", 1, try_listxattr }, { "watch", 1, try_watch },
	{ "file-attributes", 1, try_file_attributes },
	{ "set-user-id", 2, try_set_user_id },
	{ "process-file", 2, try_process_file }, { "process-memory", 1, try_process_memory },
	{ "ptrace", 1, try_ptrace }, { "readv", 1, try_readv }, { "signal", 1, try_signal },
	{ "pidfd-signal", 1, try_pidfd_signal }, { "prlimit", 1, try_prlimit },
	{ "renice", 1, try_renice }, { "tcp", 1, try_tcp }, { "udp", 1, try_udp },
	{ "socket", 1, try_socket }, { "unix", 1, try_unix }, { "pair", 1, try_pair },
	{ "stream-pair", 0, try_stream_pair }, { "shm", 1, try_shm }, { "terminal", 0, try_terminal },
	{ "open-terminal", 0, try_open_terminal }, { "clone", 0, try_clone },
	{ "descriptor", 1, try_descriptor }, { "stdin-directory", 0, try_stdin_directory },
	{ "privileges", 0, try_privileges }, { "capabilities", 0, try_capabilities },
	{ "call", 1, try_call }, { "other-machine", 1, try_other_machine }, { "forks", 1, try_forks },
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof attempts / sizeof *attempts; i++)
		if (strcmp(attempts[i].name, argv[1]) == 0 && argc - 2 >= attempts[i].arguments)
			return attempts[i].attempt(argv + 2);
	fprintf(stderr, "no such attempt\n");
	return NOT_TRIED;
}
