/* Texts in a library's folder: README.md for people, Makefile to build again, machine-readable tpat.json. */
#include "engine/tensorrt/tensorrt.h"

#include <string.h>

void tensorrt_string(struct str *out, const char *text)
{
	str_add(out, "\"");
	for (const char *c = text; *c; c++)
		if (*c == '"' || *c == '\\')
			str_printf(out, "\\%c", *c);
		else if ((unsigned char)*c < ' ' || *c == 127)
			str_printf(out, "\\%03o", (unsigned char)*c);
		else
			str_addn(out, c, 1);
	str_add(out, "\"");
}

static const char *arch_name(const struct engine_arch *x, struct arena *a)
{
	return arena_printf(a, x->ptx ? "compute_%d" : "sm_%d", x->arch);
}

void tensorrt_readme(struct str *out, const struct engine_library *l)
{
	str_printf(out, "# %s\n\n", l->library);
	str_printf(out, "TensorRT plugins for `%s`, in the library `%s`. Made by %s from `%s`.\n\n", l->rewritten,
	           l->library, l->generator, l->model);
	str_add(out, "| plugin | computes | nodes |\n|---|---|---|\n");
	for (int i = 0; i < l->plugins; i++) {
		const struct engine_plugin *p = &l->plugin[i];
		str_printf(out, "| `%s` | `%s` | ", p->name, p->about);
		for (int n = 0; n < p->nodes && n < 4; n++)
			str_printf(out, "%s%s", n ? ", " : "", p->node[n]);
		if (p->nodes > 4)
			str_printf(out, " and %d more", p->nodes - 4);
		str_add(out, " |\n");
	}
	str_printf(out, "\n## Use\n\n```\n%s\n```\n\n", l->deploy);
	str_printf(out,
	           "Without the plugins `%s` is still a plain ONNX model: its local functions contain the original\n"
	           "operators, so any engine that supports local functions (ONNX IR version 8) runs it.\n\n",
	           l->portable ? l->portable : l->rewritten);
	str_printf(out, "The library runs with %s and needs no other file. A program that loads engines\n", l->runs);
	str_add(out, "itself must load the library before the engine: with `dlopen` or `ctypes.CDLL` after TensorRT, "
	             "or with\n"
	             "the plugin registry's `loadLibrary`. If it opens the library before TensorRT, it must then call\n"
	             "`tpat_rt_register()`.\n\n");
	str_add(out, "ONNX Runtime 1.16 and later runs the plugins as custom operators, on the CPU or with CUDA:\n"
	             "`SessionOptions.register_custom_ops_library` takes the library's path.\n\n");
	str_add(out,
	        "## Contents\n\n"
	        "- `kernels/*.cu`: the kernels as CUDA C++, to read and to edit; `kernels/*.cpu.c`: the same for the "
	        "CPU\n"
	        "- `plugins/*.h`, `library.c`: tables of each plugin's inputs, outputs and kernel launches\n"
	        "- `code/`: the compiled kernels; `data/`: constants and weights\n"
	        "- `rt/`: the runtime, C11, the same in every library: `rt/core/` reads the tables and launches\n"
	        "  kernels, `rt/tensorrt/` is the TensorRT plugin, `rt/onnxruntime/` the custom operators\n"
	        "- `tpat.json`: a machine-readable description of all plugins\n\n");
	str_add(out,
	        "## Rebuilding\n\n"
	        "`tpat kernel FILE.cu` runs an edited `kernels/*.cu` on a GPU, or on a processor with every access\n"
	        "checked, and compares the results with the original nodes.\n\n"
	        "After you edit `kernels/*.cu`, a table or the runtime, `tpat rebuild` with this folder's name "
	        "compiles\n"
	        "the changes with NVRTC and replaces the library next to the folder.\n\n"
	        "Without tpat, `make` builds the library in this folder with a C compiler, from the compiled "
	        "kernels in\n"
	        "`code/`. If a kernel was edited since then, make stops with an error: run `make kernels`, which "
	        "compiles\n"
	        "them with nvcc, first.\n");
}

/* Writes the rules that compile every plugin's kernels for one architecture. */
static void put_kernel_rule(struct str *out, const struct engine_arch *x)
{
	str_printf(out, "code/%%.%s_%d.%s: kernels/%%.cu $(wildcard kernels/*.h)\n", x->ptx ? "compute" : "sm", x->arch,
	           x->ptx ? "ptx" : "cubin");
	str_printf(out, "\t$(NVCC) -std=c++17 $(NVCCFLAGS) -Ikernels %s -arch=%s_%d%s -o $@ $<\n\n",
	           x->ptx ? "-ptx" : "-cubin", x->ptx ? "compute" : "sm", x->arch, x->arch == 90 && !x->ptx ? "a" : "");
}

/* Writes a shell word for a Makefile variable. */
static void put_make_word(struct str *out, const char *word)
{
	for (const char *c = word; *c; c++)
		str_printf(out, "%s%c", *c == '$' ? "$" : *c == '#' ? "\\" : "", *c);
}

/* Writes the check that the code was compiled from the current kernels. */
static void put_check(struct str *out)
{
	str_add(out, "unedited:\n"
	             "\t@edited=$$($(STAMP) | grep -vxFf " TENSORRT_STAMP " || test $$? = 1) || exit; \\\n"
	             "\ttest -z \"$$edited\" || { printf '%s\\n' \"$$edited\" | sed -e 's/^[0-9]* [0-9]* //' \\\n"
	             "\t-e 's/$$/ was edited since its code was compiled./' >&2; \\\n"
	             "\techo 'Run tpat rebuild on this folder, or make kernels (needs nvcc) and then make.' >&2; \\\n"
	             "\texit 1; }\n\n");
}

static void put_code(struct str *out, const struct engine_plugin *p, const struct engine_arch *arch)
{
	int parts = tensorrt_parts(p, out->arena);
	for (int part = 0; part < parts; part++)
		str_printf(out, "CODE += code/%s\n", tensorrt_code_name(p, part, arch, out->arena));
}

/* True for kernels to debug (--debug-kernels), which keep line numbers. */
static bool has_checks(const struct engine_library *l)
{
	for (int i = 0; i < l->plugins; i++)
		if (l->plugin[i].plan[0]->program->checked)
			return true;
	return false;
}

/* The library is not a target: make would split a file name with spaces. */
void tensorrt_makefile(struct str *out, const struct engine_library *l)
{
	str_add(out, "# The library from its sources: `make` needs a C compiler, `make kernels` needs nvcc. See "
	             "README.md.\n");
	size_t stem = strlen(l->library) - (str_ends(l->library, ".so") ? 3 : 0);
	str_add(out, "LIBRARY := ");
	put_make_word(out, str_shell(out->arena, l->library));
	str_add(out, "\nDLL     := ");
	put_make_word(out, str_shell(out->arena, arena_printf(out->arena, "%.*s.dll", (int)stem, l->library)));
	str_printf(out,
	           "\nCC      ?= cc\nNVCC    ?= nvcc\nNVCCFLAGS ?=%s\nMINGW   ?= x86_64-w64-mingw32-gcc\nCFLAGS  ?= "
	           "-O2\n\n",
	           has_checks(l) ? " -lineinfo" : "");
	str_add(out, ".PHONY: library windows unedited kernels clean\n");
	str_add(out, "library: unedited\n"
	             "\t$(CC) -std=gnu11 $(CFLAGS) -fPIC -fvisibility=hidden -fwrapv -ffp-contract=off "
	             "-fno-strict-aliasing -fno-tree-slp-vectorize \\\n"
	             "\t\t-Irt -shared -Wl,--no-undefined,-z,relro,-z,now -o $(LIBRARY) \\\n"
	             "\t\tlibrary.c $(wildcard plugins/*.cpu.c rt/*/*.c) -ldl -lpthread -lm\n\n");
	str_add(out, "# Custom operators of ONNX Runtime for Windows. TensorRT's classes have another layout there.\n"
	             "windows: unedited\n"
	             "\t$(MINGW) -std=gnu11 $(CFLAGS) -D__USE_MINGW_ANSI_STDIO=1 -w -fwrapv -ffp-contract=off "
	             "-fno-strict-aliasing -fno-tree-slp-vectorize \\\n"
	             "\t\t-Irt -shared -static-libgcc -Wl,--exclude-all-symbols -o $(DLL) library.c $(wildcard "
	             "plugins/*.cpu.c rt/core/*.c rt/onnxruntime/*.c)\n\n");
	str_add(out, "CODE :=\n");
	for (int i = 0; i < l->plugins; i++)
		for (int k = 0; k < l->archs && !l->plugin[i].like; k++)
			put_code(out, &l->plugin[i], &l->arch[k]);
	str_add(out, "\nSTAMP := LC_ALL=C; export LC_ALL; cksum kernels/*.cu kernels/*.h\n\n");
	str_add(out, "kernels: $(CODE)\n\t@$(STAMP) > " TENSORRT_STAMP "\n\n");
	put_check(out);
	for (int k = 0; k < l->archs; k++)
		put_kernel_rule(out, &l->arch[k]);
	str_add(out, "clean:\n\trm -f $(LIBRARY) $(DLL)\n");
}

/* ---- tpat.json: one member per line. */

static void put_json(struct str *out, const char *text)
{
	str_add(out, "\"");
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c == '"' || *c == '\\')
			str_printf(out, "\\%c", *c);
		else if (*c < ' ')
			str_printf(out, "\\u%04x", *c);
		else
			str_addn(out, (const char *)c, 1);
	str_add(out, "\"");
}

/* ` "name": "text",` */
static void put_member(struct str *out, const char *name, const char *text)
{
	str_printf(out, " \"%s\": ", name);
	put_json(out, text);
	str_add(out, ",");
}

static void put_tensors(struct str *out, const char *what, struct ir_buffer *const *buffer, int n)
{
	str_printf(out, "   \"%s\": [", what);
	for (int i = 0; i < n; i++) {
		str_add(out, i ? ",\n    {" : "\n    {");
		put_member(out, "name", buffer[i]->name);
		put_member(out, "type", type_name(buffer[i]->type));
		str_add(out, " \"shape\": [");
		for (int k = 0; k < buffer[i]->rank; k++) {
			struct str extent = str_new(out->arena);
			int64_t number;
			ir_print_expr(&extent, buffer[i]->dim[k], 0);
			str_add(out, k ? ", " : "");
			if (ir_const_int(buffer[i]->dim[k], &number))
				str_add(out, str_text(&extent));
			else
				put_json(out, str_text(&extent));
		}
		str_add(out, "] }");
	}
	str_add(out, "],\n");
}

static void put_steps(struct str *out, const struct ir_plan *plan)
{
	for (int s = 0; s < plan->steps.n; s++) {
		str_add(out, s ? ",\n    [" : "\n    [");
		for (int i = 0; i < plan->steps.at[s]->n; i++) {
			const struct ir_kernel *k = plan->steps.at[s]->at[i];
			str_add(out, i ? ",\n     {" : "{");
			put_member(out, "name", k->name);
			put_member(out, "rule", k->rule);
			put_member(out, "parameters", k->params);
			str_printf(out, " \"threads\": %d }", k->threads);
		}
		str_add(out, "]");
	}
}

/* Writes the default's steps, then those of the other tactics. */
static void put_tactics(struct str *out, const struct engine_plugin *p)
{
	str_add(out, "   \"steps\": [");
	put_steps(out, p->plan[0]);
	str_add(out, "],\n   \"tactics\": [");
	for (int i = 1; i < p->plans; i++) {
		str_add(out, i > 1 ? ",\n    [" : "\n    [");
		put_steps(out, p->plan[i]);
		str_add(out, "]");
	}
	str_add(out, "]\n");
}

static void put_plugin(struct str *out, const struct engine_plugin *p)
{
	const struct ir_program *program = p->plan[0]->program;
	const char *id = str_identifier(out->arena, p->like ? p->like->name : p->name);
	str_add(out, "  {");
	put_member(out, "name", p->name);
	if (p->like)
		put_member(out, "like", p->like->name);
	put_member(out, "version", p->version);
	put_member(out, "namespace", p->name_space);
	put_member(out, "hash", p->hash);
	str_add(out, "\n  ");
	put_member(out, "about", p->about);
	str_add(out, "\n  ");
	put_member(out, "cuda", arena_printf(out->arena, "kernels/%s.cu", id));
	put_member(out, "cpu", arena_printf(out->arena, "kernels/%s.cpu.c", id));
	int parts = tensorrt_parts(p, out->arena);
	if (parts > 1) /* X.cu, X.2.cu ... */
		str_printf(out, " \"cuda_parts\": %d,", parts);
	str_add(out, "\n   \"nodes\": [");
	for (int i = 0; i < p->nodes; i++) {
		str_add(out, i ? ", " : "");
		put_json(out, p->node[i]);
	}
	str_add(out, "],\n");
	put_tensors(out, "inputs", program->inputs.at, program->inputs.n);
	put_tensors(out, "outputs", program->outputs.at, program->outputs.n);
	put_tactics(out, p);
	str_add(out, "  }");
}

void tensorrt_json(struct str *out, const struct engine_library *l)
{
	const char *const text[][2] = { { "generator", l->generator },
		                        { "engine", engine_tensorrt.name },
		                        { "model", l->model },
		                        { "rewritten", l->rewritten },
		                        { "library", l->library } };
	str_add(out, "{ \"version\": 1,\n");
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		str_add(out, " ");
		put_member(out, text[i][0], text[i][1]);
		str_add(out, "\n");
	}
	if (l->machine) {
		str_add(out, " ");
		put_member(out, "host", l->machine->name);
		str_add(out, "\n");
	}
	str_add(out, "  \"architectures\": [");
	for (int i = 0; i < l->archs; i++) {
		str_add(out, i ? ", " : "");
		put_json(out, arch_name(&l->arch[i], out->arena));
	}
	str_add(out, "],\n  \"plugins\": [\n");
	for (int i = 0; i < l->plugins; i++) {
		str_add(out, i ? ",\n" : "");
		put_plugin(out, &l->plugin[i]);
	}
	str_add(out, "]\n}\n");
}
