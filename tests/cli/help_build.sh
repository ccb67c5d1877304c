tpat build --help
