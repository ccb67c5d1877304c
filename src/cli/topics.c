/* The texts of `tpat help TOPIC`, which the manual pages share. A blank line ends a paragraph; a line that begins with
 * a blank is an example. */
#include "cli/cli.h"

static const struct cli_row exits[] = {
	{ "0", "success", NULL },
	{ "1", "results differ",
	  " from the expected ones (verify, kernel, bench, fix, run --expect); tune found no schedule for some nodes; "
	  "or check-plugin has findings" },
	{ "2", "wrong option", ", or an output that cannot be written" },
	{ "3", "wrong or missing input file", "; or doctor or inspect found a problem" },
	{ "4", "not supported, or nothing selected", ": the model is valid, but tpat does not support a node" },
	{ "5", "no GPU, driver, NVRTC or C compiler", "; or one of them failed, or memory ran out" },
	{ "130", "interrupted", " by Ctrl-C" },
	{ NULL, NULL, NULL },
};

static const struct cli_row files[] = {
	{ "X_tpat.onnx", "the rewritten model",
	  ": plugins replace the selected nodes, and local functions keep the original ones" },
	{ "X_tpat.onnx.data", "its weights", ", if the model had external data; keep the two together" },
	{ "X_tpat_portable.onnx", "the same with local functions",
	  ": only if X_tpat.onnx has none, since it is for TensorRT before 10.7" },
	{ "libtpat_X.so", "the plugins", " with their compiled kernels and weights; it needs no other file" },
	{ "X_tpat.tpat/", "the library's sources",
	  ": kernels/*.cu are the kernels to read and to edit, and tpat.json describes all plugins. tpat kernel runs "
	  "an "
	  "edited kernel, and tpat rebuild makes the library again" },
	{ "PLUGIN.npz", "inputs and outputs that differ", ", from verify and kernel" },
	{ "~/.cache/tpat/", "compiled kernels, and the tuning database tpat.db", NULL },
	{ NULL, NULL, NULL },
};

static const struct cli_row environment[] = {
	{ "NO_COLOR", "no colours", ", unless it is empty" },
	{ "CLICOLOR_FORCE", "colours in files and pipes too",
	  ", if it is neither empty nor 0 and NO_COLOR is not set" },
	{ "CLICOLOR", "0 turns colours off", NULL },
	{ "TERM", "dumb turns colours off", ", and prints progress as in a log" },
	{ "COLUMNS", "the width of tables and sentences", " (default: the terminal's)" },
	{ "TPAT_PROGRESS", "0 turns progress off", ", as -q does" },
	{ "TPAT_DB", "the tuning database", " (default tpat/tpat.db in the cache folder)" },
	{ "TPAT_CACHE", "the folder of compiled code", " (default tpat in the cache folder)" },
	{ "TPAT_CACHE_SIZE", "its limit", ", such as 200M (default 1G); 0 turns the cache off" },
	{ "XDG_CACHE_HOME", "the cache folder", " (default .cache in HOME)" },
	{ "HOME", "the user's home folder", NULL },
	{ "TPAT_NVRTC", "NVRTC's library, or a folder that has it", NULL },
	{ "VIRTUAL_ENV", "a Python environment", " in which tpat looks for NVRTC" },
	{ "CONDA_PREFIX", "a conda environment", ", the same" },
	{ "CC", "the C compiler", ", which links libraries and compiles kernels for --device cpu" },
	{ "CXX", "the C++ compiler", ", which --device emulator needs" },
	{ "PATH", "the folders with these compilers", NULL },
	{ "TPAT_MODULES", "a folder to keep the emulator's compiled kernels in", NULL },
	{ "TPAT_CALIBRATION", "constants of the cost model", " that bench/calibrate measured" },
	{ "TMPDIR", "the folder for temporary files",
	  " (default /tmp); where that is\nread-only or mounted with noexec, /var/tmp or the cache" },
	{ "OMPI_*, PMI_*, SLURM_*", "which part of a tuning this process does", ": mpirun, srun and Slurm set them" },
	{ NULL, NULL, NULL },
};

const struct cli_topic cli_topics[] = {
	{ "selection", "which nodes become plugins",
	  "--auto selects the nodes that TensorRT refuses, and joins them with the cheap nodes between them "
	  "into few plugins. --auto=fast also selects chains of other nodes that a plugin runs in fewer "
	  "kernels. tpat fix selects as --auto does, and verifies the result.\n"
	  "\n"
	  "-n NODE selects a node by name, by index (#12), by an output tensor, or inside an If, Loop or "
	  "Scan by a path (choose/then_branch/#3). tpat list --all shows all of them. -t TYPE selects all "
	  "nodes of an operator, and --pattern layernorm all places that compute a layer norm.\n"
	  "\n"
	  "--auto and fix replace some refused nodes with nodes that TensorRT supports, without a plugin, if "
	  "the estimate says that they are no slower. --decompose=all does so wherever possible, "
	  "--decompose=no nowhere.\n"
	  "\n"
	  "--region A,B,C makes one plugin of several nodes. No path from one of them to another may leave "
	  "the region. --from x --to y selects all nodes between tensors, --all selects every node, and "
	  "--except leaves nodes out of what --type and --auto select.\n"
	  "\n"
	  "  tpat list MODEL --refused\n"
	  "  tpat build MODEL --auto --dry-run\n",
	  NULL },
	{ "tensorrt", "versions of TensorRT",
	  "A build is for TensorRT 10.7 and later, unless --tensorrt names another version: 8.5 to 10.6, or "
	  "rtx. list and --auto then use what that version supports, and the model and the library are made "
	  "for it.\n"
	  "\n"
	  "Before 10.7, TensorRT prefers local functions to plugins. So the rewritten model has none, and "
	  "tpat writes a portable model with them next to it. Before 10, plugins use an older interface; "
	  "they cannot compute output dimensions at run time, or take them from an input's values. "
	  "TensorRT-RTX cannot run plugins.\n"
	  "\n"
	  "--engine-report LOG reads a log of trtexec, of the ONNX parser or of Polygraphy. Nodes that "
	  "TensorRT refuses there count as refused.\n",
	  NULL },
	{ "types", "types of tensors",
	  "Kernels compute in the model's types, and round where the model rounds. Products of f16, bf16, "
	  "8-bit integers, 8-bit floats and packed weights run on tensor cores.\n"
	  "\n"
	  "Some types cannot be inputs or outputs of a TensorRT plugin. BOOL and UINT8 tensors become INT32 "
	  "there, with casts in the model, or INT8 between two plugins; --keep-types leaves them, which "
	  "TensorRT 10 accepts. tpat refuses a plugin with an input or output of another such type, such as "
	  "double: include the neighbouring nodes in the region, or give --any-types if another engine runs "
	  "the model. Inside a plugin every type works.\n",
	  NULL },
	{ "profiles", "dynamic shapes",
	  "Dynamic dimensions of the model stay dynamic. --profile gives the minimum, optimum and maximum "
	  "shape of an input, and tpat chooses kernels for all three. Without it, tpat chooses kernels for "
	  "4, 64 and 1024 in each dynamic dimension. The plugin runs at every other shape, too. --shape "
	  "makes dimensions constant, and --value makes an input constant.\n"
	  "\n"
	  "  tpat build MODEL --auto --profile x:1x3x32x32,8x3x64x64,32x3x128x128\n"
	  "\n"
	  "--profile '*:1,8,32' gives the batch size of inputs whose only dynamic dimension is the first. "
	  "Both options take several inputs in one list, as trtexec does: --shape x:1x3,y:1x8.\n"
	  "\n"
	  "The printed trtexec command has the same shapes. Without a profile its shapes are examples.\n",
	  NULL },
	{ "tuning", "measured schedules",
	  "A schedule says which kernels compute a plugin, and with how many threads and which tiles. By "
	  "default tpat takes the schedule that its cost model estimates to be the fastest. tpat tune "
	  "measures schedules on a GPU, checks their results, and stores the times in the tuning database. "
	  "tpat build then takes the fastest one for the same program and shapes. build --tune does both.\n"
	  "\n"
	  "  tpat tune MODEL --auto --budget 2m\n"
	  "  tpat build MODEL --auto\n"
	  "\n"
	  "Give both the same nodes, --shape and --profile. tpat db lists, exports and merges databases. A "
	  "database holds decisions, not code: it can make a plugin slower, but never wrong.\n",
	  NULL },
	{ "devices", "where kernels run",
	  "--device cuda is the first GPU, and cuda:1 the second. emulator runs the CUDA code on the "
	  "processor, and reports accesses out of bounds, reads of uninitialised memory, and races; it "
	  "needs a C++ compiler. cpu runs the C versions of the kernels, and needs a C compiler. "
	  "interpreter is the reference with which results are compared.\n",
	  NULL },
	{ "files", "what a build writes",
	  "A build of X.onnx replaces all of its files or none. It stops rather than delete edits in the "
	  "folder. tpat doctor finishes or undoes an interrupted build.\n",
	  files },
	{ "exit-codes", "the exit status",
	  "With --json, a failure is also printed as an object that contains the status.\n", exits },
	{ "environment", "environment variables", "An option takes precedence over a variable.\n", environment },
	{ NULL, NULL, NULL, NULL },
};
