tpat verify --help
