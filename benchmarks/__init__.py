"""Speed measurements. Each compares with a named alternative in the same run, and writes to results/bench/."""
