/* Files that are opened without waiting, temporary folders, JSON. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/staging.h"
#include "base/str.h"
#include "test.h"

static struct arena *arena;
static char *folder;

static const char *in_folder(const char *name)
{
	return path_join(arena, folder, name);
}

static void expect_refused(const char *path, const char *why)
{
	struct err e = { 0 };
	struct file_map m;
	CHECK_INT(file_map_open(&m, path, &e), ERR_MODEL);
	CHECK(strstr(e.text, why) && strcmp(e.about[ERR_FILE], path) == 0);
}

static void test_open(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct err e = { 0 };
	int s = socket(AF_UNIX, SOCK_STREAM, 0), lock;
	CHECK_INT(mkfifo(in_folder("pipe"), 0600), 0);
	CHECK_INT(symlink("pipe", in_folder("link")), 0);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", in_folder("socket"));
	CHECK_INT(bind(s, (struct sockaddr *)&at, sizeof at), 0);
	expect_refused(in_folder("pipe"), "is not a regular file");
	expect_refused(in_folder("link"), "is not a regular file");
	expect_refused(in_folder("socket"), "is not a regular file");
	expect_refused(folder, "is a folder, not a file");
	expect_refused("/dev/null", "is not a regular file");
	expect_refused(in_folder("none"), "No such file");
	CHECK_INT(file_lock(&lock, in_folder("pipe"), &e), ERR_MODEL);
	err_clear(&e);
	CHECK_INT(file_send(in_folder("pipe"), "x", 1, &e), ERR_USAGE);
	CHECK(strstr(e.text, "nothing reads from it") != NULL);
	err_clear(&e);
	CHECK_INT(file_send("/dev/null", "x", 1, &e), 0);
	CHECK_INT(file_write(in_folder("link"), "x", 1, &e), ERR_USAGE);
	close(s);
}

/* Removing a link to a folder keeps the folder's contents. */
static void test_remove(void)
{
	struct err e = { 0 };
	CHECK_INT(file_mkdir(in_folder("kept"), &e), 0);
	CHECK_INT(file_write(in_folder("kept/file"), "x", 1, &e), 0);
	CHECK_INT(symlink("kept", in_folder("to")), 0);
	file_remove_tree(in_folder("to"));
	CHECK(!file_exists(in_folder("to")) && file_exists(in_folder("kept/file")));
}

static void test_temporary(void)
{
	struct err e = { 0 };
	char *one, *two;
	CHECK_INT(file_temp_dir(&one, arena, &e), 0);
	CHECK_INT(file_temp_dir(&two, arena, &e), 0);
	const char *own = path_dir(arena, one);
	CHECK(strcmp(own, path_dir(arena, two)) == 0 && strcmp(one, two) != 0);
	file_remove_tree(one);
	CHECK(file_is_folder(two));
	file_remove_tree(two);
	CHECK(!file_exists(two));
}

/* A living process's folder is kept; a folder without an owner is removed. */
static void test_stage(void)
{
	const struct stage_recovery all = { .look = false };
	struct stage s = { 0 };
	struct stage_left left;
	struct err e = { 0 };
	CHECK_INT(file_write(in_folder("a"), "old", 3, &e), 0);
	CHECK_INT(stage_begin(&s, in_folder("a"), arena, &e), 0);
	CHECK_INT(file_make(stage_add(&s, "b"), "new b", 5, &e), 0);
	CHECK_INT(file_make(stage_add(&s, "a"), "new a", 5, &e), 0);
	CHECK_INT(stage_recover(&left, folder, &all, arena, &e), 0);
	CHECK(left.busy == 1 && !left.removed && file_is_folder(s.path));
	CHECK_INT(stage_commit(&s, &e), 0);
	stage_abandon(&s);
	char *text;
	CHECK(file_read(&text, NULL, in_folder("a"), arena, &e) == 0 && strcmp(text, "new a") == 0);
	CHECK(file_read(&text, NULL, in_folder("b"), arena, &e) == 0 && strcmp(text, "new b") == 0);
	CHECK_INT(file_mkdir(in_folder(".tpat-build-abcdef/new"), &e), 0);
	CHECK_INT(stage_recover(&left, folder, &all, arena, &e), 0);
	CHECK(left.removed == 1 && !file_exists(in_folder(".tpat-build-abcdef")));
}

/* A failed commit changes nothing. */
static void test_stage_fails(void)
{
	struct stage s = { 0 };
	struct err e = { 0 };
	char *text;
	CHECK_INT(file_mkdir(in_folder("full/x"), &e), 0); /* no file replaces a folder */
	CHECK_INT(file_write(in_folder("first"), "old", 3, &e), 0);
	CHECK_INT(stage_begin(&s, in_folder("first"), arena, &e), 0);
	CHECK_INT(file_make(stage_add(&s, "first"), "new", 3, &e), 0);
	CHECK_INT(file_make(stage_add(&s, "fresh"), "new", 3, &e), 0);
	CHECK_INT(file_make(stage_add(&s, "full/x/y/z"), "new", 3, &e), 0); /* there is no folder y */
	CHECK_INT(stage_commit(&s, &e), ERR_USAGE);
	stage_abandon(&s);
	err_clear(&e);
	CHECK(file_read(&text, NULL, in_folder("first"), arena, &e) == 0 && strcmp(text, "old") == 0);
	CHECK(!file_exists(in_folder("fresh")));
}

static const struct json *json_from(const char *text)
{
	return json_read(text, strlen(text), arena);
}

static void test_json(void)
{
	static const char *const wrong[] = { "",        "{",           "[1",     "{\"a\" 1}", "{\"a\":}", "\"a",
		                             "\"\\x\"", "\"\\ud800\"", "\"\n\"", "[1]]",      "{a:1}",    "\"\\u00\"",
		                             "," };
	const struct json *j = json_from(" {\"a\": [1, \"x\\n\\u00e4\\ud83d\\ude00\", {}], \"b\" : \"\", \"n\": null, "
	                                 "\"o\": {\"a\":-1e5}} ");
	CHECK(j && j->kind == JSON_IS_OBJECT);
	const struct json *a = json_member(j, "a");
	CHECK(a && a->kind == JSON_IS_LIST && strcmp(a->child->text, "1") == 0);
	CHECK(a && strcmp(a->child->next->text, "x\n\303\244\360\237\230\200") == 0);
	CHECK(a && a->child->next->next->kind == JSON_IS_OBJECT && !a->child->next->next->child);
	CHECK(strcmp(json_member_text(j, "b"), "") == 0 && !json_member_text(j, "n") && !json_member(j, "c"));
	CHECK(strcmp(json_member(json_member(j, "o"), "a")->text, "-1e5") == 0);
	CHECK(!json_member(NULL, "a") && !json_member(a, "a"));
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK(!json_from(wrong[i]));
	struct str deep = str_new(arena);
	for (int i = 0; i < 100000; i++)
		str_add(&deep, "[");
	CHECK(!json_from(str_text(&deep)));
}

static void test_shell(void)
{
	CHECK(strcmp(str_shell_path(arena, "-x.onnx"), "./-x.onnx") == 0);
	CHECK(strcmp(str_shell_path(arena, "- $x"), "'./- $x'") == 0);
	CHECK(strcmp(str_shell_path(arena, "a/-x"), "a/-x") == 0);
}

int main(void)
{
	struct err e = { 0 };
	arena = arena_new();
	CHECK_INT(file_temp_dir(&folder, arena, &e), 0);
	test_open();
	test_remove();
	test_temporary();
	test_stage();
	test_stage_fails();
	test_json();
	test_shell();
	file_remove_tree(folder);
	arena_free(arena);
	return test_done();
}
