/*
 * For static programs: names of hosts are looked up in /etc/hosts and by DNS alone, which the C library has in
 * itself. What /etc/nsswitch.conf may name besides are libraries of the machine, which belong to its own C
 * library and not to that of the program.
 */
#include <nss.h>

static void __attribute__((constructor))
names_without_libraries(void)
{
	__nss_configure_lookup("hosts", "files dns");
}
