// Runs a model many times on the processor, with batches of other sizes: run MODEL. The model has one input of f32, of which only
// the first extent is open.
#include <iostream>

#include "tpat/tpat.hpp"

int main(int argc, char **argv)
{
	try {
		tpatxx::session session(argc > 1 ? argv[1] : "");
		const tpat_tensor &x = session.about().input[0];
		std::vector<std::int64_t> dim(x.dim, x.dim + x.rank);
		for (std::int64_t rows = 1; rows <= 4; rows++) {
			std::size_t n = 1;
			dim.at(0) = rows;
			for (std::int64_t extent : dim)
				n *= static_cast<std::size_t>(extent);
			std::vector<float> data(n);
			for (std::size_t i = 0; i < n; i++)
				data[i] = static_cast<float>(i % 7) / 7;
			const tpat_session_ran &ran = session.run({ tpatxx::tensor(x.name, dim, data.data()) });
			for (int i = 0; i < ran.outputs; i++) {
				float sum = 0;
				for (float y : tpatxx::elements<float>(ran.output[i]))
					sum += y;
				std::cout << ran.output[i].name << ": " << rows << " rows, sum " << sum << '\n';
			}
		}
	} catch (const tpatxx::error &e) {
		std::cerr << e.what() << ' ' << e.advice << '\n';
		return -e.code;
	} catch (const std::exception &e) { // the model has other inputs than described above
		std::cerr << e.what() << '\n';
		return 2;
	}
}
