/* A plugin's kernels as texts to compile: one, or several parts of a plugin with many kernels, which compile at the
 * same time. */
#include "engine/tensorrt/tensorrt.h"

#include "tpat/tpat_rt.h"

/* A part has about this much work, at most twice as much. One thread compiles a kernel that uses shared memory, such as
 * a product, in about as much time as four others. */
enum { PART_WORK = 24, SHARED_WORK = 4 };

/* All kernels of the plans, each once. */
struct kernels {
	VEC(const struct ir_kernel *);
};

static int work_of(const struct ir_kernel *k)
{
	int work = k->shared_bytes || k->shared.n ? SHARED_WORK : 1;
	vec_each (part, &k->parts)
		work += work_of(*part);
	return work;
}

static void list_kernels(struct kernels *out, const struct engine_plugin *p, struct arena *a)
{
	struct map seen = map_new(a);
	for (int i = 0; i < p->plans; i++)
		vec_each (step, &p->plan[i]->steps)
			vec_each (k, *step) {
				if (map_get(&seen, (*k)->name))
					continue;
				map_put(&seen, (*k)->name, *k);
				vec_push(a, out, *k);
			}
}

int tensorrt_parts(const struct engine_plugin *p, struct arena *a)
{
	struct kernels all = { 0 };
	int work = 0;
	list_kernels(&all, p->like ? p->like : p, a);
	vec_each (k, &all)
		work += work_of(*k);
	int parts = work / PART_WORK;
	return parts < 1 ? 1 : parts > TPAT_RT_MAX_PARTS ? TPAT_RT_MAX_PARTS : parts;
}

/* A plan with the kernels of one part, for the printer. */
static struct ir_plan *plan_of(const struct kernels *all, struct ir_program *program, int from, int to, struct arena *a)
{
	struct ir_plan *plan = NEW(a, struct ir_plan);
	plan->program = program;
	for (int i = from; i < to; i++) {
		struct ir_step *step = NEW(a, struct ir_step);
		vec_push(a, step, (struct ir_kernel *)(uintptr_t)all->at[i]);
		vec_push(a, &plan->steps, step);
	}
	return plan;
}

/* Shares the kernels among the parts, in their order: those of a part end before all->at[end[part]]. */
static void share_kernels(const struct kernels *all, int parts, int end[TPAT_RT_MAX_PARTS])
{
	int work = 0, done = 0;
	vec_each (k, all)
		work += work_of(*k);
	for (int part = 0, to = 0; part < parts; part++) {
		for (; to < all->n && (part == parts - 1 || (int64_t)done * parts < (int64_t)work * (part + 1)); to++)
			done += work_of(all->at[to]);
		end[part] = to;
	}
}

void tensorrt_cuda(struct str *text, const struct engine_plugin *p, int parts, struct arena *a)
{
	struct kernels all = { 0 };
	int end[TPAT_RT_MAX_PARTS];
	if (parts == 1) {
		language_cuda.print(&text[0], p->plan, p->plans);
		return;
	}
	list_kernels(&all, p, a);
	share_kernels(&all, parts, end);
	for (int part = 0; part < parts; part++) {
		const struct ir_plan *plan = plan_of(&all, p->plan[0]->program, part ? end[part - 1] : 0, end[part], a);
		language_cuda.print(&text[part], &plan, 1);
	}
}

struct map tensorrt_kernel_parts(const struct engine_plugin *p, struct arena *a)
{
	struct map of = map_new(a);
	struct kernels all = { 0 };
	int end[TPAT_RT_MAX_PARTS];
	list_kernels(&all, p, a);
	share_kernels(&all, tensorrt_parts(p, a), end);
	int *part = NEWN(a, int, all.n + 1);
	for (int i = 0; i < all.n; i++) {
		part[i] = i ? part[i - 1] : 0;
		while (i >= end[part[i]])
			part[i]++;
		map_put(&of, all.at[i]->name, &part[i]);
	}
	return of;
}

const char *tensorrt_part_name(const char *id, int part, struct arena *a)
{
	return part ? arena_printf(a, "%s.%d", id, part + 1) : id;
}

const char *tensorrt_code_name(const struct engine_plugin *p, int part, const struct engine_arch *arch, struct arena *a)
{
	const char *id = str_identifier(a, p->like ? p->like->name : p->name);
	return arena_printf(a, "%s.%s_%d.%s", tensorrt_part_name(id, part, a), arch->ptx ? "compute" : "sm", arch->arch,
	                    arch->ptx ? "ptx" : "cubin");
}

void tensorrt_images(struct str *out, const char *id, const struct engine_library *l, const struct engine_plugin *p)
{
	int parts = tensorrt_parts(p, out->arena), n = 0;
	for (int i = 0; i < l->archs; i++)
		for (int part = 0; part < parts; part++)
			str_printf(out, "TPAT_FILE(%s_code_%d, \"code/%s\");\n", id, n++,
			           tensorrt_code_name(p, part, &l->arch[i], out->arena));
	str_line(out, "/* { architecture, PTX or not, from, to (PTX: including its NUL) } */");
	str_printf(out, "static const struct tpat_rt_image %s_image[] = {\n", id);
	for (int i = 0; i < n; i++) {
		const struct engine_arch *arch = &l->arch[i / parts];
		str_printf(out, "\t{ %d, %d, %s_code_%d, %s_code_%d_end%s },\n", arch->arch, arch->ptx, id, i, id, i,
		           arch->ptx ? " + 1" : "");
	}
	str_add(out, "};\n");
}
