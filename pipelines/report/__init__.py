"""The pages of one run: report.html and model_card.md, made from report.json and nothing else.

Counts only: no corpus text, no generated text and no identifier's value reaches a page, because none is in
report.json.
"""

from pipelines.report.limitations import build_limitations
from pipelines.report.render import read_report, render_report
from pipelines.report.schema import Report, parse_report

__all__ = ["Report", "build_limitations", "parse_report", "read_report", "render_report"]
