/* Files, folders and child processes. Outputs go to a temporary name beside their place and are renamed when
 * complete. */
#ifndef TPAT_BASE_FILE_H
#define TPAT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Every file that tpat reads is opened here: a regular file, read-only. A pipe, device, socket or folder is refused
 * ("is not a regular file") without waiting for whoever is at its other end. */
int file_open(int *fd, uint64_t *size, const char *path, struct err *e);
/* The same check alone, before a library opens the path by itself (dlopen, SQLite). */
int file_check(const char *path, struct err *e);

/* A whole file, mapped read-only (so that files over 2 GB cost no memory until touched). Owned by the caller. */
struct file_map {
	const unsigned char *data;
	size_t size;
};
int file_map_open(struct file_map *out, const char *path, struct err *e);
void file_map_close(struct file_map *m);

/* A whole small file as text, with a NUL behind it, in the arena. */
int file_read(char **out, size_t *size, const char *path, struct arena *a, struct err *e);

/* Write `size` bytes to `path`: complete or not at all, also after a power cut. */
int file_write(const char *path, const void *data, size_t size, struct err *e);
/* The same without that care, in a folder that is thrown away after a failure (see staging.h). */
int file_make(const char *path, const void *data, size_t size, struct err *e);
/* As file_write; to a pipe or device they are sent, if somebody reads there. */
int file_send(const char *path, const void *data, size_t size, struct err *e);
int file_sync(const char *path, struct err *e);         /* a file or folder reaches the disk */
int file_cannot_write(const char *path, struct err *e); /* the sentence for what errno says */

/* The same in pieces: begin, put, then commit (rename) or abandon (unlink). */
struct file_out {
	int fd;
	char path[4096], temporary[4096];
	uint64_t size;
};
int file_out_begin(struct file_out *f, const char *path, struct err *e);
int file_out_put(struct file_out *f, const void *data, size_t size, struct err *e);
int file_out_commit(struct file_out *f, struct err *e);
void file_out_abandon(struct file_out *f); /* after begin failed or commit succeeded: nothing */

bool file_exists(const char *path);
int file_mkdir(const char *path, struct err *e); /* with parents; fine when it exists */
/* A new folder in one that all of this process's are in, under $TMPDIR or /tmp. Those of processes that were killed are
 * removed. */
int file_temp_dir(char **out, struct arena *a, struct err *e);
/* A new folder by a pattern that ends with XXXXXX, and its lock, by which others see that its process lives. Below 0:
 * errno. */
int file_own_dir(const char **out, int *lock, const char *pattern, struct arena *a);
/* Takes the lock of a folder: 1; 0: its process lives; -1: it cannot be opened. */
int file_lock_dir(int *lock, const char *path);
char *file_absolute(struct arena *a, const char *path); /* with the current folder in front where it is relative */
char *file_real(struct arena *a, const char *path);     /* without links, "." and ".."; null when it is not there */
bool file_is_folder(const char *path);
bool file_is_special(const char *path); /* a device, pipe or socket: nothing that may be replaced by a file */
const char **file_list(int *n, const char *folder, struct arena *a); /* names in it, sorted; none when it cannot be
                                                                      * read */
bool file_same(const char *x, const char *y);                        /* both exist and are one file */
void file_remove_tree(const char *path);                             /* best effort; for folders that tpat made */
int file_rename(const char *from, const char *to, struct err *e);
char *path_join(struct arena *a, const char *dir, const char *name); /* an absolute `name` stays */
char *path_dir(struct arena *a, const char *path);                   /* "." when there is no slash */
const char *path_base(const char *path);                             /* what follows the last slash */
char *path_stem(struct arena *a, const char *path);                  /* base without its last extension */

/* Waits until no other process holds the lock of this name, and holds it: until file_unlock, or the process's end. */
int file_lock(int *lock, const char *path, struct err *e);
void file_unlock(int lock);

/* Run a program (searched in PATH), wait, and give its exit status (128 + signal when killed) and all that it printed
 * on stdout and stderr. argv ends with null. */
int proc_run(int *status, char **output, const char *const *argv, struct arena *a, struct err *e);
/* The same inside `folder`; null: here. */
int proc_run_in(int *status, char **output, const char *folder, const char *const *argv, struct arena *a,
                struct err *e);
/* Whether there is a program of that name in PATH. */
bool proc_found(const char *name);

#endif
