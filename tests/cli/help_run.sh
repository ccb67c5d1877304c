tpat run --help
