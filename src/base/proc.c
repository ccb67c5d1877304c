/* Child processes that run other programs to their end. See proc.h. */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "base/str.h"
#include "base/vec.h"

extern char **environ;

const char *const proc_c_compilers[] = { "cc", "gcc", "clang", NULL };
const char *const proc_cxx_compilers[] = { "g++", "clang++", "c++", NULL };

int proc_run(int *status, char **output, const char *const *argv, struct arena *a, struct err *e)
{
	return proc_run_in(status, output, NULL, argv, a, e);
}

/* The environment of a program whose messages are read: in the C locale. */
static char **environment(struct arena *a)
{
	struct {
		VEC(char *);
	} all = { 0 };
	for (char **v = environ; v && *v; v++)
		if (!str_starts(*v, "LC_ALL=") && !str_starts(*v, "LANGUAGE="))
			vec_push(a, &all, *v);
	vec_push(a, &all, arena_strdup(a, "LC_ALL=C"));
	vec_push(a, &all, NULL);
	return all.at;
}

int proc_run_in(int *status, char **output, const char *folder, const char *const *argv, struct arena *a, struct err *e)
{
	int fd[2];
	pid_t pid;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	struct str text = str_new(a);
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_set(e, ERR_DEVICE, "%s: cannot be run: %s.", argv[0], strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fd[1], 1);
	posix_spawn_file_actions_adddup2(&actions, fd[1], 2);
	if (folder)
		posix_spawn_file_actions_addchdir_np(&actions, folder);
	/* The caller may block signals that are to end this process. */
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	int rc = posix_spawnp(&pid, argv[0], &actions, &attributes, drop_const(argv), environment(a));
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	if (rc) {
		close(fd[0]);
		return err_set(e, ERR_DEVICE, "%s: cannot be run: %s.", argv[0], strerror(rc));
	}
	char piece[4096];
	for (ssize_t n; (n = read(fd[0], piece, sizeof piece)) != 0;)
		if (n > 0)
			str_addn(&text, piece, (size_t)n);
		else if (errno != EINTR)
			break;
	close(fd[0]);
	int wait_status = 0;
	while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
		;
	*status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
	if (output)
		*output = arena_strdup(a, str_text(&text));
	return 0;
}

static bool can_be_run(const char *path)
{
	return access(path, X_OK) == 0 && !file_is_folder(path);
}

/* True if PATH has a program of that name. */
static bool is_program(const char *name)
{
	struct arena *a = arena_new();
	const char *path = getenv("PATH");
	bool found = strchr(name, '/') && can_be_run(name);
	for (path = path && !strchr(name, '/') ? path : ""; *path && !found; path += path[0] == ':') {
		size_t n = strcspn(path, ":");
		found = can_be_run(path_join(a, n ? arena_strndup(a, path, n) : ".", name));
		path += n;
	}
	arena_free(a);
	return found;
}

/* The last line of gcc's or clang's driver, when a linker has told why it failed, in words of its own. */
static bool is_summary(const char *line, size_t n)
{
	static const char *const text[] = { "collect2: error: ld returned", "linker command failed" };
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		const char *at = strstr(line, text[i]);
		if (at && at < line + n)
			return true;
	}
	return false;
}

const char *proc_error_line(const char *said, struct arena *a)
{
	const char *first = NULL, *found = NULL, *error = "error";
	for (const char *line = said; *line && !found;
	     line += line[strcspn(line, "\n")] ? strcspn(line, "\n") + 1 : strlen(line)) {
		size_t n = strcspn(line, "\n");
		const char *at = strstr(line, error);
		if (!n || is_summary(line, n))
			continue;
		first = first ? first : line;
		if (at && at < line + n)
			found = line;
	}
	found = found ? found : first ? first : said;
	return arena_strndup(a, found, strcspn(found, "\n"));
}

/* Null: none. */
static const char *output_of(const char *const *argv)
{
	const char *out = NULL;
	for (; *argv; argv++)
		if (strcmp(*argv, "-o") == 0 && argv[1])
			out = argv[1];
	return out;
}

int proc_compile(char **said, const char *what, const char *folder, const char *const *argv, struct arena *a,
                 struct err *e)
{
	int status;
	*said = NULL;
	TRY(proc_run_in(&status, said, folder, argv, a, e));
	const char *out = output_of(argv), *why = proc_error_line(*said, a);
	if (status == 0 && (!out || file_exists(path_join(a, folder ? folder : ".", out))))
		return 0;
	if (status == 0)
		return err_set(e, ERR_DEVICE, "%s: it reports no error, but makes no file.", what);
	if (*why)
		err_set(e, ERR_DEVICE, "%s: %.800s", what, why);
	else if (status > 128)
		err_set(e, ERR_DEVICE, "%s: signal %d (%s).", what, status - 128, strsignal(status - 128));
	else
		err_set(e, ERR_DEVICE, "%s: exit status %d.", what, status);
	if (strstr(*said, "No space left on device"))
		err_advise(e, "Free some space there, or name another folder for temporary files in TMPDIR.");
	return e->code;
}

struct proc_command proc_command(const char *variable, const char *const *program, struct arena *a)
{
	static const char blank[] = " \t\n";
	const char *text = getenv(variable);
	struct proc_command c = { 0 };
	struct {
		VEC(const char *);
	} words = { 0 };
	for (const char *at = text ? text : ""; *(at += strspn(at, blank)); at += strcspn(at, blank))
		vec_push(a, &words, arena_strndup(a, at, strcspn(at, blank)));
	c.named = words.n > 0;
	for (int i = 0; !c.named && !words.n; i++)
		if (!program[i] || is_program(program[i]))
			vec_push(a, &words, program[program[i] ? i : 0]);
	c.found = is_program(words.at[0]);
	c.text = c.named ? arena_strdup(a, text) : words.at[0];
	c.n = words.n;
	vec_push(a, &words, NULL);
	c.word = words.at;
	return c;
}
