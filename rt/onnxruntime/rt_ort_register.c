/* SPDX-License-Identifier: Apache-2.0 */
/* rt_ort_register.c: RegisterCustomOps, which ONNX Runtime calls when a session's options name the library. A model's
 * local function of the same name is not used then, since registered operators come first. */
#include <stdio.h>
#include <stdlib.h>

#include "rt_ort.h"

static struct {
	pthread_mutex_t lock;
	const struct ort_api *api; /* of the first caller: a process has one ONNX Runtime */
	struct ort_domain *domain; /* of all sessions */
	struct rt_ort_op *op;      /* two for each plugin: on the processor, with CUDA */
} ort = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const struct rt_ort_op *self_of(const struct ort_custom_op *op)
{
	return (const struct rt_ort_op *)op;
}

static const char *op_name(const struct ort_custom_op *op)
{
	return self_of(op)->table->name;
}

static const char *op_provider(const struct ort_custom_op *op)
{
	return self_of(op)->on == &rt_cuda ? "CUDAExecutionProvider" : "CPUExecutionProvider";
}

/* ONNX Runtime numbers types like ONNX. */
static int op_input_type(const struct ort_custom_op *op, size_t i)
{
	return self_of(op)->table->input[i].type;
}

static size_t op_inputs(const struct ort_custom_op *op)
{
	return (size_t)self_of(op)->table->inputs;
}

static int op_output_type(const struct ort_custom_op *op, size_t i)
{
	return self_of(op)->table->output[i].type;
}

static size_t op_outputs(const struct ort_custom_op *op)
{
	return (size_t)self_of(op)->table->outputs;
}

static int op_required(const struct ort_custom_op *op, size_t i)
{
	(void)op, (void)i;
	return 0;
}

/* Elements of shape inputs are read before anything is launched. */
static int op_input_memory(const struct ort_custom_op *op, size_t i)
{
	return self_of(op)->table->input[i].shape_input ? ORT_MEM_CPU_INPUT : ORT_MEM_DEFAULT;
}

static int op_not_variadic(const struct ort_custom_op *op)
{
	(void)op;
	return 0;
}

static void init_op(struct rt_ort_op *x, const struct tpat_rt_plugin *table, const struct tpat_rt_device *on, int minor)
{
	*x = (struct rt_ort_op){
		.op = {
			.version = ORT_OLDEST,
			.name = op_name,
			.provider = op_provider,
			.input_type = op_input_type,
			.inputs = op_inputs,
			.output_type = op_output_type,
			.outputs = op_outputs,
			.destroy = rt_ort_destroy,
			.input_kind = op_required,
			.output_kind = op_required,
			.input_memory = op_input_memory,
			.variadic = { op_not_variadic, op_not_variadic, op_not_variadic, op_not_variadic },
			.create = rt_ort_create,
			.compute = rt_ort_compute,
		},
		.table = table,
		.on = on,
		.api = ort.api,
		.minor = minor,
	};
}

struct ort_status *rt_ort_status(const struct rt_ort_op *op, const char *why)
{
	char line[RT_WHY + 128];

	snprintf(line, sizeof line, "tpat plugin %.100s: %s", op->table->name, why);
	return op->api->create_status(ORT_FAIL, line);
}

/* Returns the M of "1.M.P"; 0 if the text has another form. */
static int minor_of(const char *version)
{
	int minor = 0;

	if (!version || version[0] != '1' || version[1] != '.')
		return 0;
	for (const char *c = version + 2; *c >= '0' && *c <= '9' && minor < 10000; c++)
		minor = 10 * minor + (*c - '0');
	return minor;
}

/* Nonzero if a table lacks an entry that is used. */
static int has_hole(const struct ort_api *api, int minor)
{
	return !api->create_domain || !api->domain_add || !api->add_domain || !api->tensor_data || !api->element_type ||
	       !api->dim_count || !api->dims || !api->tensor_info || !api->input_count || !api->output_count ||
	       !api->input || !api->output || !api->release_status || !api->release_tensor_info ||
	       !api->release_domain || !api->gpu_stream || (minor >= ORT_PARALLEL_FOR && !api->parallel_for);
}

static struct ort_status *refuse(const struct ort_api *api, const char *why)
{
	char line[RT_WHY + 128];

	snprintf(line, sizeof line, "tpat library %.100s: %s", tpat_library.model ? tpat_library.model : "?", why);
	return api->create_status(ORT_FAIL, line);
}

/* Makes the domain with all operators. */
static struct ort_status *make_domain(const struct ort_api *api, int minor)
{
	int32_t n = tpat_library.plugins;
	struct ort_status *status = NULL;
	char why[RT_WHY];

	for (int32_t i = 0; i < n; i++)
		if (rt_check_table(&tpat_library.plugin[i], why))
			return refuse(api, why);
	ort.api = api;
	ort.op = calloc(2 * (size_t)n + 1, sizeof *ort.op);
	if (!ort.op)
		return refuse(api, "out of memory");
	status = api->create_domain(RT_ORT_DOMAIN, &ort.domain);
	for (int32_t i = 0; i < 2 * n && !status; i++) {
		if (tpat_library.plugin[i / 2].of) /* in formats of another engine */
			continue;
		init_op(&ort.op[i], &tpat_library.plugin[i / 2], i % 2 ? &rt_cuda : &rt_cpu, minor);
		status = api->domain_add(ort.domain, &ort.op[i].op);
	}
	if (!status)
		return NULL;
	if (ort.domain)
		api->release_domain(ort.domain);
	free(ort.op);
	ort.domain = NULL;
	ort.op = NULL;
	return status;
}

struct ort_status *RegisterCustomOps(struct ort_session_options *options, const struct ort_api_base *base)
{
	int minor = minor_of(base->version());
	const struct ort_api *api = base->get(minor >= ORT_OLDEST ? ORT_OLDEST : 1);
	struct ort_status *status = NULL;
	char why[RT_WHY];

	if (!api)
		return NULL; /* not an ONNX Runtime 1.x; there is nothing to say it with */
	if (minor < ORT_OLDEST)
		return refuse(api, "its operators need ONNX Runtime 1.16 or later");
	if (has_hole(api, minor))
		return refuse(api, "this ONNX Runtime's table of functions lacks one that the operators use");
	if (rt_check_library(&tpat_library, why))
		return refuse(api, why);
	pthread_mutex_lock(&ort.lock);
	if (!ort.domain)
		status = make_domain(api, minor);
	if (!status)
		status = api->add_domain(options, ort.domain);
	pthread_mutex_unlock(&ort.lock);
	return status;
}

/* At dlclose and at exit; no session uses the operators any more. */
__attribute__((destructor)) static void leave(void)
{
	if (ort.domain)
		ort.api->release_domain(ort.domain);
	free(ort.op);
	ort.domain = NULL;
	ort.op = NULL;
#ifdef _WIN32
	rt_device_forget(); /* elsewhere rt/tensorrt does it, which a library for Windows does not have */
#endif
}
