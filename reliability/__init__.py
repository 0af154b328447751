"""Programs that try to break pfgnn: wrong inputs (`fuzz`), faults of the machine (`faults`), wrong code (`mutants`)."""
