/* The formats that plugins can offer TensorRT, besides LINEAR. Source: NvInferRuntimeBase.h, TensorFormat. Which of
 * them its convolutions use is in the names of its kernels (nhwc, "Channel major FP16 format where channel % 8 == 0").
 */
#include "engine/tensorrt/tensorrt.h"

const struct engine_layout tensorrt_layouts[] = {
	{ "CHW2", 1, 3, 2, true, { TYPE_F16 }, { 0 } },
	{ "HWC8", 2, 3, 8, false, { TYPE_F16, TYPE_BF16 }, { TYPE_F16, TYPE_BF16 } },
	{ "CHW4", 3, 3, 4, true, { TYPE_I8, TYPE_F16 }, { 0 } },
	{ "CHW16", 4, 3, 16, true, { TYPE_F16 }, { 0 } },
	{ "CHW32", 5, 3, 32, true, { TYPE_I8, TYPE_F16, TYPE_F32 }, { TYPE_I8 } },
	{ "DHWC8", 6, 4, 8, false, { TYPE_F16, TYPE_BF16 }, { TYPE_F16, TYPE_BF16 } },
	{ "CDHW32", 7, 4, 32, true, { TYPE_I8, TYPE_F16 }, { TYPE_I8 } },
	{ "HWC", 8, 3, 1, false, { TYPE_F32 }, { TYPE_F32 } },
	{ "HWC16", 11, 3, 16, false, { TYPE_F16 }, { 0 } },
	{ "DHWC", 12, 4, 1, false, { TYPE_F32 }, { TYPE_F32 } },
	{ 0 },
};
