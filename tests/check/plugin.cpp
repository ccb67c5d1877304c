/* A TensorRT plugin as C++ programs write it: y = 2 x + bias for one input of floats, computed on the processor.
 * -DV2: IPluginV2DynamicExt, else IPluginV3 with its four interfaces as bases. -DFORM: infer.hpp. -DFAULT=n plants one
 * fault, whose finding check_test.py knows. */
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "infer.hpp"

#ifndef FAULT
#define FAULT 0
#endif
/* How the library offers its creator. */
#ifndef OFFER
#define OFFER 1 /* bits: 1 getCreators(), 2 a static constructor registers it */
#endif

using namespace nvinfer1;

namespace {
struct Sizes { /* of the last shape change */
	int64_t elements = 0;
};
/* State of a plugin, which copies with it, but for a fault. */
struct State {
	int32_t bias = 1;
	std::vector<int32_t> table = { 2 };
	std::shared_ptr<Sizes> shared = std::make_shared<Sizes>();
	std::string space;

	State() = default;
	State(const State &from) : bias(from.bias), table(from.table), space(from.space)
	{
		if (FAULT == 4)
			shared = from.shared;
	}
	State copy() const /* for a clone */
	{
		State s(*this);
		if (FAULT == 3)
			s.bias = 1;
		if (FAULT == 5)
			s.table = { 5 };
		return s;
	}
	void keep(const Dims &d)
	{
		shared->elements = 1;
		for (int32_t i = 0; i < d.nbDims; i++)
			shared->elements *= d.d[i];
	}
	int32_t compute(const void *in, void *out) const
	{
		const float *x = static_cast<const float *>(in);
		float *y = static_cast<float *>(out);
		if (FAULT == 1)
			throw std::runtime_error("no kernel for these shapes");
		std::transform(x, x + shared->elements, y, [this](float v) { return v * float(table.at(0)) + float(bias); });
		if (FAULT == 16 && shared->elements)
			std::vector<float>(y, y + shared->elements).swap(*new std::vector<float>);
		return 0;
	}
};

struct Base { /* whose constructor calls a method that only the plugin has */
	Base()
	{
		if (FAULT == 6)
			call();
	}
	virtual ~Base() = default;
	void call() { pure(); }
	virtual void pure() = 0;
};

State state_of(const PluginFieldCollection *fc)
{
	State s;
	if (FAULT == 2)
		s.table.at(7) = 1;
	if (FAULT == 13)
		throw std::string("not an exception class");
	for (int32_t i = 0; fc && i < fc->nbFields; i++)
		if (std::string("bias") == fc->fields[i].name && fc->fields[i].type == PluginFieldType::kINT32 &&
		    fc->fields[i].length == 1)
			s.bias = *static_cast<const int32_t *>(fc->fields[i].data);
	return s;
}

const PluginFieldCollection *names()
{
	static const std::vector<PluginField> field = { { "bias", nullptr, PluginFieldType::kINT32, 1 } };
	static const PluginFieldCollection all = { int32_t(field.size()), field.data() };
	return &all;
}

const char *name()
{
	static std::string s = "Same";
	return s.c_str();
}

#ifndef V2
class Same : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime, Base {
public:
	explicit Same(const State &from) : state(from) {}
	Same(const Same &from) : Base(), state(from.state.copy()) {}
	~Same() override
	{
		if (FAULT == 7)
			state.table.swap(*new std::vector<int32_t>);
		if (FAULT == 8)
			std::abort();
	}
	void pure() override {}

	IPluginCapability *getCapabilityInterface(PluginCapabilityType type) noexcept override
	{
		if (FAULT == 9) /* the address of the first base */
			return reinterpret_cast<IPluginCapability *>(this);
		if (FAULT == 10 && type == PluginCapabilityType::kRUNTIME) /* that of another base */
			return static_cast<IPluginV3OneBuild *>(this);
		switch (type) {
		case PluginCapabilityType::kCORE: return static_cast<IPluginV3OneCore *>(this);
		case PluginCapabilityType::kBUILD: return static_cast<IPluginV3OneBuild *>(this);
		default: return static_cast<IPluginV3OneRuntime *>(this);
		}
	}
	IPluginV3 *clone() noexcept override { return new Same(*this); }
	AsciiChar const *getPluginName() const noexcept override { return name(); }
	AsciiChar const *getPluginVersion() const noexcept override { return "1"; }
	AsciiChar const *getPluginNamespace() const noexcept override { return ""; }

	int32_t configurePlugin(DynamicPluginTensorDesc const *, int32_t, DynamicPluginTensorDesc const *, int32_t) noexcept override
	{
		if (FAULT == 11)
			throw std::bad_alloc();
		return 0;
	}
	int32_t getOutputDataTypes(DataType *out, int32_t, DataType const *in, int32_t) const noexcept override
	{
		out[0] = in[0];
		return 0;
	}
	int32_t getOutputShapes(DimsExprs const *in, int32_t, DimsExprs const *, int32_t, DimsExprs *out, int32_t,
	                        IExprBuilder &builder) noexcept override
	{
		out[0] = in[0];
		if (FAULT == 12) /* made by another call's builder */
			out[0].d[0] = kept = kept ? kept : builder.impl->constant(2);
		return 0;
	}
	bool supportsFormatCombination(int32_t pos, DynamicPluginTensorDesc const *inOut, int32_t, int32_t) noexcept override
	{
		return inOut[pos].desc.type == DataType::kFLOAT && inOut[pos].desc.format == TensorFormat::kLINEAR;
	}
	int32_t getNbOutputs() const noexcept override { return 1; }

	int32_t onShapeChange(PluginTensorDesc const *in, int32_t, PluginTensorDesc const *, int32_t) noexcept override
	{
		state.keep(in[0].dims);
		return 0;
	}
	int32_t enqueue(PluginTensorDesc const *, PluginTensorDesc const *, void const *const *inputs, void *const *outputs, void *,
	                cudaStream_t) noexcept override
	{
		return state.compute(inputs[0], outputs[0]);
	}
	IPluginV3 *attachToContext(IPluginResourceContext *) noexcept override { return clone(); }
	PluginFieldCollection const *getFieldsToSerialize() noexcept override
	{
		fields.assign(1, { "bias", &state.bias, PluginFieldType::kINT32, 1 });
		all = { int32_t(fields.size()), fields.data() };
		return &all;
	}

private:
	static IDimensionExpr const *kept;
	State state;
	std::vector<PluginField> fields;
	PluginFieldCollection all{};
};
IDimensionExpr const *Same::kept;

class Creator : public IPluginCreatorV3One {
public:
	IPluginV3 *createPlugin(AsciiChar const *, PluginFieldCollection const *fc, TensorRTPhase) noexcept override
	{
		return new Same(state_of(fc));
	}
	PluginFieldCollection const *getFieldNames() noexcept override { return names(); }
	AsciiChar const *getPluginName() const noexcept override { return name(); }
	AsciiChar const *getPluginVersion() const noexcept override { return "1"; }
	AsciiChar const *getPluginNamespace() const noexcept override { return ""; }
};
using Interface = IPluginCreatorInterface;
#else
class Same : public IPluginV2DynamicExt, Base {
public:
	explicit Same(const State &from) : state(from) {}
	~Same() override
	{
		if (FAULT == 7)
			state.table.swap(*new std::vector<int32_t>);
		if (FAULT == 8)
			std::abort();
	}
	void pure() override {}

	AsciiChar const *getPluginType() const noexcept override { return name(); }
	AsciiChar const *getPluginVersion() const noexcept override { return "1"; }
	int32_t getNbOutputs() const noexcept override { return 1; }
	int32_t initialize() noexcept override { return 0; }
	void terminate() noexcept override {}
	size_t getSerializationSize() const noexcept override { return sizeof state.bias; }
	void serialize(void *buffer) const noexcept override
	{
		if (FAULT == 11)
			throw std::bad_alloc();
		if (FAULT == 9) /* an object's bytes, with its pointers */
			std::memcpy(buffer, static_cast<const void *>(&state.shared), sizeof state.bias);
		else
			std::memcpy(buffer, &state.bias, sizeof state.bias);
	}
	void destroy() noexcept override { delete this; }
	IPluginV2DynamicExt *clone() const noexcept override
	{
		Same *copy = new Same(state.copy());
		if (FAULT == 10)
			copy->state.space.clear();
		return copy;
	}
	void setPluginNamespace(AsciiChar const *space) noexcept override { state.space = space; }
	AsciiChar const *getPluginNamespace() const noexcept override { return state.space.c_str(); }
	DataType getOutputDataType(int32_t, DataType const *in, int32_t) const noexcept override { return in[0]; }
	DimsExprs getOutputDimensions(int32_t, DimsExprs const *in, int32_t, IExprBuilder &builder) noexcept override
	{
		DimsExprs out = in[0];
		if (FAULT == 12)
			out.d[0] = kept = kept ? kept : builder.impl->constant(2);
		return out;
	}
	bool supportsFormatCombination(int32_t pos, PluginTensorDesc const *inOut, int32_t, int32_t) noexcept override
	{
		return inOut[pos].type == DataType::kFLOAT && inOut[pos].format == TensorFormat::kLINEAR;
	}
	void configurePlugin(DynamicPluginTensorDesc const *in, int32_t, DynamicPluginTensorDesc const *, int32_t) noexcept override
	{
		state.keep(in[0].desc.dims);
	}
	int32_t enqueue(PluginTensorDesc const *, PluginTensorDesc const *, void const *const *inputs, void *const *outputs, void *,
	                cudaStream_t) noexcept override
	{
		return state.compute(inputs[0], outputs[0]);
	}

private:
	static IDimensionExpr const *kept;
	State state;
};
IDimensionExpr const *Same::kept;

class Creator : public IPluginCreator {
public:
	AsciiChar const *getPluginName() const noexcept override { return name(); }
	AsciiChar const *getPluginVersion() const noexcept override { return "1"; }
	PluginFieldCollection const *getFieldNames() noexcept override { return names(); }
	IPluginV2 *createPlugin(AsciiChar const *, PluginFieldCollection const *fc) noexcept override { return new Same(state_of(fc)); }
	IPluginV2 *deserializePlugin(AsciiChar const *, void const *data, size_t bytes) noexcept override
	{
		State s;
		if (bytes != sizeof s.bias)
			return nullptr;
		std::memcpy(&s.bias, data, sizeof s.bias);
		return new Same(s);
	}
	void setPluginNamespace(AsciiChar const *name_space) noexcept override { space = name_space; }
	AsciiChar const *getPluginNamespace() const noexcept override { return space.c_str(); }

private:
	std::string space;
};
#if FORM == 8
using Interface = IPluginCreator;
#else
using Interface = IPluginCreatorInterface;
#endif
#endif

/* An object of the library: its constructor runs when the library is opened, its destructor when it is closed. */
struct Whole {
	Whole()
	{
		if (FAULT == 14)
			throw std::logic_error("no configuration file");
	}
	~Whole()
	{
		if (FAULT == 15)
			std::abort();
	}
} whole;
} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
#if OFFER & 2
static Registrar<Creator> registrar;
#endif
#if OFFER & 1
EXPORT void setLoggerFinder(void *) {}
#if FORM == 8
EXPORT Interface *const *getPluginCreators(int32_t *n)
#else
EXPORT Interface *const *getCreators(int32_t *n)
#endif
{
	static Creator creator;
	static Interface *const all[] = { &creator };
	*n = 1;
	return all;
}
#endif
