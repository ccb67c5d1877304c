#!/usr/bin/env bash
# The Debian package and the archive: packages.sh MODELS FOLDER, where make can be run. Both are unpacked into FOLDER, run, build a
# model, and a C program is compiled with them. Their lists of what is linked statically are compared with what is installed.
set -u
cd "$(dirname "$0")/../.." || exit 2
models=$PWD/$1 here=$2
. tests/install/check.sh
rm -rf "$here" && mkdir -p "$here" && here=$(cd "$here" && pwd) || exit 2
export SOURCE_DATE_EPOCH=1700000000 DEBFULLNAME='The authors of tpat' DEBEMAIL=tpat@example.org

# The unpacked tree $1, whose libraries are in $2, as somebody uses it.
builds_model() (
	mkdir "$1/model" && cp "$models/small.onnx" "$1/model/" && cd "$1/model" &&
		"$1/bin/tpat" build small.onnx -t Softmax --arch sm_90 && "$1/bin/tpat" verify small_tpat.onnx --device cpu --runs 1
)
compiles() { # with pkg-config
	printf '%s\n' '#include <string.h>' '#include <tpat/tpat.h>' \
		'int main(void) { return strcmp(tpat_version(), TPAT_VERSION) != 0; }' >"$1/user.c"
	# shellcheck disable=SC2046
	"${CC:-cc}" "$1/user.c" -o "$1/user" $(PKG_CONFIG_LIBDIR=$2/pkgconfig pkg-config $3 --cflags --libs tpat) -Wl,-rpath,"$2" && "$1/user"
}
cmake_finds() {
	printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' 'project(user C)' 'find_package(tpat REQUIRED)' \
		'add_executable(user user.c)' 'target_link_libraries(user tpat::tpat)' >"$1/CMakeLists.txt"
	cmake -S "$1" -B "$1/cmake" -DCMAKE_PREFIX_PATH="$1" && cmake --build "$1/cmake" && "$1/cmake/user"
}
relro() { [ "$(readelf -lWd "$1" | grep -c -e GNU_RELRO -e 'FLAGS_1.*NOW')" = 2 ]; }
works() { # NAME TREE LIBRARIES [options of pkg-config]
	check "$1: tpat --version" "$2/bin/tpat" --version
	check "$1: a model" builds_model "$2"
	check "$1: pkg-config" compiles "$2" "$3" "${4-}"
	if command -v cmake >/dev/null; then check "$1: cmake" cmake_finds "$2"; else skip "$1: there is no cmake"; fi
	check "$1: what is linked statically" build/venv/bin/python tests/install/sbom_test.py "$2/share/doc/tpat" \
		"$2/bin/tpat" "$3/libtpat.so" "$3/tpat/libtpat_ep.so"
	check "$1: full RELRO of the program" relro "$2/bin/tpat"
	check "$1: full RELRO of the library" relro "$3/libtpat.so"
	check "$1: full RELRO of the provider" relro "$3/tpat/libtpat_ep.so"
	check "$1: full RELRO of the plugins" relro "$2/model/libtpat_small.so"
}
same_again() { # TARGET FILE: made again, with another umask, it has the same bytes
	cp "$2" "$here/first" && (umask 077 && make "$1") && cmp "$here/first" "$2"
}
links_lead_to_files() ( # FOLDER: of README.md and of the pages that it names
	cd "$1" && for page in README.md CHANGELOG.md docs/*.md; do
		grep -oE '\]\([^)#: ]+\.[a-z]+' "$page" | sed 's/](//' | while read -r link; do
			[ -f "$(dirname "$page")/$link" ] || echo "$page: there is no $link"
		done
	done | (! grep .) && [ -f examples/quantized.onnx ]
)
only() { # FILE ...: exactly one
	[ $# = 1 ] && [ -f "$1" ]
}

rm -rf build/package
check "make tar" make tar
check "one archive" only build/package/tpat-*.tar.gz
check "unpack the archive" tar -C "$here" -xzf build/package/tpat-*.tar.gz
tree=$(echo "$here"/tpat-*)
works tar "$tree" "$tree/lib"
check "tar: the licence" cmp LICENSE "$tree/share/doc/tpat/LICENSE"
check "tar: README's links" links_lead_to_files "$tree/share/doc/tpat"
check "tar again" same_again tar "$(echo build/package/tpat-*.tar.gz)"

if ! command -v dpkg-deb >/dev/null || ! command -v dpkg-shlibdeps >/dev/null; then
	skip "there is no dpkg-dev: the Debian package"
else
	check "make deb" make deb
	deb=$(echo build/package/tpat_*.deb)
	check "one package" only "$deb"
	check "unpack the package" dpkg-deb -x "$deb" "$here/deb"
	works deb "$here/deb/usr" "$(echo "$here"/deb/usr/lib/*-linux-gnu*)" --define-variable=prefix="$here/deb/usr"
	check "deb: sums" bash -c 'dpkg-deb -e "$1" "$2/control" && cd "$2/deb" && md5sum --quiet -c ../control/md5sums' - "$deb" "$here"
	check "deb: needs libc6 only" bash -c 'dpkg-deb -f "$1" Depends | grep -qE "^libc6 \(>= [0-9.]+\)$"' - "$deb"
	check "deb: a manual page" bash -c 'zcat "$1" | grep -q "^.SH NAME"' - "$here/deb/usr/share/man/man1/tpat-build.1.gz"
	for file in bash-completion/completions/tpat fish/vendor_completions.d/tpat.fish zsh/vendor-completions/_tpat; do
		check "deb: $file" test -s "$here/deb/usr/share/$file"
	done
	check "deb again" same_again deb "$deb"
	if command -v lintian >/dev/null; then
		check lintian lintian --fail-on error,warning "$deb"
	else
		skip "there is no lintian"
	fi
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
