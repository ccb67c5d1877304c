/* One program on a device: its code, memory and launches. See run.h. */
#include "run/run.h"

#include "eval/eval.h"
#include "gen/language.h"
#include "ir/execute.h"

struct running {
	struct dev *dev;
	struct dev_module *module;
	int kernels;
};

static int make(void *user, void **out, const struct ir_buffer *b, const struct tensor *content, size_t bytes,
                struct err *e)
{
	struct dev *d = ((struct running *)user)->dev;
	TRY(d->alloc(d, out, bytes ? bytes : 1, e));
	if (d->name)
		d->name(d, *out, b->name);
	return content && bytes ? d->copy_in(d, *out, content->data, bytes, e) : 0;
}

static int read(void *user, void *to, const struct ir_buffer *b, const void *at, size_t bytes, struct err *e)
{
	struct dev *d = ((struct running *)user)->dev;
	(void)b;
	return bytes ? d->copy_out(d, to, at, bytes, e) : d->synchronize(d, e);
}

static void drop(void *user, void *at)
{
	struct dev *d = ((struct running *)user)->dev;
	d->free(d, at);
}

static int tensor_map(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	return dev_tensor_map(((struct running *)user)->dev, out, v, e);
}

static int launch(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3], void **args,
                  struct err *e)
{
	struct running *r = user;
	struct dev_kernel *function;
	TRY(r->dev->kernel(r->dev, &function, r->module, k->name, k->shared_bytes, e));
	r->kernels++;
	return dev_launch(r->dev, function, &(struct dev_launch){ grid, block, k->shared_bytes, k->early, k->together },
	                  args, e);
}

static int together(void *user, int threads)
{
	return dev_together(((struct running *)user)->dev, threads);
}

static int compile(struct running *r, const struct ir_plan *plan, struct arena *a, struct err *e)
{
	const struct language *l = language_of(r->dev->props.language);
	struct str text = str_new(a);
	struct dev_code code;
	if (!plan->steps.n)
		return 0;
	l->print(&text, &plan, 1);
	struct dev_source source = { .file = arena_printf(a, "piece%s", l->ending),
		                     .text = str_text(&text),
		                     .may_race = ir_replaces(plan->program) };
	TRY(r->dev->compile(r->dev, &code, &source, NULL, a, e));
	return r->dev->load(r->dev, &r->module, &code, e);
}

int run_program(const struct run_device *on, struct ir_program *p, const struct tensor *const *inputs,
                struct tensor *outputs, int *kernels, struct arena *a, struct err *e)
{
	if (!on->dev)
		return eval_program(p, inputs, outputs, NULL, a, e);
	struct running r = { .dev = on->dev };
	const struct ir_machine m = { on->dev->props.arch, make, read, drop, tensor_map, launch, together, &r };
	const struct ir_plan *plan = sched_program(p, &on->target, NULL);
	int rc = compile(&r, plan, a, e);
	if (rc == 0)
		rc = ir_execute(&m, plan, inputs, outputs, a, e);
	if (r.module)
		on->dev->unload(on->dev, r.module);
	if (kernels)
		*kernels += r.kernels;
	return rc;
}
