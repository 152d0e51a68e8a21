"""The pages written from the code: the API reference and the table of ops."""


from tools import ops_table, reference


def test_it_holds_every_public_name():
    modules = [reference.import_module(name) for name in reference.MODULES]
    text = reference.reference(modules)
    for name, module in zip(reference.MODULES, modules, strict=True):
        assert f"\n## `{name}`\n" in text
        for public in reference.public_names(module):
            assert f"\n#### `{name}.{public}`\n" in text
            assert f"(#{name}.{public})".replace(".", "").lower() in text, "the contents link to it"
    assert " at 0x" not in text


def test_the_table_of_ops_is_current():
    assert ops_table.PAGE.read_text(encoding="utf-8") == ops_table.page(), "python -m tools.ops_table writes it again"


def test_it_says_what_an_op_sends_back():
    from autograd.op import OPS

    assert reference.backward_rule(OPS["mul"]) == "Sends back `g * y` to `x`, `g * x` to `y`."
    assert reference.backward_rule(OPS["mean"]) == "`mean(x)` of x (2, 3) sends back `g / 6 copied to 2×3` to `x`."
    assert reference.backward_rule(OPS["less"]) == ""  # nothing flows
    assert reference.backward_rule(OPS["layer_norm"]) == ""  # no formula for a glance


def test_it_writes_a_call_as_a_person_does():
    import nn
    from autograd import Expr, Report, errors
    from autograd.op import OPS

    assert reference.signature(OPS["softmax"]) == "(x, axis=-1)"
    assert reference.signature(OPS["softmax"], method=True) == "(axis=-1)"
    assert reference.signature(nn.LayerNorm) == "(width, eps=1e-05, dtype=float64)"
    assert reference.signature(nn.functional.feed_forward).endswith("activation=relu)")
    assert reference.signature(vars(Expr)["number"], method=True) == "(x)"
    assert reference.signature(vars(nn.Embedding)["one_hot"], method=True) == "(n)"
    assert reference.signature(Report) == reference.signature(errors.ShapeError) == reference.signature(3) == ""


def test_a_class_tells_its_own_attributes():
    import nn
    from autograd import Value

    told = list(reference.attributes(nn.Embedding))
    assert [line.partition("(")[0] for line in told] == ["- `.fixed", "- `.one_hot", "- `.forward"]
    *own, ops = reference.attributes(Value)
    assert "v.sum(axis=0)" in ops and not any(line.startswith("- `.exp") for line in own)
    assert any(line.startswith("- `.detach()`: A leaf") for line in own)


def test_it_finds_an_op_where_it_is_declared():
    from autograd.op import OPS

    found = {name: reference.part_of(OPS[name]) for name in ("equal", "where", "sum", "matmul", "softmax", "attention")}
    assert found == {
        "equal": "ops.arithmetic", "where": "ops.elementwise", "sum": "ops.reduce", "matmul": "ops.matrices.linear",
        "softmax": "ops.fused.softmax", "attention": "ops.fused.attention",
    }  # fmt: skip


def test_it_describes_what_two_modules_have_once():
    text = reference.reference([reference.import_module("autograd"), reference.import_module("nn.functional")])
    assert text.count(reference.summary(reference.OPS["relu"].__doc__)) == 1
    assert "#### `nn.functional.relu`\n\n`relu(x)`\n\nThe same as [`autograd.relu`](#autogradrelu)." in text


def test_it_fences_sessions_and_columns():
    text = reference.markdown("What it is.\n\n>>> 1 + 1\n2\n\nname  meaning\nx     input")
    assert text == "What it is.\n\n```pycon\n>>> 1 + 1\n2\n```\n\n```text\nname  meaning\nx     input\n```"
