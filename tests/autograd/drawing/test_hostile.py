"""Names that try to be code: drawn literally, never interpreted, in every output."""

import html
import json
import re
from xml.etree import ElementTree

import pytest

from autograd import Value, draw, scope
from autograd.formula.text import clipped, visible

HOSTILE = [
    '"];evil[label="x',
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<b>bold</b>",
    "a & b &lt; c &#60;",
    "{|} [ ] ( ) ; # %%",
    "back\\slash \\n \\l \\N",
    "line\nbreak\r\ttab",
    "nul\x00 bell\x07",
    "emoji 🦊 👩‍👧",
    "עברית and العربية",
    "\u202eoverride\u202c",
    "lone \ud800 surrogate",
    "]]>",
    "{{data}} {{script}}",
    "'; drop table",
    "$x^2$ `code`",
    "x" * 10_000,
    "f(",
    "",
]
SVG = "{http://www.w3.org/2000/svg}"


def graph(name):
    a, b = Value(2.0, name=name), Value(3.0, name="b")
    with scope(name or "module", kind=name):
        product = a * b
        total = product + a
    total.backward()
    return total


@pytest.fixture(params=HOSTILE, ids=lambda name: ascii(name[:20]))
def name(request):
    return request.param


def test_svg_is_well_formed_and_shows_the_name(name):
    drawing = draw(graph(name), edges="rule")
    drawing.svg.encode("utf-8")
    root = ElementTree.fromstring(drawing.svg)
    assert {element.tag for element in root.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "title", "desc", "style", "g", "rect", "path", "text", "circle")}  # fmt: skip
    if name:
        assert clipped(visible(name)) in [element.text for element in root.iter(f"{SVG}text")]


def test_no_attribute_can_run_anything(name):
    for element in ElementTree.fromstring(draw(graph(name)).svg).iter():
        assert not any(attribute.lower().startswith("on") for attribute in element.attrib)


def decoded(label):
    """A DOT label as Graphviz shows it: escapes resolved, then entities."""
    return html.unescape(re.sub(r"\\(.)", lambda found: "\n" if found[1] == "l" else found[1], label))


def test_dot_reads_back_as_the_same_cards_and_labels(name):
    import pygraphviz

    drawing = draw(graph(name), edges="rule")
    parsed = pygraphviz.AGraph(string=drawing.dot)
    try:
        assert set(parsed.nodes()) == {card.key for card in drawing.scene.cards}
        for card in drawing.scene.cards:
            shown = decoded(parsed.get_node(card.key).attr["label"]).split("\n")[0]
            assert shown.startswith(card.shown_name + card.joint + card.shown_expression)
        assert parsed.number_of_edges() == len(drawing.scene.edges)
    finally:
        parsed.close()


def test_mermaid_keeps_every_line_to_itself(name):
    drawing = draw(graph(name))
    lines = drawing.mermaid.splitlines()
    cards, edges = len(drawing.scene.cards), len(drawing.scene.edges)
    roles = len({card.role for card in drawing.scene.cards})
    assert len(lines) == 1 + cards + edges + roles
    for line in lines[1 : 1 + cards]:
        assert re.fullmatch(r'    \w+\W{1,2}"[^"<>]*(?:<br/>[^"<>]*)*"\W{1,2}:::\w+', line)


def test_the_page_holds_it_as_data(name):
    page = draw(graph(name)).html()
    page.encode("utf-8")
    assert page.count("<script") == 2 and page.count("</script>") == 2
    data = re.search(r'<script id="hg-data" type="application/json">(.*?)</script>', page, re.S)[1]
    assert not set("<>&") & set(data)
    cards = json.loads(data)["cards"]
    if name:
        assert any(card["name"] == name for card in cards.values())
    for card in cards.values():
        ElementTree.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg">{card["svg"]}</svg>')
