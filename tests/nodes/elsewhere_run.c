/* A program as a plugin library for AArch64, which tests/rt/plugin_once.c runs under QEMU with a CUDA driver without a
 * GPU: the library's own runtime launches its own kernels for the processor. See plugin_run.h. */
#include <string.h>

#include "base/file.h"
#include "base/machine.h"
#include "base/proc.h"
#include "tensor/npy.h"
#include "tests/nodes/plugin_run.h"

static char *file_of(const char *folder, const char *what, int i, struct arena *a)
{
	return path_join(a, folder, arena_printf(a, "%s_%d.npy", what, i));
}

/* The same bytes as a tensor of the type that a buffer has at the plugin's edge; and back. */
static struct tensor at_edge(const struct ir_buffer *b, struct tensor t, bool back)
{
	int packs = plugin_packs(b);
	if (!b->edge)
		return t;
	t.type = back ? b->type : b->edge;
	if (t.rank)
		t.dim[t.rank - 1] = back ? t.dim[t.rank - 1] * packs : t.dim[t.rank - 1] / packs;
	return t;
}

static int run(const struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
               const char *folder, const char *library, struct arena *a, struct err *e)
{
	/* clang-format off */
	const char *const argv[] = {
		"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu",
		"-E", "LD_LIBRARY_PATH=build/aarch64/driver", "-E", "FAKE_CUDA_ARCH=87",
		"build/aarch64/plugin_once", library, folder, NULL
	};
	/* clang-format on */
	char *said = NULL;
	int status = 0;
	for (int i = 0; i < p->inputs.n; i++) {
		struct tensor t = at_edge(p->inputs.at[i], *inputs[i], false);
		TRY(npy_write(file_of(folder, "input", i, a), &t, e));
	}
	TRY(proc_run(&status, &said, argv, a, e));
	if (status)
		return err_set(e, ERR_DEVICE, "The program under QEMU ended with status %d: %s", status, said);
	for (int i = 0; i < p->outputs.n; i++) {
		const struct ir_buffer *b = p->outputs.at[i];
		enum type type = b->edge ? b->edge : b->type;
		TRY(npy_read(&outputs[i], file_of(folder, "output", i, a), type, a, e));
		outputs[i] = at_edge(b, outputs[i], true);
	}
	return 0;
}

int plugin_run_elsewhere(struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
                         struct arena *a, struct err *e)
{
	const struct machine *machine;
	char *folder;
	TRY(machine_find(&machine, "aarch64", a, e));
	TRY(file_temp_dir(&folder, a, e));
	const char *library = path_join(a, folder, "libtpat_node.so");
	int rc = plugin_build(p, folder, library, 87, machine, a, e);
	if (rc == 0)
		rc = run(p, inputs, outputs, folder, library, a, e);
	file_remove_tree(folder);
	return rc;
}
