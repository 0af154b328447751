"""Measurements: ratios against a named alternative in one run, written to results/bench/."""
