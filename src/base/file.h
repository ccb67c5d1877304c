/* Files and folders. Outputs go to a temporary name in the target's folder and are renamed when complete. */
#ifndef TPAT_BASE_FILE_H
#define TPAT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Only the check, for a path that a library is about to open itself (dlopen, SQLite). */
int file_check(const char *path, struct err *e);

/* A whole file, mapped read-only (so that files over 2 GB cost no memory until touched). Owned by the caller. */
struct file_map {
	const unsigned char *data;
	size_t size;
};
int file_map_open(struct file_map *out, const char *path, struct err *e);
void file_map_close(struct file_map *m);

/* Reads a whole small file as NUL-terminated text into the arena. */
int file_read(char **out, size_t *size, const char *path, struct arena *a, struct err *e);

/* Write `size` bytes to `path`: complete or not at all, even across a power cut. */
int file_write(const char *path, const void *data, size_t size, struct err *e);
/* Plain write, for a folder that is discarded after a failure (see staging.h). */
int file_make(const char *path, const void *data, size_t size, struct err *e);
/* As file_write, but also writes into an existing pipe or device, if it has a reader. */
int file_send(const char *path, const void *data, size_t size, struct err *e);
int file_sync(const char *path, struct err *e);         /* fsync of a file or folder */
int file_cannot_write(const char *path, struct err *e); /* sets the error for errno */

/* file_write in pieces: begin, put, then commit (rename) or abandon (unlink). */
struct file_out {
	int fd;
	char path[4096], temporary[4096];
	uint64_t size;
};
/* Each returns 0 or ERR_USAGE, which names the path. After a failed put or commit only file_out_abandon() may
 * follow. */
int file_out_begin(struct file_out *f, const char *path, struct err *e);
int file_out_put(struct file_out *f, const void *data, size_t size, struct err *e);
int file_out_commit(struct file_out *f, struct err *e);
void file_out_abandon(struct file_out *f); /* no effect after a failed begin or a commit */

bool file_exists(const char *path);
int file_mkdir(const char *path, struct err *e); /* with parents; fine when it exists */
/* $TPAT_CACHE, or tpat in $XDG_CACHE_HOME or ~/.cache; null if there is no home either. */
const char *file_cache_dir(struct arena *a);
/* Makes a new folder inside this process's temporary folder, under $TMPDIR or /tmp; where that is not writable or does
 * not run code (noexec), under /var/tmp or in the cache. Removes those of killed processes. */
int file_temp_dir(char **out, struct arena *a, struct err *e);
/* Removes the temporary folders of a process that this one forked and that was killed. */
void file_forget_process(int pid);
/* Makes a new folder from a pattern that ends with XXXXXX, and takes its lock, which shows others that the process
 * lives. Negative on failure, with errno. */
int file_own_dir(const char **out, int *lock, const char *pattern, struct arena *a);
/* Tries to lock a folder. 1: locked; 0: its process is alive; -1: it cannot be opened. */
int file_lock_dir(int *lock, const char *path);
char *file_absolute(struct arena *a, const char *path); /* prepends the current folder to a relative path */
char *file_real(struct arena *a, const char *path);     /* without links, "." and ".."; null if it does not exist */
bool file_is_folder(const char *path);
bool file_is_special(const char *path); /* a device, pipe or socket, which no file may replace */
const char **file_list(int *n, const char *folder, struct arena *a); /* sorted names; none if unreadable */
bool file_same(const char *x, const char *y);                        /* true if both exist and are the same file */
void file_remove_tree(const char *path);                             /* best effort; for folders that tpat made */
int file_rename(const char *from, const char *to, struct err *e);
char *path_join(struct arena *a, const char *dir, const char *name); /* returns an absolute `name` unchanged */
char *path_dir(struct arena *a, const char *path);                   /* "." when there is no slash */
const char *path_base(const char *path);                             /* the part after the last slash */
char *path_trimmed(struct arena *a, const char *path);               /* without slashes at its end */
char *path_stem(struct arena *a, const char *path);                  /* base without its last extension */

/* Waits for the lock of this name and holds it until file_unlock() or the end of the process. */
int file_lock(int *lock, const char *path, struct err *e);
void file_unlock(int lock);

#endif
