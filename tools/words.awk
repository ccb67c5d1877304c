# Prints the names that a preprocessed header declares outside of functions and structs: one that stands before one of
# ( { ; = [ outside of brackets, and those of enumerations. The preprocessor's line markers tell the header from those
# that it includes.
#   cc -E -x c HEADER | awk -f tools/words.awk
/^# [0-9]/ { own = index($0, "rt/device/") > 0; next }
/^#/ || !own { next }
{
	gsub(/"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/, "")
	line = $0
	while (match(line, /[A-Za-z_][A-Za-z0-9_]*|[0-9][A-Za-z0-9_.]*|[^ \t]/)) {
		token = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		if (name != "" && (depth == 0 && index("({;=[", token) || depth == 1 && listed && index(",}=", token)))
			print name
		if (depth == 0 && token == "enum")
			listed = 1
		if (index("({", token))
			depth++
		else if (index(")}", token))
			depth--
		if (depth == 0 && index("};", token))
			listed = 0
		name = token ~ /^[A-Za-z]/ ? token : ""
	}
}
