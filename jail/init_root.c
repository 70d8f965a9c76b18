/* The root of a cell: a small tmpfs that becomes read-only, filled from the tables below and from nowhere else. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "core/base/path.h"
#include "jail/init_internal.h"
#include "jail/limits.h"
#include "jail/lock.h"
#include "jail/mount.h"

#define COPY_MAX (256u << 10) /* bytes of one file of /etc; a longer one is bound */

enum how {
	FOLDER,  /* empty */
	LINK,    /* to `arg` */
	AS_HOST, /* a symbolic link as the host has it, or a read-only bind when the host has a folder there */
	BIND,    /* read-only, with what is mounted below it */
	COPY,    /* a small regular file (cheaper than a mount), or the symbolic link that the host has instead */
	TEXT,    /* `arg` */
};

static const struct {
	enum how how;
	const char *path, *arg;
} entries[] = {
	{ FOLDER, "proc", NULL },
	{ FOLDER, "dev", NULL },
	{ FOLDER, "dev/pts", NULL },
	{ FOLDER, "dev/shm", NULL },
	{ FOLDER, "etc", NULL },
	{ FOLDER, "etc/ssl", NULL },
	{ FOLDER, "home", NULL },
	{ FOLDER, "home/agent", NULL },
	{ FOLDER, "run", NULL },
	{ FOLDER, "tmp", NULL },
	{ FOLDER, "var", NULL },
	{ FOLDER, &LOCK_CANARY[1], NULL },
	{ FOLDER, "var/empty", NULL },
	{ FOLDER, "var/tmp", NULL }, /* the same as /tmp, by a mount: a workspace may lie below it */
	{ LINK, "var/run", "/run" },
	{ LINK, "dev/fd", "/proc/self/fd" },
	{ LINK, "dev/stdin", "/proc/self/fd/0" },
	{ LINK, "dev/stdout", "/proc/self/fd/1" },
	{ LINK, "dev/stderr", "/proc/self/fd/2" },
	{ LINK, "dev/ptmx", "pts/ptmx" },

	{ BIND, "usr", NULL },
	{ AS_HOST, "bin", NULL },
	{ AS_HOST, "sbin", NULL },
	{ AS_HOST, "lib", NULL },
	{ AS_HOST, "lib32", NULL },
	{ AS_HOST, "lib64", NULL },
	{ AS_HOST, "libx32", NULL },

	/* What the linker, compilers, runtimes and TLS libraries look for; no accounts, keys or services. */
	{ COPY, "etc/ld.so.cache", NULL },
	{ COPY, "etc/ld.so.conf", NULL },
	{ BIND, "etc/ld.so.conf.d", NULL },
	{ BIND, "etc/alternatives", NULL },
	{ BIND, "etc/ssl/certs", NULL },
	{ COPY, "etc/ssl/openssl.cnf", NULL },
	{ COPY, "etc/ca-certificates.conf", NULL },
	{ BIND, "etc/pki/tls", NULL }, /* Fedora and its kin, as the next two */
	{ BIND, "etc/pki/ca-trust", NULL },
	{ BIND, "etc/crypto-policies", NULL },
	{ BIND, "etc/java-11-openjdk", NULL },
	{ BIND, "etc/java-17-openjdk", NULL },
	{ BIND, "etc/java-21-openjdk", NULL },
	{ BIND, "etc/maven", NULL },
	{ BIND, "etc/fonts", NULL },
	{ COPY, "etc/localtime", NULL },
	{ COPY, "etc/timezone", NULL },
	{ COPY, "etc/mime.types", NULL },
	{ COPY, "etc/magic", NULL },
	{ COPY, "etc/inputrc", NULL },
	{ COPY, "etc/bash.bashrc", NULL },
	{ COPY, "etc/os-release", NULL },
	{ COPY, "etc/debian_version", NULL },
	{ COPY, "etc/protocols", NULL },
	{ COPY, "etc/services", NULL },
	{ COPY, "etc/rpc", NULL },
	{ COPY, "etc/gai.conf", NULL },
	{ COPY, "etc/host.conf", NULL },

	{ TEXT, "etc/hostname", "warder\n" },
	{ TEXT, "etc/hosts", "127.0.0.1 localhost warder\n::1 localhost warder\n" },
	{ TEXT, "etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n" },
	{ TEXT, "etc/nsswitch.conf",
	  "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
	  "protocols: files\nservices: files\nethers: files\nrpc: files\n" },
	{ LINK, "etc/mtab", "/proc/self/mounts" },
};

static int write_text(int root, const char *path, const void *text, size_t len, struct err *err)
{
	_cleanup_fd_ int fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 || path_write_all(fd, text, len) < 0)
		return err_errno(err, E_IO, errno, "/%s", path);
	return 0;
}

/* 1: the host has a symbolic link there and so has the cell now; 0: it has something else, or nothing. */
static int copy_link(int root, const char *path, const char *host, struct err *err)
{
	char target[PATH_MAX];
	ssize_t len = readlink(host, target, sizeof(target) - 1);

	if (len < 0)
		return 0;
	target[len] = '\0';
	if (symlinkat(target, root, path) < 0)
		return err_errno(err, E_IO, errno, "/%s", path);
	return 1;
}

/* One that is missing or that others may not read is no loss; an operator can name it with --ro. */
static int copy_file(int root, const char *path, const char *host, struct err *err)
{
	static char text[COPY_MAX];
	struct stat st;
	_cleanup_fd_ int fd = open(host, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ELOOP) {
		int r = copy_link(root, path, host, err);

		return r < 0 ? r : 0;
	}
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (st.st_size > (off_t)sizeof(text))
		return mount_bind(root, fd, false, host, MOUNT_READ_ONLY, err);
	ssize_t n = read(fd, text, sizeof(text));
	return n < 0 ? 0 : write_text(root, path, text, (size_t)n, err);
}

static int bind_host(int root, const char *host, struct err *err)
{
	_cleanup_fd_ int source = open(host, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (source < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0
									      : err_errno(err, E_IO, errno, "%s", host);
	return mount_bind(root, source, true, host, MOUNT_READ_ONLY, err);
}

static int fill_entry(int root, size_t i, struct err *err)
{
	const char *path = entries[i].path, *arg = entries[i].arg;
	char host[64];
	int r;

	snprintf(host, sizeof(host), "/%s", path);
	switch (entries[i].how) {
	case FOLDER:
		return mkdirat(root, path, 0755) < 0 ? err_errno(err, E_IO, errno, "%s", host) : 0;
	case LINK:
		return symlinkat(arg, root, path) < 0 ? err_errno(err, E_IO, errno, "%s", host) : 0;
	case AS_HOST:
		r = copy_link(root, path, host, err);
		return r != 0 ? r : bind_host(root, host, err);
	case BIND:
		return bind_host(root, host, err);
	case COPY:
		return copy_file(root, path, host, err);
	case TEXT:
		return write_text(root, path, arg, strlen(arg), err);
	}
	return err_set(err, E_INVALID, "%s: unknown entry", host);
}

static int add_accounts(const struct init *in, struct err *err)
{
	unsigned uid = in->setup.uid, gid = in->setup.gid;
	char text[512];
	int len;

	len = snprintf(text, sizeof(text),
		       "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
		       "agent:x:%u:%u:agent:" INIT_HOME ":/bin/bash\n"
		       "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		       uid, gid);
	int r = write_text(in->root, "etc/passwd", text, (size_t)len, err);
	if (r < 0)
		return r;
	len = snprintf(text, sizeof(text), "root:x:0:\nagent:x:%u:\nnogroup:x:65534:\n", gid);
	return write_text(in->root, "etc/group", text, (size_t)len, err);
}

static const struct {
	const char *path, *options;
	unsigned long flags;
} scratch[] = {
	{ "tmp", LIMIT_TMP_TMPFS, MS_NOSUID | MS_NODEV },
	{ "home/agent", LIMIT_HOME_TMPFS, MS_NOSUID | MS_NODEV },
	{ "dev/shm", LIMIT_SHM_TMPFS, MS_NOSUID | MS_NODEV },
	{ &LOCK_CANARY[1], "size=4k,nr_inodes=4,mode=0777", MS_NOSUID | MS_NODEV | MS_NOEXEC },
};

/* A detached tmpfs, so that no folder of the host is needed to mount it on. */
static int make_tmpfs(const char *options, int *ret_fd, struct err *err)
{
	_cleanup_fd_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	char list[128];
	char *save = NULL;

	if (fs < 0)
		return err_errno(err, E_IO, errno, "fsopen(tmpfs)");
	snprintf(list, sizeof(list), "%s", options);
	for (char *o = strtok_r(list, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
		char *value = strchr(o, '=');

		*value++ = '\0';
		if (fsconfig(fs, FSCONFIG_SET_STRING, o, value, 0) < 0)
			return err_errno(err, E_IO, errno, "tmpfs option %s", o);
	}
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_errno(err, E_IO, errno, "tmpfs");

	int fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fd < 0)
		return err_errno(err, E_IO, errno, "fsmount");
	*ret_fd = fd;
	return 0;
}

int init_root_begin(struct init *in, struct err *err)
{
	int r;

	/* Nothing that is mounted from here on is seen outside, and the other way round. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_errno(err, E_IO, errno, "making the mounts private");
	r = make_tmpfs(LIMIT_ROOT_TMPFS, &in->root, err);
	if (r < 0)
		return r;
	/* Over "/": our own root stays below it, so that absolute paths mean the host until init_enter. */
	if (move_mount(in->root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_errno(err, E_IO, errno, "mounting the new root");
	if (fchdir(in->root) < 0)
		return err_errno(err, E_IO, errno, "entering the new root");
	if (sethostname("warder", 6) < 0)
		return err_errno(err, E_IO, errno, "sethostname");
	return 0;
}

int init_root_fill(struct init *in, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
		int r = fill_entry(in->root, i, err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(scratch); i++)
		if (mount("tmpfs", scratch[i].path, "tmpfs", scratch[i].flags, scratch[i].options) < 0)
			return err_errno(err, E_IO, errno, "tmpfs on /%s", scratch[i].path);
	if (mount("tmp", "var/tmp", NULL, MS_BIND, NULL) < 0)
		return err_errno(err, E_IO, errno, "/var/tmp");
	return add_accounts(in, err);
}

int init_devices(struct init *in, struct err *err)
{
	static const char *const nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };

	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		char path[32];

		snprintf(path, sizeof(path), "/dev/%s", nodes[i]);
		_cleanup_fd_ int source = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (source < 0)
			return err_errno(err, E_IO, errno, "%s", path);
		int r = mount_bind(in->root, source, false, path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
		if (r < 0)
			return r;
	}
	if (mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") < 0)
		return err_errno(err, E_IO, errno, "devpts");
	return 0;
}

/* ---- further paths of the operator */

static bool below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* `made`: the mount when the parent made it, else -1. */
static int add_path(struct init *in, const char *path, int made, bool writable, struct err *err)
{
	uint64_t attr = writable ? MOUNT_WRITABLE : MOUNT_READ_ONLY;
	_cleanup_fd_ int source = -1;
	_cleanup_fd_ int target = -1;
	bool folder;
	int r;

	if (made < 0) {
		r = mount_open_source(path, &source, &folder, err);
		return r < 0 ? r : mount_bind(in->root, source, folder, path, attr, err);
	}

	struct stat st;
	if (fstat(made, &st) < 0)
		return err_errno(err, E_IO, errno, "%s", path);
	r = S_ISDIR(st.st_mode) ? mount_make_folder(in->root, path, &target, err)
				: mount_make_file(in->root, path, &target, err);
	return r < 0 ? r : mount_attach(made, target, err);
}

static int add_paths(struct init *in, bool inside, struct err *err)
{
	const struct setup_list *lists[] = { &in->setup.ro, &in->setup.rw };
	size_t n = 0;

	for (size_t l = 0; l < ARRAY_LEN(lists); l++)
		for (size_t i = 0; i < lists[l]->n; i++, n++) {
			const char *path = lists[l]->item[i];

			if (below(path, in->setup.workspace.path) != inside)
				continue;
			int r = add_path(in, path, in->extra ? in->extra[n] : -1, l == 1, err);
			if (r < 0)
				return r;
		}
	return 0;
}

int init_paths_outside(struct init *in, struct err *err)
{
	return add_paths(in, false, err);
}

int init_paths_inside(struct init *in, struct err *err)
{
	return add_paths(in, true, err);
}
