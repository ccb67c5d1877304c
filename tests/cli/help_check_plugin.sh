tpat check-plugin --help
