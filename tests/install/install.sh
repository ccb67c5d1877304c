#!/usr/bin/env bash
# make install and uninstall into a folder of their own; completion in bash, and in zsh and fish where there are any; manual
# pages without warnings. Ends with "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/install/check.sh
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

completes() { # WANTED WORD ...: bash completes the last word to a list with WANTED
	local wanted=$1
	shift
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tpat; printf "%s\n" "${COMPREPLY[@]}"' - "$here/bash" "$@" |
		grep -qxF -e "$wanted"
}
completes_not() { ! completes "$@"; }
nothing_left() { [ -z "$(find "$here/a root" -type f -o -type l)" ]; }
without_warnings() { [ -z "$(man -l --warnings "$1" 2>&1 >/dev/null)" ]; }

root="$here/a root/opt/tpat"
check install make install DESTDIR="$here/a root" PREFIX=/opt/tpat
for file in bin/tpat lib/libtpat.so lib/tpat/libtpat_ep.so lib/libtpat.a include/tpat/tpat.h include/tpat/tpat.hpp lib/pkgconfig/tpat.pc \
	share/man/man1/tpat.1 share/man/man1/tpat-build.1 share/bash-completion/completions/tpat \
	share/fish/vendor_completions.d/tpat.fish share/zsh/site-functions/_tpat; do
	check "$file" test -s "$root/$file"
done
check "the installed program" "$root/bin/tpat" version

"$root/bin/tpat" completion bash >"$here/bash"
check "bash: a command" completes verify tpat ver
check "bash: an option" completes --explain tpat build --exp
check "bash: a value" completes triton tpat deploy --engine tri
check "bash: a file" completes README.md tpat list READ
check "bash: no file where text is meant" completes_not README.md tpat build --node READ
for command in $("$root/bin/tpat" --help | awk '/^  [a-z]/ {print $1}'); do
	check "bash: $command" completes "$command" tpat "$command"
	case $command in
	onnx2plugin | completion | help | version) ;; # tpat.1 has them
	*) check "the page of $command" test -s "$root/share/man/man1/tpat-$command.1" ;;
	esac
done
check "a page of no command" bash -c '! "$1" man --list build' - "$root/bin/tpat"
for shell in zsh fish; do
	"$root/bin/tpat" completion $shell >"$here/$shell"
	if command -v $shell >/dev/null; then
		check $shell $shell -n "$here/$shell"
	else
		skipped=$((skipped + 1))
	fi
done
check "another shell" bash -c '! "$1" completion csh' - "$root/bin/tpat"

for topic in $("$root/bin/tpat" man | sed -n 's/^\.BR tpat\\-\(.*\) (7).*/\1/p' | tr -d '\\'); do
	check "the page of $topic" test -s "$root/share/man/man7/tpat-$topic.7"
	check "bash: $topic" completes "$topic" tpat help "$topic"
done

for page in "$root"/share/man/man[17]/*; do
	check "$page" grep -q '^\.SH NAME' "$page"
	if command -v man >/dev/null && command -v groff >/dev/null; then
		check "$page" without_warnings "$page"
	else
		skipped=$((skipped + 1))
	fi
done

# A CMake project finds the installed library, links it and runs; a version that is not compatible is refused.
cmake_project() { # VERSION: configures, builds and runs
	local project=$here/cmake-$1
	mkdir -p "$project"
	printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' 'project(user C)' "find_package(tpat $1 REQUIRED)" \
		'add_executable(user user.c)' 'target_link_libraries(user tpat::tpat)' >"$project/CMakeLists.txt"
	printf '%s\n' '#include <string.h>' '#include <tpat/tpat.h>' \
		'int main(void) { return strcmp(tpat_version(), TPAT_VERSION) != 0; }' >"$project/user.c"
	cmake -S "$project" -B "$project/build" -DCMAKE_PREFIX_PATH="$root" && cmake --build "$project/build" && "$project/build/user"
}
refused() { ! cmake_project "$1" && grep -q 'version' "$here/log"; }
if command -v cmake >/dev/null; then
	version=$("$root/bin/tpat" version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -1)
	check "cmake" cmake_project "$version"
	check "cmake: the minor version" cmake_project "${version%.*}"
	check "cmake: another version" refused 99.0
else
	skipped=$((skipped + 3))
fi
check "an unknown page" bash -c '! "$1" man nothing' - "$root/bin/tpat"

check uninstall make uninstall DESTDIR="$here/a root" PREFIX=/opt/tpat
check "nothing is left" nothing_left
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
