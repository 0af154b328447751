"""Experiments: train and test models from configs, and collect the results in tables."""
