tpat report --help
