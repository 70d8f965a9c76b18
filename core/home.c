#include "core/home.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/path.h"
#include "jail/cell.h"

static char *join(const char *a, const char *b)
{
	char *path;

	return asprintf(&path, "%s/%s", a, b) < 0 ? NULL : path;
}

/* An XDG folder that is not absolute is ignored, as the XDG base directory specification asks. */
static char *xdg(const char *variable, const char *fallback, const char *name)
{
	const char *base = getenv(variable);
	const char *user_home = getenv("HOME");
	char *path;

	if (base && base[0] == '/')
		return join(base, name);
	if (!user_home || user_home[0] != '/' || asprintf(&path, "%s/%s/%s", user_home, fallback, name) < 0)
		return NULL;
	return path;
}

static int places(struct home *h, struct err *err)
{
	const char *root = getenv("WARDER_HOME");

	if (root && root[0]) {
		if (root[0] != '/')
			return err_set(err, E_USAGE, "WARDER_HOME: %s is not absolute; give a path from /", root);
		h->data_path = strdup(root);
		h->config_path = join(root, "config");
		h->run_path = join(root, "run");
	} else {
		_cleanup_free_ char *config = xdg("XDG_CONFIG_HOME", ".config", "warder");
		const char *runtime = getenv("XDG_RUNTIME_DIR");

		h->data_path = xdg("XDG_DATA_HOME", ".local/share", "warder");
		if (!config || !h->data_path)
			return err_set(err, E_USAGE,
				       "home: HOME is not set, or not to a path from /; set HOME or WARDER_HOME");
		h->config_path = join(config, "config");
		h->run_path = runtime && runtime[0] == '/' ? join(runtime, "warder") : join(h->data_path, "run");
	}
	if (!h->config_path || !h->data_path || !h->run_path)
		return err_set(err, E_NOMEM, "home: out of memory");
	return 0;
}

static int open_private(const char *path, int *ret_fd, struct err *err)
{
	struct err why = { 0 };
	int r = path_make_private(path, &why);

	if (r == E_NOMEM || r == E_FULL)
		return err_set(err, r, "%s", why.text);
	if (r < 0)
		return err_set(err, E_USAGE, "%s; set WARDER_HOME to a place where you may write", why.text);
	r = path_open_private(path, ret_fd, err);
	return r == 0 ? 0
		      : err_set(err, E_USAGE, "%s: must be a folder of yours that is closed to others; chmod 700 it",
				path);
}

int home_open(struct home *ret, struct err *err)
{
	_cleanup_home_ struct home h = HOME_INIT;
	_cleanup_free_ char *sessions = NULL;
	int r = places(&h, err);

	if (r == 0)
		r = open_private(h.data_path, &h.data_fd, err);
	if (r == 0)
		r = open_private(h.run_path, &h.run_fd, err);
	if (r == 0 && !(sessions = join(h.data_path, "sessions")))
		r = err_set(err, E_NOMEM, "home: out of memory");
	if (r == 0)
		r = open_private(sessions, &h.sessions_fd, err);
	if (r < 0)
		return r;

	*ret = h;
	h = (struct home)HOME_INIT;
	return 0;
}

void home_close(struct home *h)
{
	free_charp(&h->config_path);
	free_charp(&h->data_path);
	free_charp(&h->run_path);
	fd_close(&h->data_fd);
	fd_close(&h->sessions_fd);
	fd_close(&h->run_fd);
}

void home_forbidden(const struct home *h, const char *ret[3])
{
	ret[0] = h->data_path;
	ret[1] = h->run_path;
	ret[2] = NULL;
}

static bool holds(const char *folder, const char *path)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

int home_check_workspace(const struct home *h, const char *workspace, struct err *err)
{
	const struct passwd *account = getpwuid(geteuid());
	const char *const homes[] = { getenv("HOME"), account ? account->pw_dir : NULL };
	const char *forbidden[3];

	home_forbidden(h, forbidden);
	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		_cleanup_free_ char *real = homes[i] && homes[i][0] == '/' ? realpath(homes[i], NULL) : NULL;

		if (real && strcmp(real, "/") != 0 && holds(workspace, real))
			return err_set(
				err, E_USAGE,
				"workspace %s: it is or holds your home folder, keys and settings included; name a "
				"folder in it",
				workspace);
	}
	return cell_check_workspace(workspace, forbidden, err);
}

int home_session_open(const struct home *h, const char *id, bool create, int *ret_fd, struct err *err)
{
	struct stat st;

	if (create && mkdirat(h->sessions_fd, id, 0700) < 0)
		return err_errno(err, E_IO, errno, "session %s: cannot make its folder in %s/sessions", id,
				 h->data_path);

	_cleanup_fd_ int fd = path_open_beneath(h->sessions_fd, id, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return err_errno(err, errno == ENOENT ? E_NOTFOUND : E_IO, errno, "session %s", id);
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return err_set(err, E_USAGE, "session %s: its folder is not private; chmod 700 it", id);
	*ret_fd = steal_fd(&fd);
	return 0;
}
