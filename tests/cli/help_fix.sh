# The options.
tpat fix --help
