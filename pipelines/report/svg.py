"""Turns a matplotlib figure into SVG that stands inside a page under a strict content policy.

Matplotlib writes inline styles, which the policy forbids; they become plain attributes. Its colours become
classes, so that the page's style sheet decides them for light and dark. Equal figures give equal bytes.
"""

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Role -> the colour that stands for it while matplotlib draws; also the colour without a style sheet.
COLOURS = {
    "ink": "#1b1f24",
    "muted": "#59636e",
    "grid": "#d8dde2",
    "private": "#b3370f",
    "shared": "#2a5fa5",
    "control": "#6a6f76",
    "family-1": "#7a4b9d",
    "family-2": "#1d7a6c",
    "family-3": "#a8650a",
    "family-4": "#5a6b1f",
}
_ROLES = {colour: role for role, colour in COLOURS.items()}
_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
SETTINGS = {
    "svg.fonttype": "none",  # real text: it can be searched, scaled and read aloud
    "svg.hashsalt": "extraction",
    "text.parse_math": False,  # a name with dollar signs is a name
    "font.size": 12,
}


def inline_svg(figure: "Figure", name: str, label: str, described_by: str) -> Markup:
    """Write a figure as an SVG element for a page.

    Args:
        figure: drawn with colours of `COLOURS` only.
        name: its class, for the style sheet; two figures of a page may share it.
        label: the figure's name for a screen reader.
        described_by: id of the element that says the same in words; with `name` it makes every id unique on the page.
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    # S314 is about foreign XML; this text was written by matplotlib a line above.
    root = ElementTree.fromstring(buffer.getvalue())  # noqa: S314
    _drop(root)
    for element in root.iter():
        _plain_attributes(element, f"{described_by}-{name}")
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.attrib |= {"role": "img", "aria-label": label, "aria-describedby": described_by, "class": name}
    ElementTree.register_namespace("", _SVG[1:-1])
    # Every label in it went through ElementTree, which escapes markup.
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704


def _drop(element: ElementTree.Element) -> None:
    for child in list(element):
        if child.tag == f"{_SVG}style" or child.tag.endswith("}metadata"):
            element.remove(child)
        else:
            _drop(child)


def _plain_attributes(element: ElementTree.Element, prefix: str) -> None:
    declarations = [part.split(":", 1) for part in element.attrib.pop("style", "").split(";") if ":" in part]
    for name, value in ((n.strip(), v.strip()) for n, v in declarations):
        if name == "font":
            element.set("font-size", re.findall(r"[\d.]+px", value)[0])
        elif name != "font-family":  # the page's own
            element.set(name, value)
    classes = [f"{name}-{_ROLES[c]}" for name in ("fill", "stroke") if (c := element.get(name, "")) in _ROLES]
    if element.tag == f"{_SVG}text" and "fill" not in element.attrib:
        classes.append("fill-ink")
    if classes:
        element.set("class", " ".join(classes))
    _rename_ids(element, prefix)


def _rename_ids(element: ElementTree.Element, prefix: str) -> None:
    if "id" in element.attrib:
        element.set("id", f"{prefix}-{element.attrib['id']}")
    if _HREF in element.attrib:
        element.set("href", f"#{prefix}-{element.attrib.pop(_HREF)[1:]}")
    if "clip-path" in element.attrib:
        element.set("clip-path", element.attrib["clip-path"].replace("#", f"#{prefix}-"))
