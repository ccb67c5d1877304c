/* The folder of a library: writes its sources, compiles kernels in parallel, then the tables, and links them with the
 * embedded, compiled runtime. All commands run inside the folder with relative paths, so that the same input gives the
 * same bytes anywhere. */
#include "engine/tensorrt/tensorrt_inside.h"

#include "base/embed.h"
#include "base/file.h"
#include "gen/language.h"

static const char library_head[] =
        "#include <stddef.h>\n"
        "\n"
        "#include \"tpat/tpat_rt.h\"\n"
        "\n"
        "/* The bytes of a file as `name` to `name`_end, and a NUL after them. */\n"
        "#ifdef _WIN32\n"
        "#define TPAT_BEGIN \".section .rdata,\\\"dr\\\"\"\n"
        "#define TPAT_END \".text\"\n"
        "#else\n"
        "#define TPAT_BEGIN \".pushsection .rodata\"\n"
        "#define TPAT_END \".popsection\"\n"
        "#endif\n"
        "#define TPAT_FILE(name, path)                                                                  \\\n"
        "\t__asm__(TPAT_BEGIN \"\\n.balign 64\\n\" #name \":\\n.incbin \\\"\" path \"\\\"\\n\" #name                "
        "\\\n"
        "\t        \"_end:\\n.byte 0\\n\" TPAT_END);                                                       \\\n"
        "\textern const unsigned char name[] __attribute__((visibility(\"hidden\")));                  \\\n"
        "\textern const unsigned char name##_end[] __attribute__((visibility(\"hidden\")))\n"
        "\n";

/* ---- Sources. */

static int write_text(const struct build *b, const char *name, struct str *text, struct err *e)
{
	return file_make(path_join(text->arena, b->folder, name), str_text(text), text->n, e);
}

static int write_runtime(struct build *b, struct arena *a, struct err *e)
{
	for (const struct embed_file *f = embed_files; f->name; f++) {
		const char *place = tensorrt_place(f, a);
		if (!place)
			continue;
		TRY(file_make(path_join(a, b->folder, place), f->text, f->size, e));
		if (embed_is_header(f, KERNEL_CUDA))
			b->header[b->headers++] = (struct dev_nvrtc_header){ path_base(f->name), f->text };
		if (str_ends(place, ".c"))
			b->source[b->sources++] = place;
	}
	const struct embed_file *runtime = embed_find("runtime.o");
	return file_make(path_join(a, b->folder, RUNTIME), runtime->text, runtime->size, e);
}

/* Writes the CUDA texts, and adds a job for each of them and each architecture. */
static int add_cuda(struct build *b, const struct engine_plugin *p, const char *id, struct arena *a, struct err *e)
{
	struct str text[TPAT_RT_MAX_PARTS];
	int parts = tensorrt_parts(p, a);
	for (int i = 0; i < parts; i++)
		text[i] = str_new(a);
	tensorrt_cuda(text, p, parts, a);
	for (int i = 0; i < parts; i++) {
		const char *name = tensorrt_part_name(id, i, a);
		TRY(write_text(b, arena_printf(a, "kernels/%s%s", name, language_cuda.ending), &text[i], e));
		for (int k = 0; k < b->library->archs; k++)
			b->job[b->jobs++] = (struct job){
				.plugin = p, .cuda = str_text(&text[i]), .part = i, .arch = &b->library->arch[k]
			};
	}
	return 0;
}

static int write_plugin(struct build *b, const struct engine_plugin *p, struct str *rows, struct tensorrt_data *data,
                        struct arena *a, struct err *e)
{
	const char *id = tensorrt_id(p, a);
	struct str text = str_new(a), table = str_new(a);
	TRY(tensorrt_table(&table, rows, b->library, p, data, b->folder, e));
	TRY(write_text(b, arena_printf(a, "plugins/%s.h", id), &table, e));
	if (p->like)
		return 0;
	language_c.print(&text, p->plan, p->plans);
	TRY(write_text(b, arena_printf(a, "kernels/%s%s", id, language_c.ending), &text, e));
	TRY(add_cuda(b, p, id, a, e));
	struct str cpu = str_new(a);
	const char *name = tensorrt_cpu_file(p, a);
	tensorrt_cpu(&cpu, p);
	TRY(write_text(b, name, &cpu, e));
	tensorrt_add_cpu(b, name, a);
	return 0;
}

static int write_library(struct build *b, struct arena *a, struct err *e)
{
	const struct engine_library *l = b->library;
	struct str text = str_new(a), rows = str_new(a), readme = str_new(a), make = str_new(a), json = str_new(a);
	struct tensorrt_data data = { .arena = a };
	str_printf(&text, "/* The plugins of a model, as tables that the runtime in rt/ reads. Made by %s. */\n",
	           l->generator);
	str_add(&text, library_head);
	for (int i = 0; i < l->plugins; i++) {
		TRY(write_plugin(b, &l->plugin[i], &rows, &data, a, e));
		str_printf(&text, "#include \"plugins/%s.h\"\n", tensorrt_id(&l->plugin[i], a));
	}
	str_printf(&text, "\nstatic const struct tpat_rt_plugin plugins[] = {\n%s};\n\n", str_text(&rows));
	str_add(&text, "const struct tpat_rt_library tpat_library = {\n\t.version = TPAT_RT_VERSION,\n");
	str_add(&text, "\t.model = ");
	tensorrt_string(&text, l->model);
	str_printf(&text, ",\n\t.generator = \"%s\",\n", l->generator);
	str_printf(&text, "\t.plugin = plugins,\n\t.plugins = %d,\n};\n", l->plugins);
	TRY(write_text(b, "library.c", &text, e));
	tensorrt_readme(&readme, l);
	tensorrt_makefile(&make, l);
	tensorrt_json(&json, l);
	TRY(write_text(b, "README.md", &readme, e));
	TRY(write_text(b, "Makefile", &make, e));
	return write_text(b, "tpat.json", &json, e);
}

static int make_folders(const struct build *b, struct arena *a, struct err *e)
{
	static const char *const name[] = { "kernels",   "plugins",      "code",    "data", RT_CORE,
		                            RT_TENSORRT, RT_ONNXRUNTIME, "rt/tpat", OBJECTS };
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		TRY(file_mkdir(path_join(a, b->folder, name[i]), e));
	return 0;
}

/* ---- The whole build. */

static int compile_all(struct build *b, const char *library, struct arena *a, struct err *e)
{
	const char *object[] = { RUNTIME, OBJECTS "/library.o" };
	struct err carried = { 0 };
	TRY(tensorrt_run_jobs(b, e));
	TRY(tensorrt_compile_c(b, "library.c", object[1], a, e));
	/* The runtime that tpat carries is for the machine that tpat itself is for. */
	if (b->machine || tensorrt_link(b, object, 2, library, a, &carried) < 0)
		TRY(tensorrt_link_sources(b, object[1], library, a, e));
	const char *objects = path_join(a, b->folder, OBJECTS);
	file_remove_tree(objects);
	return file_exists(objects) ? err_set(e, ERR_USAGE, "%s cannot be removed.", objects) : 0;
}

/* Returns the most calls of compilers that the library can need. */
static int count_jobs(const struct engine_library *l, int sources, struct arena *a)
{
	int n = sources;
	for (int i = 0; i < l->plugins; i++)
		n += 1 + l->archs * tensorrt_parts(&l->plugin[i], a);
	return n;
}

static int count_sources(void)
{
	int n = 0;
	for (const struct embed_file *f = embed_files; f->name; f++)
		n++;
	return n;
}

int tensorrt_build(const struct engine_library *l, const char *folder, const char *library, struct arena *a,
                   struct err *e)
{
	int sources = count_sources();
	struct build b = {
		.library = l,
		.folder = folder,
		.machine = l->machine,
		.workers = l->workers,
		.progress = l->progress,
		.user = l->user,
		.job = NEWN(a, struct job, count_jobs(l, sources, a)),
		.header = NEWN(a, struct dev_nvrtc_header, sources),
		.source = NEWN(a, const char *, sources),
	};
	TRY(make_folders(&b, a, e));
	TRY(write_runtime(&b, a, e));
	TRY(write_library(&b, a, e));
	TRY(compile_all(&b, library, a, e));
	struct str stamp = str_new(a);
	TRY(tensorrt_stamp(&stamp, folder, e));
	return write_text(&b, TENSORRT_STAMP, &stamp, e);
}
