tpat tune --help
