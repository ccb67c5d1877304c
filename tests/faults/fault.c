/* A library for LD_PRELOAD: makes the n-th file operation or allocation of a program fail, or kills the program there.
 * In the environment:
 *
 *   FAULT=files:12:fail    the 12th call that makes, writes, syncs, renames, links or removes a file fails with EIO
 *   FAULT=files:12:kill    SIGKILL instead of that call
 *   FAULT=files:12:after   SIGKILL after that call
 *   FAULT=memory:12:fail   the 12th allocation fails
 *   FAULT_PLAIN=1          the filesystem cannot exchange two names and gives no file two of them
 *   FAULT_COUNT=FILE       writes the calls' names there at the end, one per line
 *
 * Only counts calls of the started process, not of its children or the programs that it runs. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum what { FILES, MEMORY };

extern void *__libc_malloc(size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static enum what counted;
static long at;
static char how; /* of "fail", "kill", "after" */
static pid_t owner;
static bool plain;
static atomic_long calls;
static char count_file[4096];
enum { MOST_NAMES = 1 << 16 };
static const char *name_of[MOST_NAMES];
static uintptr_t from, to; /* the program's own code: libraries' allocations do not count */

static int find_program(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size, (void)user;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			to = from + info->dlpi_phdr[i].p_memsz;
		}
	return 1; /* the first one is the program */
}

__attribute__((constructor)) static void start(void)
{
	const char *fault = getenv("FAULT"), *count = getenv("FAULT_COUNT");
	char kind[16] = "", what[16] = "";
	if (fault && sscanf(fault, "%15[a-z]:%ld:%15[a-z]", kind, &at, what) == 3)
		how = *what;
	counted = strcmp(kind, "memory") == 0 ? MEMORY : FILES;
	if (count)
		snprintf(count_file, sizeof count_file, "%s", count);
	owner = getpid();
	dl_iterate_phdr(find_program, NULL);
	unsetenv("LD_PRELOAD");
	unsetenv("FAULT");
	unsetenv("FAULT_COUNT");
	plain = getenv("FAULT_PLAIN") != NULL;
}

__attribute__((destructor)) static void end(void)
{
	FILE *f;
	long n = atomic_load(&calls);
	if (!*count_file || getpid() != owner)
		return;
	owner = 0;
	f = fopen(count_file, "w");
	for (long i = 0; f && i < n; i++)
		fprintf(f, "%s\n", i < MOST_NAMES ? name_of[i] : "");
	if (f)
		fclose(f);
}

/* True if this call is the one. */
static bool now(enum what what, const char *name)
{
	if (what != counted || getpid() != owner)
		return false;
	long n = atomic_fetch_add(&calls, 1) + 1;
	if (n <= MOST_NAMES)
		name_of[n - 1] = name;
	if (n != at)
		return false;
	if (how == 'k')
		kill(owner, SIGKILL);
	return how == 'f' || how == 'a';
}

static int refuse(int why)
{
	errno = why;
	return -1;
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Makes the call `real`, or fails. */
#define FAULTY(type, real) \
	do { \
		bool hit = now(FILES, __func__); \
		if (hit && how == 'f') { \
			errno = EIO; \
			return (type) - 1; \
		} \
		type result = (real); \
		if (hit) \
			kill(owner, SIGKILL); \
		return result; \
	} while (0)

static int real_open(const char *path, int flags, mode_t mode)
{
	return ((int (*)(const char *, int, ...))next("open64"))(path, flags, mode);
}

static int open_(const char *path, int flags, mode_t mode)
{
	if (!(flags & (O_WRONLY | O_RDWR | O_CREAT)))
		return real_open(path, flags, mode);
	FAULTY(int, real_open(path, flags, mode));
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_(path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t n)
{
	FAULTY(ssize_t, ((ssize_t(*)(int, const void *, size_t))next("write"))(fd, data, n));
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t to)
{
	FAULTY(ssize_t, ((ssize_t(*)(int, const void *, size_t, off64_t))next("pwrite64"))(fd, data, n, to));
}

int ftruncate64(int fd, off64_t n)
{
	FAULTY(int, ((int (*)(int, off64_t))next("ftruncate64"))(fd, n));
}

int mkstemp(char *path)
{
	FAULTY(int, ((int (*)(char *))next("mkstemp"))(path));
}

char *mkdtemp(char *path)
{
	bool hit = now(FILES, __func__);
	if (hit && how == 'f') {
		errno = EIO;
		return NULL;
	}
	char *made = ((char *(*)(char *))next("mkdtemp"))(path);
	if (hit)
		kill(owner, SIGKILL);
	return made;
}

int mkdir(const char *path, mode_t mode)
{
	FAULTY(int, ((int (*)(const char *, mode_t))next("mkdir"))(path, mode));
}

int rmdir(const char *path)
{
	FAULTY(int, ((int (*)(const char *))next("rmdir"))(path));
}

int unlink(const char *path)
{
	FAULTY(int, ((int (*)(const char *))next("unlink"))(path));
}

int rename(const char *from, const char *to)
{
	FAULTY(int, ((int (*)(const char *, const char *))next("rename"))(from, to));
}

int renameat2(int x, const char *from, int y, const char *to, unsigned flags)
{
	if (plain && flags)
		return refuse(EINVAL);
	FAULTY(int,
	       ((int (*)(int, const char *, int, const char *, unsigned))next("renameat2"))(x, from, y, to, flags));
}

int link(const char *from, const char *to)
{
	if (plain)
		return refuse(EPERM);
	FAULTY(int, ((int (*)(const char *, const char *))next("link"))(from, to));
}

int symlink(const char *from, const char *to)
{
	FAULTY(int, ((int (*)(const char *, const char *))next("symlink"))(from, to));
}

int fsync(int fd)
{
	FAULTY(int, ((int (*)(int))next("fsync"))(fd));
}

int fdatasync(int fd)
{
	FAULTY(int, ((int (*)(int))next("fdatasync"))(fd));
}

static bool own(const void *caller)
{
	return (uintptr_t)caller >= from && (uintptr_t)caller < to;
}

void *malloc(size_t size)
{
	return own(__builtin_return_address(0)) && now(MEMORY, __func__) ? NULL : __libc_malloc(size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return own(__builtin_return_address(0)) && now(MEMORY, __func__) ? NULL : __libc_memalign(alignment, size);
}
