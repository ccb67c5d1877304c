/* The classes of TensorRT's plugin interface as far as plugins derive from them, declared anew: the order of the virtual
 * functions and the members' types make the binary interface. FORM: 8 (TensorRT 8.5 to 9.3), 10 or 11. */
#ifndef INFER_HPP
#define INFER_HPP

#include <cstddef>
#include <cstdint>

#ifndef FORM
#define FORM 11
#endif

namespace nvinfer1 {
#if FORM == 8
using extent = int32_t;
constexpr int32_t library_version = 8601;
#else
using extent = int64_t;
constexpr int32_t library_version = FORM * 10000 + 300;
#endif
enum class DataType : int32_t { kFLOAT, kHALF, kINT8, kINT32 };
enum class TensorFormat : int32_t { kLINEAR };
enum class PluginFieldType : int32_t { kFLOAT16, kFLOAT32, kFLOAT64, kINT8, kINT16, kINT32 };
enum class PluginCapabilityType : int32_t { kCORE, kBUILD, kRUNTIME };
enum class TensorRTPhase : int32_t { kBUILD, kRUNTIME };
enum class APILanguage : int32_t { kCPP };
using AsciiChar = char;
using cudaStream_t = void *;

struct Dims {
	int32_t nbDims;
	extent d[8];
};
struct PluginTensorDesc {
	Dims dims;
	DataType type;
	TensorFormat format;
	float scale;
};
struct DynamicPluginTensorDesc {
	PluginTensorDesc desc;
	Dims min, max;
#if FORM != 8
	Dims opt;
#endif
};
struct PluginField {
	AsciiChar const *name;
	void const *data;
	PluginFieldType type;
	int32_t length;
};
struct PluginFieldCollection {
	int32_t nbFields;
	PluginField const *fields;
};
struct InterfaceInfo {
	AsciiChar const *kind;
	int32_t major, minor;
};

class VDimensionExpr {
public:
	virtual ~VDimensionExpr() = default;
	virtual bool isConstant() const = 0;
	virtual extent getConstantValue() const = 0;
};
class IDimensionExpr {
public:
	virtual ~IDimensionExpr() = default;
	VDimensionExpr *impl;
};
struct DimsExprs {
	int32_t nbDims;
	IDimensionExpr const *d[8];
};
class VExprBuilder {
public:
	virtual ~VExprBuilder() = default;
	virtual IDimensionExpr const *constant(extent value) = 0;
	virtual IDimensionExpr const *operation(int32_t op, IDimensionExpr const &a, IDimensionExpr const &b) = 0;
};
class IExprBuilder {
public:
	virtual ~IExprBuilder() = default;
	VExprBuilder *impl;
};

class IVersionedInterface {
public:
	virtual APILanguage getAPILanguage() const noexcept { return APILanguage::kCPP; }
	virtual InterfaceInfo getInterfaceInfo() const noexcept = 0;
	virtual ~IVersionedInterface() noexcept = default;
};

/* ---- IPluginV3. */

class IPluginCapability : public IVersionedInterface {};
class IPluginV3 : public IVersionedInterface {
public:
	InterfaceInfo getInterfaceInfo() const noexcept override { return { "PLUGIN", 1, 0 }; }
	virtual IPluginCapability *getCapabilityInterface(PluginCapabilityType type) noexcept = 0;
	virtual IPluginV3 *clone() noexcept = 0;
};
class IPluginV3OneCore : public IPluginCapability {
public:
	InterfaceInfo getInterfaceInfo() const noexcept override { return { "PLUGIN_V3ONE_CORE", 1, 0 }; }
	virtual AsciiChar const *getPluginName() const noexcept = 0;
	virtual AsciiChar const *getPluginVersion() const noexcept = 0;
	virtual AsciiChar const *getPluginNamespace() const noexcept = 0;
};
class IPluginV3OneBuild : public IPluginCapability {
public:
	InterfaceInfo getInterfaceInfo() const noexcept override { return { "PLUGIN_V3ONE_BUILD", 1, 0 }; }
	virtual int32_t configurePlugin(DynamicPluginTensorDesc const *in, int32_t nbIn, DynamicPluginTensorDesc const *out,
	                                int32_t nbOut) noexcept = 0;
	virtual int32_t getOutputDataTypes(DataType *out, int32_t nbOut, DataType const *in, int32_t nbIn) const noexcept = 0;
	virtual int32_t getOutputShapes(DimsExprs const *in, int32_t nbIn, DimsExprs const *shapes, int32_t nbShapes,
	                                DimsExprs *out, int32_t nbOut, IExprBuilder &builder) noexcept = 0;
	virtual bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const *inOut, int32_t nbIn,
	                                       int32_t nbOut) noexcept = 0;
	virtual int32_t getNbOutputs() const noexcept = 0;
	virtual size_t getWorkspaceSize(DynamicPluginTensorDesc const *, int32_t, DynamicPluginTensorDesc const *,
	                                int32_t) const noexcept
	{
		return 0;
	}
	virtual int32_t getValidTactics(int32_t *, int32_t) noexcept { return 0; }
	virtual int32_t getNbTactics() noexcept { return 0; }
	virtual char const *getTimingCacheID() noexcept { return nullptr; }
	virtual int32_t getFormatCombinationLimit() noexcept { return 100; }
	virtual char const *getMetadataString() noexcept { return nullptr; }
};
class IPluginResourceContext;
class IPluginV3OneRuntime : public IPluginCapability {
public:
	InterfaceInfo getInterfaceInfo() const noexcept override { return { "PLUGIN_V3ONE_RUNTIME", 1, 0 }; }
	virtual int32_t setTactic(int32_t) noexcept { return 0; }
	virtual int32_t onShapeChange(PluginTensorDesc const *in, int32_t nbIn, PluginTensorDesc const *out,
	                              int32_t nbOut) noexcept = 0;
	virtual int32_t enqueue(PluginTensorDesc const *in, PluginTensorDesc const *out, void const *const *inputs,
	                        void *const *outputs, void *workspace, cudaStream_t stream) noexcept = 0;
	virtual IPluginV3 *attachToContext(IPluginResourceContext *context) noexcept = 0;
	virtual PluginFieldCollection const *getFieldsToSerialize() noexcept = 0;
};
class IPluginCreatorInterface : public IVersionedInterface {};
class IPluginCreatorV3One : public IPluginCreatorInterface {
public:
	InterfaceInfo getInterfaceInfo() const noexcept override { return { "PLUGIN CREATOR_V3ONE", 1, 0 }; }
	virtual IPluginV3 *createPlugin(AsciiChar const *name, PluginFieldCollection const *fc, TensorRTPhase phase) noexcept = 0;
	virtual PluginFieldCollection const *getFieldNames() noexcept = 0;
	virtual AsciiChar const *getPluginName() const noexcept = 0;
	virtual AsciiChar const *getPluginVersion() const noexcept = 0;
	virtual AsciiChar const *getPluginNamespace() const noexcept = 0;
};

/* ---- IPluginV2DynamicExt. */

class IGpuAllocator;
class IPluginV2 {
public:
	virtual int32_t getTensorRTVersion() const noexcept { return library_version; }
	virtual AsciiChar const *getPluginType() const noexcept = 0;
	virtual AsciiChar const *getPluginVersion() const noexcept = 0;
	virtual int32_t getNbOutputs() const noexcept = 0;
	virtual Dims getOutputDimensions(int32_t index, Dims const *in, int32_t nbIn) noexcept = 0;
	virtual bool supportsFormat(DataType type, TensorFormat format) const noexcept = 0;
	virtual void configureWithFormat(Dims const *in, int32_t nbIn, Dims const *out, int32_t nbOut, DataType type,
	                                 TensorFormat format, int32_t batch) noexcept = 0;
	virtual int32_t initialize() noexcept = 0;
	virtual void terminate() noexcept = 0;
	virtual size_t getWorkspaceSize(int32_t batch) const noexcept = 0;
	virtual int32_t enqueue(int32_t batch, void const *const *in, void *const *out, void *space, cudaStream_t) noexcept = 0;
	virtual size_t getSerializationSize() const noexcept = 0;
	virtual void serialize(void *buffer) const noexcept = 0;
	virtual void destroy() noexcept = 0;
	virtual IPluginV2 *clone() const noexcept = 0;
	virtual void setPluginNamespace(AsciiChar const *name) noexcept = 0;
	virtual AsciiChar const *getPluginNamespace() const noexcept = 0;

protected:
	virtual ~IPluginV2() noexcept = default;
};
class IPluginV2Ext : public IPluginV2 {
public:
	int32_t getTensorRTVersion() const noexcept override { return 1 << 24 | library_version; }
	virtual DataType getOutputDataType(int32_t index, DataType const *in, int32_t nbIn) const noexcept = 0;
#if FORM != 11
	virtual bool isOutputBroadcastAcrossBatch(int32_t, bool const *, int32_t) const noexcept = 0;
	virtual bool canBroadcastInputAcrossBatch(int32_t) const noexcept = 0;
#endif
	virtual void configurePlugin(Dims const *, int32_t, Dims const *, int32_t, DataType const *, DataType const *, bool const *,
	                             bool const *, TensorFormat, int32_t) noexcept = 0;
	virtual void attachToContext(void *, void *, IGpuAllocator *) noexcept {}
	virtual void detachFromContext() noexcept {}
	IPluginV2Ext *clone() const noexcept override = 0;
	void configureWithFormat(Dims const *, int32_t, Dims const *, int32_t, DataType, TensorFormat, int32_t) noexcept override {}
};
class IPluginV2DynamicExt : public IPluginV2Ext {
public:
	int32_t getTensorRTVersion() const noexcept override { return 3 << 24 | library_version; }
	IPluginV2DynamicExt *clone() const noexcept override = 0;
	virtual DimsExprs getOutputDimensions(int32_t index, DimsExprs const *in, int32_t nbIn, IExprBuilder &builder) noexcept = 0;
	virtual bool supportsFormatCombination(int32_t pos, PluginTensorDesc const *inOut, int32_t nbIn, int32_t nbOut) noexcept = 0;
	virtual void configurePlugin(DynamicPluginTensorDesc const *in, int32_t nbIn, DynamicPluginTensorDesc const *out,
	                             int32_t nbOut) noexcept = 0;
	virtual size_t getWorkspaceSize(PluginTensorDesc const *, int32_t, PluginTensorDesc const *, int32_t) const noexcept
	{
		return 0;
	}
	virtual int32_t enqueue(PluginTensorDesc const *in, PluginTensorDesc const *out, void const *const *inputs,
	                        void *const *outputs, void *space, cudaStream_t) noexcept = 0;

protected:
	Dims getOutputDimensions(int32_t, Dims const *, int32_t) noexcept override { return Dims{ -1, {} }; }
#if FORM != 11
	bool isOutputBroadcastAcrossBatch(int32_t, bool const *, int32_t) const noexcept override { return false; }
	bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return true; }
#endif
	bool supportsFormat(DataType, TensorFormat) const noexcept override { return false; }
	void configurePlugin(Dims const *, int32_t, Dims const *, int32_t, DataType const *, DataType const *, bool const *,
	                     bool const *, TensorFormat, int32_t) noexcept override
	{
	}
	size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
	int32_t enqueue(int32_t, void const *const *, void *const *, void *, cudaStream_t) noexcept override { return 1; }
};

#if FORM == 8
class IPluginCreator {
public:
	virtual int32_t getTensorRTVersion() const noexcept { return library_version; }
#else
class IPluginCreator : public IPluginCreatorInterface {
public:
	InterfaceInfo getInterfaceInfo() const noexcept override { return { "PLUGIN CREATOR_V1", 1, 0 }; }
#endif
	virtual AsciiChar const *getPluginName() const noexcept = 0;
	virtual AsciiChar const *getPluginVersion() const noexcept = 0;
	virtual PluginFieldCollection const *getFieldNames() noexcept = 0;
	virtual IPluginV2 *createPlugin(AsciiChar const *name, PluginFieldCollection const *fc) noexcept = 0;
	virtual IPluginV2 *deserializePlugin(AsciiChar const *name, void const *data, size_t bytes) noexcept = 0;
	virtual void setPluginNamespace(AsciiChar const *name) noexcept = 0;
	virtual AsciiChar const *getPluginNamespace() const noexcept = 0;
#if FORM == 8
	virtual ~IPluginCreator() = default;
#endif
};

/* ---- The registry, up to the functions that a plugin library calls. */

class IPluginRegistry {
public:
#if FORM == 11
	virtual ~IPluginRegistry() noexcept = default;
	virtual void other_2() = 0;
	virtual void other_3() = 0;
	virtual void other_4() = 0;
	virtual void other_5() = 0;
	virtual void other_6() = 0;
	virtual void other_7() = 0;
	virtual bool registerCreator(IPluginCreatorInterface &creator, AsciiChar const *name_space) noexcept = 0;
#else
	virtual bool registerCreator(IPluginCreator &creator, AsciiChar const *name_space) noexcept = 0;
	virtual void other_1() = 0;
	virtual void other_2() = 0;
	virtual ~IPluginRegistry() noexcept = default;
	virtual void other_5() = 0;
	virtual void other_6() = 0;
	virtual void other_7() = 0;
	virtual void other_8() = 0;
	virtual void other_9() = 0;
	virtual void other_10() = 0;
	virtual void other_11() = 0;
#if FORM == 10
	virtual bool registerCreator(IPluginCreatorInterface &creator, AsciiChar const *name_space) noexcept = 0;
#endif
#endif
};
} // namespace nvinfer1

extern "C" nvinfer1::IPluginRegistry *getPluginRegistry() noexcept;

/* What REGISTER_TENSORRT_PLUGIN makes: an object whose constructor registers a creator. */
template <typename T> class Registrar {
public:
	Registrar() { getPluginRegistry()->registerCreator(creator, ""); }

private:
	T creator{};
};

#endif
