/* Files and folders that are replaced together. See staging.h.
 *
 * The hidden folder holds new/N, the new items; old/N, the replaced ones; and finally one of two files: "journal"
 * (finish the steps) or "undo" (roll them back). Both list the targets, NUL-terminated. Every step can be repeated,
 * wherever the last attempt ended. */
#include "base/staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/unfinished.h"

#define PREFIX ".tpat-build-"
#define EXT4_SUPER_MAGIC 0xef53 /* linux/magic.h, which not every system has */
#define XFS_SUPER_MAGIC 0x58465342
#define MARK ".tpat-new" /* marks a new folder until the steps are done */

enum { RANDOM = 6, WAIT_MS = 30000, TURN_MS = 20 };

static bool there(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

static bool is_folder(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool one_file(const char *x, const char *y)
{
	struct stat a, b;
	return lstat(x, &a) == 0 && lstat(y, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool has_mark(const char *folder)
{
	char path[4200];
	return snprintf(path, sizeof path, "%s/" MARK, folder) < (int)sizeof path && is_folder(folder) && there(path);
}

/* Fails if the mark remains. */
static int remove_mark(const char *folder)
{
	char path[4200];
	return has_mark(folder) && snprintf(path, sizeof path, "%s/" MARK, folder) < (int)sizeof path ? unlink(path)
	                                                                                              : 0;
}

/* ---- The hidden folder. */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int stage_begin(struct stage *s, const char *near, struct arena *a, struct err *e)
{
	*s = (struct stage){ .folder = path_dir(a, near), .lock = -1, .places = -1, .arena = a };
	if (file_own_dir(&s->path, &s->lock, path_join(a, s->folder, PREFIX "XXXXXX"), a) < 0)
		return file_cannot_write(near, e);
	unfinished_begin();
	TRY(file_mkdir(stage_scratch(s, "new"), e));
	return file_mkdir(stage_scratch(s, "old"), e);
}

const char *stage_scratch(const struct stage *s, const char *name)
{
	return path_join(s->arena, s->path, name);
}

static void add_item(struct stage *s, const char *name)
{
	int n = s->items.n;
	struct stage_item item = {
		.name = arena_strdup(s->arena, name),
		.place = path_join(s->arena, s->folder, name),
		.made = stage_scratch(s, arena_printf(s->arena, "new/%d", n)),
		.old = stage_scratch(s, arena_printf(s->arena, "old/%d", n)),
	};
	vec_push(s->arena, &s->items, item);
}

const char *stage_add(struct stage *s, const char *name)
{
	add_item(s, name);
	return s->items.at[s->items.n - 1].made;
}

void stage_abandon(struct stage *s)
{
	if (!s->path)
		return;
	if (!s->keep)
		file_remove_tree(s->path);
	close_fd(&s->places);
	close_fd(&s->lock);
	s->path = NULL;
	unfinished_end();
}

/* ---- One step forward, and back. Errors are in errno. */

/* Keeps the old file in `old`; also leaves it in place if the filesystem supports hard links. */
static int keep_file(const struct stage_item *i)
{
	if (!there(i->place) || link(i->place, i->old) == 0 || (errno == EEXIST && there(i->old)))
		return 0;
	return rename(i->place, i->old);
}

static int put_file(const struct stage_item *i)
{
	if (!there(i->made))
		return 0;
	return keep_file(i) < 0 ? -1 : rename(i->made, i->place);
}

static int put_folder(const struct stage_item *i)
{
	if (has_mark(i->made) && !there(i->place))
		return rename(i->made, i->place);
	if (has_mark(i->made) && renameat2(AT_FDCWD, i->made, AT_FDCWD, i->place, RENAME_EXCHANGE) < 0) {
		if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
			return -1;
		return rename(i->place, i->old) < 0 ? -1 : rename(i->made, i->place);
	}
	return there(i->made) ? rename(i->made, i->old) : 0; /* after the exchange this is the old one */
}

static int put(const struct stage_item *i)
{
	return is_folder(i->made) || has_mark(i->place) ? put_folder(i) : put_file(i);
}

/* Moves the new file back, so that a second attempt sees how far the first one got. */
static int take_back_file(const struct stage_item *i)
{
	if (!there(i->made) && there(i->place) && link(i->place, i->made) < 0 && rename(i->place, i->made) < 0)
		return -1;
	if (there(i->old))
		return rename(i->old, i->place);
	return one_file(i->made, i->place) ? unlink(i->place) : 0;
}

static int take_back_folder(const struct stage_item *i)
{
	const char *old = there(i->old) ? i->old : there(i->made) ? i->made : NULL;
	if (!has_mark(i->place)) /* nothing was done, or only the old one was moved */
		return there(i->old) && !there(i->place) ? rename(i->old, i->place) : 0;
	if (!old)
		return rename(i->place, i->made);
	if (renameat2(AT_FDCWD, old, AT_FDCWD, i->place, RENAME_EXCHANGE) == 0)
		return 0;
	if (old == i->made || (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP))
		return -1;
	return rename(i->place, i->made) < 0 ? -1 : rename(i->old, i->place);
}

static int take_back(const struct stage_item *i)
{
	return is_folder(i->made) || is_folder(i->old) || has_mark(i->place) ? take_back_folder(i) : take_back_file(i);
}

static int put_all(const struct stage *s, struct err *e)
{
	vec_each (i, &s->items)
		if (put(i) < 0)
			return file_cannot_write(i->place, e);
	return file_sync(s->folder, e);
}

/* Cleans up after success; if a mark cannot be removed, the journal stays for a later recovery. */
static void tidy(struct stage *s, const char *journal)
{
	vec_each (i, &s->items)
		s->keep |= remove_mark(i->place) < 0;
	if (!s->keep)
		unlink(journal);
}

static int take_back_all(const struct stage *s, struct err *e)
{
	for (int k = s->items.n - 1; k >= 0; k--)
		if (take_back(&s->items.at[k]) < 0)
			return file_cannot_write(s->items.at[k].place, e);
	return 0;
}

/* ---- Commit. */

/* True for filesystems whose journal keeps the order of changes: one final fsync then covers all files. A folder has
 * dozens of them, and each fsync waits for the disk. */
static bool keeps_order(const char *path)
{
	struct statfs fs;
	return statfs(path, &fs) == 0 && (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC);
}

static int start_sync(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	if (fd < 0)
		return file_cannot_write(path, e);
	if (sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) < 0 && fsync(fd) < 0)
		rc = file_cannot_write(path, e);
	close(fd);
	return rc;
}

/* Syncs everything in the folder, then the folder. `batch`: leaves it to the next fsync. */
static int sync_tree(const char *path, bool batch, struct err *e)
{
	DIR *d = is_folder(path) ? opendir(path) : NULL;
	int rc = 0;
	for (struct dirent *entry; d && rc == 0 && (entry = readdir(d));) {
		char child[4200];
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && entry->d_type != DT_LNK &&
		    snprintf(child, sizeof child, "%s/%s", path, entry->d_name) < (int)sizeof child)
			rc = sync_tree(child, batch, e);
	}
	if (d)
		closedir(d);
	if (rc == 0 && batch)
		return d ? 0 : start_sync(path, e);
	return rc < 0 ? rc : file_sync(path, e);
}

static int write_journal(struct stage *s, struct err *e)
{
	struct str text = str_new(s->arena);
	vec_each (i, &s->items) {
		if (is_folder(i->made))
			TRY(file_make(path_join(s->arena, i->made, MARK), "", 0, e));
		str_addn(&text, i->name, strlen(i->name) + 1);
	}
	TRY(sync_tree(stage_scratch(s, "new"), keeps_order(s->path), e));
	TRY(file_sync(stage_scratch(s, "new"), e));
	return file_write(stage_scratch(s, "journal"), text.at, text.n, e);
}

/* Only one process at a time changes the targets. */
int stage_lock(int *fd, const char *folder, struct err *e)
{
	*fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return file_cannot_write(folder, e);
	for (int waited = 0; flock(*fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; waited += TURN_MS) {
		if (waited >= WAIT_MS) {
			close(*fd);
			err_set(e, ERR_USAGE, "%s: another process has been changing files here for %d seconds.",
			        folder, WAIT_MS / 1000);
			return err_advise(e, "Wait for it, or stop it.");
		}
		nanosleep(&(struct timespec){ .tv_nsec = TURN_MS * 1000000 }, NULL);
	}
	return 0; /* a filesystem may lack locks */
}

int stage_commit(struct stage *s, struct err *e)
{
	const char *journal = stage_scratch(s, "journal"), *undo = stage_scratch(s, "undo");
	struct err again = { 0 };
	TRY(stage_lock(&s->places, s->folder, e));
	int rc = s->check ? s->check(s->user, e) : 0;
	if (rc == 0)
		rc = write_journal(s, e);
	if (rc == 0 && (rc = put_all(s, e)) == 0) {
		tidy(s, journal);
	} else if (rc < 0) {
		rename(journal, undo);
		s->keep = take_back_all(s, &again) < 0;
		if (s->keep)
			err_advise(
			        e,
			        "Restoring the previous files failed, too. Remove the cause, then run tpat doctor %s.",
			        str_shell_path(s->arena, s->folder));
		else
			unlink(undo);
		if (!s->keep)
			unlink(journal);
	}
	close_fd(&s->places);
	return rc;
}

/* ---- Recovery after dead processes. */

static bool is_stage(const char *name)
{
	return str_starts(name, PREFIX) && strlen(name) == strlen(PREFIX) + RANDOM;
}

static int read_items(struct stage *s, const char *list, struct err *e)
{
	char *text;
	size_t size;
	TRY(file_read(&text, &size, list, s->arena, e));
	for (const char *p = text; p < text + size; p += strlen(p) + 1)
		add_item(s, p);
	return 0;
}

static int finish(struct stage *s, const char *journal, const struct stage_recovery *r, struct err *e)
{
	TRY(read_items(s, journal, e));
	vec_each (i, &s->items)
		if (r->may_replace && has_mark(i->made) && there(i->place))
			TRY(r->may_replace(r->user, i->place, e));
	TRY(put_all(s, e));
	tidy(s, journal);
	return s->keep ? file_cannot_write(s->folder, e) : 0;
}

static int undo_it(struct stage *s, const char *undo, struct err *e)
{
	TRY(read_items(s, undo, e));
	TRY(take_back_all(s, e));
	unlink(undo);
	return 0;
}

static int recover_one(struct stage_left *out, struct stage *s, const struct stage_recovery *r, struct err *e)
{
	const char *journal = stage_scratch(s, "journal"), *undo = stage_scratch(s, "undo");
	if (r->undo && !r->look && there(journal))
		rename(journal, undo);
	int *count = there(undo) ? &out->undone : there(journal) ? &out->finished : &out->removed, rc = 0;
	if (!r->look && count == &out->undone)
		rc = undo_it(s, undo, e);
	else if (!r->look && count == &out->finished)
		rc = finish(s, journal, r, e);
	s->keep = rc < 0 || r->look;
	*count += rc == 0;
	return rc;
}

int stage_recover(struct stage_left *out, const char *folder, const struct stage_recovery *r, struct arena *a,
                  struct err *e)
{
	DIR *d = opendir(folder);
	int rc = 0;
	*out = (struct stage_left){ 0 };
	for (struct dirent *entry; d && rc == 0 && (entry = readdir(d));) {
		struct stage s = { .folder = folder, .lock = -1, .places = -1, .arena = a };
		if (!is_stage(entry->d_name))
			continue;
		const char *path = path_join(a, folder, entry->d_name);
		int got = file_lock_dir(&s.lock, path);
		out->busy += got == 0;
		if (got != 1)
			continue;
		s.path = path;
		unfinished_begin();
		rc = stage_lock(&s.places, folder, e);
		if (rc == 0)
			rc = recover_one(out, &s, r, e);
		s.keep |= rc < 0;
		stage_abandon(&s);
	}
	if (d)
		closedir(d);
	return rc;
}
