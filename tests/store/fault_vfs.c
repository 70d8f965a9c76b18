#include "tests/store/fault_vfs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/store/store_test.h"

#define SECTOR 512
#define PENDING_MAX 8192

/* A write or truncation since the last sync. */
struct pending {
	off_t at;
	size_t len; /* SIZE_MAX: truncation to `at` */
	char *data;
};

struct image {
	const char *name;
	char *data;
	size_t len;
	struct pending pending[PENDING_MAX];
	size_t npending;
};

struct fault_file {
	sqlite3_file base;
	struct image *image; /* NULL: not one that power is about */
	sqlite3_file *real;  /* behind this struct */
};

static struct {
	enum fault_kind kind;
	int countdown; /* operations until it strikes; 0: disarmed */
	bool stays;
	int struck;
	bool recording, lying, cut;
	int cut_countdown, cut_dirfd;
} state;

static struct image images[] = { { .name = "log.db" }, { .name = "log.db-wal" } };
static sqlite3_vfs *real_vfs;

static struct fault_file *of(sqlite3_file *file)
{
	return (struct fault_file *)(void *)file;
}

/* ---- power */

static void image_write(struct image *i, off_t at, const char *data, size_t len)
{
	size_t end = (size_t)at + len;

	if (end > i->len) {
		i->data = realloc(i->data, end);
		if (!i->data)
			abort();
		memset(i->data + i->len, 0, end - i->len);
		i->len = end;
	}
	if (len)
		memcpy(i->data + at, data, len);
}

static void image_truncate(struct image *i, size_t len)
{
	if (len < i->len)
		i->len = len;
}

static void forget_pending(struct image *i)
{
	for (size_t p = 0; p < i->npending; p++)
		free(i->pending[p].data);
	i->npending = 0;
}

static void image_sync(struct image *i)
{
	for (size_t p = 0; p < i->npending; p++) {
		const struct pending *w = &i->pending[p];
		if (w->len == SIZE_MAX)
			image_truncate(i, (size_t)w->at);
		else
			image_write(i, w->at, w->data, w->len);
	}
	forget_pending(i);
}

static void remember(struct image *i, off_t at, const void *data, size_t len)
{
	if (!i || !state.recording || state.cut)
		return;
	if (i->npending == PENDING_MAX)
		abort();
	struct pending *w = &i->pending[i->npending++];
	*w = (struct pending){ .at = at, .len = len };
	if (len != SIZE_MAX) {
		w->data = malloc(len ? len : 1);
		if (!w->data)
			abort();
		memcpy(w->data, data, len);
	}
}

/* How much of what was not synced got through: none, all, or each sector by chance. */
static bool survives(uint32_t mood)
{
	return mood < 8 ? random_below(8) < mood : true;
}

static void image_cut(const struct image *from, int dirfd)
{
	struct image left = { .name = from->name };
	uint32_t mood = random_below(9);

	image_write(&left, 0, from->data ? from->data : "", from->len);
	for (size_t p = 0; p < from->npending; p++) {
		const struct pending *w = &from->pending[p];
		if (w->len == SIZE_MAX) {
			if (survives(mood))
				image_truncate(&left, (size_t)w->at);
			continue;
		}
		for (size_t done = 0; done < w->len;) {
			size_t n = SECTOR - ((size_t)w->at + done) % SECTOR;
			if (n > w->len - done)
				n = w->len - done;
			if (survives(mood))
				image_write(&left, w->at + (off_t)done, w->data + done, n);
			done += n;
		}
	}
	int fd = openat(dirfd, left.name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, left.data ? left.data : "", left.len) != (ssize_t)left.len)
		abort();
	close(fd);
	free(left.data);
}

static void cut_now(void)
{
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
		image_cut(&images[i], state.cut_dirfd);
	state.cut = true;
}

void power_start(int dirfd)
{
	power_end();
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		int fd = openat(dirfd, images[i].name, O_RDONLY | O_CLOEXEC);
		char chunk[65536];
		ssize_t n;

		while (fd >= 0 && (n = read(fd, chunk, sizeof(chunk))) > 0)
			image_write(&images[i], (off_t)images[i].len, chunk, (size_t)n);
		if (fd >= 0)
			close(fd);
	}
	state.recording = true;
}

void power_lie(bool lie)
{
	state.lying = lie;
}

void power_cut(int nth, int dirfd)
{
	state.cut_dirfd = dirfd;
	state.cut_countdown = nth;
	if (!nth)
		cut_now();
}

bool power_is_cut(void)
{
	return state.cut;
}

void power_end(void)
{
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		forget_pending(&images[i]);
		free(images[i].data);
		images[i].data = NULL;
		images[i].len = 0;
	}
	state.recording = state.lying = state.cut = false;
	state.cut_countdown = 0;
}

/* ---- faults */

void fault_arm(enum fault_kind kind, int nth, bool stays)
{
	state.kind = kind;
	state.countdown = nth;
	state.stays = stays;
	state.struck = 0;
}

int fault_struck(void)
{
	return state.struck;
}

/* Before each operation that changes the disk. */
static void tick_power(void)
{
	if (state.recording && !state.cut && state.cut_countdown && --state.cut_countdown == 0)
		cut_now();
}

static bool strikes(void)
{
	if (!state.countdown)
		return false;
	if (state.countdown > 1) {
		state.countdown--;
		return false;
	}
	if (!state.stays)
		state.countdown = 0;
	state.struck++;
	return true;
}

static bool fails(enum fault_kind a, enum fault_kind b)
{
	return (state.kind == a || state.kind == b) && strikes();
}

/* ---- the file */

static int file_close(sqlite3_file *file)
{
	return of(file)->real->pMethods->xClose(of(file)->real);
}

static int file_read(sqlite3_file *file, void *data, int len, sqlite3_int64 at)
{
	if (fails(FAULT_READ, FAULT_READ))
		return SQLITE_IOERR_READ;
	return of(file)->real->pMethods->xRead(of(file)->real, data, len, at);
}

static int file_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at)
{
	struct fault_file *f = of(file);

	tick_power();
	if (state.kind == FAULT_FULL) {
		sqlite3_int64 size = 0;
		if (f->real->pMethods->xFileSize(f->real, &size) == SQLITE_OK && at + len > size && strikes())
			return SQLITE_FULL;
	} else if (fails(FAULT_IO, FAULT_TORN)) {
		if (state.kind == FAULT_TORN)
			(void)f->real->pMethods->xWrite(f->real, data, len / 2, at);
		return SQLITE_IOERR_WRITE;
	}
	remember(f->image, at, data, (size_t)len);
	return f->real->pMethods->xWrite(f->real, data, len, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	tick_power();
	if (fails(FAULT_IO, FAULT_TORN))
		return SQLITE_IOERR_TRUNCATE;
	remember(of(file)->image, size, NULL, SIZE_MAX);
	return of(file)->real->pMethods->xTruncate(of(file)->real, size);
}

static int file_sync(sqlite3_file *file, int flags)
{
	struct fault_file *f = of(file);

	tick_power();
	if (fails(FAULT_IO, FAULT_TORN))
		return SQLITE_IOERR_FSYNC;
	if (f->image && state.recording && !state.cut && !state.lying)
		image_sync(f->image);
	return f->real->pMethods->xSync(f->real, flags);
}

static int file_size_(sqlite3_file *file, sqlite3_int64 *ret)
{
	return of(file)->real->pMethods->xFileSize(of(file)->real, ret);
}

static int file_lock(sqlite3_file *file, int level)
{
	return of(file)->real->pMethods->xLock(of(file)->real, level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	return of(file)->real->pMethods->xUnlock(of(file)->real, level);
}

static int file_check_lock(sqlite3_file *file, int *ret)
{
	return of(file)->real->pMethods->xCheckReservedLock(of(file)->real, ret);
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
	return of(file)->real->pMethods->xFileControl(of(file)->real, op, arg);
}

static int file_sector(sqlite3_file *file)
{
	return of(file)->real->pMethods->xSectorSize(of(file)->real);
}

static int file_device(sqlite3_file *file)
{
	return of(file)->real->pMethods->xDeviceCharacteristics(of(file)->real);
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
	if (extend && fails(FAULT_IO, FAULT_TORN))
		return SQLITE_IOERR_SHMMAP;
	return of(file)->real->pMethods->xShmMap(of(file)->real, page, size, extend, ret);
}

static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
	return of(file)->real->pMethods->xShmLock(of(file)->real, offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
	of(file)->real->pMethods->xShmBarrier(of(file)->real);
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
	return of(file)->real->pMethods->xShmUnmap(of(file)->real, remove);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2, .xClose = file_close, .xRead = file_read, .xWrite = file_write, .xTruncate = file_truncate,
	.xSync = file_sync, .xFileSize = file_size_, .xLock = file_lock, .xUnlock = file_unlock,
	.xCheckReservedLock = file_check_lock, .xFileControl = file_control, .xSectorSize = file_sector,
	.xDeviceCharacteristics = file_device, .xShmMap = file_shm_map, .xShmLock = file_shm_lock,
	.xShmBarrier = file_shm_barrier, .xShmUnmap = file_shm_unmap,
};

/* ---- the VFS */

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct fault_file *f = of(file);
	const char *base = name ? strrchr(name, '/') : NULL;

	(void)vfs;
	*f = (struct fault_file){ .real = (sqlite3_file *)(void *)(f + 1) };
	if ((flags & SQLITE_OPEN_CREATE) && fails(FAULT_IO, FAULT_TORN))
		return SQLITE_CANTOPEN;
	for (size_t i = 0; base && i < sizeof(images) / sizeof(images[0]); i++)
		if (!strcmp(base + 1, images[i].name))
			f->image = &images[i];
	int rc = real_vfs->xOpen(real_vfs, name, f->real, flags, ret_flags);
	if (f->real->pMethods)
		f->base.pMethods = &methods;
	return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	tick_power();
	if (fails(FAULT_IO, FAULT_TORN))
		return SQLITE_IOERR_DELETE;
	return real_vfs->xDelete(real_vfs, name, sync);
}

void fault_install(void)
{
	static sqlite3_vfs vfs;

	real_vfs = sqlite3_vfs_find(NULL);
	vfs = *real_vfs;
	vfs.zName = "fault";
	vfs.pNext = NULL;
	vfs.szOsFile = (int)sizeof(struct fault_file) + real_vfs->szOsFile;
	vfs.xOpen = vfs_open;
	vfs.xDelete = vfs_delete;
	sqlite3_vfs_register(&vfs, 1);
}
