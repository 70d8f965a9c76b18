#include "core/cmd/session_arg.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/path.h"
#include "core/policy/answers.h"
#include "store/catalog.h"
#include "store/log.h"
#include "store/log_read.h"

int session_arg_open(const char *name, struct session_arg *ret, struct err *err)
{
	_cleanup_session_arg_ struct session_arg s = SESSION_ARG_INIT;
	int r = home_open(&s.home, err);

	if (r == 0)
		r = catalog_resolve(s.home.data_fd, name, s.id, err);
	if (r == 0)
		r = home_session_open(&s.home, s.id, false, &s.fd, err);
	if (r < 0)
		return r;
	s.alive = log_is_locked(s.fd);
	*ret = s;
	s = (struct session_arg)SESSION_ARG_INIT;
	return 0;
}

void session_arg_close(struct session_arg *s)
{
	fd_close(&s->fd);
	home_close(&s->home);
}

struct fold {
	struct session_state *state;
	struct err *err;
};

static int take_row(const struct event *e, void *arg)
{
	struct fold *f = arg;

	return session_state_apply(f->state, e, f->err);
}

int session_arg_state(int fd, struct session_state *ret, struct err *err)
{
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	_cleanup_session_state_ struct session_state state = { 0 };
	struct fold f = { .state = &state, .err = err };
	int r = log_reader_open(fd, &reader, err);

	if (r == 0)
		r = log_reader_each(reader, 0, take_row, &f, err);
	if (r < 0)
		return r;
	*ret = state;
	state = (struct session_state){ 0 };
	return 0;
}

static bool lies_in(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

int session_arg_answers(const char *file, const char *workspace, json_node **ret, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(ANSWERS_SIZE_MAX);
	_cleanup_answers_ struct answers *checked = NULL;
	_cleanup_free_ char *real = realpath(file, NULL);
	struct err why = { 0 };
	struct stat st;

	if (!real)
		return err_set(err, E_USAGE, "--answers %s: %s; name a file of answers", file, strerror(errno));
	if (lies_in(real, workspace))
		return err_set(err, E_USAGE,
			       "--answers %s: it lies in the workspace, where the agent's side could have written it; "
			       "move it out",
			       file);
	/* A second name may lie in the workspace, and no path tells. */
	if (stat(real, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 1)
		return err_set(err, E_USAGE, "--answers %s: it has %lu names (hard links); give a file with one", file,
			       (unsigned long)st.st_nlink);
	if (path_read_file(AT_FDCWD, real, ANSWERS_SIZE_MAX, &text, &why) < 0)
		return err_set(err, E_USAGE, "--answers %s; name a file of answers", why.text);

	int r = answers_parse(file, buf_str(&text), text.len, &checked, err);
	if (r < 0)
		return r;
	*ret = cJSON_CreateObject();
	cJSON_AddStringToObject(*ret, "name", file);
	cJSON_AddStringToObject(*ret, "text", buf_str(&text));
	return 0;
}
