/*
 * log_prefix: log_prefix FROM TO N: makes in the empty folder TO the log that the session in the folder FROM had after
 * its first N rows: what a keeper leaves that is killed there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/log.h"
#include "store/log_read.h"

struct copy {
	struct log *to;
	int64_t left;
	struct err err;
};

static int copy_row(const struct event *e, void *arg)
{
	struct copy *c = arg;
	const struct log_entry entry = {
		.kind = e->kind, .actor = e->actor, .ref = e->ref, .body = e->body, .body_len = e->body_len,
	};
	int64_t seq;

	if (c->left-- <= 0)
		return 1;
	return log_append(c->to, &entry, LOG_NORMAL, &seq, &c->err);
}

int main(int argc, char **argv)
{
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	_cleanup_log_ struct log *to = NULL;
	_cleanup_fd_ int from_fd = argc == 4 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	_cleanup_fd_ int to_fd = argc == 4 ? open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct copy c = { .left = argc == 4 ? atoll(argv[3]) : 0 };
	int r = from_fd < 0 || to_fd < 0 ? E_USAGE : log_reader_open(from_fd, &reader, &c.err);

	if (r == 0)
		r = log_create(to_fd, &to, &c.err);
	c.to = to;
	if (r == 0)
		r = log_reader_each(reader, 0, copy_row, &c, &c.err);
	if (r < 0)
		fprintf(stderr, "log_prefix: %s\n", c.err.text);
	return r < 0;
}
