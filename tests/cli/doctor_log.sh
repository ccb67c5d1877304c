# Every error text that tpat explains, in lines as the programs write them; one log for each.
while IFS= read -r line; do
	printf 'starting\n%s\n[I] done\n' "$line" > one.log
	tpat doctor one.log | tail -n +2
done <<'END'
[06/02/2026-10:00:00] [E] [TRT] 3: getPluginCreator could not find plugin: RoiAlignRotated version: 1
[E] [TRT] ModelImporter.cpp:726: ERROR: builtin_op_importers.cpp:5428 In function importFallbackPluginImporter: [8] Assertion failed: creator && "Plugin not found, are the plugin name, version, and namespace correct?"
[E] [TRT] builtin_op_importers.cpp: Assertion failed: creator && "Plugin not found"
[06/02/2026-10:00:00] [E] Error[1]: [pluginV2Runner.cpp::load::303] Error Code 1: Serialization (Serialization assertion creator failed.Cannot deserialize plugin since corresponding IPluginCreator not found in Plugin Registry)
[TensorRT] ERROR: INVALID_ARGUMENT: getPluginCreator: IPluginCreator not found in Plugin Registry
[E] [TRT] [pluginRegistry.cpp::loadLibrary] SymbolAddress for getCreators could not be loaded, check function name against library symbol
[E] [TRT] SymbolAddress for getPluginCreators could not be loaded, check function name against library symbol
[E] [TRT] SymbolAddress for setLoggerFinder could not be loaded, check function name against library symbol
[W] [TRT] IPluginCreatorInterface is already registered: tpat_softmax_1 version 1
[E] [TRT] Plugin with same name, version and namespace exists: ROIAlign_TRT
OSError: ./libtpat_ocr.so: cannot open shared object file: No such file or directory
[E] Uncaught exception detected: Unable to load library: libnvinfer_plugin.so.10
OSError: libtpat_ocr.so: wrong ELF class: ELFCLASS64
OSError: libtpat_ocr.so: invalid ELF header
./libtpat.so: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ./libtpat.so)
./libplugin.so: undefined symbol: _ZN8nvinfer119getPluginRegistryEv
[E] [TRT] 2: [network.cpp::addLayer] PluginV2Layer must be V2DynamicExt when there are runtime input dimensions.
[E] Error[9]: [pluginV2Builder.cpp::reportPluginError::24] Error Code 9: Internal Error (tpat_x: could not find any supported formats consistent with input/output data types)
[E] Error[2]: [optimizer.cpp] Assertion !n->candidateRequirements.empty() failed. no supported formats
[W] [TRT] Plugin tpat_x ignores some format combinations because combination limit of 100 was reached
[E] Error[1]: [runtime.cpp::parsePlan::314] Error Code 1: Serialization (Serialization assertion plan->header.magicTag == rt::kPLAN_MAGIC_TAG failed.)
[E] [TRT] 6: The engine plan file is not compatible with this version of TensorRT, expecting library version 8.6.1.6 got 8.5.2.2, please rebuild.
[E] [TRT] 6: The engine plan file is generated on an incompatible device, expecting compute 8.6 got compute 7.5, please rebuild.
[W] [TRT] Using an engine plan file across different models of devices is not recommended and is likely to affect performance or even cause errors.
[E] 1: [stdArchiveReader.cpp] Error Code 1: Serialization (Serialization assertion stdVersionRead == serializationVersion failed.Version tag does not match. Note: Current Version: 213, Serialized Engine Version: 232)
[06/02/2026-10:00:00] [E] Engine deserialization failed
[E] [TRT] ../rtSafe/cuda/cudaPluginV2Runner.cpp (58) - Cuda Error in execute: 209 (no kernel image is available for execution on the device)
CUDA error: the provided PTX was compiled with an unsupported toolchain.
Cuda failure: CUDA driver version is insufficient for CUDA runtime version
[W] [TRT] CUDA initialization failure with error: 35. Please check your CUDA installation
[W] [TRT] CUDA initialization failure with error: 100. Please check your CUDA installation
terminate called: no CUDA-capable device is detected
[E] [TRT] 1: [genericReformat.cuh] Error Code 1: Cuda Runtime (an illegal memory access was encountered)
[E] Error[9]: [api.cpp] Error Code 9: API Usage Error (Target GPU SM 61 is not supported by this TensorRT release.)
[W] [TRT] Requested amount of GPU memory (17179869184 bytes) could not be allocated: out of memory
[E] Error[2]: [executionContext.cpp] Error Code 2: OutOfMemory (no further information)
[E] [TRT] ModelImporter.cpp: Failed to open file: weights/model.onnx.data
Failed to open: /models/ocr.onnx
[06/02/2026-10:00:00] [E] Failed to parse ONNX model from file: ocr.onnx
[E] [TRT] Failed to import initializer: conv1.weight
[E] Error[4]: [network.cpp::validate::2965] Error Code 4: Internal Error (Network must have at least one output)
[E] Error[4]: Network must have at least one input
[W] [TRT] onnx2trt_utils.cpp:377: Your ONNX model has been generated with INT64 weights, while TensorRT does not natively support INT64. Attempting to cast down to INT32.
[W] [TRT] onnx2trt_utils.cpp:403: One or more weights outside the range of INT32 was clamped
[E] In node 12 with name: resize and operator: Resize (parseNode): UNSUPPORTED_NODE_DYNAMIC: Assertion failed: x
[E] In node 12 with name: resize and operator: Resize (parseNode): UNSUPPORTED_NODE_ATTR: Assertion failed: mode
[E] In node 12 with name: topk and operator: TopK (parseNode): UNSUPPORTED_NODE_INPUT: Assertion failed
[E] In node 12 with name: add and operator: Add (parseNode): UNSUPPORTED_NODE_DATATYPE: Assertion failed
[E] In node 12 with name: det and operator: Det (parseNode): UNSUPPORTED_NODE: Assertion failed
[E] [TRT] Unsupported ONNX data type: DOUBLE (11)
[E] [TRT] ModelImporter.cpp:688: Assertion failed: ctx->getOpsetVersion() >= 13 && "opset too old"
onnxruntime: ONNX Runtime only guarantees support for models stamped with official released onnx opset versions; unsupported opset version 27
onnxruntime.capi.Fail: [ONNXRuntimeError] : 1 : FAIL : Unsupported model IR version: 13, max supported IR version: 11
[E] Error[10]: [optimizer.cpp::computeCosts::3869] Error Code 10: Internal Error (Could not find any implementation for node scatter_3.)
[E] [TRT] ModelImporter.cpp:771: While parsing node number 3 [Unique -> "y"]:
[E] [TRT] ModelImporter.cpp:779: ERROR: ModelImporter.cpp:180 In function parseGraph: [6] Invalid Node - unique_1
[E] Error[4]: [graphShapeAnalyzer.cpp] Type mismatch between Float and Half at node mul_1
[E] Error[4]: [network.cpp] Error Code 4: Internal Error (Network has dynamic or shape inputs, but no optimization profile has been defined.)
[E] Dynamic dimensions required for input: images, but no shapes were provided. Automatically overriding shape to: 1x3x1x1
[E] Cannot find input tensor with name "image" in the network inputs! Please make sure the input tensor names are correct.
[E] [TRT] 3: [executionContext.cpp::setInputShape] Supplied binding dimension [64,3,224,224] for bindings[0] does not satisfy any optimization profiles
[E] Error[3]: IExecutionContext::setInputShape: Static dimension mismatch while setting input shape for images.
[E] Error[7]: Not all shapes are specified. Following input tensors' dimensions are not specified: ids
[E] --int8 is not supported by this builder
[E] Unknown option: --fp16
[E] Unknown option: --plugins ./lib.so
[E] Unknown option: --dynamicPlugins ./lib.so
[!] Could not deserialize engine. See log for details.
[!] Invalid Engine. Please ensure the engine was built correctly
E0602 10:00:00.000 1 model_lifecycle.cc:621] failed to load 'ocr' version 1: Internal: unable to load plan file to auto complete config: /models/ocr/1/model.plan
I0602 tensorrt.cc: failed to load plugin /opt/lib.so
tritonclient.utils.InferenceServerException: [400] unexpected shape for input 'images' for model 'ocr'. Expected [3,48,320], got [1,3,48,320] model expected
ERROR: nvinfer: failed to load custom library libx.so
ERROR: <main:707>: Could not open custom lib: ./libtpat_ocr.so
0:00:01.5 WARN nvinfer gstnvinfer.cpp: NvDsInferContextImpl::generateBackendContext() <nvdsinfer_context_impl.cpp:2080> [UID = 1]: deserialize engine from file :ocr.engine failed, try rebuild
0:00:09.9 ERROR nvinfer: NvDsInferContextImpl::buildModel() [UID = 1]: build engine file failed
[ONNXRuntimeError] : 10 : INVALID_GRAPH : Fatal error: tpat:tpat_softmax(-1) is not a registered function/op
[ONNXRuntimeError] : tpat:tpat_softmax(-1) is not a registered function/op
[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for ConvInteger(10) node with name 'c'
[E:onnxruntime] Failed to load library libonnxruntime_providers_tensorrt.so with error: libnvinfer.so.10
[E:onnxruntime] TensorRT EP failed to create engine from network for fused node: TensorrtExecutionProvider_0
[E:onnxruntime] TensorRT EP could not deserialize engine from cache: x.engine
[01/24/2023-00:50:48] [TRT] [E] 9: The engine plan file has a layer that utilizes loop API or boolean tensors, but the current platform does not support these layers due to mismatch of libnvrtc version.
[error][10/29 07:16:27][: ]: 3: [builder.cpp::createNetworkBuildConfig::485] Error Code 3: API Usage Error (Parameter check failed at: optimizer/api/builder.cpp::createNetworkBuildConfig::485, condition: !config.getFlag(BuilderFlag::kFP16) )
EP Error onnxruntime/python/onnxruntime_pybind_state.cc:456 onnxruntime::python::RegisterTensorRTPluginsAsCustomOps Please install TensorRT libraries as mentioned in the GPU requirements page, make sure they're in the PATH or LD_LIBRARY_PATH, and that your GPU is supported.
[E:onnxruntime:Default, provider_bridge_ort.cc:1546 onnxruntime::TryGetProviderInfo_CUDA] [ONNXRuntimeError] : 1 : FAIL : LoadLibrary failed with error 126 "" when trying to load "C:\Users\x\onnxruntime\capi\onnxruntime_providers_cuda.dll"
[W:onnxruntime:Default, onnxruntime_pybind_state.cc:509 CreateExecutionProviderInstance] Failed to create TensorrtExecutionProvider. Please reference https://onnxruntime.ai/docs/execution-providers/TensorRT-ExecutionProvider.html#requirements to ensure all dependencies are met.
tensorrt_execution_provider.cc:539 [ONNXRuntimeError] : 11 : EP_FAIL : TensorRT EP could not open shared library from ./libmine.so
tensorrt_execution_provider.cc:480 onnxruntime::TensorrtExecutionProvider::GetSupportedList graph_build.Resolve().IsOK() was false.
UNAVAILABLE: Invalid argument: unable to find 'libtriton_tensorrt_plan.so' or 'tensorrt_plan' for model 'm', in /opt/tritonserver/backends
UNAVAILABLE: Internal: unable to create TensorRT engine
ERROR: Deserialize engine failed because file path: /x/model.engine open error
gstnvinfer.cpp:809:gst_nvinfer_start:<primary_gie> error: Failed to create NvDsInferContext instance
Serialization Error in load: 0 (Serialized engine contains plugin, but no plugin factory was provided. To deserialize an engine without a factory, please use IPluginV2 instead.)
[W] TensorRT was linked against cuDNN 8.2.1 but loaded cuDNN 8.0.4
AttributeError: 'NoneType' object has no attribute 'create_execution_context'
[E] 3: [executionContext.cpp::enqueueV3::2666] Error Code 3: API Usage Error (Parameter check failed at: runtime/api/executionContext.cpp::enqueueV3::2666, condition: mContext.profileObliviousBindings.at(profileObliviousIndex) || getPtrOrNull(mOutputAllocators, profileObliviousIndex) Neither address or allocator is set for output tensor y. Call setOutputTensorAddress, setTensorAddress or setOutputAllocator before enqueue/execute.)
[W] Tactic Device request: 4096MB Available: 2000MB. Device memory is insufficient to use tactic.
AttributeError: 'tensorrt_bindings.tensorrt.ICudaEngine' object has no attribute 'num_bindings'
AttributeError: 'tensorrt.tensorrt.IBuilderConfig' object has no attribute 'max_workspace_size'
AttributeError: type object 'tensorrt_bindings.tensorrt.BuilderFlag' has no attribute 'FP16'
[W:onnxruntime:Default, tensorrt_execution_provider.cc:1082 GetCapability] [TensorRT EP] No graph will run on TensorRT execution provider
UNAVAILABLE: Invalid argument: unable to find backend library for backend 'tensorrt', try specifying runtime on the model configuration.
Invalid argument: unable to autofill for 'm', either all model tensor configuration should specify their dims or none.
Poll failed for model directory 'm': Invalid model name: Could not determine backend for model 'm' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'.
[E] Error[4]: [graphShapeAnalyzer.cpp::analyzeShapes::1872] Error Code 4: Miscellaneous (IShuffleLayer Reshape_12: reshape changes volume. Reshaping [1,64,80] to [1,32,80].)
[E] Error[4]: IElementWiseLayer add: broadcast dimensions must be conformable
[E] 4: [network.cpp::validate::3062] Error Code 4: Internal Error (images: kMAX dimensions in profile 0 are [4,3,640,640] but input has static dimensions [1,3,640,640].)
[E] 3: [executionContext.cpp::setOptimizationProfileAsync::1005] Profile 0 has been chosen by another IExecutionContext. Use another profileIndex or destroy the IExecutionContext that use this profile.
pycuda._driver.LogicError: explicit_context_dependent failed: invalid device context - no currently active context?
[E] 1: [genericReformat.cu::executeMemcpy::1334] Error Code 1: Cuda Runtime (invalid resource handle)
onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented: [ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Failed to find kernel for com.microsoft.NhwcMaxPool(1)
[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: images for the following indices index: 0 Got: 4 Expected: 1 Please fix either the inputs/outputs or the model.
[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Unexpected input data type. Actual: (tensor(double)) , expected: (tensor(float))
[E:onnxruntime:Default] Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.12: cannot open shared object file: No such file or directory
[TensorRT] ERROR: INVALID_ARGUMENT: Cannot find binding of given name: data
E0101 model_lifecycle.cc:630] failed to load 'm' version 1: Invalid argument: unexpected configuration maximum batch size for 'm_0_gpu0', expected value to be between 1 and 1, got 8
AttributeError: 'tensorrt_bindings.tensorrt.IExecutionContext' object has no attribute 'execute_async_v2'
[E] 3: [executionContext.cpp::enqueueV3] Error Code 3: API Usage Error (condition: mContext.profileObliviousBindings.at(profileObliviousIndex) != nullptr. Address is not set for input tensor x. Call setInputTensorAddress or setTensorAddress before enqueue/execute.)
Error in NvDsInferContextImpl::allocatePostprocessor() [UID = 1]: Detect-postprocessor failed to init resource because dlsym failed to get func NvDsInferParseYolo pointer
[W:onnxruntime:Default, onnxruntime_pybind_state.cc:870 CreateExecutionProviderInstance] Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*.
[E:onnxruntime:Default, provider_bridge_ort.cc:1848 TryGetProviderInfo_TensorRT] FAIL : Failed to load library libonnxruntime_providers_tensorrt.so with error: libnvinfer.so.10: cannot open shared object file: No such file or directory
[ONNXRuntimeError] : 1 : FAIL : EP library is already registered under tpat
[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. In Node, ("", Foo, "", -1) : ("x": tensor(float),) -> ("y": tensor(float),) , Error No Op registered for Foo with domain_version of 17
[ONNXRuntimeError] : 1 : FAIL : Domain already set in registry
[ONNXRuntimeError] : 1 : FAIL : Failed to get symbol RegisterCustomOps with error: /lib/libm.so.6: undefined symbol: RegisterCustomOps
[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. In Node, ("", Relu, "", -1) : ("x": tensor(float),) -> ("y": tensor(float),) , Error Unrecognized attribute: alpha for operator Relu
[ONNXRuntimeError] : 1 : FAIL : Type Error: Type parameter (T) of Optype (Add) bound to different types (tensor(float) and tensor(float16) in node ().
[ONNXRuntimeError] : 1 : FAIL : model_load_utils.h:46 ONNX Runtime only *guarantees* support for models stamped with official released onnx opset versions. Opset 99 is under development
[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Reshape node. Status Message: input_shape_size == requested_shape_size was false. The input tensor cannot be reshaped to the requested shape. Input shape:{2,4}, requested shape:{7}
[ONNXRuntimeError] : 1 : FAIL : External data path validation failed for initializer: w. Error: External data path does not exist: "/models/none.bin"
[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : Load model from bad.onnx failed:Protobuf parsing failed.
[ONNXRuntimeError] : 3 : NO_SUCHFILE : Load model from none.onnx failed:Load model none.onnx failed. File doesn't exist
ValueError: Required inputs (['x']) are missing from input feed (['q']).
[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid output name:z
[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid rank for input: x Got: 1 Expected: 2 Please fix either the inputs/outputs or the model.
[ONNXRuntimeError] : 1 : FAIL : This is an invalid model. Error: the graph is not acyclic.
ERROR: Failed to create network using custom network creation function
E0625 13:46:36 model_repository_manager.cc:579] Invalid argument: ensemble 'e' depends on 'm' which has no loaded version.
RuntimeError: [Error thrown at core/conversion/conversionctx/ConversionCtx.cpp:147] Building serialized network failed in TensorRT
[TRT] [E] 2: [pluginV2DynamicExtRunner.cpp::execute::115] Error Code 2: Internal Error (Assertion status == kSTATUS_SUCCESS failed.)
[E] Error[2]: [pluginV2DynamicExtRunner.cpp::execute::126] Error Code 2: Internal Error (Assertion pluginUtils::isSuccess(status) failed. )
[E] [TRT] Internal error: plugin node /end2end/EfficientNMS_TRT requires 165013760 bytes of scratch space, but only 16777216 is available. Try increasing the workspace size with IBuilderConfig::setMemoryPoolLimit().
ModuleNotFoundError: No module named 'tensorrt'
AttributeError: module 'tensorrt' has no attribute 'Logger'
AttributeError: 'tensorrt.tensorrt.Builder' object has no attribute 'build_cuda_engine'
AttributeError: type object 'tensorrt_bindings.tensorrt.NetworkDefinitionCreationFlag' has no attribute 'EXPLICIT_BATCH'
TypeError: deserialize_cuda_engine(): incompatible function arguments. The following argument types are supported:
[TRT] [E] IRuntime::~IRuntime: Error Code 3: API Usage Error (Parameter check failed, condition: mEngineCounter.use_count() == 1. Destroying a runtime before destroying deserialized engines created by the runtime leads to undefined behavior.)
RuntimeError: CUDA error: operation not permitted when stream is capturing
RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`
[TRT] [E] [HostToDeviceCopy]requires bool I/O but node can not be handled by Myelin.
[E] [TRT] Error Code 4: Shape Error (IShuffleLayer /Reshape_12: reshaping failed for tensor: /Add_output_0)
[TRT] [E] 3: [executionContext.cpp::setInputShape::2068] Error Code 3: API Usage Error (condition: satisfyProfile Runtime dimension does not satisfy any optimization profile.)
[ONNXRuntimeError] : 1 : FAIL : TensorRT input: NonMaxSuppression__618:0 has no shape specified. Please run shape inference on the onnx model first.
[ONNXRuntimeError] : 11 : EP_FAIL : Non-zero status code returned while running TRTKernel node. Status Message: TensorRT EP execution context enqueue failed.
[E] FAILED | Mismatched outputs: ['y']
E0625 13:46:36 model_lifecycle.cc:621] failed to load 'm' version 1: Internal: trt failed to set binding dimension to [8,3] for input 'x' for m
E0625 13:46:36 unable to load model 'm', tensor 'x': the model expects 2 dimensions (shape [-1,4]) but the model configuration specifies 3 dimensions (shape [-1,-1,4])
E0625 13:46:36 model_lifecycle.cc:621] failed to load 'm' version 1: Invalid argument: unexpected inference output 'z', allowed outputs are: y
E0625 13:46:36 model_repository_manager.cc:1335] Poll failed for model directory 'm': failed to open text file for read /models/m/config.pbtxt: No such file or directory
ERROR: Infer Context prepare postprocessing resource failed., nvinfer error:NVDSINFER_CUSTOM_LIB_FAILED
Config file path: config_infer_primary.txt, NvDsInfer Error: NVDSINFER_CONFIG_FAILED
ERROR: Failed to enqueue inference batch, nvinfer error:NVDSINFER_TENSORRT_ERROR
RuntimeError: Conversion of function torch._ops.aten.aten::grid_sampler_2d not currently supported!
RuntimeError: [Error thrown at core/runtime/TRTEngine.cpp:75] Expected (cuda_engine.get() != nullptr) to be true but got false. Unable to deserialize the TensorRT engine
END
printf '[I] === Model Options ===\n[I] [TRT] No importer registered for op: X. Attempting to import as plugin.\n&&&& PASSED TensorRT.trtexec\n' > healthy.log
tpat doctor healthy.log
echo "exit $?"
printf '[E] Unknown option: --fp16\r\nstarting\n[E] Unknown option: --fp16\nlast \033[31mout of memory' > windows.log
tpat doctor windows.log
echo "exit $?"
tpat doctor --json windows.log
: > empty.log
tpat doctor empty.log
