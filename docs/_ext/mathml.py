"""Formulas as MathML, which browsers draw by themselves: nothing is fetched when a page is read."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

log = logging.getLogger(__name__)


# A bar is an operator in MathML, with spaces around it; here bars are norms.
BAR = re.compile(r"<mo[^>]*>\s*([|∣‖])\s*</mo>")


def formula(visitor, node, block: bool) -> None:
    text = node.astext()
    # Several lines are aligned, as in LaTeX.
    lines = f"\\begin{{aligned}}{text}\\end{{aligned}}" if block and "\\\\" in text and "\\begin" not in text else text
    try:
        found = tex2mathml(lines, as_block=block)
    except (MathError, SyntaxError, KeyError, IndexError) as error:
        log.warning("a formula cannot be written as MathML: %s: %s", text, error, location=node)
        found = f"<code>{visitor.encode(text)}</code>"
    found = BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', found)
    visitor.body.append(f'<div class="formula">{found}</div>' if block else found)
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(lambda self, node: formula(self, node, False), None),
        block_renderers=(lambda self, node: formula(self, node, True), None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
