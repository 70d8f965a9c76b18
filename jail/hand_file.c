#include "jail/hand_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "jail/hand_out.h"

#define LINES_DEFAULT 2000
#define LINE_CHARS 2000         /* of one line; the rest is counted */
#define TEXT_BYTES (128u << 10) /* of one result */
#define SCAN_BYTES (256u << 20) /* how far into a file `offset` may lead: about 0.1 s */
#define BINARY_BYTES 8000       /* a NUL in here means binary, as git judges */

static const struct {
	mode_t type;
	const char *what;
} odd_types[] = {
	{ S_IFDIR, "is a folder; list it with bash: ls" },
	{ S_IFIFO, "is a FIFO; reading it could wait for ever" },
	{ S_IFSOCK, "is a socket" },
	{ S_IFCHR, "is a device" },
	{ S_IFBLK, "is a device" },
};

static int check_regular(const char *path, mode_t mode, struct err *err)
{
	if (S_ISREG(mode))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(odd_types); i++)
		if (odd_types[i].type == (mode & S_IFMT))
			return err_set(err, E_INVALID, "%.700s: %s", path, odd_types[i].what);
	return err_set(err, E_INVALID, "%.700s: is no regular file", path);
}

int hand_file_open(const char *path, int *ret_fd, struct stat *ret_st, struct err *err)
{
	struct stat st;

	/* Looked at before it is opened (opening a FIFO wakes its writer), and again in case it was changed
	 * between. */
	if (stat(path, &st) < 0)
		return err_errno(err, errno == ENOENT ? E_NOTFOUND : E_IO, errno, "%.700s", path);

	int r = check_regular(path, st.st_mode, err);
	if (r < 0)
		return r;

	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, E_IO, errno, "%.700s", path);
	r = check_regular(path, st.st_mode, err);
	if (r < 0)
		return r;
	*ret_fd = steal_fd(&fd);
	*ret_st = st;
	return 0;
}

/* One pass through a file: lines before `first` are counted, then up to `limit` are shown. */
struct reading {
	int64_t first, limit;
	int64_t line; /* number of the line that is being collected */
	int64_t shown;
	char raw[LINE_CHARS * 4]; /* its first bytes: enough for LINE_CHARS characters */
	size_t raw_len;
	uint64_t line_len;
	char last; /* its last byte so far */
	uint64_t replaced, crlf;
	bool full; /* the next line did not fit into the text */
	struct buf *text;
};

static void collect(struct reading *r, const char *data, size_t len)
{
	size_t room = sizeof(r->raw) - r->raw_len;
	size_t n = len < room ? len : room;

	if (!len)
		return;
	memcpy(r->raw + r->raw_len, data, n);
	r->raw_len += n;
	r->line_len += len;
	r->last = data[len - 1];
}

/* Shows the collected line unless it is before the first one or does not fit. */
static void end_line(struct reading *r, bool newline)
{
	size_t mark = r->text->len;

	if (r->line >= r->first) {
		bool cr = newline && r->line_len && r->last == '\r';
		uint64_t len = r->line_len - cr;
		uint64_t replaced = 0;

		buf_addf(r->text, "%6lld\t", (long long)r->line);

		size_t shown =
			hand_text(r->raw, len < r->raw_len ? (size_t)len : r->raw_len, LINE_CHARS, r->text, &replaced);

		if (shown < len)
			buf_addf(r->text, " [\xe2\x80\xa6 %llu more bytes in this line]",
				 (unsigned long long)(len - shown));
		buf_addc(r->text, '\n');
		if (r->text->len > TEXT_BYTES) {
			r->text->len = mark;
			r->text->data[mark] = '\0';
			r->full = true;
			return;
		}
		r->replaced += replaced;
		r->crlf += cr;
		r->shown++;
	}
	r->line++;
	r->raw_len = 0;
	r->line_len = 0;
}

static bool is_done(const struct reading *r)
{
	return r->full || r->shown == r->limit;
}

/* Returns the bytes that were not needed. */
static size_t take(struct reading *r, const char *data, size_t len)
{
	while (len && !is_done(r)) {
		const char *newline = memchr(data, '\n', len);
		size_t n = newline ? (size_t)(newline - data) : len;

		collect(r, data, n);
		if (newline) {
			end_line(r, true);
			n++;
		}
		data += n;
		len -= n;
	}
	return len;
}

/* Reads to the end of the file or of what is wanted; *ret_ended tells which. */
static int scan(struct reading *r, int fd, const char *path, int64_t size, bool *ret_ended, struct err *err)
{
	static char chunk[65536];
	uint64_t total = 0;
	size_t rest = 0;

	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, E_IO, errno, "%.700s", path);
		if (got == 0 || is_done(r)) {
			*ret_ended = !r->full && !rest && got == 0;
			return 0;
		}
		if (!total && memchr(chunk, '\0', (size_t)got < BINARY_BYTES ? (size_t)got : BINARY_BYTES))
			return err_set(err, E_INVALID, "%.700s: is binary, %lld bytes", path, (long long)size);
		total += (uint64_t)got;
		rest = take(r, chunk, (size_t)got);
		if (!is_done(r) && total > SCAN_BYTES)
			return err_set(err, E_LIMIT,
				       "%.700s: line %lld lies beyond the first 256 MiB; use bash: sed -n", path,
				       (long long)(r->line > r->first ? r->line : r->first));
	}
}

static void add_notes(const struct reading *r, bool ended, bool unfinished)
{
	struct buf *text = r->text;

	if (!ended)
		hand_note(text, "up to line %lld; go on with offset %lld", (long long)r->line - 1, (long long)r->line);
	if (unfinished)
		hand_note(text, "no newline at the end of the file");
	if (r->crlf)
		hand_note(text, "%llu of these lines end in CRLF; the CR is not shown", (unsigned long long)r->crlf);
	if (r->replaced)
		hand_note(text, "%llu bytes that are not UTF-8 text are shown as U+FFFD",
			  (unsigned long long)r->replaced);
}

int hand_file_read(const json_node *args, struct buf *text, struct err *err)
{
	const char *path = json_get_str(args, "file_path");
	struct reading r = {
		.first = json_get_int(args, "offset", 1),
		.limit = json_get_int(args, "limit", LINES_DEFAULT),
		.line = 1,
		.text = text,
	};
	_cleanup_fd_ int fd = -1;
	struct stat st;
	bool ended = false, unfinished = false;

	int code = hand_file_open(path, &fd, &st, err);
	if (code < 0)
		return code;
	code = scan(&r, fd, path, st.st_size, &ended, err);
	if (code < 0)
		return code;
	if (ended && r.line_len) {
		end_line(&r, false);
		ended = !r.full;
		unfinished = ended && r.shown;
	}
	if (ended && r.line == 1)
		hand_note(text, "the file is empty");
	else if (ended && !r.shown)
		return err_set(err, E_INVALID, "offset: %lld is past the end; %.700s has %lld lines",
			       (long long)r.first, path, (long long)r.line - 1);
	add_notes(&r, ended, unfinished);
	return 0;
}
