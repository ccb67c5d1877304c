/* Options given as text: shapes and architectures. */
#include "lib/tpat_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "dev/dev.h"
#include "dev/nvrtc.h"

/* One extent: a number or a symbol. */
static bool parse_dim(struct graph_dim *out, const char *text, size_t n, struct arena *a)
{
	bool digits = n > 0, word = n > 0 && !ascii_is_digit(text[0]);
	for (size_t i = 0; i < n; i++) {
		digits &= ascii_is_digit(text[i]);
		word &= ascii_is_word(text[i]);
	}
	if (digits && n < 18)
		*out = (struct graph_dim){ .value = strtoll(text, NULL, 10) };
	else if (word)
		*out = (struct graph_dim){ .symbol = arena_strndup(a, text, n) };
	return (digits && n < 18) || word;
}

int tpat_parse_shape(struct graph_shape *out, const char *text, struct arena *a, struct err *e)
{
	/* Tensor names may hold colons: the extents follow the last one. */
	const char *colon = strrchr(text, ':'), *p = colon ? colon + 1 : NULL;
	const char *separator = p && strchr(p, ',') ? "," : "x";
	if (!colon || colon == text) {
		err_set(e, ERR_USAGE, "The shape \"%s\" names no tensor.", text);
		return err_advise(e, "Write it as NAME:1x3xHxW: numbers, or names for extents known at run time.");
	}
	*out = (struct graph_shape){ .name = arena_strndup(a, text, (size_t)(colon - text)) };
	for (bool more = *p != 0; more;) {
		size_t n = strcspn(p, separator);
		if (out->rank == IR_MAX_RANK || !parse_dim(&out->dim[out->rank++], p, n, a)) {
			err_set(e, ERR_USAGE, "The shape \"%s\" has no extent in \"%.*s\".", text, (int)n, p);
			return err_advise(e,
			                  "Write it as NAME:1x3xHxW: numbers, or names for extents known at run time.");
		}
		more = p[n] != 0;
		p += n + 1;
	}
	return 0;
}

/* ---- Architectures. */

struct archs {
	VEC(struct engine_arch);
};

static void add_arch(struct archs *list, int arch, bool ptx, struct arena *a)
{
	struct engine_arch x = { arch, ptx };
	vec_each (have, list)
		if (have->arch == arch && have->ptx == ptx)
			return;
	vec_push(a, list, x);
}

static int add_all(struct archs *list, struct arena *a, struct err *e)
{
	int *arch, n;
	TRY(dev_nvrtc_archs(&arch, &n, a, e));
	for (int i = 0; i < n; i++)
		add_arch(list, arch[i], false, a);
	add_arch(list, arch[n - 1], true, a);
	return 0;
}

/* True for one architecture of each group that can share code: compiled code also runs on later GPUs of its generation,
 * at the same speed if their processors are alike. GPUs on a chip with ARM processors (Jetson) cannot run other code,
 * and are in no other machine. CUDA C++ Programming Guide, "Binary Compatibility". */
static bool is_usual(int arch, const struct machine *machine)
{
	static const int alike[] = { 52, 89, 103, 121 }, /* to 50, 86, 100, 120 */
	        jetson[] = { 53, 62, 72, 87, 88, 101, 110 };
	for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
		if (arch == alike[i])
			return false;
	for (size_t i = 0; i < sizeof jetson / sizeof *jetson; i++)
		if (arch == jetson[i])
			return machine_is_arm(machine);
	return true;
}

static int add_usual(struct archs *list, const struct machine *machine, struct arena *a, struct err *e)
{
	int *arch, n, last = 0;
	TRY(dev_nvrtc_archs(&arch, &n, a, e));
	for (int i = 0; i < n; i++) {
		if (!is_usual(arch[i], machine))
			continue;
		add_arch(list, arch[i], false, a);
		last = arch[i];
	}
	add_arch(list, last, true, a);
	return 0;
}

static int add_native(struct archs *list, struct arena *a, struct err *e)
{
	struct dev *d;
	struct err why = { 0 };
	if (dev_open(&d, "cuda", &why) < 0) {
		err_set(e, ERR_DEVICE, "The architecture \"native\" needs this machine's GPU. %s", why.text);
		return err_advise(
		        e, "Name the architecture instead: sm_80 for A100, sm_89 for L4 and RTX 40, sm_90 for H100.");
	}
	add_arch(list, d->props.arch, false, a);
	d->close(d);
	return 0;
}

/* "sm_89" for "sm89", "8.9" or "sm_89a"; null for anything else. */
static const char *likely_arch(const char *text, struct arena *a)
{
	struct str s = str_new(a);
	while (ascii_is_letter(*text) || *text == '_')
		text++;
	for (; ascii_is_digit(*text) || (*text == '.' && s.n); text++)
		if (*text != '.')
			str_addn(&s, text, 1);
	if (*text == 'a' || *text == 'f')
		text++;
	return !*text && (s.n == 2 || s.n == 3) ? arena_printf(a, "sm_%s", str_text(&s)) : NULL;
}

enum { NVRTC_13_OLDEST = 75 };

static int no_arch(const char *text, struct arena *a, struct err *e)
{
	const struct sched_target *gpu = strlen(text) > 2 ? tpat_gpu_named(text) : NULL;
	const char *arch = likely_arch(text, a);
	err_set(e, ERR_USAGE, "\"%s\" is not an architecture.", text);
	if (arch && strchr(text, '.'))
		return err_advise(e, "Did you mean %s?", arch);
	if (gpu)
		return err_advise(e, "For the GPU %s write --arch sm_%d, and --gpu \"%s\" to choose kernels for it.",
		                  gpu->name, gpu->arch, gpu->name);
	if (arch)
		return err_advise(e, "Did you mean %s?", arch);
	return err_advise(e, "Write sm_90 for compiled code, compute_90 for PTX, all, or native.");
}

static int add_named(struct archs *list, const char *text, struct arena *a, struct err *e)
{
	bool ptx = str_starts(text, "compute_");
	const char *number = text + (ptx ? 8 : str_starts(text, "sm_") ? 3 : 0);
	char *end;
	long arch = strtol(number, &end, 10);
	if (end == number || *end || arch < 10 || arch > 9999)
		return no_arch(text, a, e);
	if (!dev_nvrtc_has_arch((int)arch)) {
		int *known, n;
		struct str s = str_new(a);
		TRY(dev_nvrtc_archs(&known, &n, a, e));
		for (int i = 0; i < n; i++)
			str_printf(&s, "%ssm_%d", i ? ", " : "", known[i]);
		err_set(e, ERR_USAGE, "NVRTC %d.%d (%s) does not know the architecture %s.", dev_nvrtc_version() / 1000,
		        dev_nvrtc_version() % 1000 / 10, dev_nvrtc_path(), text);
		/* Source: CUDA 13's release notes, and builds with NVRTC 12.6. */
		bool older = arch >= 50 && arch < NVRTC_13_OLDEST && dev_nvrtc_version() >= 13000;
		return err_advise(e, "It knows %s.%s", str_text(&s),
		                  older ? " NVRTC 12 knows older ones: install nvidia-cuda-nvrtc-cu12 (pip), and set "
		                          "TPAT_NVRTC to its libnvrtc.so.12."
		                        : "");
	}
	add_arch(list, (int)arch, ptx, a);
	return 0;
}

int tpat_parse_archs(struct engine_arch **out, int *n, const struct tpat_strings *asked, const struct machine *machine,
                     struct arena *a, struct err *e)
{
	struct archs list = { 0 };
	TRY(dev_nvrtc_open(e));
	for (int i = 0; i < asked->n; i++) {
		if (strcmp(asked->at[i], "all") == 0)
			TRY(add_all(&list, a, e));
		else if (strcmp(asked->at[i], "native") == 0)
			TRY(add_native(&list, a, e));
		else
			TRY(add_named(&list, asked->at[i], a, e));
	}
	if (asked->n == 0)
		TRY(add_usual(&list, machine, a, e));
	*out = list.at;
	*n = list.n;
	return 0;
}

const char *tpat_tensors_text(const struct tensor *t, int n, struct arena *a)
{
	struct str s = str_new(a);
	for (int i = 0; i < n; i++)
		str_printf(&s, "%s%s", i ? ", " : "", tensor_describe(&t[i], a));
	return str_text(&s);
}

const char *tpat_types_text(struct graph *g, char *const *name, size_t n, struct arena *a)
{
	struct str s = str_new(a);
	for (size_t i = 0; i < n; i++) {
		struct graph_value *v = graph_value_find(g, onnx_text(name[i]));
		str_add(&s, i ? ", " : "");
		if (v)
			graph_value_print(&s, v);
		else
			str_add(&s, "-");
	}
	return str_text(&s);
}
