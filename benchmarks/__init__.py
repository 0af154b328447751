"""Measurements of speed, and of what symmetry could save. Each writes to results/bench/.

A measurement of speed compares with a named alternative in the same run.
"""
