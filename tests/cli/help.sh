# Help goes to standard output and is no failure.
tpat --help
