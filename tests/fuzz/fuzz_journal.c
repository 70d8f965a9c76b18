/*
 * Stored state of the changes that a crash may have cut anywhere: the journal of an apply and the births of a layer.
 * The first byte of the input says which; the journal's records are sealed here, since a fuzzer finds no SHA-256.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/path.h"
#include "core/changes/apply_plan.h"
#include "jail/layer_births.h"
#include "tests/fuzz/fuzz.h"

static int folder = -1;
static char folder_name[PATH_MAX];

static void leave(void)
{
	unlinkat(folder, "apply.journal", 0);
	unlinkat(folder, "births", 0);
	rmdir(folder_name);
}

static void enter(void)
{
	const char *tmp = getenv("TMPDIR");

	if (folder >= 0)
		return;
	snprintf(folder_name, sizeof(folder_name), "%s/warder-fuzz-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	must(mkdtemp(folder_name));
	folder = open(folder_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(folder >= 0);
	atexit(leave);
}

static void write_file(const char *name, const struct buf *b)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && path_write_all(fd, buf_str(b), b->len) == 0);
	close(fd);
}

static void add_record(struct buf *b, uint8_t type, const uint8_t *data, size_t len)
{
	size_t start = b->len;
	uint8_t digest[DIGEST_LEN];

	buf_add(b, (char[4]){ (char)type, 0, 0, 0 }, 4);
	for (int i = 0; i < 8; i++)
		buf_addc(b, (char)(uint8_t)((uint64_t)len >> (8 * i)));
	buf_add(b, data, len);
	digest_of(b->data + start, b->len - start, digest);
	buf_add(b, digest, DIGEST_LEN);
}

static void check_unit(const struct unit *u)
{
	must(u->path && u->path[0] && u->path[0] != '/' && strlen(u->path) < PATH_MAX && !strstr(u->path, "../"));
	must(strncmp(u->temp, ".warder-", 8) == 0 && !strchr(u->temp, '/') && strcmp(u->name, "..") != 0);
	must((u->nold > 0) == (u->kind != UNIT_PUT) && (u->nnew > 0) == (u->kind != UNIT_TAKE));
	for (size_t i = 0; i < u->nold + u->nnew; i++) {
		const struct member *m = i < u->nold ? &u->old[i] : &u->new[i - u->nold];
		size_t top = strlen(u->path);

		/* Every member lies at or below the unit's path. */
		must(strncmp(m->path, u->path, top) == 0 && (m->path[top] == '\0' || m->path[top] == '/'));
		must((i != 0 && i != u->nold) || m->path[top] == '\0');
		must(!strstr(m->path, "/../") && strlen(m->path) < PATH_MAX);
	}
}

static void journal(const uint8_t *data, size_t len)
{
	struct buf b = BUF_INIT(4u << 20);
	struct plan p;
	struct err err;

	buf_adds(&b, "warder-apply 1\n");
	add_record(&b, 1, data, len);
	add_record(&b, 2, data, len);
	write_file("apply.journal", &b);
	int r = journal_load(folder, &p, &err);
	must(r == 0 || r == E_CORRUPT);
	for (size_t i = 0; r == 0 && i < p.n; i++)
		check_unit(&p.unit[i]);
	if (r == 0)
		plan_free(&p);
	buf_free(&b);
}

static void births(const uint8_t *data, size_t len)
{
	struct buf b = BUF_INIT(4u << 20);
	struct layer l = { .layer_fd = folder };
	struct births found;
	struct err err;

	buf_adds(&b, "warder-births 1\n");
	buf_add(&b, data, len);
	write_file("births", &b);
	int r = births_load(&l, &found, &err);
	must(r == 0 || r == E_CORRUPT);
	if (r == 0) {
		must(births_of(&found, "\x01no such path") == found.newest || found.n);
		births_free(&found);
	}
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	enter();
	if (len && data[0] == 'b')
		births(data + 1, len - 1);
	else if (len)
		journal(data + 1, len - 1);
	return 0;
}
