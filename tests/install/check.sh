# Sourced by the tests of installations: passes and failures of commands, counted in `passed`, `failed` and `skipped`. The last
# command's output goes to the file log in the folder $here.
passed=0 failed=0 skipped=0

check() { # NAME COMMAND ...: passes if the command does
	local name=$1
	shift
	if "$@" >"$here/log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $name: $(tail -3 "$here/log")"
	fi
}

skip() { # WHY ...
	skipped=$((skipped + 1))
	echo "skipped: $*"
}
