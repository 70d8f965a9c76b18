#include "jail/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "jail/filter.h"
#include "jail/lock.h"

/* Any of the three: a saved uid of 0 is a way back. */
static bool is_root(void)
{
	uid_t real, effective, saved;

	return getresuid(&real, &effective, &saved) < 0 || !real || !effective || !saved;
}

static int leave_root(int64_t helper_uid, struct err *err)
{
	int death = 0;
	pid_t parent = getppid();
	uid_t id = (uid_t)helper_uid;

	if (!is_root())
		return 0;
	if (helper_uid <= 0 || helper_uid >= UINT32_MAX)
		return err_set(err, E_DENIED, "confining a helper: it may not stay root; give it an unused uid");
	if (prctl(PR_GET_PDEATHSIG, &death) < 0)
		return err_errno(err, E_IO, errno, "confining a helper: PR_GET_PDEATHSIG");
	/* The permitted set outlives the change, because lock_capabilities empties the bounding set with it. */
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return err_errno(err, E_MACHINE, errno, "confining a helper: PR_SET_KEEPCAPS");
	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
		return err_errno(err, E_MACHINE, errno, "confining a helper: changing to uid %u", id);
	if (death && prctl(PR_SET_PDEATHSIG, death) < 0)
		return err_errno(err, E_IO, errno, "confining a helper: PR_SET_PDEATHSIG");
	if (getppid() != parent)
		return err_set(err, E_CLOSED, "confining a helper: its parent is gone");
	return 0;
}

static int limit_self(struct err *err)
{
	static const struct {
		__rlimit_resource_t what;
		rlim_t max;
	} limits[] = {
		{ RLIMIT_NPROC, 0 }, /* nothing to a root process, but that was left */
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_NOFILE, 64 }, /* not 0: poll(2) counts its entries against it */
	};

	/* Standard error may be a file: its writes shall fail and not kill. */
	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		return err_errno(err, E_IO, errno, "confining a helper: SIGXFSZ");
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct rlimit limit;

		if (getrlimit(limits[i].what, &limit) < 0)
			return err_errno(err, E_IO, errno, "confining a helper: reading limit %d", (int)limits[i].what);
		if (limit.rlim_max > limits[i].max)
			limit.rlim_max = limits[i].max;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(limits[i].what, &limit) < 0)
			return err_errno(err, E_MACHINE, errno, "confining a helper: limit %d", (int)limits[i].what);
	}
	return 0;
}

/* After the capabilities are gone. */
static int prove_not_root(struct err *err)
{
	if (is_root() || setresuid(0, 0, 0) == 0 || is_root())
		return err_set(err, E_MACHINE, "confining a helper: uid 0 is still in reach after leaving it");
	return 0;
}

/* The filter says EPERM before anybody looks at the arguments. */
static int prove_filter(struct err *err)
{
	_cleanup_fd_ int file = open("/", O_PATH | O_CLOEXEC);
	int file_error = errno;
	_cleanup_fd_ int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (file >= 0 || file_error != EPERM || sock >= 0 || errno != EPERM)
		return err_set(err, E_MACHINE, "confining a helper: it can still open files or sockets");
	return 0;
}

int confine_self(int64_t helper_uid, const char **ret_missing, struct err *err)
{
	_cleanup_buf_ struct buf program = BUF_INIT(1 << 16);
	const struct lock_landlock nothing = { .scope = true };
	int abi = 0, r;

	r = filter_build(FILTER_HELPER, &program, err);
	if (r < 0)
		return r;
	r = leave_root(helper_uid, err);
	if (r < 0)
		return r;
	r = lock_undumpable(err); /* after the uid, whose change resets the flag */
	if (r < 0)
		return r;
	r = limit_self(err);
	if (r < 0)
		return r;
	r = lock_keyring(err);
	if (r < 0)
		return r;
	r = lock_capabilities(err);
	if (r < 0)
		return r;
	r = prove_not_root(err);
	if (r < 0)
		return r;
	r = lock_landlock(&nothing, &abi, err);
	if (r < 0)
		return r;
	r = lock_seccomp(program.data, program.len, err);
	if (r < 0)
		return r;
	r = prove_filter(err);
	if (r < 0)
		return r;
	*ret_missing = abi ? NULL : "landlock";
	return 0;
}
