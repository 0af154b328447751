"""`python -m pfgnn` runs the same command as `pfgnn`."""

from pfgnn.cli import main

main()
