"""Tables, curves and pictures of what was run."""
