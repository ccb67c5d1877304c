// SPDX-License-Identifier: Apache-2.0
// tpat.hpp: tpat.h for C++17, in the namespace tpatxx since tpat is a struct. A context that frees itself, and failures as
// exceptions; everything else is tpat.h's.
#ifndef TPAT_HPP
#define TPAT_HPP

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
	context(context &&other) noexcept : t(std::exchange(other.t, nullptr))
	{
	}
	context &operator=(context &&other) noexcept
	{
		std::swap(t, other.t);
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
		if (code < 0 && !(code == TPAT_DIFFER && out))
			throw error(code, t);
		return *out;
	}
	struct ::tpat *get() const
	{
		return t;
	}

private:
	struct ::tpat *t;
};

} // namespace tpatxx

#endif
