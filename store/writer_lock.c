#include "store/writer_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store/log.h"

#define LOCK_NAME "lock"

int writer_lock_take(int dirfd, int *ret_fd, struct err *err)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_cleanup_fd_ int fd = openat(dirfd, LOCK_NAME, O_RDWR | O_CREAT | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC, 0600);

	/* fchmod: a umask may have taken even our own bits. */
	if (fd < 0 || fchmod(fd, 0600))
		return err_errno(err, E_IO, errno, "cannot open the session's lock file");
	if (fcntl(fd, F_OFD_SETLK, &all)) {
		if (errno == EAGAIN || errno == EACCES)
			return err_set(err, E_BUSY, "the session has a writer; attach to it, or stop it first");
		return err_errno(err, E_IO, errno, "cannot lock the session");
	}
	*ret_fd = steal_fd(&fd);
	return 0;
}

bool log_is_locked(int dirfd)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_cleanup_fd_ int fd = openat(dirfd, LOCK_NAME, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno != ENOENT;
	return fcntl(fd, F_OFD_GETLK, &all) != 0 || all.l_type != F_UNLCK;
}
