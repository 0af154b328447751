"""Text inside HTML and SVG. All text that comes from a file or a user goes through :func:`escaped`."""

import html
import re

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML allows in no form


def escaped(text: object) -> str:
    """A text for HTML or XML, also inside of an attribute in double quotes. It is shown as it is, and does nothing."""
    return html.escape(NOT_XML.sub("\ufffd", str(text)))
