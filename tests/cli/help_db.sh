tpat db --help
