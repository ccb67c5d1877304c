/* A program as a plugin library, built in a temporary folder and run once. See plugin_run.h. */
#include "tests/nodes/plugin_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "check/verify.h"
#include "engine/tensorrt/host.h"
#include "engine/tensorrt/tensorrt.h"
#include "tests/nodes/forced_rule.h"

enum { POISON = 0xa5 };

struct plugin_job {
	struct dev *dev;
	struct host *host;
	struct host_engine *engine;
	struct ir_program *p;
	const char *folder;
	struct host_tensor in[256], out[64];
	struct arena *a;
};

int plugin_build(struct ir_program *p, const char *folder, const char *library, int sm, const struct machine *machine,
                 struct arena *a, struct err *e)
{
	char hash[33];
	struct ir_plan *made;
	struct engine_arch arch = { sm, false };
	ir_hash(p, hash);
	TRY(forced_plan(&made, p, e));
	const struct ir_plan *plan = made;
	struct engine_plugin plugin = { .name = "node",
		                        .version = "1",
		                        .name_space = "",
		                        .hash = hash,
		                        .about = "a test",
		                        .decisions = "",
		                        .plan = &plan,
		                        .plans = 1 };
	struct engine_library l = { .generator = "tests",
		                    .model = "node.onnx",
		                    .rewritten = "node_tpat.onnx",
		                    .library = "libtpat_node.so",
		                    .deploy = "",
		                    .plugin = &plugin,
		                    .plugins = 1,
		                    .arch = &arch,
		                    .archs = 1,
		                    .machine = machine,
		                    .workers = 1 };
	return tensorrt_build(&l, folder, library, a, e);
}

int plugin_packs(const struct ir_buffer *b)
{
	return b->edge ? type_info(b->edge)->bits / type_info(b->type)->bits : 1;
}

static int upload(struct plugin_job *j, const struct tensor *const *inputs, struct err *e)
{
	for (int i = 0; i < j->p->inputs.n; i++) {
		const struct tensor *t = inputs[i];
		size_t bytes = (size_t)tensor_bytes(t);
		const struct ir_buffer *b = j->p->inputs.at[i];
		j->in[i] = (struct host_tensor){ .type = (int32_t)(b->edge ? b->edge : t->type), .rank = t->rank };
		for (int k = 0; k < t->rank && k < TRT_MAX_DIMS; k++)
			j->in[i].dim[k] = t->dim[k] / (k == t->rank - 1 ? plugin_packs(b) : 1);
		if (ir_value_is(j->p, j->p->inputs.at[i]))
			j->in[i].value = verify_values(t, j->a);
		TRY(j->dev->alloc(j->dev, &j->in[i].pointer, bytes ? bytes : 1, e));
		if (bytes)
			TRY(j->dev->copy_in(j->dev, j->in[i].pointer, t->data, bytes, e));
	}
	return 0;
}

/* Outputs start poisoned, so that missing elements cannot look correct. */
static int enqueue(struct plugin_job *j, struct tensor *outputs, struct err *e)
{
	struct dev *d = j->dev;
	void *workspace = NULL;
	int n = host_outputs(j->engine), rc = 0;
	ck(n == j->p->outputs.n && n <= 64);
	TRY(host_shapes(j->engine, j->in, j->out, e));
	struct verify_play play = { 0 };
	struct host_memory memory = verify_memory(d, &play, j->a);
	for (int i = 0; i < n; i++) { /* for the upper bounds of run-time sizes */
		TRY(tensor_new(&outputs[i], (enum type)j->out[i].type, j->out[i].rank, j->out[i].dim, j->a, e));
		size_t bytes = (size_t)tensor_bytes(&outputs[i]);
		TRY(d->alloc(d, &j->out[i].pointer, bytes ? bytes : 1, e));
		TRY(d->memset(d, j->out[i].pointer, POISON, bytes ? bytes : 1, e));
	}
	size_t bytes = host_workspace(j->engine);
	TRY(d->alloc(d, &workspace, bytes ? bytes : 1, e));
	rc = d->memset(d, workspace, POISON, bytes ? bytes : 1, e);
	if (rc == 0)
		rc = host_prepare(j->engine, j->in, j->out, e);
	if (rc == 0)
		rc = host_enqueue(j->engine, j->in, j->out, workspace, d->queue, e);
	if (rc == 0)
		rc = d->synchronize(d, e);
	if (rc == 0)
		rc = host_found(j->engine, j->in, j->out, &memory, e);
	for (int i = 0; i < n && rc == 0; i++)
		memcpy(outputs[i].dim, j->out[i].dim, sizeof *outputs[i].dim * (size_t)outputs[i].rank);
	for (int i = 0; i < n && rc == 0; i++) {
		const struct ir_buffer *b = j->p->outputs.at[i];
		if (tensor_bytes(&outputs[i]))
			rc = d->copy_out(d, outputs[i].data, j->out[i].pointer, (size_t)tensor_bytes(&outputs[i]), e);
		if (!b->edge)
			continue;
		outputs[i].type = b->type;
		if (outputs[i].rank)
			outputs[i].dim[outputs[i].rank - 1] *= plugin_packs(b);
	}
	d->free(d, workspace);
	return rc;
}

static int run(struct plugin_job *j, const struct tensor *const *inputs, struct tensor *outputs, struct err *e)
{
	const char *library = path_join(j->a, j->folder, "libtpat_node.so");
	struct tpat_rt_device device;
	struct host_options o = { .version = 0 };
	struct verify_play play = { .may_race = ir_replaces(j->p) };
	bool gpu = strcmp(j->dev->kind, "cuda") == 0;
	TRY(plugin_build(j->p, j->folder, library, gpu ? j->dev->props.arch : 90, NULL, j->a, e));
	if (!gpu) {
		verify_rt_device(&device, j->dev, j->folder, &play, j->a);
		o.device = &device;
	}
	TRY(host_open(&j->host, library, &o, j->a, e));
	TRY(upload(j, inputs, e));
	TRY(host_build(&j->engine, j->host, "node", "1", "", j->in, j->in, j->in, j->p->inputs.n, j->a, e));
	return enqueue(j, outputs, e);
}

int plugin_run(const char *device, struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
               struct arena *a, struct err *e)
{
	static struct dev *dev;
	struct plugin_job *j = NEW(a, struct plugin_job);
	char *folder;
	if (!dev)
		TRY(dev_open(&dev, device, e));
	ck(p->inputs.n <= 256);
	TRY(file_temp_dir(&folder, a, e));
	*j = (struct plugin_job){ .dev = dev, .p = p, .folder = folder, .a = a };
	int rc = run(j, inputs, outputs, e);
	host_engine_free(j->engine);
	host_close(j->host);
	for (int i = 0; i < p->inputs.n; i++)
		dev->free(dev, j->in[i].pointer);
	for (int i = 0; i < p->outputs.n && i < 64; i++)
		dev->free(dev, j->out[i].pointer);
	file_remove_tree(folder);
	return rc;
}
