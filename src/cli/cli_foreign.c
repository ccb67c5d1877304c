/* What users of trtexec, Polygraphy and onnxsim type at tpat, and what to write instead. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

#define FOREIGN_PLUGINS \
	"tpat finds the plugin library next to the model. verify has --lib for another one, deploy --library."
#define FOREIGN_TYPES \
	"Plugins compute in the model's types. Older versions of trtexec take this option with the rewritten model."
#define FOREIGN_PROFILE "tpat takes trtexec's three options as one: --profile NAME:MIN,OPT,MAX, such as x:1x3,8x3,32x3."

#define FOREIGN_ARCH "tpat's option is --arch sm_90, with the compute capability of the GPU; --gpu names the GPU."
#define FOREIGN_BATCH \
	"tpat's option is --profile '*:1,8,32', the smallest, usual and largest batch; --shape makes it constant."
#define FOREIGN_THREE "tpat takes the three shapes as one option: --profile NAME:MIN,OPT,MAX, such as x:1x3,8x3,32x3."
#define FOREIGN_TOLERANCE \
	"tpat computes how far rounding can move each result, and allows that; there is no tolerance to set."
#define FOREIGN_SHAPE "tpat's option is --shape NAME:1x3x224x224, without brackets and blanks."

/* Options that mean something to tpat. */
static const struct foreign {
	const char *name; /* without dashes */
	const char *ours; /* the option of tpat that the advice names: only of use to commands that have it; null: none
	                   */
	const char *advice;
} table[] = {
	{ "onnx", NULL, "The model is an argument, without an option." },
	{ "model", NULL, "The model is an argument, without an option." },
	{ "nodes", "node", "tpat's option is --node NODE,..., or -n." },
	{ "node-names", "node", "tpat's option is --node NODE,..., or -n." },
	{ "ops", "type", "tpat's option is --type TYPE,..., or -t." },
	{ "op-types", "type", "tpat's option is --type TYPE,..., or -t." },
	{ "node-types", "type", "tpat's option is --type TYPE,..., or -t." },
	{ "plugin-name", "name", "tpat's option is --name NODE=PLUGIN." },
	{ "sm", "arch", FOREIGN_ARCH },
	{ "target", "arch", FOREIGN_ARCH },
	{ "cuda-arch", "arch", FOREIGN_ARCH },
	{ "gpu-arch", "arch", FOREIGN_ARCH },
	{ "gencode", "arch", FOREIGN_ARCH },
	{ "compute-capability", "arch", FOREIGN_ARCH },
	{ "tensorrt-version", "tensorrt", "tpat's option is --tensorrt VERSION, such as 10.3." },
	{ "trt-version", "tensorrt", "tpat's option is --tensorrt VERSION, such as 10.3." },
	{ "batch", "profile", FOREIGN_BATCH },
	{ "batch-size", "profile", FOREIGN_BATCH },
	{ "dynamic-batch", "profile", FOREIGN_BATCH },
	{ "autofast", "auto", "tpat's option is --auto=fast." },
	{ "rtol", "tolerance", "tpat's option is --tolerance 0.001." },
	{ "atol", "tolerance", "tpat's option is --tolerance 0.001." },
	{ "rtol", NULL, FOREIGN_TOLERANCE },
	{ "atol", NULL, FOREIGN_TOLERANCE },
	{ "tolerance", NULL, FOREIGN_TOLERANCE },
	{ "shapes", "shape", "tpat's option is --shape, with the same value." },
	{ "minShapes", "profile", FOREIGN_PROFILE },
	{ "optShapes", "profile", FOREIGN_PROFILE },
	{ "maxShapes", "profile", FOREIGN_PROFILE },
	{ "minShapes", "shape", FOREIGN_SHAPE },
	{ "optShapes", "shape", FOREIGN_SHAPE },
	{ "maxShapes", "shape", FOREIGN_SHAPE },
	{ "trt-min-shapes", "profile", FOREIGN_THREE },
	{ "trt-opt-shapes", "profile", FOREIGN_THREE },
	{ "trt-max-shapes", "profile", FOREIGN_THREE },
	{ "input-shapes", "shape", FOREIGN_SHAPE },
	{ "input-shape", "shape", FOREIGN_SHAPE },
	{ "overwrite-input-shape", "shape", FOREIGN_SHAPE },
	{ "override-input-shapes", "shape", FOREIGN_SHAPE },
	{ "model-inputs", "shape", FOREIGN_SHAPE },
	{ "load-inputs", "input", "tpat's option is --input NAME=FILE.npy, once for each tensor." },
	{ "load-outputs", "expect", "tpat's option is --expect FILE.npz." },
	{ "save-outputs", "output", "tpat's option is --output FILE.npz." },
	{ "onnxrt", NULL, "tpat run compares with outputs of ONNX Runtime that are in a file: --expect FILE.npz." },
	{ "trt", NULL, "tpat does not run TensorRT: polygraphy run takes the rewritten model and the plugin library." },
	{ "input-data", "input", "tpat's option is --input NAME=FILE.npy, once for each tensor." },
	{ "loadInputs", "input", "tpat's option is --input NAME=FILE.npy, once for each tensor." },
	{ "saveEngine", NULL, "tpat builds no engine. It prints the trtexec command that builds one." },
	{ "loadEngine", NULL, "tpat reads ONNX models, not engines." },
	{ "plugins", NULL, FOREIGN_PLUGINS },
	{ "staticPlugins", NULL, FOREIGN_PLUGINS },
	{ "dynamicPlugins", NULL, FOREIGN_PLUGINS },
	{ "setPluginsToSerialize", NULL, FOREIGN_PLUGINS },
	{ "fp16", NULL, FOREIGN_TYPES },
	{ "bf16", NULL, FOREIGN_TYPES },
	{ "int8", NULL, FOREIGN_TYPES },
	{ "fp8", NULL, FOREIGN_TYPES },
	{ "best", NULL, FOREIGN_TYPES },
	{ "stronglyTyped", NULL, FOREIGN_TYPES },
};

/* Others, which concern the engine alone. */
static const char *const engine[] = {
	"allowGPUFallback",
	"allowWeightStreaming",
	"avgRuns",
	"buildOnly",
	"builderOptimizationLevel",
	"calib",
	"dumpLayerInfo",
	"dumpOutput",
	"dumpProfile",
	"duration",
	"exportLayerInfo",
	"exportOutput",
	"exportProfile",
	"exportTimes",
	"hardwareCompatibilityLevel",
	"inputIOFormats",
	"iterations",
	"layerOutputTypes",
	"layerPrecisions",
	"memPoolSize",
	"noDataTransfers",
	"noTF32",
	"outputIOFormats",
	"precisionConstraints",
	"profilingVerbosity",
	"refit",
	"remoteAutoTuningConfig",
	"restricted",
	"separateProfileRun",
	"skipInference",
	"sparsity",
	"streams",
	"stripWeights",
	"tacticSources",
	"timingCacheFile",
	"useCudaGraph",
	"useDLACore",
	"useManagedMemory",
	"useRuntime",
	"useSpinWait",
	"versionCompatible",
	"warmUp",
	"workspace",
};

/* Words that users of other tools type as a command. */
static const struct {
	const char *words, *advice; /* the words with blanks around them */
} commands[] = {
	{ " convert compile export generate create make plugin onnx2trt ",
	  "tpat build makes plugins and a model that uses them; tpat fix also verifies them." },
	{ " trtexec engine trt onnxruntime polygraphy ",
	  "tpat does not call TensorRT: tpat build prints the trtexec command for the model that it wrote." },
	{ " surgeon simplify sanitize optimize optimise cleanup ",
	  "tpat changes a model only where it puts plugins: run onnxsim or polygraphy surgeon before it." },
	{ " check test validate compare ", "tpat verify compares plugins with the original nodes." },
	{ " show info ls print nodes support ", "tpat list shows the nodes, and whether TensorRT supports them." },
	{ " profile benchmark time perf ", "tpat bench times the kernels of each node." },
	{ " explain diagnose why log ", "tpat doctor explains a log; tpat fix MODEL LOG also repairs the model." },
};

const char *cli_foreign_command(const char *name)
{
	if (*name == '-' || str_ends(name, ".onnx"))
		return "A command comes first, such as tpat fix MODEL or tpat list MODEL; tpat --help shows all.";
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		const char *at = *name ? strstr(commands[i].words, name) : NULL;
		if (at && at[-1] == ' ' && at[strlen(name)] == ' ')
			return commands[i].advice;
	}
	return NULL;
}

static bool has_option(const struct cli_option *option, const char *name)
{
	for (; option->name; option++)
		if (strcmp(option->name, name) == 0)
			return true;
	return false;
}

const char *cli_foreign(const struct cli_option *option, const char *name)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i].name, name) == 0 && (!table[i].ours || has_option(option, table[i].ours)))
			return table[i].advice;
	for (size_t i = 0; i < sizeof engine / sizeof *engine; i++)
		if (strcmp(engine[i], name) == 0)
			return "This is an option of trtexec: add it to the trtexec command that tpat build prints.";
	return NULL;
}
