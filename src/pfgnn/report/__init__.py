"""Tables, learning curves and pictures of runs."""
