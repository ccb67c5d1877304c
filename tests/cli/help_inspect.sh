tpat inspect --help
