/* Landlock: one ruleset in the words of the ABI that the kernel has.  Rights that it does not know cannot be asked for,
 * so everything is masked by what it handles; what stays uncovered by an old one is for the caller to name. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "jail/compat_kernel.h"
#include "jail/lock_internal.h"

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* All but MAKE_CHAR and MAKE_BLOCK, which nobody is granted. */
#define WRITE                                                                                                     \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |         \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |               \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER |                  \
	 COMPAT_LANDLOCK_FS_TRUNCATE)
/* The rights that a rule on something that is no folder may hold; with others it is EINVAL. */
#define OF_FILES                                                                                                    \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |                \
	 COMPAT_LANDLOCK_FS_TRUNCATE | COMPAT_LANDLOCK_FS_IOCTL_DEV)

/* What each ABI added to the one before. */
static const struct {
	int abi;
	uint64_t fs, net, scope;
	size_t size; /* of the attributes that it reads */
} abis[] = {
	{ .abi = 1, .fs = LANDLOCK_ACCESS_FS_REFER - 1, .size = 8 },
	{ .abi = 2, .fs = LANDLOCK_ACCESS_FS_REFER, .size = 8 },
	{ .abi = 3, .fs = COMPAT_LANDLOCK_FS_TRUNCATE, .size = 8 },
	{ .abi = 4, .net = COMPAT_LANDLOCK_NET_BIND_TCP | COMPAT_LANDLOCK_NET_CONNECT_TCP, .size = 16 },
	{ .abi = 5, .fs = COMPAT_LANDLOCK_FS_IOCTL_DEV, .size = 16 },
	{ .abi = 6, .scope = COMPAT_LANDLOCK_SCOPE_ABSTRACT_UNIX | COMPAT_LANDLOCK_SCOPE_SIGNAL, .size = 24 },
};

int lock_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 1)
		return 0;
	return abi > COMPAT_LANDLOCK_ABI_NEWEST ? COMPAT_LANDLOCK_ABI_NEWEST : (int)abi;
}

static bool below_dev(const char *path)
{
	return !strncmp(path, "/dev", 4) && (path[4] == '\0' || path[4] == '/');
}

static int add_path(int ruleset, const struct lock_path *path, uint64_t handled, struct err *err)
{
	_cleanup_fd_ int fd = open(path->path, O_PATH | O_CLOEXEC);
	uint64_t rights = READ;
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "landlock: %s", path->path);

	if (path->exec)
		rights |= LANDLOCK_ACCESS_FS_EXECUTE;
	if (path->write)
		rights |= WRITE;
	if (path->write && below_dev(path->path))
		rights |= COMPAT_LANDLOCK_FS_IOCTL_DEV;
	if (!S_ISDIR(st.st_mode))
		rights &= OF_FILES;

	struct landlock_path_beneath_attr rule = { .allowed_access = rights & handled, .parent_fd = fd };
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "landlock: rule for %s", path->path);
	return 0;
}

int lock_landlock_at(const struct lock_landlock *spec, int abi, struct err *err)
{
	struct compat_landlock_ruleset_attr attr = { 0 };
	size_t size = 0;

	for (size_t i = 0; i < ARRAY_LEN(abis) && abis[i].abi <= abi; i++) {
		attr.handled_access_fs |= abis[i].fs;
		if (!spec->tcp)
			attr.handled_access_net |= abis[i].net;
		if (spec->scope)
			attr.scoped |= abis[i].scope;
		size = abis[i].size;
	}

	_cleanup_fd_ int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (ruleset < 0)
		return err_errno(err, E_MACHINE, errno, "landlock: ruleset of ABI %d", abi);
	for (size_t i = 0; i < spec->npaths; i++) {
		int r = add_path(ruleset, &spec->paths[i], attr.handled_access_fs, err);

		if (r < 0)
			return r;
	}
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "landlock: restricting itself");
	return 0;
}

int lock_landlock(const struct lock_landlock *spec, int *ret_abi, struct err *err)
{
	int abi = lock_landlock_abi();
	int r = abi ? lock_landlock_at(spec, abi, err) : 0;

	if (r < 0)
		return r;
	*ret_abi = abi;
	return 0;
}
