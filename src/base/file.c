/* Files and folders. See file.h. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/str.h"
#include "base/unfinished.h"
#include "base/vec.h"

/* Advice for a file or folder that cannot be created, by errno. */
static int advise_place(int why, struct err *e)
{
	if (why == ENOSPC || why == EDQUOT)
		return err_advise(e, "Free some space there, or choose a place that has more.");
	if (why == ENAMETOOLONG)
		return err_advise(e, "Choose a shorter name.");
	if (why == EFBIG)
		return err_advise(e, "Raise the limit on the size of files (ulimit -f).");
	if (why == EMFILE || why == ENFILE)
		return err_advise(e, "Raise the limit on open files (ulimit -n).");
	if (why == EROFS)
		return err_advise(e, "Choose a place that is not read-only.");
	return err_advise(e, "Choose another place, or make its folder writable.");
}

/* The reason is in errno. */
int file_cannot_write(const char *path, struct err *e)
{
	int why = errno;
	const char *slash = strrchr(path, '/');
	if (why == ENOENT && slash) {
		char folder[PATH_MAX];
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
		err_set(e, ERR_USAGE,
		        file_is_folder(folder) ? "%s: cannot be written: %s takes no new files."
		                               : "%s: cannot be written: there is no folder %s.",
		        path, folder);
		err_about(e, ERR_FILE, path);
		return err_advise(e, file_is_folder(folder) ? "Choose another place."
		                                            : "Make the folder, or choose another place.");
	}
	err_set(e, ERR_USAGE, "%s: cannot be written: %s.", path, strerror(why));
	err_about(e, ERR_FILE, path);
	return advise_place(why, e);
}

static int not_regular(const char *path, struct err *e)
{
	err_set(e, ERR_MODEL, file_is_folder(path) ? "%s: is a folder, not a file." : "%s: is not a regular file.",
	        path);
	return err_about(e, ERR_FILE, path);
}

/* Opens a regular file read-only; every file that tpat reads is opened here. Refuses a pipe, device, socket or folder
 * without waiting for a peer: O_NONBLOCK, as open() of a pipe without a writer would block.
 */
static int file_open(int *fd, uint64_t *size, const char *path, struct err *e)
{
	struct stat st;
	*fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (*fd < 0 && errno == ENXIO) /* a socket */
		return not_regular(path, e);
	if (*fd < 0) {
		err_set(e, ERR_MODEL, "%s: cannot be opened: %s.", *path ? path : "\"\"", strerror(errno));
		return err_about(e, ERR_FILE, path);
	}
	if (fstat(*fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(*fd);
		*fd = -1;
		return not_regular(path, e);
	}
	*size = (uint64_t)st.st_size;
	return 0;
}

int file_check(const char *path, struct err *e)
{
	uint64_t size;
	int fd;
	TRY(file_open(&fd, &size, path, e));
	close(fd);
	return 0;
}

int file_map_open(struct file_map *out, const char *path, struct err *e)
{
	*out = (struct file_map){ 0 };
	uint64_t size;
	int fd, rc = 0;
	TRY(file_open(&fd, &size, path, e));
	if (size > 0) {
		void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED)
			rc = err_set(e, ERR_MODEL, "%s: cannot be read: %s.", path, strerror(errno));
		else
			*out = (struct file_map){ p, (size_t)size };
	}
	close(fd);
	return rc;
}

void file_map_close(struct file_map *m)
{
	if (m->data)
		munmap(drop_const(m->data), m->size);
	*m = (struct file_map){ 0 };
}

int file_read(char **out, size_t *size, const char *path, struct arena *a, struct err *e)
{
	struct file_map m;
	TRY(file_map_open(&m, path, e));
	*out = arena_strndup(a, m.data ? (const char *)m.data : "", m.size);
	if (size)
		*size = m.size;
	file_map_close(&m);
	return 0;
}

int file_out_begin(struct file_out *f, const char *path, struct err *e)
{
	*f = (struct file_out){ .fd = -1 };
	struct stat st;
	if (strlen(path) + 16 > sizeof f->path)
		return err_set(e, ERR_USAGE, "%s: the path is too long.", path);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, ERR_USAGE, "%s: is a folder, not a file that can be written.", path);
	if (file_is_special(path)) /* the final rename would replace /dev/null itself */
		return err_set(e, ERR_USAGE, "%s: is a device, pipe or socket, not a file that can be written.", path);
	snprintf(f->path, sizeof f->path, "%s", path);
	snprintf(f->temporary, sizeof f->temporary, "%.4000s.tmpXXXXXX", path);
	f->fd = mkstemp(f->temporary);
	if (f->fd < 0)
		return file_cannot_write(path, e);
	unfinished_begin();
	mode_t mask = umask(0);
	umask(mask);
	fchmod(f->fd, 0666 & ~mask);
	return 0;
}

static int write_all(int fd, const char *p, size_t size)
{
	while (size) {
		ssize_t n = write(fd, p, size > 1 << 30 ? 1 << 30 : size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENOSPC;
		if (n <= 0)
			return -1;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

int file_out_put(struct file_out *f, const void *data, size_t size, struct err *e)
{
	if (write_all(f->fd, data, size) < 0)
		return err_set(e, ERR_USAGE, "%s: writing failed: %s.", f->path, strerror(errno));
	f->size += size;
	return 0;
}

/* Some filesystems do not support fsync and report that. */
static bool sync_failed(int fd)
{
	return fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS;
}

int file_sync(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), rc = 0;
	if (fd < 0)
		return file_cannot_write(path, e);
	if (sync_failed(fd))
		rc = file_cannot_write(path, e);
	close(fd);
	return rc;
}

static int sync_folder_of(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char folder[4096];
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	return file_sync(*folder ? folder : "/", e);
}

/* The file's bytes reach the disk before its name does, so that a power cut leaves the old file or the new one. */
int file_out_commit(struct file_out *f, struct err *e)
{
	bool failed = sync_failed(f->fd);
	failed |= close(f->fd) < 0;
	f->fd = -1;
	if (failed || rename(f->temporary, f->path) < 0) {
		file_cannot_write(f->path, e);
		unlink(f->temporary);
		unfinished_end();
		return e->code;
	}
	unfinished_end();
	return sync_folder_of(f->path, e);
}

void file_out_abandon(struct file_out *f)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	unlink(f->temporary);
	f->fd = -1;
	unfinished_end();
}

int file_write(const char *path, const void *data, size_t size, struct err *e)
{
	struct file_out f;
	int rc = file_out_begin(&f, path, e);
	if (!rc)
		rc = file_out_put(&f, data, size, e);
	if (!rc)
		rc = file_out_commit(&f, e);
	file_out_abandon(&f);
	return rc;
}

int file_make(const char *path, const void *data, size_t size, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	bool failed = fd < 0 || write_all(fd, data, size) < 0;
	if (fd >= 0 && close(fd) < 0)
		failed = true;
	return failed ? file_cannot_write(path, e) : 0;
}

int file_send(const char *path, const void *data, size_t size, struct err *e)
{
	if (!file_is_special(path))
		return file_write(path, data, size, e);
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ENXIO)
		return err_set(e, ERR_USAGE, "%s: cannot be written: nothing reads from it.", path);
	if (fd < 0)
		return file_cannot_write(path, e);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	int rc = write_all(fd, data, size) < 0 ? file_cannot_write(path, e) : 0;
	close(fd);
	return rc;
}

bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

int file_mkdir(const char *path, struct err *e)
{
	char part[4096];
	if (strlen(path) >= sizeof part)
		return err_set(e, ERR_USAGE, "%s: the path is too long.", path);
	for (size_t i = 1;; i++) {
		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		struct stat st;
		if (mkdir(part, 0777) < 0 && (errno != EEXIST || stat(part, &st) < 0 || !S_ISDIR(st.st_mode))) {
			int why = errno;
			err_set(e, ERR_USAGE, "%s: the folder cannot be made: %s.", part, strerror(why));
			return advise_place(why, e);
		}
		if (!path[i])
			return 0;
	}
}

int file_lock_dir(int *lock, const char *path)
{
	*lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*lock < 0)
		return -1;
	if (flock(*lock, LOCK_EX | LOCK_NB) == 0)
		return 1;
	close(*lock);
	*lock = -1;
	return 0;
}

/* Before the folder is locked, another process may take it for a dead one's and remove it. */
int file_own_dir(const char **out, int *lock, const char *pattern, struct arena *a)
{
	enum { ATTEMPTS = 16 };
	for (int i = 0; i < ATTEMPTS; i++) {
		char *path = arena_strdup(a, pattern);
		struct stat here, locked;
		if (!mkdtemp(path))
			break;
		if (file_lock_dir(lock, path) == 1 && fstat(*lock, &locked) == 0 && lstat(path, &here) == 0 &&
		    here.st_ino == locked.st_ino) {
			*out = path;
			return 0;
		}
		if (*lock >= 0)
			close(*lock);
		rmdir(path);
	}
	*lock = -1;
	return -1;
}

const char *file_cache_dir(struct arena *a)
{
	const char *own = getenv("TPAT_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (own && *own)
		return file_absolute(a, own);
	if (xdg && *xdg == '/')
		return path_join(a, xdg, "tpat");
	return home && *home == '/' ? path_join(a, home, ".cache/tpat") : NULL;
}

/* ---- Temporary folders, inside one per process, which others may remove after its end. */

#define TEMPORARY ".tpat-tmp-"
static pthread_mutex_t temporary_mutex = PTHREAD_MUTEX_INITIALIZER;
static char temporary[4096]; /* "" before the first, and when it is empty */
static int temporary_lock = -1;

static void remove_tree(const char *path);

static void remove_dead(const char *base, struct arena *a)
{
	DIR *d = opendir(base);
	for (struct dirent *entry; d && (entry = readdir(d));) {
		const char *path = arena_printf(a, "%s/%s", base, entry->d_name);
		struct stat st;
		int lock;
		if (!str_starts(entry->d_name, TEMPORARY) || lstat(path, &st) < 0 || st.st_uid != geteuid() ||
		    file_lock_dir(&lock, path) != 1)
			continue;
		remove_tree(path);
		close(lock);
	}
	if (d)
		closedir(d);
}

static void forget_temporary(void)
{
	if (temporary_lock >= 0)
		close(temporary_lock);
	temporary_lock = -1;
	temporary[0] = 0;
	unfinished_end();
}

static int make_temporary(const char *base, struct arena *a)
{
	const char *made;
	remove_dead(base, a);
	if (file_own_dir(&made, &temporary_lock, arena_printf(a, "%s/" TEMPORARY "XXXXXX", base), a) < 0)
		return -1;
	snprintf(temporary, sizeof temporary, "%s", made);
	unfinished_begin();
	return 0;
}

/* A forked process may have removed the folder while it was empty. */
static char *make_inside(const char *base, struct arena *a)
{
	for (int i = 0; i < 16; i++) {
		if (!*temporary && make_temporary(base, a) < 0)
			return NULL;
		char *path = arena_printf(a, "%s/%d-XXXXXX", temporary, (int)getpid());
		if (mkdtemp(path))
			return path;
		if (errno != ENOENT)
			return NULL;
		forget_temporary();
	}
	return NULL;
}

/* Code is loaded from temporary folders, which a file system mounted with noexec does not allow. */
static bool runs_code(const char *folder)
{
	struct statvfs fs;
	return statvfs(folder, &fs) < 0 || !(fs.f_flag & ST_NOEXEC);
}

enum { PLACES = 4 };

/* Returns candidate i for the place of temporary folders, the best first; null if there is no such place. */
static const char *temporary_place(int i, struct arena *a)
{
	const char *given = getenv("TMPDIR");
	if (i == 0 && given && *given)
		return file_absolute(a, given);
	return i <= 1 ? "/tmp" : i == 2 ? "/var/tmp" : file_cache_dir(a);
}

/* The error is that of the first place. */
static char *make_somewhere(struct arena *a, struct err *e)
{
	const char *why = "";
	for (int i = 0; i < PLACES; i++) {
		const char *place = temporary_place(i, a);
		bool usable = *temporary || (place && runs_code(place));
		char *made = usable ? make_inside(place, a) : NULL;
		if (made)
			return made;
		if (i == 0)
			why = usable ? strerror(errno) : "its file system is mounted with noexec";
	}
	err_set(e, ERR_USAGE, "%s: a temporary folder cannot be made: %s.", temporary_place(0, a), why);
	return NULL;
}

int file_temp_dir(char **out, struct arena *a, struct err *e)
{
	struct arena_guard guard;
	*out = NULL;
	pthread_mutex_lock(&temporary_mutex);
	if (!setjmp(*arena_guard_push(&guard))) /* must not hold the mutex when memory runs out */
		*out = make_somewhere(a, e);
	else
		err_set(e, ERR_USAGE, "A temporary folder cannot be made: %s.", strerror(ENOMEM));
	arena_guard_pop(&guard);
	pthread_mutex_unlock(&temporary_mutex);
	return *out ? 0 : e->code;
}

/* The last one also removes the process's folder. */
static void leave_temporary(const char *path)
{
	pthread_mutex_lock(&temporary_mutex);
	size_t n = strlen(temporary);
	if (n && strncmp(path, temporary, n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/') &&
	    rmdir(temporary) == 0)
		forget_temporary();
	pthread_mutex_unlock(&temporary_mutex);
}

/* Those inside this process's folder, and a folder of its own if there was none when it was forked. */
void file_forget_process(int pid)
{
	struct arena *a = arena_new();
	char prefix[16], path[sizeof temporary + 256];
	snprintf(prefix, sizeof prefix, "%d-", pid);
	pthread_mutex_lock(&temporary_mutex);
	DIR *d = *temporary ? opendir(temporary) : NULL;
	for (struct dirent *entry; d && (entry = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s", temporary, entry->d_name);
		if (str_starts(entry->d_name, prefix))
			remove_tree(path);
	}
	if (d)
		closedir(d);
	if (*temporary && rmdir(temporary) == 0)
		forget_temporary();
	pthread_mutex_unlock(&temporary_mutex);
	for (int i = 0; i < PLACES; i++)
		if (temporary_place(i, a))
			remove_dead(temporary_place(i, a), a);
	arena_free(a);
}

char *file_absolute(struct arena *a, const char *path)
{
	char here[4096];
	if (path[0] == '/' || !getcwd(here, sizeof here))
		return arena_strdup(a, path);
	return arena_printf(a, "%s/%s", here, path);
}

char *file_real(struct arena *a, const char *path)
{
	char real[PATH_MAX];
	return realpath(path, real) ? arena_strdup(a, real) : NULL;
}

bool file_is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool file_is_special(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

const char **file_list(int *n, const char *folder, struct arena *a)
{
	struct {
		VEC(const char *);
	} names = { 0 };
	DIR *d = opendir(folder);
	for (struct dirent *entry; d && (entry = readdir(d));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			vec_push(a, &names, arena_strdup(a, entry->d_name));
	if (d)
		closedir(d);
	vec_sort_texts(names.at, names.n);
	*n = names.n;
	return names.at;
}

bool file_same(const char *x, const char *y)
{
	struct stat a, b;
	return stat(x, &a) == 0 && stat(y, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void remove_tree(const char *path)
{
	struct stat top; /* removes a link, not its target */
	DIR *d = lstat(path, &top) == 0 && S_ISDIR(top.st_mode) ? opendir(path) : NULL;
	if (!d) {
		unlink(path);
		return;
	}
	for (struct dirent *entry; (entry = readdir(d));) {
		char child[4096];
		struct stat st;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(child, sizeof child, "%s/%s", path, entry->d_name) >= (int)sizeof child)
			continue;
		if (lstat(child, &st) == 0 && S_ISDIR(st.st_mode))
			remove_tree(child);
		else
			unlink(child);
	}
	closedir(d);
	rmdir(path);
}

void file_remove_tree(const char *path)
{
	remove_tree(path);
	leave_temporary(path);
}

int file_rename(const char *from, const char *to, struct err *e)
{
	return rename(from, to) < 0 ? file_cannot_write(to, e) : 0;
}

char *path_join(struct arena *a, const char *dir, const char *name)
{
	if (name[0] == '/' || strcmp(dir, ".") == 0 || !dir[0])
		return arena_strdup(a, name);
	return arena_printf(a, "%s%s%s", dir, str_ends(dir, "/") ? "" : "/", name);
}

char *path_dir(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return arena_strdup(a, ".");
	return slash == path ? arena_strdup(a, "/") : arena_strndup(a, path, (size_t)(slash - path));
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

char *path_trimmed(struct arena *a, const char *path)
{
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	return arena_strndup(a, path, n);
}

char *path_stem(struct arena *a, const char *path)
{
	const char *base = path_base(path), *dot = strrchr(base, '.');
	return dot && dot != base ? arena_strndup(a, base, (size_t)(dot - base)) : arena_strdup(a, base);
}

int file_lock(int *lock, const char *path, struct err *e)
{
	int rc;
	if (file_is_special(path))
		return not_regular(path, e);
	*lock = open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0600);
	if (*lock < 0)
		return file_cannot_write(path, e);
	do
		rc = flock(*lock, LOCK_EX);
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return 0;
	err_set(e, ERR_USAGE, "%s: cannot be locked: %s.", path, strerror(errno));
	close(*lock);
	return e->code;
}

void file_unlock(int lock)
{
	close(lock);
}
