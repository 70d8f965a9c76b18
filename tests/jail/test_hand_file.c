/* The tools `read`, `write` and `edit`, against the real program. */
#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/jail/hand_client.h"

static void put(const char *path, const char *data, size_t len)
{
	FILE *f = fopen(path, "we");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0)
		die(path);
}

static void puts_to(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

/* The file's bytes are exactly these. */
static bool holds(const char *path, const char *data, size_t len)
{
	struct buf b = BUF_INIT(64u << 20);
	FILE *f = fopen(path, "re");
	char *room;
	bool same;

	while (f && (room = buf_reserve(&b, 65536))) {
		size_t n = fread(room, 1, 65536, f);

		b.len += n;
		if (!n)
			break;
	}
	same = f && b.len == len && (!len || memcmp(b.data, data, len) == 0);
	if (f)
		fclose(f);
	buf_free(&b);
	return same;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static struct hand_reply read_file(struct hand_client *c, const char *path, const char *rest)
{
	char *args = hand_args("file_path", path, rest);
	struct hand_reply r = hand_call(c, "read", args);

	free(args);
	return r;
}

static struct hand_reply write_file(struct hand_client *c, const char *path, const char *content)
{
	char *text = hand_args("content", content, ""), *args;
	struct hand_reply r;

	text[strlen(text) - 1] = '\0'; /* {"content":"..." without its last brace */
	args = hand_args("file_path", path, text + 1);
	r = hand_call(c, "write", args);
	free(text);
	free(args);
	return r;
}

static struct hand_reply edit_file(struct hand_client *c, const char *path, const char *old, const char *new,
				   const char *rest)
{
	struct buf b = BUF_INIT(32u << 20);
	struct hand_reply r;
	char *args;

	buf_adds(&b, "\"old_string\":");
	json_write_string(old, strlen(old), &b);
	buf_adds(&b, ",\"new_string\":");
	json_write_string(new, strlen(new), &b);
	buf_addf(&b, "%s%s", *rest ? "," : "", rest);
	args = hand_args("file_path", path, buf_str(&b));
	r = hand_call(c, "edit", args);
	free(args);
	buf_free(&b);
	return r;
}

/* A refusal whose text begins with `start` (which names the file or the argument) and holds `part`. */
static void refused(struct hand_reply r, const char *part, const char *what)
{
	if (!ok(r.is_error && r.text && strstr(r.text, part), "refused: %s", what))
		diag("got %s", r.text ? r.text : "(no result)");
	is_str(r.outcome, "error", "its outcome");
}

static void test_read(struct hand_client *c)
{
	static const struct {
		const char *data, *rest, *text;
	} cases[] = {
		{ "one\ntwo\n", "", "     1\tone\n     2\ttwo\n" },
		{ "one\n\n\nfour\n", "", "     1\tone\n     2\t\n     3\t\n     4\tfour\n" },
		{ "one\ntwo", "", "     1\tone\n     2\ttwo\n[no newline at the end of the file]" },
		{ "", "", "[the file is empty]" },
		{ "\n", "", "     1\t\n" },
		{ "one\ntwo\nthree\n", "\"offset\":2", "     2\ttwo\n     3\tthree\n" },
		{ "one\ntwo\nthree\n", "\"limit\":2", "     1\tone\n     2\ttwo\n[up to line 2; go on with offset 3]" },
		{ "one\ntwo\n", "\"limit\":2", "     1\tone\n     2\ttwo\n" },
		{ "one\ntwo", "\"limit\":2", "     1\tone\n     2\ttwo\n[no newline at the end of the file]" },
		{ "one\ntwo", "\"limit\":1", "     1\tone\n[up to line 1; go on with offset 2]" },
		{ "one\ntwo\nthree", "\"offset\":3,\"limit\":1", "     3\tthree\n[no newline at the end of the file]" },
		{ "a\r\nb\r\nc\n", "",
		  "     1\ta\n     2\tb\n     3\tc\n[2 of these lines end in CRLF; the CR is not shown]" },
		{ "a\rb\r", "", "     1\ta\rb\r\n[no newline at the end of the file]" },
		{ "\xff\xc3\xa9\n", "",
		  "     1\t\xef\xbf\xbd\xc3\xa9\n[1 bytes that are not UTF-8 text are shown as U+FFFD]" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		puts_to("f", cases[i].data);
		struct hand_reply r = read_file(c, "f", cases[i].rest);

		is_str(r.text, cases[i].text, "read case %zu", i);
		is_int(r.is_error, 0, "no error");
	}
	puts_to("f", "one\ntwo\n");
	refused(read_file(c, "f", "\"offset\":3"), "offset: 3 is past the end; f has 2 lines", "offset past the end");
	refused(read_file(c, "f", "\"offset\":2147483647"), "past the end", "the largest offset");
	refused(read_file(c, "", ""), "file_path: must not be empty", "an empty path");

	char here[4096], path[4200];
	if (!getcwd(here, sizeof(here)))
		die("getcwd");
	hand_bash(c, "cd /");
	ok(!read_file(c, "f", "").is_error, "a relative path counts from the workspace wherever bash is");
	hand_call(c, "bash", "{\"restart\":true}");
	snprintf(path, sizeof(path), "%s/f", here);
	ok(!read_file(c, path, "").is_error, "an absolute path");
	memset(path, 'x', 4096);
	path[4096] = '\0';
	refused(read_file(c, path, ""), "file_path: 4096 bytes are more", "a path that is too long");
}

static void test_read_bounds(struct hand_client *c)
{
	struct buf b = BUF_INIT(64u << 20);
	struct hand_reply r;
	char *text;

	for (int i = 0; i < 1999; i++)
		buf_adds(&b, "\xe2\x82\xac");
	buf_adds(&b, "y\n");
	put("f", b.data, b.len);
	r = read_file(c, "f", "");
	ok(r.text && strstr(r.text, "\xacy\n") && !strstr(r.text, "more bytes"), "a line of 2000 characters is whole");
	buf_reset(&b);
	for (int i = 0; i < 2001; i++)
		buf_adds(&b, "\xe2\x82\xac");
	buf_adds(&b, "zz\nnext\n");
	put("f", b.data, b.len);
	r = read_file(c, "f", "");
	ok(r.text && strstr(r.text, "\xac [\xe2\x80\xa6 5 more bytes in this line]\n     2\tnext\n"),
	   "a longer one is cut and counted");
	buf_reset(&b);
	for (int i = 0; i < 5000000; i++)
		buf_addc(&b, 'x');
	buf_adds(&b, "\r\nnext\n");
	put("f", b.data, b.len);
	r = read_file(c, "f", "");
	ok(r.text && strstr(r.text, "[\xe2\x80\xa6 4998000 more bytes in this line]\n     2\tnext\n"),
	   "a very long one too");

	buf_reset(&b);
	for (int i = 1; i <= 200000; i++)
		buf_addf(&b, "line %d\n", i);
	put("f", b.data, b.len);
	r = read_file(c, "f", "");
	ok(r.text && strstr(r.text, "  2000\tline 2000\n[up to line 2000; go on with offset 2001]"),
	   "2000 lines by default");
	r = read_file(c, "f", "\"offset\":199999");
	is_str(r.text, "199999\tline 199999\n200000\tline 200000\n", "the end of a long file");
	r = read_file(c, "f", "\"limit\":100000");
	text = r.text ? strrchr(r.text, '[') : NULL;
	ok(r.text && strlen(r.text) <= (128 << 10) + 100 && text, "a result is bounded: %zu bytes",
	   r.text ? strlen(r.text) : 0);
	int last = 0, next = 0;
	ok(text && sscanf(text, "[up to line %d; go on with offset %d]", &last, &next) == 2 && next == last + 1,
	   "and says where to go on");
	buf_free(&b);

	/* 300 MiB with next to nothing on the disk: what lies beyond 256 MiB is not searched for */
	char text_first[9000];
	memset(text_first, 'x', sizeof(text_first));
	memcpy(text_first, "first\n", 6);
	put("f", text_first, sizeof(text_first));
	if (truncate("f", 300L << 20) < 0)
		die("truncate");
	is_str(read_file(c, "f", "\"limit\":1").text, "     1\tfirst\n[up to line 1; go on with offset 2]",
	       "a huge file's first line");
	refused(read_file(c, "f", ""), "lies beyond the first 256 MiB", "a search without end");
	unlink("f");
}

static void test_odd_files(struct hand_client *c)
{
	static const char *const tools[] = { "read", "write", "edit" };
	static const struct {
		const char *path, *why;
	} odd[] = {
		{ "fifo", "fifo: is " },
		{ "folder", "folder: is a folder" },
		{ "socket", "socket: is " },
		{ "/dev/zero", "/dev/zero: is " },
		{ "to-folder", "to-folder: is a folder" },
		{ "to-fifo", "to-fifo: is " },
		{ "loop", "loop: " },
		{ "missing/", "" },
		{ "folder/", "folder/: " },
		{ "f/x", "f/x: " },
	};
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (mkfifo("fifo", 0600) < 0 || mkdir("folder", 0755) < 0 || symlink("folder", "to-folder") < 0 ||
	    symlink("fifo", "to-fifo") < 0 || symlink("loop", "loop") < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("odd files");
	puts_to("f", "text\n");
	for (size_t t = 0; t < ARRAY_LEN(tools); t++)
		for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
			char args[300];
			int64_t before = clock_mono_ms();

			snprintf(args, sizeof(args), "{\"file_path\":\"%s\"%s}", odd[i].path,
				 t == 1   ? ",\"content\":\"x\""
				 : t == 2 ? ",\"old_string\":\"a\",\"new_string\":\"b\""
					  : "");
			struct hand_reply r = hand_call(c, tools[t], args);

			if (!ok(r.is_error && r.text && strstr(r.text, odd[i].why), "%s refuses %s", tools[t],
				odd[i].path))
				diag("got %s", r.text);
			ok(clock_mono_ms() - before < 20000, "without waiting");
		}
	ok(access("missing", F_OK) < 0, "a refused path makes no folder");
	close(fd);

	put("binary", "text\0more", 9);
	refused(read_file(c, "binary", ""), "binary: is binary, 9 bytes", "a binary file");
	refused(read_file(c, "missing", ""), "missing: No such file", "a missing file");
	if (geteuid() == 0) {
		skip("root reads everything");
	} else {
		puts_to("closed", "x");
		chmod("closed", 0);
		refused(read_file(c, "closed", ""), "closed: Permission denied", "a file without permission");
	}
	ok(!read_file(c, "/proc/self/status", "").is_error, "a file of /proc, whose size is 0, is read to its end");
}

static void test_write(struct hand_client *c)
{
	struct hand_reply r = write_file(c, "new", "a\nb");

	is_str(r.text, "created new, 3 bytes", "write a new file");
	ok(holds("new", "a\nb", 3), "its bytes");
	is_int(mode_of("new"), 0644, "mode by the umask");
	is_str(write_file(c, "new", "").text, "wrote new, 0 bytes (before: 3)", "replace it by nothing");
	ok(holds("new", "", 0), "its bytes");
	is_str(write_file(c, "x/y/z/new", "1").text, "created x/y/z/new, 1 bytes", "folders are made");
	is_int(mode_of("x/y/z"), 0755, "mode by the umask");
	is_str(write_file(c, "x/../x/./y//z/new2", "1").outcome, "ok", "a path with dots and slashes");

	puts_to("program", "#!/bin/sh\n");
	chmod("program", 0750);
	is_str(write_file(c, "program", "#!/bin/sh\nexit\n").outcome, "ok", "replace an executable file");
	is_int(mode_of("program"), 0750, "its mode stays");
	if (link("program", "twin") < 0)
		die("link");
	write_file(c, "program", "1");
	ok(holds("twin", "#!/bin/sh\nexit\n", 15), "a hard link keeps the old content");

	puts_to("target", "old");
	if (symlink("target", "link") < 0 || symlink("nowhere", "dangling") < 0 || symlink("x/y", "short") < 0)
		die("symlink");
	is_str(write_file(c, "link", "through").outcome, "ok", "write through a symbolic link");
	struct stat st;
	ok(lstat("link", &st) == 0 && S_ISLNK(st.st_mode), "the link stays");
	ok(holds("target", "through", 7), "what it leads to is replaced");
	refused(write_file(c, "dangling", "x"), "leads nowhere", "a dangling link");
	ok(access("nowhere", F_OK) < 0, "nothing is made behind it");
	is_str(write_file(c, "short/new3", "x").outcome, "ok", "a link to a folder on the way");
	ok(holds("x/y/new3", "x", 1), "leads to it");

	if (geteuid() == 0) {
		skip("root writes everything");
	} else {
		puts_to("readonly", "keep");
		chmod("readonly", 0444);
		refused(write_file(c, "readonly", "x"), "readonly: not writable, mode 0444", "a read-only file");
		ok(holds("readonly", "keep", 4), "it is untouched");
		mkdir("shut", 0555);
		refused(write_file(c, "shut/new", "x"), "shut/new: Permission denied", "a folder without permission");
		refused(write_file(c, "shut/sub/new", "x"), "shut/sub/new", "a new folder in it");
	}
}

static size_t count_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void small_files(void)
{
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 4096, 4096 });
}

/* A write that fails half-way leaves the old file and no litter; the hand lives on. */
static void test_full(void)
{
	struct hand_client c;
	struct hand_reply r;
	char *big = malloc(100001);

	if (!big)
		die("malloc");
	memset(big, 'x', 100000);
	big[100000] = '\0';
	mkdir("full", 0755);
	puts_to("full/f", "old");
	hand_open_ready(&c, small_files);
	r = write_file(&c, "full/f", big);
	refused(r, "full/f: not written: File too large", "more than a file may have");
	r = write_file(&c, "full/g", big);
	refused(r, "full/g: not written: File too large", "the same for a new file");
	refused(edit_file(&c, "full/f", "old", big, ""), "full/f: not written", "the same for an edit");
	ok(holds("full/f", "old", 3), "the old file is whole");
	is_int(count_entries("full"), 3, "no temporary file is left");
	is_str(write_file(&c, "full/f", "new").outcome, "ok", "and the hand goes on");
	is_int(hand_wait_end(&c), 0, "ends in order");
	free(big);
}

static void test_edit(struct hand_client *c)
{
	static const struct {
		const char *before, *old, *new, *rest, *after, *text; /* after NULL: refused with `text` in it */
	} cases[] = {
		{ "a b c\n", "b", "B", "", "a B c\n", "replaced 1 occurrence in e, first in line 1" },
		{ "1\n2\n3\n", "2\n3", "x", "", "1\nx\n", "replaced 1 occurrence in e, first in line 2" },
		{ "a b c", "b ", "", "", "a c", "replaced 1 occurrence" },
		{ "x x\nx", "x", "yy", "\"replace_all\":true", "yy yy\nyy",
		  "replaced 3 occurrences in e, first in line 1" },
		{ "x", "x", "xx", "\"replace_all\":true", "xx", "replaced 1 occurrence" },
		{ "aaa", "aa", "b", "\"replace_all\":true", "ba", "replaced 1 occurrence" },
		{ "a\r\nb\r\n", "a\r\n", "c\r\n", "", "c\r\nb\r\n", "replaced 1" },
		{ "a\r\nb\r\n", "b", "c", "", "a\r\nc\r\n", "replaced 1" },
		{ "\xff\xfe bytes \x80", "bytes", "stay", "", "\xff\xfe stay \x80", "replaced 1" },
		{ "a\n", "b", "c", "", NULL, "old_string: not found in e; read the file again" },
		{ "", "b", "c", "", NULL, "old_string: not found in e" },
		{ "A", "a", "c", "", NULL, "not found" },
		{ "a\r\nb\r\n", "a\nb", "c", "", NULL, "end in CRLF" },
		{ "x\nx\n\nx\nx\nx\nx", "x", "y", "", NULL,
		  "old_string: occurs 6 times in e (lines 1, 2, 4, 5, 6, \xe2\x80\xa6)" },
		{ "x x", "x", "y", "\"replace_all\":false", NULL, "occurs 2 times in e (lines 1, 1); add text" },
		{ "aaa", "aa", "b", "", NULL, "occurs 2 times" },
		{ "a", "a", "a", "", NULL, "new_string: the same" },
		{ "a", "", "b", "", NULL, "old_string: must not be empty" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *after = cases[i].after ? cases[i].after : cases[i].before;

		puts_to("e", cases[i].before);
		chmod("e", 0751);
		struct hand_reply r = edit_file(c, "e", cases[i].old, cases[i].new, cases[i].rest);

		if (!ok(r.text && strstr(r.text, cases[i].text), "edit case %zu says: %s", i, cases[i].text))
			diag("got %s", r.text);
		is_int(r.is_error, !cases[i].after, "error or not");
		ok(holds("e", after, strlen(after)), "the file afterwards");
		is_int(mode_of("e"), 0751, "its mode stays");
	}
	put("e", "a\0b\0c", 5);
	is_str(edit_file(c, "e", "b", "B", "").outcome, "ok", "a file with NUL bytes");
	ok(holds("e", "a\0B\0c", 5), "keeps them");
	refused(edit_file(c, "missing", "a", "b", ""), "missing: No such file", "a missing file");
	ok(access("missing", F_OK) < 0, "it is not made");

	unlink("link");
	if (symlink("e", "link") < 0)
		die("symlink");
	is_str(edit_file(c, "link", "B", "b", "").outcome, "ok", "an edit through a link");
	ok(holds("e", "a\0b\0c", 5), "changes the file");

	char dots[100] = "";
	for (int i = 0; i < 33; i++)
		strncat(dots, "ab ", sizeof(dots) - strlen(dots) - 1);
	int fd = open("e", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	for (int i = 0; i < 20000; i++)
		if (write(fd, dots, strlen(dots)) < 0)
			die("write");
	close(fd);
	is_str(edit_file(c, "e", "ab", "ab ab ab ab ab ab ab ab ab ab ab ab ab ab ab ab ab ab ab ab",
			 "\"replace_all\":true")
		       .text,
	       "the file after the edit: larger than the limit of 33554432 bytes",
	       "an edit that grows beyond 32 MiB is refused");
	if (truncate("e", (32 << 20) + 1) < 0)
		die("truncate");
	refused(edit_file(c, "e", "ab", "x", "\"replace_all\":true"), "e: larger than the limit",
		"a file above 32 MiB");

	/* what would be quadratic for a careless search */
	char *needle = malloc(2000001);
	memset(needle, 'a', 2000000);
	needle[2000000] = '\0';
	int64_t before = clock_mono_ms();
	write_file(c, "e", needle);
	needle[1000000] = '\0';
	refused(edit_file(c, "e", needle, "x", ""), "occurs 2 times", "a megabyte of one letter in two");
	needle[999999] = 'b';
	refused(edit_file(c, "e", needle, "x", ""), "not found", "and one that almost fits everywhere");
	ok(clock_mono_ms() - before < 20000, "in time");
	free(needle);
}

int main(void)
{
	struct hand_client c;

	umask(022);
	hand_open_ready(&c, NULL);
	test_read(&c);
	test_read_bounds(&c);
	test_odd_files(&c);
	test_write(&c);
	test_edit(&c);
	is_int(hand_wait_end(&c), 0, "ends in order");
	test_full();
	return tap_end();
}
