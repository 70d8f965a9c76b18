/* The filter under the running kernel: each refusal with its errno, and the same call without the filter as control, so
 * that an errno which the kernel gives anyhow does not pass for the filter's; then the tools of every day. */
#include "jail/filter.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jail/compat_kernel.h"
#include "jail/lock.h"
#include "tests/jail/child.h"
#include "tests/tap.h"

#define HIGH (1L << 32)
#define WILD 8L /* an address where nothing is: EFAULT from whoever looks */

static struct buf cell = BUF_INIT(1 << 16), strict = BUF_INIT(1 << 16);
/* Calls whose control says nothing, because the kernel refuses this user or on this machine with the same errno. */
static struct buf same = BUF_INIT(1 << 16);
static char dir[4096];

static int load(const struct buf *program)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 : lock_seccomp(program->data, program->len, NULL);
}

/* ---- single calls */

struct live {
	const char *what;
	int want;
	long nr, args[5];
};

static const struct live live[] = {
	{ "clone3", ENOSYS, SYS_clone3, { 0 } },
	{ "setns", EPERM, SYS_setns, { -1, 0 } },
	{ "mount", EPERM, SYS_mount, { 0 } },
	{ "umount2", EPERM, SYS_umount2, { 0 } },
	{ "pivot_root", EPERM, SYS_pivot_root, { WILD, WILD } },
	{ "chroot", EPERM, SYS_chroot, { 0 } },
	{ "open_tree", ENOSYS, SYS_open_tree, { -1, 0, 0 } },
	{ "open_tree_attr", ENOSYS, __NR_open_tree_attr, { -1, 0, 0, 0, 0 } },
	{ "move_mount", ENOSYS, SYS_move_mount, { -1, 0, -1, 0, 0 } },
	{ "fsopen", ENOSYS, SYS_fsopen, { 0 } },
	{ "fsconfig", ENOSYS, SYS_fsconfig, { -1, 0, 0, 0, 0 } },
	{ "fsmount", ENOSYS, SYS_fsmount, { -1, 0, 0 } },
	{ "fspick", ENOSYS, SYS_fspick, { -1, 0, 0 } },
	{ "mount_setattr", ENOSYS, SYS_mount_setattr, { -1, 0, 0, 0, 0 } },
	{ "statmount", ENOSYS, __NR_statmount, { 0 } },
	{ "listmount", ENOSYS, __NR_listmount, { 0 } },
	{ "openat2", ENOSYS, SYS_openat2, { -1, 0, 0, 0 } },
	{ "file_setattr", ENOSYS, __NR_file_setattr, { -1, 0, 0, 0, 0 } },
	{ "io_uring_setup", ENOSYS, SYS_io_uring_setup, { 0 } },
	{ "io_uring_enter", ENOSYS, SYS_io_uring_enter, { -1, 0, 0, 0, 0 } },
	{ "io_uring_register", ENOSYS, SYS_io_uring_register, { -1, 0, 0, 0 } },
	{ "keyctl", EPERM, SYS_keyctl, { KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0 } },
	{ "add_key", EPERM, SYS_add_key, { 0 } },
	{ "request_key", EPERM, SYS_request_key, { 0 } },
	{ "bpf", EPERM, SYS_bpf, { -1, 0, 0 } },
	{ "perf_event_open", EPERM, SYS_perf_event_open, { 0, 0, -1, -1, 0 } },
	{ "userfaultfd", EPERM, SYS_userfaultfd, { -1 } },
	{ "memfd_secret", EPERM, SYS_memfd_secret, { -1 } },
	{ "fanotify_init", EPERM, SYS_fanotify_init, { -1, 0 } },
	{ "ptrace", EPERM, SYS_ptrace, { 2 /* PTRACE_PEEKDATA */, 0, 0, 0 } },
	{ "process_vm_readv", EPERM, SYS_process_vm_readv, { 0 } },
	{ "process_vm_writev", EPERM, SYS_process_vm_writev, { 0 } },
	{ "process_madvise", EPERM, SYS_process_madvise, { -1, 0, 0, 0, 0 } },
	{ "kcmp", EPERM, SYS_kcmp, { 0 } },
	{ "pidfd_getfd", EPERM, SYS_pidfd_getfd, { -1, 0, 0 } },
	{ "kexec_load", EPERM, SYS_kexec_load, { 0, 1 << 20, 0, -1 } },
	{ "init_module", EPERM, SYS_init_module, { WILD, 8, WILD } },
	{ "finit_module", EPERM, SYS_finit_module, { -1, WILD, 0 } },
	{ "delete_module", EPERM, SYS_delete_module, { WILD, 0 } },
	{ "reboot", EPERM, SYS_reboot, { 0 } },
	{ "swapon", EPERM, SYS_swapon, { WILD, -1 } },
	{ "acct", EPERM, SYS_acct, { WILD } },
	{ "syslog", EPERM, SYS_syslog, { -1, 0, 0 } },
	{ "quotactl", EPERM, SYS_quotactl, { -1, 0, 0, 0 } },
	{ "clock_settime", EPERM, SYS_clock_settime, { 9999, 0 } },
	{ "clock_adjtime", EPERM, SYS_clock_adjtime, { 9999, WILD } },
	{ "adjtimex", EPERM, SYS_adjtimex, { WILD } },
	{ "settimeofday", EPERM, SYS_settimeofday, { 0 } },
	{ "sethostname", EPERM, SYS_sethostname, { WILD, -1 } },
	{ "setdomainname", EPERM, SYS_setdomainname, { WILD, -1 } },
	{ "name_to_handle_at", EPERM, SYS_name_to_handle_at, { -1, 0, 0, 0, 0 } },
	{ "open_by_handle_at", EPERM, SYS_open_by_handle_at, { -1, WILD, 0 } },
	{ "mbind", EPERM, SYS_mbind, { 0, 0, -1, 0, 0 } },
	{ "move_pages", EPERM, SYS_move_pages, { 0, 1, WILD, 0, WILD } },
	{ "migrate_pages", EPERM, SYS_migrate_pages, { -1, 0, 0, 0 } },
	{ "set_mempolicy", EPERM, SYS_set_mempolicy, { -1, 0, 0 } },
	{ "unshare(NEWUSER)", EPERM, SYS_unshare, { CLONE_NEWUSER } },
	{ "unshare(NEWUSER) with a high bit", EPERM, SYS_unshare, { CLONE_NEWUSER | HIGH } },
	{ "ioctl(TIOCSTI)", EPERM, SYS_ioctl, { -1, TIOCSTI, 0 } },
	{ "ioctl(TIOCSTI) with a high bit", EPERM, SYS_ioctl, { -1, TIOCSTI | HIGH, 0 } },
	{ "ioctl(TIOCLINUX)", EPERM, SYS_ioctl, { -1, TIOCLINUX, 0 } },
	{ "ioctl(TIOCSETD)", EPERM, SYS_ioctl, { -1, TIOCSETD, 0 } },
	{ "ioctl(TIOCCONS)", EPERM, SYS_ioctl, { -1, TIOCCONS, 0 } },
	{ "ioctl(TIOCSCTTY, 1)", EPERM, SYS_ioctl, { -1, TIOCSCTTY, 1 } },
	{ "prctl(PR_SET_MM)", EPERM, SYS_prctl, { PR_SET_MM, 0, 0, 0, 1 } },
	{ "personality(READ_IMPLIES_EXEC)", EPERM, SYS_personality, { 0x0400000 } },
	{ "personality(ADDR_NO_RANDOMIZE) with a high bit", EPERM, SYS_personality, { 0x0040000 | HIGH } },
	{ "socket(AF_VSOCK)", EAFNOSUPPORT, SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 } },
	{ "socket(AF_VSOCK) with a high bit", EAFNOSUPPORT, SYS_socket, { AF_VSOCK | HIGH, SOCK_STREAM, 0 } },
	{ "socket(AF_ALG)", EAFNOSUPPORT, SYS_socket, { AF_ALG, SOCK_SEQPACKET, 0 } },
	{ "socket(AF_PACKET)", EAFNOSUPPORT, SYS_socket, { AF_PACKET, SOCK_DGRAM, 0 } },
	{ "socket(AF_INET, SOCK_RAW)", EPERM, SYS_socket, { AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP } },
	{ "socket(AF_INET, SOCK_PACKET)", EPERM, SYS_socket, { AF_INET, SOCK_PACKET, 0 } },
	{ "socket(NETLINK_KOBJECT_UEVENT)", EAFNOSUPPORT, SYS_socket, { AF_NETLINK, SOCK_RAW, 15 } },
	{ "socket(IPPROTO_SCTP)", EPROTONOSUPPORT, SYS_socket, { AF_INET, SOCK_STREAM, IPPROTO_SCTP } },
	{ "fchmod(04755)", EPERM, SYS_fchmod, { -1, 04755 } },
	{ "mknodat(character device 0:0)", EPERM, SYS_mknodat, { -1, WILD, S_IFCHR, 0 } },
	{ "mknodat(block device)", EPERM, SYS_mknodat, { -1, WILD, S_IFBLK, 1 } },
	{ "modify_ldt", ENOSYS, SYS_modify_ldt, { -1, 0, 0 } },
	{ "ustat", ENOSYS, SYS_ustat, { -1, WILD } },
	{ "sysfs", ENOSYS, SYS_sysfs, { -1, 0, 0 } },
	{ "lookup_dcookie", ENOSYS, SYS_lookup_dcookie, { 0 } },
};

struct attempt {
	const struct live *call;
	const struct buf *program; /* NULL: no filter */
};

static int attempt(const void *arg)
{
	const struct attempt *a = arg;
	const long *x = a->call->args;

	if (a->program && load(a->program) < 0)
		return -1;
	return err_of(syscall(a->call->nr, x[0], x[1], x[2], x[3], x[4]));
}

static void refused(const struct live *call)
{
	int control = child_run(attempt, &(struct attempt){ call, NULL });

	is_int(child_run(attempt, &(struct attempt){ call, &strict }), call->want, "strict: %s", call->what);
	if (!is_int(child_run(attempt, &(struct attempt){ call, &cell }), call->want, "cell: %s", call->what))
		return;
	if (control == call->want)
		buf_addf(&same, "%s%s", same.len ? ", " : "", call->what);
	else
		ok(true, "control of %s: without the filter it is errno %d", call->what, control);
}

/* ---- calls that need more than numbers */

static int tiocsti_on(int tty, unsigned long request)
{
	return err_of(syscall(SYS_ioctl, tty, request, "x"));
}

/* A terminal of its own, into which TIOCSTI pushes a byte: where the kernel still has it, the control succeeds. */
static int tiocsti(const void *arg)
{
	const struct attempt *a = arg;
	_cleanup_fd_ int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int zero = 0;

	setsid();
	signal(SIGHUP, SIG_IGN); /* the end of this terminal is not the end of the test */
	if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) < 0)
		return -1;
	_cleanup_fd_ int tty = ioctl(master, TIOCGPTPEER, O_RDWR);
	if (tty < 0 || ioctl(tty, TIOCSCTTY, 0) < 0 || (a->program && load(a->program) < 0))
		return -1;

	int plain = tiocsti_on(tty, TIOCSTI), high = tiocsti_on(tty, TIOCSTI | HIGH);
	return plain == high ? plain : -1;
}

static void tiocsti_on_a_terminal(void)
{
	int control = child_run(tiocsti, &(struct attempt){ NULL, NULL });

	if (control != 0)
		skip("TIOCSTI on a terminal: without the filter it is errno %d (dev.tty.legacy_tiocsti off?)", control);
	else
		ok(true, "control: TIOCSTI, also with a high bit, pushes a byte into a terminal");
	is_int(child_run(tiocsti, &(struct attempt){ NULL, &cell }), EPERM, "cell: TIOCSTI on a terminal, both ways");
}

static int make_bad_files(const void *arg)
{
	const struct attempt *a = arg;
	int made = 0;

	umask(0);
	if (chdir(dir) < 0 || (a->program && load(a->program) < 0))
		return -1;
	made += open("open", O_CREAT | O_WRONLY | O_CLOEXEC, 04755) >= 0;
	made += creat("creat", 02755) >= 0;
	made += open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 04755) >= 0;
	made += syscall(SYS_mknodat, AT_FDCWD, "mknod", S_IFREG | 04755, 0) == 0;
	made += open("from", O_CREAT | O_WRONLY | O_CLOEXEC, 0644) >= 0 &&
		renameat2(AT_FDCWD, "from", AT_FDCWD, "to", RENAME_WHITEOUT) == 0;
	made += open("plain", O_CREAT | O_WRONLY | O_CLOEXEC, 0644) >= 0;
	made += chmod("plain", 04755) == 0;
	made += chmod("plain", 02755) == 0;
	made += fchmodat(AT_FDCWD, "plain", 06755, 0) == 0;
	struct stat st;
	if (stat("plain", &st) == 0 && !(st.st_mode & (S_ISUID | S_ISGID)))
		made += 100;
	unlink("open"), unlink("creat"), unlink("mknod"), unlink("plain");
	unlink("from"), unlink("to");
	return made;
}

static void *thread(void *arg)
{
	return arg;
}

/* What libc does with clone and execve, and what nested sandboxes need. */
static int everyday(const void *arg)
{
	char name[] = "true", *const argv[] = { name, NULL };
	struct sock_filter allow = { .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW };
	pthread_t t;
	pid_t pid;
	int status;

	if (load(arg) < 0)
		return 1;
	if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
		return 2;
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, NULL) || waitpid(pid, &status, 0) != pid || status)
		return 3;
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 0 && errno == EPERM)
		return 4;
	if (lock_seccomp(&allow, sizeof(allow), NULL) < 0)
		return 5;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 6;
	if (open("/dev/null", O_RDWR | O_CLOEXEC) < 0 || socket(AF_UNIX, SOCK_DGRAM, 0) < 0)
		return 7;
	return 0;
}

/* ---- foreign ABIs */

static int x32_call(const void *arg)
{
	if (arg && load(arg) < 0)
		return -1;
	return err_of(syscall(0x40000000 + 39));
}

static int ia32_call(const void *arg)
{
	long r;

	if (arg && load(arg) < 0)
		return -1;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory"); /* getpid */
	return r > 0 ? 0 : (int)-r;
}

static void foreign(void)
{
	is_int(child_run(x32_call, &cell), CHILD_SIGNAL + SIGSYS, "a number of the x32 ABI kills");
	int control = child_run(ia32_call, NULL);
	if (control != 0)
		skip("int 0x80: without the filter it is %d on this machine", control);
	else
		is_int(child_run(ia32_call, &cell), CHILD_SIGNAL + SIGSYS, "a call of the 32-bit ABI kills");
}

/* ---- tools */

struct tool {
	const char *name, *script;
	bool refused; /* must fail under the filter */
};

static const struct tool tools[] = {
	{ "gcc", "printf 'int main(void){return 0;}' >a.c && gcc -g a.c -o a && ./a", false },
	{ "make", "printf 'all: x y\nx y:\n\tcp a.txt $@\n' >Makefile && echo >a.txt && make -s -j2 && rm x y", false },
	{ "git", "git init -q r && cd r && git config user.name n && git config user.email m && echo >f && git add f &&"
		 " git commit -qm c && git clone -q . ../s && git gc -q && git log --oneline &&"
		 " git worktree add -q ../w && cd .. && rm -rf r s w", false },
	{ "node", "node -e \"const {execSync:x}=require('child_process'),{Worker:W}=require('worker_threads'),"
		  "n=require('net'),f=require('fs');f.writeFileSync('n','1');x('cat n');"
		  "new W('require(\\\"worker_threads\\\").parentPort.postMessage(1)',{eval:true}).on('message',()=>{"
		  "const s=n.createServer(c=>c.end()).listen(0,'127.0.0.1',()=>n.connect(s.address().port).on('close',"
		  "()=>{s.close();f.watch('.').close();require('os').networkInterfaces();f.cpSync('n','m');}))})\"",
	  false },
	{ "python3", "python3 -c \"import subprocess,threading,multiprocessing as m,asyncio,sqlite3,tempfile,socket\n"
		     "subprocess.run(['true'],check=True)\n"
		     "t=threading.Thread(target=print);t.start();t.join()\n"
		     "p=m.get_context('fork').Pool(2);assert p.map(abs,[-1,2])==[1,2];p.close();p.join()\n"
		     "asyncio.run(asyncio.sleep(0))\n"
		     "c=sqlite3.connect('d');c.execute('create table if not exists t(x)');c.commit()\n"
		     "s=socket.socket();s.bind(('127.0.0.1',0));__import__('mmap').mmap(-1,9)\n"
		     "tempfile.TemporaryFile().write(b'x')\"", false },
	{ "gdb", "printf 'int main(void){return 0;}' >b.c && gcc -g b.c -o b && gdb -nx -batch -ex 'info line main' b"
		 " | grep -q 'Line 1'", false },
	{ "strace", "strace -o trace true && grep -q exit trace", true },
	{ "tar", "mkdir -p t/u o && echo >t/u/f && tar cf t.tar t && tar xf t.tar -C o && cp -a t p && rm -r t p o",
	  false },
	{ "perl", "perl -e 'my $p = fork; exit 0 unless $p; waitpid $p, 0; print `true`'", false },
};

struct tool_run {
	const struct tool *tool;
	const struct buf *program;
};

static int run_tool(const void *arg)
{
	const struct tool_run *run = arg;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		int log = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (chdir(dir) < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 ||
		    (run->program && load(run->program) < 0))
			_exit(99);
		execl("/bin/sh", "sh", "-ec", run->tool->script, NULL);
		_exit(98);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : CHILD_SIGNAL + WTERMSIG(status);
}

static void show_log(void)
{
	FILE *f = fopen("log", "re");
	char line[300];

	for (int n = 0; f && n < 20 && fgets(line, sizeof(line), f); n++)
		diag("%s", line);
	if (f)
		fclose(f);
}

static void every_tool(const char *profile, const struct buf *program)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		int control = run_tool(&(struct tool_run){ &tools[i], NULL });

		if (control) {
			skip("%s: %s does not run here without the filter either (status %d)", profile, tools[i].name,
			     control);
			continue;
		}
		int status = run_tool(&(struct tool_run){ &tools[i], program });
		if (!ok(tools[i].refused ? status != 0 : status == 0, "%s: %s %s (status %d)", profile, tools[i].name,
			tools[i].refused ? "is refused" : "works", status))
			show_log();
	}
}

int main(void)
{
	struct err err = { 0 };

	if (filter_build(FILTER_CELL, &cell, &err) || filter_build(FILTER_STRICT, &strict, &err) ||
	    !fresh_folder(dir, "filter") || chdir(dir) < 0) {
		ok(false, "preparation: %s", err.text);
		return tap_end();
	}
	setenv("HOME", dir, 1);
	for (size_t i = 0; i < ARRAY_LEN(live); i++)
		refused(&live[i]);
	if (same.len)
		skip("controls in which the kernel itself gives the same errno here: %s", same.data);
	tiocsti_on_a_terminal();
	is_int(child_run(make_bad_files, &(struct attempt){ NULL, NULL }), 9,
	       "control: seven ways to make a set-id file, one to forge a deletion, one plain file");
	is_int(child_run(make_bad_files, &(struct attempt){ NULL, &cell }), 101, "cell: only the plain file is made");
	is_int(child_run(make_bad_files, &(struct attempt){ NULL, &strict }), 101, "strict: the same");
	is_int(child_run(everyday, &cell), 0, "cell: threads, spawn, netlink, nested Landlock and seccomp");
	is_int(child_run(everyday, &strict), 0, "strict: the same");
	foreign();
	every_tool("cell", &cell);
	every_tool("strict", &strict);

	is_int(chdir("/"), 0, "leaving the folder");
	char command[4200];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	is_int(system(command), 0, "nothing is left behind");
	buf_free(&cell);
	buf_free(&strict);
	buf_free(&same);
	return tap_end();
}
