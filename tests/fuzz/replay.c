/* A fuzz target without libFuzzer: runs it on files, and on all files of folders.
 *
 *     fuzz_whole FOLDER|FILE ...
 *
 * Each file is a test that passes if the process survives it. The file's name is printed first, so that a crash belongs
 * to the last one. */
#include <dirent.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz_main.h"

static int passed;

/* Allocates exactly the file's size, so that reads beyond it are detected. */
static uint8_t *contents(const char *path, size_t *size)
{
	struct stat s;
	FILE *f = fopen(path, "rb");
	if (!f || fstat(fileno(f), &s) < 0)
		finding("cannot read", path);
	uint8_t *data = malloc((size_t)s.st_size ? (size_t)s.st_size : 1);
	*size = fread(data, 1, (size_t)s.st_size, f);
	fclose(f);
	return data;
}

static void run_file(const char *path)
{
	size_t size;
	uint8_t *data = contents(path, &size);
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	passed++;
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void run_folder(const char *path)
{
	struct dirent **name;
	int n = scandir(path, &name, visible, alphasort);
	if (n < 0)
		return run_file(path);
	for (int i = 0; i < n; i++) {
		char file[4096];
		snprintf(file, sizeof file, "%s/%s", path, name[i]->d_name);
		run_folder(file);
		free(name[i]);
	}
	free(name);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_folder(argv[i]);
	printf("%d passed, 0 failed\n", passed);
	return !passed;
}
