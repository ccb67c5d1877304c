// Builds plugins for all nodes of the given types, and verifies them: build MODEL TYPE ...
#include <iostream>

#include "tpat/tpat.hpp"

int main(int argc, char **argv)
{
	try {
		tpatxx::context context;
		std::vector<std::string> names(argv + (argc > 2 ? 2 : argc), argv + argc), archs{ "sm_90" };
		tpatxx::strings types(names), arch(archs);
		tpat_build_options o = {};
		o.version = TPAT_BUILD_VERSION;
		o.model = argc > 1 ? argv[1] : "";
		o.type = types;
		o.arch = arch;
		const tpat_built &built = context.call(tpat_build, o);
		std::cout << built.plugins << " plugins\n";
		const std::string model = built.output; // the next call frees the result
		tpat_verify_options v = {};
		v.version = TPAT_VERIFY_VERSION;
		v.model = model.c_str();
		v.device = "cpu";
		v.seed = 1;
		const tpat_verified &verified = context.call(tpat_verify, v);
		std::cout << verified.checks - verified.failed << " of " << verified.checks << " agree\n";
		return verified.failed > 0;
	} catch (const tpatxx::error &e) {
		std::cerr << e.what() << ' ' << e.advice << '\n';
		return -e.code;
	}
}
