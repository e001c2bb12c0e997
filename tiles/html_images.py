# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures in pieces of HTML, for pages and for notebooks.

On a page a picture is part of the document: it has the page's colours, and a reader who points at a
cell sees more of it. A notebook has other styles, so that a picture is an image there, with colours
of its own.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape

from ..report.html_page import COLOURS
from ..report.stripes import Drawing, standalone, svg_map

_STRIPES = "display: flex; flex-wrap: wrap; gap: 6px 0; align-items: flex-start; overflow-x: auto"


def picture_html(drawing: Drawing, caption: str, words: str = "", *, page: bool) -> Iterator[str]:
    """Yields a caption, and below it a picture.

    Args:
        words: what the picture shows, for those who do not see it; by default the caption.
        page: whether it is on a page of ours, and not in a notebook.
    """
    yield f'<p style="margin: .4em 0">{escape(caption)}</p>'
    if page:
        yield svg_map(drawing, words or caption)
        return
    label = escape(words or caption)
    yield f'<div style="{_STRIPES}">'
    for number, svg in enumerate(standalone(drawing, COLOURS)):
        data = base64.b64encode(svg.encode()).decode()
        alt = "" if number else label
        yield f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}" style="max-width: none">'
    yield "</div>"
