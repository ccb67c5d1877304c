tpat rebuild --help
