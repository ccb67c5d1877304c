/* The cache: what was put is found again, whole, whatever happens to the files and however many write them. */
#include "base/cache.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/threads.h"
#include "test.h"

static struct arena *arena;
static const char *folder;

static struct cache_key key_of(int number)
{
	struct cache_key k = cache_key_new();
	cache_key_add(&k, &number, sizeof number);
	return k;
}

/* An entry's bytes: their number and values follow from its key. */
static size_t make(char *out, int number)
{
	size_t n = (size_t)(number * 37 % 5000);
	for (size_t i = 0; i < n; i++)
		out[i] = (char)(number * 131 + (int)i * 7);
	return n;
}

static void put(int number)
{
	char data[5000];
	size_t n = make(data, number);
	cache_put("code", key_of(number), data, n);
}

/* 1: found; 0: not; -1: found with other bytes. */
static int get(int number)
{
	char want[5000];
	size_t n = make(want, number), size;
	struct arena *a = arena_new();
	const void *got;
	int found = cache_get(&got, &size, "code", key_of(number), a);
	if (found && (size != n || memcmp(got, want, n) != 0))
		found = -1;
	arena_free(a);
	return found;
}

static const char *path_of(int number)
{
	struct cache_key k = key_of(number);
	return arena_printf(arena, "%s/code/%016llx%016llx", folder, (unsigned long long)k.half[0],
	                    (unsigned long long)k.half[1]);
}

static int64_t bytes_kept(void)
{
	int n;
	int64_t all = 0;
	const char *code = path_join(arena, folder, "code");
	const char **name = file_list(&n, code, arena);
	for (int i = 0; i < n; i++) {
		struct stat st;
		if (stat(path_join(arena, code, name[i]), &st) == 0)
			all += st.st_size;
	}
	return all;
}

static void test_found(void)
{
	CHECK_INT(get(1), 0);
	for (int i = 0; i < 50; i++)
		put(i);
	for (int i = 0; i < 50; i++)
		CHECK_INT(get(i), 1);
	CHECK_INT(get(50), 0);
	struct cache_key one = cache_key_new(), other = cache_key_new();
	cache_key_text(&one, "ab");
	cache_key_text(&one, "c");
	cache_key_text(&other, "a");
	cache_key_text(&other, "bc");
	CHECK(memcmp(&one, &other, sizeof one) != 0);
}

static void change(const char *path, long at, int by)
{
	FILE *f = fopen(path, "r+");
	ck(f);
	fseek(f, at, SEEK_SET);
	int c = getc(f);
	fseek(f, at, SEEK_SET);
	putc(c ^ by, f);
	fclose(f);
}

/* Every byte changed, every length cut, a byte more: missing, and removed. */
static void test_damaged(void)
{
	struct stat st;
	put(3);
	ck(stat(path_of(3), &st) == 0);
	for (long at = 0; at < st.st_size; at++) {
		put(3);
		change(path_of(3), at, 1 << at % 8);
		CHECK(get(3) == 0 && !file_exists(path_of(3)));
		put(3);
		ck(truncate(path_of(3), at) == 0);
		CHECK(get(3) == 0 && !file_exists(path_of(3)));
	}
	put(3);
	ck(truncate(path_of(3), st.st_size + 1) == 0);
	CHECK_INT(get(3), 0);
	put(3);
	ck(rename(path_of(3), path_of(4)) == 0); /* whole, but another's */
	CHECK_INT(get(4), 0);
	put(3);
	CHECK_INT(get(3), 1);
	ck(chmod(path_of(3), 0666) == 0); /* others may have written it */
	CHECK_INT(get(3), 0);
	ck(chmod(path_of(3), 0600) == 0);
	CHECK_INT(get(3), 1);
	if (geteuid() == 0 && chown(path_of(3), 12345, 12345) == 0)
		CHECK_INT(get(3), 0);
	unlink(path_of(3));
	ck(mkfifo(path_of(3), 0600) == 0); /* must not block */
	CHECK_INT(get(3), 0);
	unlink(path_of(3));
}

/* The limit holds, and those used last stay. */
static void test_limit(void)
{
	file_remove_tree(path_join(arena, folder, "code"));
	setenv("TPAT_CACHE_SIZE", "100K", 1);
	for (int i = 0; i < 2000; i++) {
		put(1000 + i % 400);
		if (i % 20 == 0) {
			put(7);
			CHECK_INT(get(7), 1);
		}
	}
	CHECK(bytes_kept() <= (100 << 10) + 16 * 5100);
	CHECK(bytes_kept() > 50 << 10);
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	for (int i = 0; i < 400; i++)
		if (file_exists(path_of(1000 + i)))
			ck(utimensat(AT_FDCWD, path_of(1000 + i), old, 0) == 0);
	put(7);
	ck(utimensat(AT_FDCWD, path_of(7), old, 0) == 0);
	CHECK_INT(get(7), 1); /* is used now */
	for (int i = 0; i < 20; i++)
		put(2000 + i);
	CHECK_INT(get(7), 1);
	setenv("TPAT_CACHE_SIZE", "0", 1);
	CHECK_INT(get(7), 0);
	setenv("TPAT_CACHE_SIZE", "50", 1); /* nothing fits */
	put(8);
	CHECK(!file_exists(path_of(8)));
	static const char *const odd[] = { "much", "-1", "10Q", "1GG", "", "99999999999999999999" };
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		setenv("TPAT_CACHE_SIZE", odd[i], 1);
		put(9);
		CHECK_INT(get(9), 1);
	}
	unsetenv("TPAT_CACHE_SIZE");
	/* Files of a killed process are removed after an hour. */
	const char *dead = path_join(arena, folder, "code/.1.2"), *alive = path_join(arena, folder, "code/.1.3");
	struct err e = { 0 };
	ck(file_make(dead, "x", 1, &e) == 0 && file_make(alive, "x", 1, &e) == 0);
	ck(utimensat(AT_FDCWD, dead, old, 0) == 0);
	for (int i = 0; i < 16; i++)
		put(9);
	CHECK(!file_exists(dead) && file_exists(alive));
}

static void work(void *wrong, int thread)
{
	unsigned random = (unsigned)(getpid() * 31 + thread);
	for (int i = 0; i < 300; i++) {
		random = random * 1103515245u + 12345;
		int number = 3000 + (int)(random >> 16) % 60;
		if (get(number) < 0)
			*(int *)wrong = 1;
		put(number);
		if (random % 64 == 0 && file_exists(path_of(number)))
			truncate(path_of(number), 10);
	}
}

/* Processes with threads that put, get, evict and damage the same entries, one of them killed. */
static void test_many(void)
{
	pid_t child[5];
	setenv("TPAT_CACHE_SIZE", "60K", 1);
	for (int i = 0; i < 5; i++)
		if ((child[i] = fork()) == 0) {
			int wrong = 0;
			arena = arena_new();
			for (int t = 0; t < 3; t++)
				work(&wrong, t);
			_exit(wrong);
		}
	usleep(20000);
	kill(child[4], SIGKILL);
	for (int i = 0; i < 5; i++) {
		int status;
		waitpid(child[i], &status, 0);
		CHECK(i == 4 || status == 0);
	}
	int wrong = 0;
	work(&wrong, 9);
	CHECK_INT(wrong, 0);
	unsetenv("TPAT_CACHE_SIZE");
}

static void put_and_get(void *wrong, int i)
{
	put(4000 + i % 7);
	if (get(4000 + i % 7) != 1)
		*(int *)wrong = 1;
}

static void test_nowhere(void)
{
	int wrong = 0;
	threads_for(200, 4, put_and_get, &wrong);
	CHECK_INT(wrong, 0);
	setenv("TPAT_CACHE", "/dev/null/nowhere", 1);
	put(1);
	CHECK_INT(get(1), 0);
	unsetenv("TPAT_CACHE");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", folder, 1);
	CHECK_STR(file_cache_dir(arena), path_join(arena, folder, ".cache/tpat"));
	put(1);
	CHECK_INT(get(1), 1);
	setenv("XDG_CACHE_HOME", "/x", 1);
	CHECK_STR(file_cache_dir(arena), "/x/tpat");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	CHECK(file_cache_dir(arena) == NULL);
	put(1);
	CHECK_INT(get(1), 0);
}

int main(void)
{
	struct err e = { 0 };
	char *made;
	arena = arena_new();
	ck(file_temp_dir(&made, arena, &e) == 0);
	folder = made;
	setenv("TPAT_CACHE", folder, 1);
	unsetenv("TPAT_CACHE_SIZE");
	test_found();
	test_damaged();
	test_limit();
	test_many();
	test_nowhere();
	file_remove_tree(folder);
	arena_free(arena);
	return test_done();
}
