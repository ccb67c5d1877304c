/* Commands for compilers, and what they say. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"
#include "test.h"

static struct arena *arena;

static const char *joined(const struct proc_command *c)
{
	const char *text = c->word[0];

	for (int i = 1; i < c->n; i++)
		text = arena_printf(arena, "%s|%s", text, c->word[i]);
	CHECK(!c->word[c->n]);
	return text;
}

static void command(const char *said, const char *path, const char *want, bool named, bool found)
{
	static const char *const known[] = { "one", "two", "three", NULL };
	struct proc_command c;

	setenv("PATH", path, 1);
	if (said)
		setenv("TPAT_TEST_CC", said, 1);
	else
		unsetenv("TPAT_TEST_CC");
	c = proc_command("TPAT_TEST_CC", known, arena);
	CHECK_STR(joined(&c), want);
	CHECK(c.named == named && c.found == found);
}

/* The variable's words, or the first program that is there, or the first one. */
static void commands(void)
{
	const char *path = getenv("PATH"), *two, *both;
	struct err e = { 0 };
	char *folder;

	CHECK_INT(file_temp_dir(&folder, arena, &e), 0);
	both = arena_printf(arena, "/nonexistent:%s", folder);
	two = path_join(arena, folder, "two");
	CHECK_INT(file_write(two, "", 0, &e), 0);
	chmod(two, 0755);
	command(NULL, both, "two", false, true);
	command("", both, "two", false, true);
	command(" \t ", both, "two", false, true);
	command(NULL, "/nonexistent", "one", false, false);
	command("two", both, "two", true, true);
	command(" two  -m64 -O1 ", both, "two|-m64|-O1", true, true);
	command(arena_printf(arena, "%s -x", two), "/nonexistent", arena_printf(arena, "%s|-x", two), true, true);
	command("four", both, "four", true, false);
	command(folder, both, folder, true, false);
	file_remove_tree(folder);
	setenv("PATH", path, 1);
}

static void error_lines(void)
{
	static const struct {
		const char *said, *want;
	} row[] = {
		{ "", "" },
		{ "one\ntwo\n", "one" },
		{ "\n\none", "one" },
		{ "In file included\nx.c:3: error: no\nx.c:4: error: more\n", "x.c:3: error: no" },
		{ "ld: out of file descriptors\ncollect2: error: ld returned 1 exit status\n",
		  "ld: out of file descriptors" },
		{ "/tmp/x.o: undefined reference to y\nclang: error: linker command failed with exit code 1 (use -v)\n",
		  "/tmp/x.o: undefined reference to y" },
		{ "note\nlld: error: no library\nclang: error: linker command failed\n", "lld: error: no library" },
	};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		CHECK_STR(proc_error_line(row[i].said, arena), row[i].want);
}

static void compiling(const char *script, int want, const char *text, const char *advice)
{
	const char *const argv[] = { "sh", "-c", script, "-o", "made", NULL };
	struct err e = { 0 };
	char *folder, *said;

	CHECK_INT(file_temp_dir(&folder, arena, &e), 0);
	CHECK_INT(proc_compile(&said, "It failed on x.c", folder, argv, arena, &e), want);
	CHECK(said);
	CHECK_STR(e.text, text);
	CHECK_STR(e.advice, advice);
	file_remove_tree(folder);
}

/* A compiler that fails, that is killed, that makes nothing, whose disk is full; in the user's language. */
static void compilers(void)
{
	const char *const none[] = { "/nonexistent/cc", "-o", "made", NULL };
	struct err e = { 0 };
	char *said;

	compiling("echo x > made", 0, "", "");
	compiling(":", ERR_DEVICE, "It failed on x.c: it reports no error, but makes no file.", "");
	compiling("exit 3", ERR_DEVICE, "It failed on x.c: exit status 3.", "");
	compiling("kill -9 $$", ERR_DEVICE, "It failed on x.c: signal 9 (Killed).", "");
	compiling("echo 'x.c:1: error: no'; exit 1", ERR_DEVICE, "It failed on x.c: x.c:1: error: no", "");
	compiling("echo 'error: No space left on device' >&2; exit 1", ERR_DEVICE,
	          "It failed on x.c: error: No space left on device",
	          "Free some space there, or name another folder for temporary files in TMPDIR.");
	setenv("LC_ALL", "de_DE.UTF-8", 1);
	setenv("LANGUAGE", "de", 1);
	compiling("echo error: $LC_ALL $LANGUAGE; exit 1", ERR_DEVICE, "It failed on x.c: error: C", "");
	unsetenv("LC_ALL");
	unsetenv("LANGUAGE");
	CHECK_INT(proc_compile(&said, "It failed", NULL, none, arena, &e), ERR_DEVICE);
	CHECK(!said);
}

int main(void)
{
	arena = arena_new();
	commands();
	error_lines();
	compilers();
	arena_free(arena);
	return test_done();
}
