"""What a drawing holds: cards, edges, names, numbers. Tested on scenes, on DOT text and on SVG read as XML."""

import math
import re
import urllib.parse
from functools import reduce
from xml.etree import ElementTree

import numpy as np
import pytest

import autograd
import nn
from autograd import Value, draw
from autograd.drawing.paint.painter import NARROWEST_NOTE
from autograd.drawing.scene import LONGEST_LABEL
from autograd.formula.names import Names
from autograd.formula.numbers import literal, rough

SVG = "{http://www.w3.org/2000/svg}"


def scalar_graph():
    a, b, c, f = (Value(x, name=n) for n, x in (("a", 2.0), ("b", -3.0), ("c", 10.0), ("f", -2.0)))
    e = a * b
    d = e + c
    u = d * f - a
    loss = u * u
    autograd.name({"e": e, "d": d, "u": u, "L": loss})
    return loss


def attention():
    x = Value(np.eye(2), name="X")
    wq, wk, wv = (Value(0.1 * np.eye(2), name=n) for n in ("WQ", "WK", "WV"))
    with autograd.scope("attention", kind="Attention"):
        q, k, v = x @ wq, x @ wk, x @ wv
        scores = q @ k.T
        weights = autograd.softmax(scores / np.sqrt(2))
        context = weights @ v
    loss = context.sum()
    autograd.name({"Q": q, "K": k, "V": v, "scores": scores, "weights": weights, "context": context, "loss": loss})
    return loss


def headers(drawing):
    return [card.name + card.joint + card.expression for card in drawing.scene.cards]


def card_of(drawing, name):
    return next(card for card in drawing.scene.cards if card.name == name)


def edge_pairs(drawing):
    names = {card.key: card.name or card.expression for card in drawing.scene.cards}
    return [(names[edge.tail], names[edge.head]) for edge in drawing.scene.edges]


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


# --- cards ------------------------------------------------------------------------------------------------------------


def test_one_card_a_value_with_the_op_as_written():
    assert headers(draw(scalar_graph())) == [
        "a", "b", "c", "f", "e = a * b", "d = e + c", "d * f", "u = d * f − a", "L = u * u"]  # fmt: skip


def test_before_backward_the_gradient_is_a_dash_never_zero():
    before = draw(scalar_graph())
    assert {row.text for card in before.scene.cards for row in card.rows if row.caption == "grad"} == {"—"}


def test_after_backward_the_gradient_is_there():
    loss = scalar_graph()
    loss.backward()
    shown = {card.name: card.rows[1].text for card in draw(loss).scene.cards}
    assert shown["a"] == "−100" and shown["b"] == "80" and shown["L"] == "1"


def test_a_drawing_keeps_the_numbers_of_its_moment():
    w = Value([1.0, 2.0], name="w")
    drawing = draw(w.sum())
    w.data -= 0.5
    assert str(card_of(drawing, "w").blocks[0].table) == "[1, 2]"


def test_the_same_operand_twice_has_two_edges():
    a = Value(3.0, name="a")
    assert edge_pairs(draw(a * a)) == [("a", "a * a"), ("a", "a * a")]


def test_a_literal_needs_no_card_an_array_does():
    x = Value([1.0, 2.0], name="x")
    drawing = draw((x * 3 + np.array([0.5, 1.5])).sum())
    constants = [card for card in drawing.scene.cards if card.role == "constant"]
    assert [card.expression for card in constants] == ["[0.5, 1.5]"]
    assert "x * 3" in headers(drawing)


@pytest.mark.parametrize(
    ("number", "text"),
    [(2, "2"), (0.1, "0.1"), (-0.5, "(−0.5)"), (1.0001, "1.0001"), (1 / 3, "0.3333"), (2**0.5, "√2"), (64**0.5, "8")],
)
def test_how_a_literal_reads(number, text):
    assert literal(number) == text


def test_short_vectors_without_a_name_are_told_apart_in_expressions():
    p, hit = Value([0.5, 0.25, 0.75], name="p"), np.array([0.0, 1.0, 1.0])
    drawing = draw(hit * autograd.log(p) + (1 - hit) * p)
    assert {"[0, 1, 1] * log(p)", "[1, 0, 0] * p"} <= set(headers(drawing))
    assert literal(np.linspace(0, 1, 3) / 7) == "array(3)" and literal(np.ones(0)) == "array(0)"


def test_small_tables_in_full_large_ones_in_summary():
    small, large = Value(np.ones((4, 4)), name="s"), Value(np.ones((5, 4)), name="l")
    assert card_of(draw(small.sum()), "s").blocks
    rows = card_of(draw(large.sum()), "l").rows
    assert [row.caption for row in rows] == ["shape", "range", "‖grad‖"] and rows[0].text == "5×4"


def test_dtype_is_told_only_when_it_is_not_float64():
    rows = card_of(draw(Value(np.ones((9, 9), dtype=np.float32), name="x").sum()), "x").rows
    assert rows[0].text == "9×9 float32"


def test_a_view_without_a_name_is_a_pill():
    loss = attention()
    pill = next(card for card in draw(loss).scene.cards if card.expression == "K.T")
    assert pill.is_pill and pill.role == "result"


def test_no_gradient_row_where_none_is_asked_for():
    x = Value(2.0, name="x", requires_grad=False)
    assert [row.caption for row in card_of(draw(x * Value(1.0)), "x").rows] == ["value"]


def test_nan_and_infinity_are_marked_and_the_first_is_named():
    x = Value(0.0, name="x")
    with np.errstate(all="ignore"):
        y = x.log()
        z = y * 0
    y.name, z.name = "y", "z"
    drawing = draw(z)
    assert card_of(drawing, "y").trouble == "first ∞" and card_of(drawing, "y").bad
    assert card_of(drawing, "z").trouble == "" and card_of(drawing, "z").bad
    assert not card_of(drawing, "x").bad


def test_brief_shows_name_expression_and_norms_only():
    loss = attention()
    loss.backward()
    card = card_of(draw(loss, detail="brief"), "Q")
    assert not card.blocks and len(card.rows) == 1 and card.rows[0].text.startswith("‖g‖ ")


def test_digits_on_request():
    third = Value(1.0, name="a") / 3
    assert draw(third, digits=7).scene.cards[-1].rows[0].text == "0.3333333"


def test_a_leaf_alone_is_a_drawing_of_one_card():
    drawing = draw(Value(2.0, name="x"))
    assert headers(drawing) == ["x"] and drawing.scene.edges == ()
    ElementTree.fromstring(drawing.svg)


# --- names -----------------------------------------------------------------------------------------------------------


def test_names_from_locals_also_in_lists_and_dicts():
    first, second = Value(1.0), Value(2.0)
    ws, table = [first], {"k": second}
    drawing = draw(first * second, names={"ws": ws, "table": table, "_": first})
    assert headers(drawing) == ["ws[0]", "table['k']", "ws[0] * table['k']"]


def test_colliding_names_are_told_apart_visibly():
    a, b = Value(1.0, name="h"), Value(2.0, name="h")
    assert headers(draw(a * b)) == ["h#1", "h#2", "h#1 * h#2"]


def test_long_unnamed_operands_get_a_name_that_is_shown():
    a, b = Value(1.0, name="a_long_name"), Value(2.0, name="another_name")
    product = a * b + a
    shown = headers(draw(product * product))
    assert "t1 = a_long_name * another_name" in shown
    assert "(t1 + a_long_name) * (t1 + a_long_name)" in shown


def test_a_name_that_the_drawing_made_up_is_not_as_bold_as_the_users():
    a = Value(2.0, name="a")
    long = a * 1.5 + a * 2.5 + a * 3.5
    drawing = draw(long * long)
    weights = {element.text: (element.get("font-weight"), "muted" in element.get("class", ""))
               for element in ElementTree.fromstring(drawing.svg).iter(f"{SVG}text")}  # fmt: skip
    assert weights["t1"] == (None, True) and weights["a"] == ("700", False)


def test_a_plain_operand_is_called_what_its_op_calls_it():
    weight = Value(np.ones((9, 7)), name="weight")
    tokens, targets = np.zeros((1, 8), dtype=int), np.zeros((1, 8), dtype=int)
    cards = draw(autograd.cross_entropy(weight[tokens], targets)).scene.cards
    assert cards[2].expression == "cross_entropy(t1, targets)"
    assert [card.expression for card in cards if card.role == "constant"] == ["index 1×8 int", "targets 1×8 int"]
    named = draw(weight[tokens].sum(), names={"tokens": tokens}).scene.cards
    assert [(card.name, card.expression) for card in named if card.role == "constant"] == [("tokens", "1×8 int")]


def test_parameters_are_called_by_their_path():
    model = nn.Sequential(nn.Linear(2, 2, rng=0), nn.Linear(2, 1, rng=1))
    names = {card.name for card in draw(model(Value([[1.0, 2.0]])).sum()).scene.cards}
    assert any("0.weight" in name for name in names) and any("1.weight" in name for name in names)


def test_settings_that_say_nothing_are_left_out():
    x = Value(np.arange(6.0).reshape(2, 3), name="x")
    names = Names([x])
    assert names.expression(x.sum()) == "sum(x)"
    assert names.expression(x.sum(axis=0)) == "sum(x, axis=0)"
    assert names.expression(autograd.exp(x.sum(axis=-1))) == "exp(sum(x, axis=1))"  # of x, which has two axes
    assert names.expression(autograd.stack([x, x], axis=2)) == "stack([x, x], axis=2)"
    assert names.expression(autograd.stack([x, x])) == "stack([x, x])"
    assert names.expression(autograd.concatenate([x, x], axis=1)) == "concatenate([x, x], axis=1)"
    assert names.expression(autograd.expand_dims(x, 0)) == "expand_dims(x, axis=0)"
    assert names.expression(autograd.softmax(x)) == "softmax(x)"
    assert names.expression(x.T) == "x.T"
    assert names.expression(x[1]) == "x[1]"
    assert names.expression(x.sum() + x.sum(axis=(0, 1))) == "sum(x) + sum(x)"  # inside another expression too


def test_rules_count_axes_from_the_front_like_the_expressions():
    x = Value(np.arange(6.0).reshape(2, 3), name="x")
    rows, columns = autograd.softmax(x, axis=-1), autograd.softmax(x, axis=0)
    rows.name, columns.name = "rows", "columns"
    names = Names([x, rows, columns])
    assert names.rule(rows) == ("dot = sum(g * rows, axis=1); u = g − dot; rows * u",)
    assert names.rule(columns) == ("dot = sum(g * columns, axis=0); u = g − dot; columns * u",)
    assert names.rule(x.sum(axis=0)) == ("g copied to 2×3",)
    assert names.rule(autograd.expand_dims(x, -1)) == ("g",)
    assert names.rule(autograd.stack([x, x], axis=0)) == ("g[0]", "g[1]")


def test_a_pages_rules_call_nodes_as_its_cards_do():
    x = Value(np.arange(6.0).reshape(2, 3), name="x")
    rules = draw((x.sum(axis=1) * 2.0).sum()).reader.rules()
    assert "to sum(x, axis=1): g * 2" in rules.values()


# --- edges ------------------------------------------------------------------------------------------------------------


def test_rules_on_edges_come_from_the_rule_itself():
    drawing = draw(attention(), edges="rule")
    labels = {pair: edge.label for pair, edge in zip(edge_pairs(drawing), drawing.scene.edges)}
    assert labels["X", "Q"] == "g @ WQ.T" and labels["WQ", "Q"] == "X.T @ g" and labels["Q", "scores"] == "g @ K"


def labels_of(root):
    return [edge.label for edge in draw(root, edges="rule").scene.edges]


def test_a_rule_calls_the_result_by_its_own_name():
    x = Value(np.arange(3.0), name="x")
    attn = autograd.softmax(x)
    attn.name = "attn"
    out = attn @ Value(np.ones(3), requires_grad=False)
    out.name = "out"
    drawing = draw(out, edges="rule")
    assert drawing.scene.edges[0].label == "attn * (g − sum(g * attn))"
    assert not any("that card's value" in note for note in drawing.scene.notes)


def test_a_rule_spells_out_a_result_without_a_name_where_that_is_short():
    x, y = Value(0.5, name="x"), Value(2.0, name="y")
    assert labels_of(autograd.tanh(x)) == ["g * (1 − tanh(x) ** 2)"]
    assert labels_of(x / y)[1] == "−g * (x / y) / y"


def test_whole_numbers_in_a_rule_are_worked_out():
    x = Value(0.5, name="x")
    assert [labels_of(x**power) for power in (2, 3.0)] == [["g * (2 * x)"], ["g * (3 * x ** 2)"]]
    assert labels_of((x + 1) ** 2)[1] == "g * (2 * (x + 1))"
    assert labels_of(x * 3) == ["g * 3"]


@pytest.mark.parametrize(("shape", "axis"), [((2, 3), 1), ((2, 3), 0), ((2, 3, 4), 1)])
def test_a_rule_on_an_edge_names_the_axis_where_there_are_several(shape, axis):
    x = Value(np.arange(float(np.prod(shape))).reshape(shape), name="x")
    weights = autograd.softmax(x, axis=axis)
    weights.name = "A"
    assert labels_of(weights) == [f"A * (g − sum(g * A, axis={axis}))"]
    assert labels_of(x.mean(axis=axis) ** 2)[-1] == f"g * (2 * mean(x, axis={axis}))"
    assert labels_of(x.sum() ** 2)[-1] == "g * (2 * sum(x))"  # all of them: there is nothing to say


def test_a_word_for_the_unnamed_gives_way_to_the_names_in_the_graph():
    x = Value(np.arange(3.0), name="out_of_the_first_layer")
    scene = draw(autograd.softmax(x), edges="rule").scene
    assert scene.edges[0].label == "out * (g − sum(g * out))"
    assert scene.notes[1] == "g is the gradient of the card at the arrowhead, out that card's value"
    x, g = Value(np.arange(3.0), name="out"), Value(1.0, name="g")
    scene = draw(autograd.softmax(x * 2 + x * 3 + x * g), edges="rule").scene
    assert scene.edges[-1].label == "result * (grad − sum(grad * result))"
    assert scene.notes[1] == "grad is the gradient of the card at the arrowhead, result that card's value"


@pytest.mark.parametrize(
    ("left", "right", "rules"),
    [((3,), (3, 2), ["g @ W.T", "outer(v, g)"]), ((2, 3), (3,), ["outer(g, W)", "v.T @ g"])],
)
def test_products_with_a_vector_read_as_people_write_them(left, right, rules):
    assert labels_of(Value(np.ones(left), name="v") @ Value(np.ones(right), name="W")) == rules


def test_a_vector_without_a_name_too():
    a, w = Value(np.ones(3), name="a"), Value(np.ones((3, 2)), name="W")
    assert labels_of((a * 2) @ w)[1:] == ["g @ W.T", "outer(a * 2, g)"]


def test_a_long_rule_is_shortened_inside_its_brackets():
    x = Value(np.ones(3), name="the_activations_of_a_layer")
    for edge in draw(autograd.sigmoid(x) * autograd.tanh(x) ** 3, edges="rule").scene.edges:
        assert len(edge.shown_label) <= LONGEST_LABEL
        assert edge.shown_label.count("(") == edge.shown_label.count(")")
        assert edge.label in edge.title  # which has it whole


def test_a_rule_on_an_edge_leaves_shapes_to_the_cards():
    x, b = Value(np.arange(6.0).reshape(2, 3), name="x"), Value(np.ones(3), name="b")
    rows = Value(np.ones((4, 2, 3)), name="rows")
    assert labels_of(x.mean()) == ["g / 6"] and labels_of(x.sum(axis=0)) == ["g"]
    assert labels_of(x[:, 1:]) == ["g at [:, 1:]"] and labels_of(b[0]) == ["g at [0]"]
    assert labels_of(autograd.stack([x, x])) == ["g[0]", "g[1]"]
    dense = autograd.linear(rows, Value(np.ones((3, 2)), name="W"), Value(np.ones(2), name="c"))
    assert labels_of(dense) == ["g @ W.T", "reshape(rows, 8×3).T @ reshape(g, 8×2)", "sum(g, axes 0 and 1)"]
    assert labels_of(autograd.tril(x, k=1)) == ["tril(g, k=1)"]
    assert labels_of(autograd.max(x, axis=0)) == ["g * equal(x, out) / sum(equal(x, out), axis=0)"]
    assert labels_of(autograd.std(b)) == ["g / std(b) / 3 * (b − mean(b))"]
    assert labels_of(autograd.einsum("ij->ji", x)) == ["einsum('ji->ij', g)"]  # an arrow, not a minus
    assert draw(x.mean(), edges="rule").scene.edges[0].title == "x → mean(x): g / 6 copied to 2×3"


def test_shapes_that_make_an_outer_product_stay_in_its_rule():
    v, many = Value(np.ones(3), name="v"), Value(np.ones((5, 2, 3)), name="many")
    assert labels_of(many @ v)[0] == "expand_dims(g, axis=2) * v"


def test_a_rule_too_long_for_an_edge_is_named_and_explained():
    x, gamma, beta = Value(np.ones((2, 3)), name="x"), Value(np.ones(3), name="γ"), Value(np.zeros(3), name="β")
    scene = draw(autograd.layer_norm(x, gamma, beta), edges="rule").scene
    assert [edge.label for edge in scene.edges] == ["layer_norm′(g)", "layer_norm′(g)", "sum(g, axis=0)"]
    assert scene.notes[2] == "f′(g) is a rule of f too long for an edge: step() writes it out"
    assert "u = ĝ − m₁ − x̂ * m₂; u / σ" in scene.edges[0].title
    assert len(draw(x.sum(), edges="rule").scene.notes) == 2


def test_a_replaced_rule_changes_the_label(monkeypatch):
    monkeypatch.setattr(autograd.OPS["mul"], "vjp", lambda g, out, x, y: (g * y + x, g))
    a, b = Value(2.0, name="a"), Value(3.0, name="b")
    assert [edge.label for edge in draw(a * b, edges="rule").scene.edges] == ["g * b + a", "g"]


def test_numbers_on_edges_are_the_whole_step():
    loss = scalar_graph()
    loss.backward()
    labels = {edge.label for edge in draw(loss, edges="numbers").scene.edges}
    assert {"40 × (−3) = −120", "−20 × (−1) = 20", "1 × (−10) = −10"} <= labels


def test_numbers_on_edges_say_where_they_are_rounded_as_the_stepper_does():
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    loss = (a * b + a**2).tanh()
    loss.backward()
    labels = {edge.label for edge in draw(loss, edges="numbers").scene.edges}
    assert {"0.07065 × 1 = 0.07065", "0.070651 × (−3) ≈ −0.2120"} <= labels
    stepped = {contribution.numbers for step in autograd.step(loss) for contribution in step.contributions}
    assert "0.070651 × (−3) ≈ −0.211953" in stepped or "0.0706508 × (−3) ≈ −0.211952" in stepped


def test_fewer_digits_on_edges_round_sooner():
    x = Value(1.0, name="x")
    product = x * 1.25
    product.backward(2.0)
    assert [draw(product, edges="numbers", digits=digits).scene.edges[0].label for digits in (4, 2)] == [
        "2 × 1.25 = 2.5", "2 × 1.25 = 2.5"]  # fmt: skip


@pytest.mark.parametrize("gradient", [math.inf, np.float32("inf")])
def test_numbers_on_edges_that_went_wrong_are_written_as_they_are(gradient):
    x = Value(np.float32(0) if isinstance(gradient, np.float32) else 0.0, name="x")
    product = x * x
    with np.errstate(invalid="ignore"):
        product.backward(gradient)
    assert draw(product, edges="numbers").scene.edges[0].label == "∞ × 0 = NaN"


def test_contributions_on_the_edges_sum_to_the_gradient():
    loss = scalar_graph()
    loss.backward()
    drawing = draw(loss, edges="numbers")
    into_a = [edge.label for edge in drawing.scene.edges if edge.tail == card_of(drawing, "a").key]
    assert sum(float(label.split("= ")[1].replace("−", "-")) for label in into_a) == -100


def test_flow_is_one_width_a_decade():
    a, tiny = Value(1.0, name="a"), Value(1.0, name="tiny")
    loss = a * 1.0 + tiny * 0.01
    loss.backward()
    drawing = draw(loss, flow=True)
    width = {drawing.scene.cards[i].name: edge.flow for edge in drawing.scene.edges
             for i, card in enumerate(drawing.scene.cards) if card.key == edge.tail}  # fmt: skip
    assert width["a"] - width["tiny"] == pytest.approx(2 * 1.7, abs=0.01)
    assert drawing.scene.legend is not None


def test_flow_with_one_scale_for_two_pictures():
    a = Value(1.0, name="a")
    loss = a * 0.1
    loss.backward()
    (edge,) = draw(loss, flow=1.0).scene.edges
    assert edge.flow == pytest.approx(10 - 1.7)


def test_zero_missing_and_bad_flow_look_different():
    a, b, data = Value(0.0, name="a"), Value(1.0, name="b"), Value(1.0, name="data", requires_grad=False)
    loss = (a * b * data).sum()
    loss.backward()
    drawing = draw(loss, flow=True)
    styles = {pair[0]: edge.style for pair, edge in zip(edge_pairs(drawing), drawing.scene.edges)}
    assert styles["a"] == "flow" and styles["b"] == "zero" and styles["data"] == "none"
    loss.backward(math.inf)
    assert "bad" in {edge.style for edge in draw(loss, flow=True).scene.edges}


@pytest.mark.parametrize("scale", [1e200, 1e-200, np.float32(1e25), np.float32(1e-25)])
def test_a_gradient_whose_square_no_float_holds_is_neither_infinite_nor_nothing(scale):
    x = Value(np.array([3.0, 4.0], dtype=np.asarray(scale).dtype), name="x")
    loss = (x * scale).sum()
    loss.backward()
    drawing = draw(loss, detail="brief", flow=True)
    assert drawing.scene.cards[0].rows[0].text == f"‖g‖ {rough(math.sqrt(2) * float(scale))}"
    assert {edge.style for edge in drawing.scene.edges} == {"flow"}


def test_flow_and_numbers_before_backward_say_what_to_do():
    for options in ({"flow": True}, {"edges": "numbers"}):
        assert "backward()" in draw(scalar_graph(), **options).scene.notes[0]


# --- leaves edited after the graph was computed -----------------------------------------------------------------------


def trained():
    """d = w·w + b and its square, then a step of w alone."""
    w, b = Value(2.0, name="w"), Value(1.0, name="b")
    square = w * w
    d = square + b
    loss = d * d
    loss.backward()
    w.data -= 0.01 * w.grad
    autograd.name({"square": square, "d": d, "loss": loss})
    return loss


def test_a_leaf_newer_than_the_results_says_so_on_its_card_and_below():
    drawing = draw(trained())
    assert [(card.name, card.word) for card in drawing.scene.cards if card.role == "parameter"] == [
        ("b", "parameter"), ("w", "edited since")]  # fmt: skip
    assert drawing.scene.notes == ("w was edited after this graph was computed: its value is newer than the results",)
    assert "edited since" in texts(drawing.svg) and "edited since" in drawing.dot


def test_many_edited_leaves_are_named_in_one_line():
    leaves = [Value(float(i), name=f"w{i}") for i in range(5)]
    loss = sum(leaves[1:], leaves[0])
    for leaf in leaves:
        leaf.data += 1.0
    assert draw(loss).scene.notes[0].startswith("w0, w1, w2 and 2 more were edited after")


def test_no_number_on_an_edge_is_computed_from_edited_data():
    drawing = draw(trained(), edges="numbers")
    names = {card.key: card.name for card in drawing.scene.cards}
    labels = {(names[edge.tail], names[edge.head]): edge.label for edge in drawing.scene.edges}
    assert labels["w", "square"] == ""
    assert labels["square", "d"] == labels["b", "d"] == "10 × 1 = 10"  # both still stand for what flowed
    assert "edges that would need the old values show no numbers" in drawing.scene.notes[1]


def test_flow_leaves_out_what_is_not_known_any_more():
    drawing = draw(trained(), flow=True)
    names = {card.key: card.name for card in drawing.scene.cards}
    styles = {(names[edge.tail], names[edge.head]): edge.style for edge in drawing.scene.edges}
    assert styles["w", "square"] == "plain" and styles["square", "d"] == "flow"
    assert not drawing.scene.legend.has_undirected


def summed(passes=1):
    """A loss of leaves used once and twice, broadcast and inside of a fused op, after some backward passes."""
    x, w = Value(np.array([[1.0, -2.0], [0.5, 3.0]]), name="x"), Value(np.array([0.3, -0.7]), name="w")
    loss = (nn.functional.layer_norm(x * w, w, w) * x).sum()
    for _ in range(passes):
        loss.backward()
    return loss, x, w


def test_gradients_of_several_passes_are_said_to_be():
    assert draw(summed()[0]).scene.notes == draw(summed(0)[0]).scene.notes == ()
    said = "the gradients of x and w are 3 times what one backward pass gives: backward() adds to what is there"
    drawing = draw(summed(3)[0])
    assert set(drawing.scene.notes) <= {said, said.replace("x and w", "w and x")} and drawing.scene.notes
    assert "3 times what one backward pass gives" in drawing.svg


def test_a_gradient_of_more_than_this_graph_is_said_to_be_so():
    loss, x, w = summed()
    (x * x).sum().backward()
    (note,) = draw(loss).scene.notes
    assert note.startswith("the gradient of x is not what the other cards give")
    w.grad = w.grad * 2.0
    (note,) = draw(loss).scene.notes
    assert "x" in note and "w" in note and "are not what the other cards give" in note
    x.grad = w.grad = None
    assert draw(loss).scene.notes == ()


def test_the_gradients_of_a_large_graph_are_not_added_up_again(monkeypatch):
    x = Value(np.ones((400, 400)), name="x")
    loss = (x * 2.0).sum()
    loss.backward()
    monkeypatch.setattr("autograd.drawing.reader.contributions", lambda *_: pytest.fail("a rule was run"))
    draw(loss)


def test_a_result_computed_again_is_not_marked():
    w = Value(2.0, name="w")
    w.data = 3.0
    drawing = draw(w * w)
    assert card_of(drawing, "w").word == "parameter" and not drawing.scene.notes


def test_drawing_leaves_gradients_and_values_alone():
    loss = scalar_graph()
    loss.backward()
    before = [(node.data, node.grad) for node in autograd.graph.topological(loss)]
    _ = draw(loss, edges="numbers", flow=True).svg, draw(loss, edges="rule").html()
    assert [(node.data, node.grad) for node in autograd.graph.topological(loss)] == before


# --- the picture ------------------------------------------------------------------------------------------------------


def test_direction_follows_the_contents():
    assert draw(scalar_graph()).scene.direction == "LR"
    assert draw(attention()).scene.direction == "TB"
    assert draw(attention(), detail="brief", fit="slide").scene.direction == "LR"


def chain(length):
    x = Value(1.5, name="x")
    for _ in range(length):
        x = x.tanh()
    return x


@pytest.mark.slow
def test_a_picture_wider_than_a_page_runs_top_to_bottom_if_that_is_narrower():
    short, long = draw(chain(5), fit=None), draw(chain(20), fit=None)
    assert short.scene.direction == "LR" and short.placement.width < 1240
    assert long.scene.direction == "TB" and long.placement.width < 300
    broad = draw(nn.MLP(2, [4, 4, 1], rng=0)([1.0, -2.0]), fit=None)
    assert broad.placement.width > 1240 and broad.scene.direction == "LR"  # 24 weights would stand side by side
    assert draw(chain(20), direction="LR", fit=None).scene.direction == "LR"


def test_q_k_and_v_share_a_row_and_the_scope_a_frame():
    drawing = draw(attention(), inputs=["X"])
    tops = {name: drawing.placement.boxes[card_of(drawing, name).key] for name in "QKV"}
    assert len({round(box.y + box.height / 2) for box in tops.values()}) == 1
    (scope,) = drawing.scene.frames
    assert scope.name == "attention" and card_of(drawing, "WQ").key in scope.members
    assert card_of(drawing, "X").key not in scope.members


def test_operands_keep_their_order_left_to_right_with_labels_too():
    drawing = draw(attention(), direction="LR", edges="rule")
    place = {card.name: drawing.placement.boxes[card.key].y for card in drawing.scene.cards}
    assert place["Q"] < place["K"] < place["V"]


def test_entries_keep_their_order_even_where_that_crosses_edges():
    drawing = autograd.zoom(autograd.softmax(Value(np.eye(2), name="x")))
    place = {card.name: drawing.placement.boxes[card.key].y for card in drawing.scene.cards}
    assert place["x[0,0]"] < place["x[0,1]"] < place["x[1,0]"] < place["x[1,1]"]


def test_the_svg_is_xml_with_title_description_and_text_as_text():
    loss = attention()
    loss.backward()
    root = ElementTree.fromstring(draw(loss).svg)
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == "computation graph of loss"
    assert "Q = X @ WQ, result" in root.find(f"{SVG}desc").text
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert any(title.startswith("Q = X @ WQ, result; value rows 0.1, 0; 0, 0.1; gradient rows") for title in titles)
    assert {"Q", "= X @ WQ", "parameter", "0.1"} <= set(texts(draw(loss).svg))


def test_a_long_note_under_a_small_drawing_takes_several_lines():
    drawing = draw(Value(1.0, name="x") * 2.0, edges="rule")
    picture = ElementTree.fromstring(drawing.svg)
    assert float(picture.get("width")) <= NARROWEST_NOTE
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert drawing.scene.notes[0] not in texts
    assert " ".join(drawing.scene.notes) in " ".join(texts)  # and every word is there


def test_nothing_is_fetched():
    svg = draw(attention()).svg
    assert not re.findall(r"(?:href|src|@import|url\()", svg)
    assert re.findall(r"https?://[^\"' ]+", svg) == ["http://www.w3.org/2000/svg"]


def test_every_painted_colour_has_a_light_attribute():
    for element in ElementTree.fromstring(draw(attention()).svg).iter():
        classes = element.get("class", "")
        assert ("hg-f-" not in classes) or re.fullmatch("#[0-9A-F]{6}", element.get("fill", ""))
        assert ("hg-s-" not in classes) or re.fullmatch("#[0-9A-F]{6}", element.get("stroke", ""))


def test_numbers_fit_their_cards():
    """Every text of a card ends inside its outline, at the widest advance of any platform's mono font."""
    loss = attention()
    loss.backward()
    drawing = draw(loss)
    root = ElementTree.fromstring(drawing.svg)
    for group in root.iter(f"{SVG}g"):
        if "hg-card" not in group.get("class", ""):
            continue
        box = drawing.placement.boxes[group.get("id").split("-")[-1]]
        for element in group.iter(f"{SVG}text"):
            width = len(element.text) * 0.61 * float(element.get("font-size", 13))
            x = float(element.get("x"))
            left = x - width if element.get("text-anchor") == "end" else x
            assert left >= box.x - 1 and left + width <= box.right + 3, element.text


def test_dot_is_complete_text_with_the_numbers():
    loss = scalar_graph()
    loss.backward()
    dot = draw(loss).dot
    assert dot.startswith("digraph {") and r'label="e = a * b\lvalue −6\lgrad 40\l"' in dot
    assert dot.count("->") == 10  # u * u twice, a three times
    import pygraphviz

    graph = pygraphviz.AGraph(string=dot)
    assert len(graph.nodes()) == 9
    graph.close()


def test_mermaid_names_every_card_and_edge():
    text = draw(scalar_graph()).mermaid
    assert text.startswith("flowchart LR\n") and text.count("-->") == 10 and 'n4("e = a #42; b<br/>value −6' in text


def test_it_shows_itself_in_a_notebook():
    bundle = draw(scalar_graph())._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg") and "9 cards" in bundle["text/plain"]
    assert "overflow-x:auto" in bundle["text/html"] and len(bundle["text/html"]) < len(bundle["image/svg+xml"])
    (address,) = re.findall('src="data:image/svg\\+xml,([^"]*)"', bundle["text/html"])
    image = ElementTree.fromstring(urllib.parse.unquote(address))
    texts = [one.text for one in ElementTree.fromstring(bundle["image/svg+xml"]).iter(f"{SVG}text")]
    assert [one.text for one in image.iter(f"{SVG}text")] == texts


def test_advice_says_which_option_helps_on_a_slide():
    assert draw(scalar_graph()).advice == ""
    assert draw(attention()).advice == ""
    assert 'detail="brief"' in draw(attention(), fit=(300, 300), collapse=False).advice
    long = reduce(lambda x, i: autograd.sin(x) * (i + 1.5), range(40), Value(0.5, name="x"))
    assert 'fit="auto"' in draw(long, fit=None).advice


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", [None, 3.0, "loss", np.ones(2), [1.0]])
def test_anything_but_a_value_is_refused(what):
    with pytest.raises(TypeError, match="expected a Value"):
        draw(what)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edges": "both"}, "edges is one of None, 'rule', 'numbers'; got 'both'"),
        ({"detail": "tiny"}, "detail is one of 'full', 'brief'"),
        ({"direction": "up"}, "direction is one of None, 'TB', 'LR'"),
        ({"max_nodes": 1}, "max_nodes is an integer of at least 2"),
        ({"digits": 0}, "digits is an integer from 1 to 17"),
    ],
)
def test_wrong_options_name_the_right_ones(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        draw(Value(1.0) * 2, **options)


def test_a_wrong_collapse_is_refused():
    with pytest.raises(TypeError, match="collapse: expected a depth"):
        draw(Value(1.0) * 2, collapse=2.5)
