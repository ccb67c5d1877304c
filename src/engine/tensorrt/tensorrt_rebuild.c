/* Rebuilds a library's folder: compiles kernels edited since their code was made, and links everything. Works in a
 * separate folder with links to the sources, so that a failure changes nothing. */
#include "engine/tensorrt/tensorrt_inside.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/file.h"

struct names {
	VEC(const char *);
};

/* Lists files in a subfolder of `folder` by the end of their names, in the order of a shell's pattern:
 * "kernels/relu.cu". */
static void list_files(struct names *out, const char *folder, const char *in, const char *end, struct arena *a)
{
	DIR *d = opendir(path_join(a, folder, in));
	int first = out->n;
	for (struct dirent *entry; d && (entry = readdir(d));)
		if (entry->d_name[0] != '.' && str_ends(entry->d_name, end))
			vec_push(a, out, arena_printf(a, "%s/%s", in, entry->d_name));
	if (d)
		closedir(d);
	vec_sort_texts(out->at + first, out->n - first);
}

/* ---- The stamp: checksums of the compiled kernels. */

/* cksum of POSIX: Ethernet's polynomial, highest bit first, over the bytes and then the length. */
static uint32_t cksum_byte(uint32_t crc, unsigned byte)
{
	crc ^= byte << 24;
	for (int i = 0; i < 8; i++)
		crc = crc & 0x80000000u ? crc << 1 ^ 0x04c11db7u : crc << 1;
	return crc;
}

static int add_stamp(struct str *out, const char *folder, const char *name, struct err *e)
{
	char *text;
	size_t n;
	uint32_t crc = 0;
	TRY(file_read(&text, &n, path_join(out->arena, folder, name), out->arena, e));
	for (size_t i = 0; i < n; i++)
		crc = cksum_byte(crc, (unsigned char)text[i]);
	for (size_t rest = n; rest; rest >>= 8)
		crc = cksum_byte(crc, rest & 0xff);
	str_printf(out, "%" PRIu32 " %zu %s\n", ~crc, n, name);
	return 0;
}

int tensorrt_stamp(struct str *out, const char *folder, struct err *e)
{
	struct names names = { 0 };
	list_files(&names, folder, "kernels", ".cu", out->arena);
	list_files(&names, folder, "kernels", ".h", out->arena);
	vec_each (name, &names)
		TRY(add_stamp(out, folder, *name, e));
	return 0;
}

/* True if the old stamp has a file's line. */
static bool is_stamped(const char *stamp, const char *line)
{
	size_t n = strlen(line);
	const char *at = strstr(stamp, line);
	return at && (at == stamp || at[-1] == '\n') && at[n - 1] == '\n';
}

static int is_edited(bool *out, const char *stamp, const char *folder, const char *name, struct arena *a, struct err *e)
{
	struct str line = str_new(a);
	TRY(add_stamp(&line, folder, arena_printf(a, "kernels/%s", name), e));
	*out |= !is_stamped(stamp, str_text(&line));
	return 0;
}

/* ---- The folder to compile in. */

static int link_to(const struct engine_again *r, const char *name, struct arena *a, struct err *e)
{
	const char *at = path_join(a, r->work, name);
	return symlink(path_join(a, file_absolute(a, r->folder), name), at) < 0 ? file_cannot_write(at, e) : 0;
}

static int prepare(const struct engine_again *r, struct build *b, struct arena *a, struct err *e)
{
	static const char *const same[] = { "library.c", "plugins", "data", "rt" };
	const struct embed_file *runtime = embed_find("runtime.o");
	struct names headers = { 0 };
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		TRY(link_to(r, same[i], a, e));
	TRY(file_mkdir(path_join(a, r->work, "code"), e));
	TRY(file_mkdir(path_join(a, r->work, OBJECTS), e));
	TRY(file_make(path_join(a, r->work, RUNTIME), runtime->text, runtime->size, e));
	list_files(&headers, r->folder, "kernels", ".h", a);
	b->header = NEWN(a, struct dev_nvrtc_header, headers.n + 1);
	vec_each (name, &headers) {
		char *text;
		TRY(file_read(&text, NULL, path_join(a, r->folder, *name), a, e));
		b->header[b->headers++] = (struct dev_nvrtc_header){ path_base(*name), text };
	}
	return 0;
}

/* Every kernel includes the headers. */
static int headers_edited(bool *out, const struct build *b, const struct engine_again *r, const char *stamp,
                          struct arena *a, struct err *e)
{
	*out = false;
	for (int i = 0; i < b->headers; i++)
		TRY(is_edited(out, stamp, r->folder, b->header[i].name, a, e));
	return 0;
}

/* The name in kernels/ of one of a plugin's texts. */
static const char *text_file(const struct engine_plugin *p, int part, struct arena *a)
{
	return arena_printf(a, "%s.cu", tensorrt_part_name(tensorrt_id(p, a), part, a));
}

/* Adds a job for each architecture of a text whose code is out of date; links the code of the others. */
static int add_text(struct engine_again *r, struct build *b, const struct engine_plugin *p, int part, const char *stamp,
                    bool stale, struct arena *a, struct err *e)
{
	const char *file = text_file(p, part, a);
	char *text = NULL;
	TRY(is_edited(&stale, stamp, r->folder, file, a, e));
	for (int k = 0; k < r->archs; k++) {
		const char *code = arena_printf(a, "code/%s", tensorrt_code_name(p, part, &r->arch[k], a));
		if (!stale && file_exists(path_join(a, r->folder, code))) {
			TRY(link_to(r, code, a, e));
			continue;
		}
		if (!text)
			TRY(file_read(&text, NULL, path_join(a, r->folder, arena_printf(a, "kernels/%s", file)), a, e));
		b->job[b->jobs] = (struct job){ .plugin = p, .cuda = text, .part = part, .arch = &r->arch[k] };
		b->jobs++;
		vec_push(a, &r->made, code);
	}
	return 0;
}

/* Counts a plugin's texts: the first, and the others that the folder has. */
static int count_texts(const struct engine_again *r, const struct engine_plugin *p, struct arena *a)
{
	int n = 1;
	while (n < TPAT_RT_MAX_PARTS &&
	       file_exists(path_join(a, r->folder, arena_printf(a, "kernels/%s", text_file(p, n, a)))))
		n++;
	return n;
}

static bool runtime_edited(const struct engine_again *r, struct arena *a)
{
	bool edited = false;
	for (const struct embed_file *f = embed_files; f->name; f++) {
		const char *place = tensorrt_place(f, a);
		struct err none = { 0 };
		char *text;
		size_t n;
		if (!place || !str_starts(place, "rt/"))
			continue;
		edited |= file_read(&text, &n, path_join(a, r->folder, place), a, &none) < 0 || n != f->size ||
		          memcmp(text, f->text, n) != 0;
	}
	return edited;
}

static void list_runtime(struct build *b, const struct engine_again *r, struct arena *a)
{
	struct names names = { 0 };
	list_files(&names, r->folder, RT_CORE, ".c", a);
	list_files(&names, r->folder, RT_TENSORRT, ".c", a);
	list_files(&names, r->folder, RT_ONNXRUNTIME, ".c", a);
	b->source = names.at;
	b->sources = names.n;
	b->job = NEWN(a, struct job, names.n + 1);
}

static int link_again(struct build *b, const struct engine_again *r, struct arena *a, struct err *e)
{
	const char *object[] = { RUNTIME, OBJECTS "/library.o" };
	struct err carried = { 0 };
	TRY(tensorrt_compile_c(b, "library.c", object[1], a, e));
	if (!r->machine && !runtime_edited(r, a) && tensorrt_link(b, object, 2, r->library, a, &carried) == 0)
		return 0;
	list_runtime(b, r, a);
	return tensorrt_link_sources(b, object[1], r->library, a, e);
}

int tensorrt_rebuild(struct engine_again *r, struct arena *a, struct err *e)
{
	struct names cpu = { 0 };
	list_files(&cpu, r->folder, "plugins", ".cpu.c", a);
	struct build b = { .folder = r->work,
		           .machine = r->machine,
		           .job = NEWN(a, struct job, r->plugins * r->archs * TPAT_RT_MAX_PARTS + cpu.n + 1),
		           .workers = r->workers,
		           .progress = r->progress,
		           .user = r->user };
	struct engine_plugin *plugin = NEWN(a, struct engine_plugin, r->plugins + 1);
	struct str stamp = str_new(a);
	struct err none = { 0 };
	char *old = "";
	bool stale;
	if (file_read(&old, NULL, path_join(a, r->folder, TENSORRT_STAMP), a, &none) < 0)
		old = "";
	TRY(prepare(r, &b, a, e));
	TRY(headers_edited(&stale, &b, r, old, a, e));
	TRY(tensorrt_stamp(&stamp, r->folder, e)); /* before compiling: later edits then count as edited */
	for (int i = 0; i < r->plugins; i++) {
		plugin[i].name = r->plugin[i];
		for (int k = 0; k < count_texts(r, &plugin[i], a); k++)
			TRY(add_text(r, &b, &plugin[i], k, old, stale, a, e));
	}
	vec_each (source, &cpu)
		tensorrt_add_cpu(&b, *source, a);
	TRY(tensorrt_run_jobs(&b, e));
	TRY(link_again(&b, r, a, e));
	vec_push(a, &r->made, TENSORRT_STAMP);
	return file_make(path_join(a, r->work, TENSORRT_STAMP), str_text(&stamp), stamp.n, e);
}
