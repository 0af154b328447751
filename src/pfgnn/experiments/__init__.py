"""Experiments: runs that end in a record."""
