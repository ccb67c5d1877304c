// SPDX-License-Identifier: Apache-2.0
// tpat.hpp: tpat.h for C++17, in the namespace tpatxx since tpat is a struct. A context and a session that
// free themselves, and failures as exceptions; everything else is tpat.h's.
#ifndef TPAT_HPP
#define TPAT_HPP

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tpat/tpat.h"

namespace tpatxx
{

// A failed call: tpat_error() and its parts. code is a negative enum tpat_code.
class error : public std::runtime_error
{
public:
	error(int code, const struct ::tpat *t)
	    : std::runtime_error(std::string(tpat_error_where(t)) + tpat_error(t)), code(code), message(tpat_error(t)),
	      advice(tpat_error_advice(t)), file(tpat_error_file(t)), node(tpat_error_node(t)), tensor(tpat_error_tensor(t))
	{
	}
	int code;
	std::string message, advice, file, node, tensor;
};

// A list of strings for options: strings(names) is valid as long as `names` and the object are.
class strings
{
public:
	explicit strings(const std::vector<std::string> &from)
	{
		for (const std::string &s : from)
			at.push_back(s.c_str());
	}
	operator tpat_strings() const
	{
		return { at.data(), static_cast<int>(at.size()) };
	}

private:
	std::vector<const char *> at;
};

// A context, for one thread at a time. Results are valid until its next call.
class context
{
public:
	context() : t(tpat_new())
	{
		if (!t)
			throw std::bad_alloc();
	}
	~context()
	{
		tpat_free(t);
	}
	context(context &&other) noexcept : t(std::exchange(other.t, nullptr)), hooked(std::move(other.hooked))
	{
	}
	context &operator=(context &&other) noexcept
	{
		std::swap(t, other.t);
		std::swap(hooked, other.hooked);
		return *this;
	}
	context(const context &) = delete;
	context &operator=(const context &) = delete;

	// context.call(tpat_build, options): the result of a call of tpat.h. Throws tpatxx::error; but results that differ
	// are no failure: the result says so.
	template <typename Result, typename Options>
	const Result &call(int (*function)(struct ::tpat *, const Result **, const Options *), const Options &options)
	{
		const Result *out = nullptr;
		int code = function(t, &out, &options);
		check(code == TPAT_DIFFER && out ? 0 : code);
		return *out;
	}
	// tpat_callbacks for later calls: `cancel` returns true to stop, `log` gets a line. Either may be empty. An exception in one
	// of them stops the call, which throws it.
	void set_callbacks(std::function<bool()> cancel, std::function<void(tpat_log_level, const std::string &)> log = {})
	{
		hooked = std::make_unique<hooks>();
		hooked->cancel = std::move(cancel);
		hooked->log = std::move(log);
		tpat_callbacks c = {};
		c.cancel = ask;
		c.log = hooked->log ? tell : nullptr;
		c.user = hooked.get();
		tpat_set_callbacks(t, &c);
	}
	// Throws what a callback threw, or the failure of the call that returned `code`.
	void check(int code) const
	{
		if (hooked && hooked->thrown)
			std::rethrow_exception(std::exchange(hooked->thrown, nullptr));
		if (code < 0)
			throw error(code, t);
	}
	struct ::tpat *get() const
	{
		return t;
	}

private:
	struct hooks {
		std::function<bool()> cancel;
		std::function<void(tpat_log_level, const std::string &)> log;
		std::mutex lock;
		std::exception_ptr thrown;
	};
	// Any thread calls these, and no exception may leave them.
	static bool ask(void *user) noexcept
	{
		hooks *h = static_cast<hooks *>(user);
		std::lock_guard<std::mutex> held(h->lock);
		try {
			return h->thrown || (h->cancel && h->cancel());
		} catch (...) {
			h->thrown = std::current_exception();
			return true;
		}
	}
	static void tell(void *user, tpat_log_level level, const char *text) noexcept
	{
		hooks *h = static_cast<hooks *>(user);
		std::lock_guard<std::mutex> held(h->lock);
		try {
			if (!h->thrown)
				h->log(level, text);
		} catch (...) {
			h->thrown = std::current_exception();
		}
	}
	struct ::tpat *t;
	std::unique_ptr<hooks> hooked;
};

// The element type of tensors of T.
template <typename T> struct type_of;
template <> struct type_of<float> { static constexpr tpat_type value = TPAT_F32; };
template <> struct type_of<double> { static constexpr tpat_type value = TPAT_F64; };
template <> struct type_of<bool> { static constexpr tpat_type value = TPAT_BOOL; };
template <> struct type_of<std::int8_t> { static constexpr tpat_type value = TPAT_I8; };
template <> struct type_of<std::int16_t> { static constexpr tpat_type value = TPAT_I16; };
template <> struct type_of<std::int32_t> { static constexpr tpat_type value = TPAT_I32; };
template <> struct type_of<std::int64_t> { static constexpr tpat_type value = TPAT_I64; };
template <> struct type_of<std::uint8_t> { static constexpr tpat_type value = TPAT_U8; };
template <> struct type_of<std::uint16_t> { static constexpr tpat_type value = TPAT_U16; };
template <> struct type_of<std::uint32_t> { static constexpr tpat_type value = TPAT_U32; };
template <> struct type_of<std::uint64_t> { static constexpr tpat_type value = TPAT_U64; };

// An input for a session, in host memory. All three stay the caller's, until the run has returned. For other element types and
// for device memory fill in a tpat_tensor.
template <typename T> tpat_tensor tensor(const char *name, const std::vector<std::int64_t> &dim, const T *data)
{
	tpat_tensor t = {};
	t.name = name;
	t.type = type_of<T>::value;
	t.rank = static_cast<int>(dim.size());
	t.dim = dim.data();
	t.data = data;
	return t;
}

// An open model that runs many times: tpat_session of tpat.h, with a context of its own. For one thread at a time.
class session
{
public:
	explicit session(const tpat_session_options &options)
	{
		own.check(tpat_session_open(own.get(), &s, &options));
	}
	explicit session(const std::string &model, const std::string &device = "cpu")
	    : session(options_of(model.c_str(), device.c_str()))
	{
	}
	~session()
	{
		tpat_session_close(s);
	}
	session(session &&other) noexcept : own(std::move(other.own)), s(std::exchange(other.s, nullptr))
	{
	}
	session &operator=(session &&other) noexcept
	{
		own = std::move(other.own);
		std::swap(s, other.s);
		return *this;
	}
	session(const session &) = delete;
	session &operator=(const session &) = delete;

	// The model's inputs and outputs.
	const struct ::tpat_session_about &about() const
	{
		return *tpat_session_about(s);
	}
	// Results are valid until the next run. Throws tpatxx::error.
	const tpat_session_ran &run(const std::vector<tpat_tensor> &inputs)
	{
		const tpat_session_ran *out = nullptr;
		own.check(tpat_session_run(own.get(), &out, s, inputs.data(), static_cast<int>(inputs.size())));
		return *out;
	}
	// As context::set_callbacks(), for later runs.
	void set_callbacks(std::function<bool()> cancel, std::function<void(tpat_log_level, const std::string &)> log = {})
	{
		own.set_callbacks(std::move(cancel), std::move(log));
	}
	struct ::tpat_session *get() const
	{
		return s;
	}

private:
	static tpat_session_options options_of(const char *model, const char *device)
	{
		tpat_session_options o = {};
		o.version = TPAT_SESSION_VERSION;
		o.model = model;
		o.device = device;
		return o;
	}
	context own;
	struct ::tpat_session *s = nullptr;
};

// The elements of a result of a session. Throws std::invalid_argument for another type, or a tensor that is not on the host.
template <typename T> std::vector<T> elements(const tpat_tensor &t)
{
	std::size_t n = 1;
	for (int k = 0; k < t.rank; k++)
		n *= static_cast<std::size_t>(t.dim[k]);
	if (t.type != type_of<T>::value || (n && !t.data))
		throw std::invalid_argument(std::string(t.name) + " has another type, or is not in host memory");
	const T *from = static_cast<const T *>(t.data);
	return n ? std::vector<T>(from, from + n) : std::vector<T>();
}

} // namespace tpatxx

#endif
