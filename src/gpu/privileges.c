/* The kernel says by AT_SECURE that a program has more privileges than its caller, and the loader then ignores its own
 * variables. CUDA has others that load libraries: CUDA_INJECTION64_PATH and the like. */
#include "privileges.h"

#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static void forget_environment(void)
{
    static char *none[1];

    environ = none;
}

/* There is one thread still, so the system calls themselves are enough. */
static int privileges_give_up(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
    uid_t user = getuid();
    gid_t group = getgid();

    return syscall(SYS_setresgid, group, group, group) || syscall(SYS_setresuid, user, user, user) ||
                   syscall(SYS_capset, &head, sets)
               ? -1
               : 0;
}

int privileges_begin(int are_needed)
{
    if (!getauxval(AT_SECURE))
        return 0;
    forget_environment();
    return are_needed ? 0 : privileges_give_up();
}
