"""Moodle XML, held to the format that Moodle documents: elements, their order and contents, and the syntax of Cloze."""

import re
import xml.etree.ElementTree as ET
from decimal import Decimal

import pytest

from autograd import Value
from autograd.worksheets import worksheet
from tests.autograd.worksheets.test_marking import NAMES
from tools.marker import sheet_of

NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
FIELD = re.compile(rf"\{{(\d+):NUMERICAL:=({NUMBER}):({NUMBER})\}}", re.IGNORECASE)
CLOZE = {  # its children in order: their format, None for a plain value
    "name": "", "questiontext": "html", "generalfeedback": "html", "penalty": None, "hidden": None, "idnumber": None,
}  # fmt: skip


def problems(text):
    """What an import would trip over. The format: docs.moodle.org, Moodle XML format, Embedded answers (Cloze)."""
    if not text.startswith('<?xml version="1.0"'):
        yield "the declaration is not at the very start"
    quiz = ET.fromstring(text.encode())
    if quiz.tag != "quiz" or quiz.attrib:
        yield "the root is not a bare quiz"
    for question in quiz:
        kind = question.get("type")
        if question.tag != "question" or kind not in ("category", "cloze"):
            yield f"{question.tag} {kind}"
        elif kind == "category":
            path = question.findtext("category/text") or ""
            if not path.startswith("$course$/top/") or len(question) != 1:
                yield f"category {path}"
        else:
            yield from _problems_of_cloze(question)


def _problems_of_cloze(question):
    if [child.tag for child in question] != list(CLOZE):
        yield f"children {[child.tag for child in question]}"
        return
    for child in question:
        form = CLOZE[child.tag]
        if form is None:
            if len(child) or not (child.text or "").strip():
                yield f"{child.tag} is no plain value"
        elif [inner.tag for inner in child] != ["text"] or child.get("format", "") != form:
            yield f"{child.tag} has no text, or another format"
    if not 0 <= float(question.findtext("penalty")) <= 1 or question.findtext("hidden") not in ("0", "1"):
        yield "penalty or hidden"
    body = question.findtext("questiontext/text") or ""
    fields = FIELD.findall(body)
    if not fields or "{" in FIELD.sub("", body) or "}" in FIELD.sub("", body):
        yield "a brace that is no field, or no field"
    if any(Decimal(tolerance) <= 0 for _, _, tolerance in fields):
        yield "a tolerance of 0"
    ET.fromstring(f"<body>{body}</body>")  # its HTML is closed


@pytest.mark.parametrize("name", NAMES)
def test_every_example_has_the_documented_form_and_a_field_for_every_blank(name):
    sheet = sheet_of(name)
    text = sheet.moodle()
    assert list(problems(text)) == []
    quiz = ET.fromstring(text.encode())
    fields = FIELD.findall("".join(quiz.itertext()))
    assert len(fields) == len(sheet.blanks) and "counts as wrong" in text
    for (_, answer, tolerance), blank in zip(fields, sheet.blanks, strict=True):
        assert abs(Decimal(answer) - blank.key) <= Decimal(tolerance)
    numbers = [question.findtext("idnumber") for question in quiz.iter("question") if question.get("type") == "cloze"]
    assert len(set(numbers)) == len(sheet.steps)


def test_names_cannot_break_the_file():
    sheet = worksheet(Value(2.0, name="{a}]]><b>&") * Value(3.0, name="{1:NUMERICAL:=1}"), title="a/b {x} ]]>")
    assert list(problems(sheet.moodle())) == []


@pytest.mark.parametrize(
    ("old", "new"), [("<penalty>", "<x>1</x><penalty>"), ("{1:", "{1;"), ('type="cloze"', 'type="close"'),
                     ("<?xml", "\n<?xml"), ("$course$", "course"), ("<hidden>0", "<hidden>no")],
)  # fmt: skip
def test_the_check_can_fail(old, new):
    text = sheet_of("example1").moodle().replace(old, new, 1)
    if old == "<?xml":
        with pytest.raises(ET.ParseError):
            list(problems(text))
    else:
        assert list(problems(text))
