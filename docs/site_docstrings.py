"""Prepares docstrings for the API reference: sections and references in the form that mkdocstrings knows."""

import re

import griffe

ROLE = re.compile(r":(?:func|class|meth|mod|attr):`~?([^`]+)`")


class PlainDocstrings(griffe.Extension):
    """Turns "Fields:" into "Attributes:", and :func:`name` into `name`."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Change the docstring of an object when it is read."""
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = re.sub(r"^(\s*)Fields:$", r"\1Attributes:", text, flags=re.MULTILINE)
