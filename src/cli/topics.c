/* The texts of `tpat help TOPIC`, which the manual pages share. A blank line ends a paragraph; a line that begins with
 * a blank is an example. */
#include "cli/cli.h"

static const struct cli_row exits[] = {
	{ "0", "success", NULL },
	{ "1", "results differ",
	  " from the expected ones (verify, kernel, bench, fix, run --expect); tune found no schedule for some nodes; "
	  "or "
	  "check-plugin has findings" },
	{ "2", "wrong option", ", or an output that cannot be written" },
	{ "3", "wrong or missing input file", "; or doctor or inspect found a problem" },
	{ "4", "not supported, or nothing selected", ": the model is valid, but tpat does not support a node" },
	{ "5", "no GPU, driver, NVRTC or C compiler", "; or one of them failed, or memory ran out" },
	{ "130", "interrupted", " by Ctrl-C" },
	{ NULL, NULL, NULL },
};

static const struct cli_row files[] = {
	{ "X_tpat.onnx", "the rewritten model",
	  ": plugins replace the selected nodes, and local functions hold the original ones" },
	{ "X_tpat.onnx.data", "its weights", ", if the model had external data; keep the two together" },
	{ "X_tpat_portable.onnx", "the same with local functions",
	  ", if X_tpat.onnx is for TensorRT before 10.7 and so has none; verify reads it" },
	{ "libtpat_X.so", "the plugins", " with their compiled kernels and weights; it needs no other file" },
	{ "X_tpat.tpat/", "the library's sources",
	  ": kernels/*.cu are the kernels to read and to edit, tpat.json describes all plugins, tpat kernel runs an "
	  "edited kernel, and tpat rebuild makes the library again" },
	{ "PLUGIN.npz", "inputs and outputs that differ", ", which verify and kernel write" },
	{ "~/.cache/tpat/", "compiled kernels, and the tuning database tpat.db", NULL },
	{ NULL, NULL, NULL },
};

static const struct cli_row environment[] = {
	{ "NO_COLOR", "no colours", ", if it is not empty" },
	{ "CLICOLOR_FORCE", "colours in files and pipes too",
	  ", if it is neither empty nor 0 and NO_COLOR is not set" },
	{ "CLICOLOR", "0 turns colours off", NULL },
	{ "TERM", "dumb turns colours off", ", and shows progress as lines" },
	{ "TPAT_PROGRESS", "0 turns progress off", ", as -q does" },
	{ "TPAT_DB", "the tuning database", " (default tpat/tpat.db in the cache folder)" },
	{ "TPAT_CACHE", "the folder of compiled code", " (default tpat in the cache folder)" },
	{ "TPAT_CACHE_SIZE", "its limit", ", such as 200M (default 1G); 0 turns the cache off" },
	{ "XDG_CACHE_HOME", "the cache folder", " (default .cache in HOME)" },
	{ "HOME", "the user's folder", NULL },
	{ "TPAT_NVRTC", "NVRTC's library, or a folder that has it", NULL },
	{ "VIRTUAL_ENV", "a Python environment", " in which tpat looks for NVRTC" },
	{ "CC", "the C compiler", ", which links libraries and compiles kernels for --device cpu" },
	{ "CXX", "the C++ compiler", ", which --device emulator needs" },
	{ "PATH", "the folders of these compilers", NULL },
	{ "TPAT_MODULES", "a folder to keep the emulator's compiled kernels in", NULL },
	{ "TPAT_CALIBRATION", "constants of the cost model", " that bench/calibrate measured" },
	{ "TMPDIR", "the folder of temporary files", " (default /tmp)" },
	{ "OMPI_*, PMI_*, SLURM_*", "a process's part of a tuning", ", as mpirun, srun and Slurm set it" },
	{ NULL, NULL, NULL },
};

const struct cli_topic cli_topics[] = {
	{ "selection", "which nodes become plugins",
	  "--auto takes the nodes that TensorRT refuses and joins them with what connects them cheaply; --auto=fast "
	  "also "
	  "takes chains that a plugin runs in fewer kernels. fix does the same and verifies the result.\n"
	  "\n"
	  "-n NODE names nodes: by name, by index (#12), by an output tensor, or inside an If, Loop or Scan by a path "
	  "(choose/then_branch/#3). list --all shows them. -t TYPE takes all nodes of an operator, --pattern layernorm "
	  "all places where that is computed.\n"
	  "\n"
	  "--auto and fix replace some refused nodes by nodes that TensorRT supports, without a plugin: --decompose=no "
	  "leaves them to plugins, --decompose=all takes such nodes even if the estimate is against them.\n"
	  "\n"
	  "--region A,B,C makes one plugin of several nodes; no path between two of them may leave it. --from x --to y "
	  "takes all nodes between tensors, --all everything, and --except leaves nodes out.\n"
	  "\n"
	  "  tpat list MODEL --refused\n"
	  "  tpat build MODEL --auto --dry-run\n",
	  NULL },
	{ "tensorrt", "versions of TensorRT",
	  "A build is for TensorRT 10.7 and later, unless --tensorrt names another version: 8.5 to 10.6, or rtx. Then "
	  "list and --auto apply what that version supports, and the model and the library are made for it.\n"
	  "\n"
	  "Before 10.7 the rewritten model has no local functions, since TensorRT would prefer them to plugins; a "
	  "portable model with them is written next to it. Before 10 the library speaks the older plugin interface, "
	  "and "
	  "plugins cannot compute extents or take them from values. TensorRT-RTX cannot run plugins.\n"
	  "\n"
	  "--engine-report LOG reads a log of trtexec, of the ONNX parser or of Polygraphy, and treats the nodes that "
	  "it "
	  "refuses as refused.\n",
	  NULL },
	{ "types", "types of tensors",
	  "Kernels compute in the model's types and round where the model rounds. Products of f16, bf16, 8-bit "
	  "integers "
	  "and packed weights run on tensor cores.\n"
	  "\n"
	  "TensorRT lacks some types at a plugin's inputs and outputs. BOOL and UINT8 become INT32 there, with casts "
	  "in "
	  "the model; --keep-types leaves them, which TensorRT 10 accepts. A plugin with a tensor of another such type "
	  "at its edge, such as double, is refused: take its neighbours into the region, or give --any-types for "
	  "another engine. Inside a plugin any type works.\n",
	  NULL },
	{ "profiles", "dynamic shapes",
	  "Extents that the model leaves open stay open. --profile gives an input's minimum, optimum and maximum "
	  "shapes, "
	  "and kernels are chosen for all three. Without it, they are chosen for 4, 64 and 1024 of each open extent, "
	  "and "
	  "run with any. --shape fixes extents, and --value makes an input a constant.\n"
	  "\n"
	  "  tpat build MODEL --auto --profile x:1x3x32x32,8x3x64x64,32x3x128x128\n"
	  "\n"
	  "The printed command for trtexec has the same shapes; without a profile they are examples.\n",
	  NULL },
	{ "tuning", "measured schedules",
	  "A schedule says which kernels compute a plugin, with how many threads and which tiles. By default the cost "
	  "model estimates the fastest. tune measures candidates on a GPU, checks their results, and stores the times "
	  "in "
	  "the tuning database, from which build takes the fastest for the same program and shapes. build --tune does "
	  "both.\n"
	  "\n"
	  "  tpat tune MODEL --auto --budget 2m\n"
	  "  tpat build MODEL --auto\n"
	  "\n"
	  "Give both the same nodes, --shape and --profile. db lists, exports and merges databases. A database can "
	  "make "
	  "a kernel slower, never wrong: it holds decisions, not code.\n",
	  NULL },
	{ "devices", "where kernels run",
	  "--device cuda is a GPU (cuda:1 the second). emulator runs the CUDA text itself on the processor and reports "
	  "accesses out of bounds, reads of memory that was never written, and races; it needs a C++ compiler. cpu "
	  "runs "
	  "the kernels in C, with a C compiler. interpreter is the reference that results are compared with.\n",
	  NULL },
	{ "files", "what a build writes",
	  "A build of X.onnx replaces all of its files or none, and stops rather than delete edits in the folder. "
	  "doctor "
	  "finishes or undoes one that was interrupted.\n",
	  files },
	{ "exit-codes", "the exit status", "With --json a failure is also printed as an object with its status.\n",
	  exits },
	{ "environment", "environment variables", "Options go before variables.\n", environment },
	{ NULL, NULL, NULL, NULL },
};
