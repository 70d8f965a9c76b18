#include "store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>


int reserve_hold(int dirfd, struct err *err)
{
	_cleanup_fd_ int fd = openat(dirfd, RESERVE_NAME, O_RDWR | O_CREAT | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, 0600))
		return err_errno(err, E_IO, errno, "cannot make the session's disk reserve");
	/* Allocates; a sparse file would hold no space. */
	int errnum = posix_fallocate(fd, 0, RESERVE_SIZE);
	if (errnum) {
		reserve_release(dirfd);
		return err_errno(err, E_IO, errnum, "cannot hold %d KiB in reserve for the session's last event",
				 RESERVE_SIZE >> 10);
	}
	return 0;
}

void reserve_release(int dirfd)
{
	/* When this fails the closing append fails too, and says why. */
	(void)unlinkat(dirfd, RESERVE_NAME, 0);
}
