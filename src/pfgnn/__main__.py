"""`python -m pfgnn` is `pfgnn`."""

from pfgnn.cli import main

main()
