"""What every page shares: escaping always on, one style sheet, and a content policy that allows no more."""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipelines.report import words

_FILTERS = {
    "count": words.count,
    "decimal": words.decimal,
    "percent": words.percent,
    "points": words.points,
    "signed": words.signed,
    "size": words.size,
    "duration": words.duration,
    "interval": words.interval,
    "setting": words.setting,
    "label": words.label,
    "identifier": words.identifier,
    "bin_label": words.bin_label,
    "score": words.score,
    "times": words.times,
}
_POLICY = (
    "default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
)
_MARKDOWN = "\\`*_{}[]<>()#+-!|~$"


def environment(*packages: str) -> Environment:
    """Make the template environment: these packages' templates, then those of `pipelines.report`."""
    loaders = [PackageLoader(name) for name in (*packages, "pipelines.report")]
    made = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(_FILTERS, markdown=markdown)
    return made


def render_page(template: str, context: dict[str, Any], *packages: str) -> str:
    """Render a page with the style sheet inside it, allowed by its hash and by nothing wider.

    Args:
        template: the template's name.
        context: what it shows; strings are escaped.
        packages: whose templates come before those of `pipelines.report`.
    """
    style = files("pipelines.report").joinpath("templates/page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = _POLICY.format(digest=digest)
    trusted = Markup(style)  # noqa: S704  # a file of this package
    return environment(*packages).get_template(template).render(**context, style=trusted, policy=policy)


def markdown(text: object) -> Markup:
    """Make a string inert in Markdown: one line, no markup of either kind."""
    line = " ".join(str(text).split())
    escaped = "".join(f"&#{ord(c)};" if c in "<>&" else f"\\{c}" if c in _MARKDOWN else c for c in line)
    return Markup(escaped)  # noqa: S704  # escaped in the line above


def write_page(path: Path, text: str) -> Path:
    """Write a page whole or not at all, readable by its owner alone."""
    from pipelines.parts import write_file

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(str(path), text.encode())
    return path
