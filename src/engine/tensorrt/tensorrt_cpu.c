/* Kernels for the processor in a library: the same C text that `tpat verify --device cpu` compiles, with a name for
 * each kernel that no other plugin's has. */
#include "base/map.h"
#include "engine/tensorrt/tensorrt.h"
#include "gen/language.h"

const char *tensorrt_cpu_file(const struct engine_plugin *p, struct arena *a)
{
	return arena_printf(a, "plugins/%s.cpu.c", str_identifier(a, p->name));
}

const char *tensorrt_cpu_name(const struct engine_plugin *p, const struct ir_kernel *k, struct arena *a)
{
	return arena_printf(a, "%s_cpu_%s", str_identifier(a, p->name), k->name);
}

void tensorrt_cpu(struct str *out, const struct engine_plugin *p)
{
	struct map named = map_new(out->arena);
	str_add(out,
	        "/* The kernels for the processor, which ONNX Runtime runs there, under the names in the tables. */\n");
	for (int i = 0; i < p->plans; i++)
		vec_each (step, &p->plan[i]->steps)
			vec_each (k, *step) {
				if (map_get(&named, (*k)->name))
					continue;
				map_put(&named, (*k)->name, *k);
				str_printf(out, "#define %s %s\n", (*k)->name, tensorrt_cpu_name(p, *k, out->arena));
			}
	str_printf(out, "#include \"../kernels/%s%s\"\n", str_identifier(out->arena, p->name), language_c.ending);
}
