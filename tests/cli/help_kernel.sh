tpat kernel --help
