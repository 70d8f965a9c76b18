/* The content store: a name is the digest of what it holds, once. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/content.h"
#include "tests/changes/stage.h"
#include "tests/tap.h"

static int count_files(const struct stage *s)
{
	char full[5000];
	DIR *dir = opendir(stage_path(s, "top/content", full));
	int n = 0;

	for (struct dirent *e; dir && (e = readdir(dir));)
		n += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

static int open_path(const struct stage *s, const char *path, int flags)
{
	char full[5000];

	return open(stage_path(s, path, full), flags | O_CLOEXEC, 0600);
}

int main(void)
{
	uint8_t digest[DIGEST_LEN], again[DIGEST_LEN], want[DIGEST_LEN];
	char hex[DIGEST_HEX_LEN + 1], path[128];
	struct content_map map;
	struct stage s;
	struct stat st;
	struct err err;
	uint64_t size;

	stage_make(&s);
	int store = s.layer.content_fd;

	stage_write(&s, "top/file", "content\n");
	int fd = open_path(&s, "top/file", O_RDONLY);
	is_int(content_put_fd(store, fd, 100, digest, &size, &err), 0, "a file is stored");
	digest_of("content\n", 8, want);
	ok(memcmp(digest, want, DIGEST_LEN) == 0 && size == 8, "under its digest");
	is_int(content_put(store, "content\n", 8, again, &err), 0, "the same again");
	is_int(count_files(&s), 1, "is stored once");
	snprintf(path, sizeof(path), "top/content/%s", digest_hex(digest, hex));
	is_int(stage_mode(&s, path), 0600, "for us alone");
	is_int(content_map(store, digest, &map, &err), 0, "it is read");
	ok(map.len == 8 && memcmp(map.data, "content\n", 8) == 0, "as it was");
	content_unmap(&map);
	is_int(content_put_fd(store, fd, 7, digest, &size, &err), E_LIMIT, "a file over the limit");
	close(fd);

	stage_write(&s, path, "CONTENT\n");
	is_int(content_map(store, want, &map, &err), E_CORRUPT, "altered content is an error");
	stage_write(&s, path, "cut");
	is_int(content_put(store, "content\n", 8, again, &err), 0, "content that was cut short");
	is_int(content_map(store, want, &map, &err), 0, "is mended when it is stored again");
	content_unmap(&map);
	memset(want, 7, sizeof(want));
	is_int(content_map(store, want, &map, &err), E_NOTFOUND, "content that was never stored");

	is_int(content_put(store, "", 0, digest, &err), 0, "nothing at all");
	is_int(content_map(store, digest, &map, &err), 0, "is content too");
	ok(map.len == 0 && map.data, "and empty");

	fd = open_path(&s, "top/sparse", O_RDWR | O_CREAT);
	ok(pwrite(fd, "x", 1, 0) == 1 && pwrite(fd, "y", 1, (64 << 20) - 1) == 1 && ftruncate(fd, 96 << 20) == 0,
	   "a sparse file");
	is_int(content_put_fd(store, fd, (uint64_t)1 << 30, digest, &size, &err), 0, "is stored");
	ok(size == (96 << 20), "whole");
	is_int(content_digest_fd(fd, again, &size, &err), 0, "its digest");
	ok(memcmp(digest, again, DIGEST_LEN) == 0, "is that of the name");
	close(fd);
	snprintf(path, sizeof(path), "top/content/%s", digest_hex(digest, hex));
	fd = open_path(&s, path, O_RDONLY);
	ok(fstat(fd, &st) == 0 && st.st_size == (96 << 20), "the copy has its size");
	ok(st.st_blocks < (8 << 20) / 512, "and its holes (%lld KiB)", (long long)st.st_blocks / 2);
	is_int(content_digest_fd(fd, again, &size, &err), 0, "the copy's digest");
	ok(memcmp(digest, again, DIGEST_LEN) == 0, "is the same");
	close(fd);
	is_int(content_sync(store, &err), 0, "and it is made durable");
	is_int(stage_run("ls %s/content | grep -q temp-", s.top), 1, "no temporary file is left");
	stage_remove(&s);
	return tap_end();
}
