tpat
