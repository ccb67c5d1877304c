#!/bin/sh
# Lines of code a folder, and any file over 700 lines (which is too long).
cd "$(dirname "$0")/.." || exit 1
for dir in $(find src include rt tests bench tools -type d 2>/dev/null | sort); do
	files=$(find "$dir" -maxdepth 1 -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \
		-o -name '*.def' -o -name '*.py' -o -name '*.sh' \))
	[ -z "$files" ] && continue
	# shellcheck disable=SC2086
	printf '%7d  %s\n' "$(cat $files | wc -l)" "$dir"
done
find src rt tests -name '*.[ch]' -exec awk 'END { if (NR > 700) print "too long: " FILENAME ", " NR " lines" }' {} \;
