tpat list --help
