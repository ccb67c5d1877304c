tpat bench --help
