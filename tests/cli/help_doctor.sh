tpat doctor --help
