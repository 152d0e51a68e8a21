"""Steps for lecturers: slides as PDF, GIF and numbered pictures, and LaTeX that compiles."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import nn
from autograd import OPS, Value, step
from autograd.drawing.paint import images
from autograd.formula.writers.latex import latex_escaped, number_latex
from autograd.stepping.faces.latex import DOCUMENT
from autograd.stepping.faces.slides import CARD_TYPE, LEAST, READABLE, slide
from examples import (
    cat_sleeps,
    example1_forward_pass,
    example2_single_step,
    example3_full_backprop,
    example4_multiple_patterns,
    example5_feed_forward,
    example6_complete_transformer,
)

EXAMPLES = (example1_forward_pass, example2_single_step, example3_full_backprop, example4_multiple_patterns,
            example5_feed_forward, cat_sleeps)  # fmt: skip


def small_graph():
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    loss = (a * b + a**2).tanh()
    loss.name = "L"
    return loss


def text_sizes(svg):
    """Pixels of the type of the arithmetic, and of the numbers in the picture."""
    arithmetic = float(re.findall(r'<g class="hg-mono" font-family="[^"]*" font-size="([\d.]+)">', svg)[-1])
    width, units = map(float, re.search(r'<svg x=[^>]* width="([\d.]+)"[^>]* viewBox="0 0 (\d+)', svg).groups())
    return arithmetic, CARD_TYPE * width / units


# --- slides -----------------------------------------------------------------------------------------------------------


def test_a_slide_has_the_rule_and_the_arithmetic():
    steps = step(small_graph())
    svg = slide(steps, steps[-1])
    said = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    assert 'width="1280" height="720"' in svg and "Backward 4 of 4" in said
    for part in ("∂L/∂a += ∂L/∂(a * b) * b", "path 2 of 2", "0.0706508", "× (−3) ≈", "−0.211952", "8 of 8"):
        assert part in said, part
    assert svg.count('class="hg-card') == 6  # the whole graph: it is readable


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda module: module.__name__)
def test_slides_are_readable(example):
    root = example.graph()
    steps = step(root, backward=root.size == 1)
    least = LEAST if example is cat_sleeps else READABLE  # beside five tables with 7 digits the picture gives way
    for one in steps:
        arithmetic, picture = text_sizes(slide(steps, one))
        assert arithmetic >= READABLE and picture >= least, one


@pytest.mark.slow
def test_a_text_stays_on_the_slide():
    steps = step(example3_full_backprop.graph())
    for one in steps:
        svg = slide(steps, one)
        for x, y in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"', svg[svg.rindex("</svg><g") :]):
            assert 0 <= float(x) <= 1240 and 0 <= float(y) <= 720


def test_numbered_pictures_go_to_a_folder_that_is_made(tmp_path):
    steps = step(small_graph())
    steps.save(tmp_path / "new" / "steps" / "0001.svg")
    made = sorted((tmp_path / "new" / "steps").iterdir())
    assert [path.name for path in made] == [f"{i:04}.svg" for i in range(1, 9)]
    assert all(path.read_text(encoding="utf-8").startswith("<svg") for path in made)
    steps.save(tmp_path / "step-7.svg")  # counted from there
    assert (tmp_path / "step-14.svg").exists()


def test_a_name_without_a_number_is_told_so(tmp_path):
    with pytest.raises(ValueError, match=r"steps/0001\.svg"):
        step(small_graph()).save(tmp_path / "steps.svg")
    with pytest.raises(ValueError, match=r"is written as \.html.*\.pdf, \.gif, \.svg, \.png; got 'steps\.doc'"):
        step(small_graph()).save(tmp_path / "steps.doc")
    with pytest.raises(FileNotFoundError, match="make it first"):
        step(small_graph()).save(tmp_path / "none" / "steps.pdf")
    assert not list(tmp_path.iterdir())


@pytest.fixture(params=["CairoSVG", "Chromium"])
def tool(request, monkeypatch):
    """Each of the two programs that make images, alone."""
    if request.param == "Chromium":
        request.getfixturevalue("chromium")
        monkeypatch.setattr(images, "_by_cairo", lambda *args: None)
    else:
        monkeypatch.setattr(images, "_by_browser", lambda *args: None)
        if images._by_cairo(["<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"], "png", 1) is None:
            pytest.skip("NOT TESTED: CairoSVG is not installed (pip install 'handgrad[images]')")
    return request.param


@pytest.mark.slow
def test_a_pdf_has_one_page_a_step(tool, tmp_path):
    path = step(small_graph()).save(tmp_path / "steps.pdf")
    content = path.read_bytes()
    assert content.startswith(b"%PDF")
    if shutil.which("pdfinfo"):
        said = subprocess.run(["pdfinfo", path], capture_output=True, text=True, check=True).stdout
        assert re.search(r"Pages: +8\n", said) and re.search(r"Page size: +960 x 540 pts", said)
    else:
        assert max(int(count) for count in re.findall(rb"/Count (\d+)", content)) == 8


@pytest.mark.slow
def test_a_gif_moves(tool, tmp_path):
    pil = pytest.importorskip("PIL.Image")
    with pil.open(step(small_graph()).save(tmp_path / "steps.gif")) as film:
        assert film.n_frames == 8 and film.size == (1280, 720) and film.info["loop"] == 0
        seen, seconds = [], []
        for number in range(8):
            film.seek(number)
            seen.append(film.convert("RGB").tobytes())
            seconds.append(film.info["duration"] / 1000)
        assert 1.5 < seconds[0] < max(seconds[4:7]) < 8  # a short line is shown for a shorter time
        assert len(set(seen)) == 8 and film.convert("RGB").getpixel((3, 3)) == (255, 255, 255)


@pytest.mark.slow
def test_pngs(tool, tmp_path):
    step(Value(2.0, name="a") * 3.0).save(tmp_path / "1.png")
    assert (tmp_path / "2.png").read_bytes().startswith(b"\x89PNG")


def test_without_pillow_a_film_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(images.ImageToolMissing, match=r"Pillow \(pip install 'handgrad\[images\]'\)"):
        step(small_graph()).save(tmp_path / "steps.gif")
    assert not list(tmp_path.iterdir())


# --- LaTeX ------------------------------------------------------------------------------------------------------------


def test_latex_says_it_in_symbols_and_numbers():
    text = step(small_graph()).latex()
    assert text.startswith("\\begin{align*}\n") and text.endswith("\n\\end{align*}")
    by_a, by_product = r"\frac{\partial L}{\partial a}", r"\frac{\partial L}{\partial \left(a\cdot b\right)}"
    assert rf"{by_a} &\mathrel{{+}}= {by_product}\cdot b" in text
    assert r"&= 0.0706508\times \left(-3\right) \approx -0.211952" in text
    matrices = step(example3_full_backprop.graph()).latex()
    assert r"\begin{bmatrix} 0 & 0 \\ 1.768 & -1.768 \end{bmatrix} \times 10^{-4}" in matrices


def test_latex_takes_any_name():
    assert latex_escaped('a_b%\\{}$~^#&<>|"') == (
        r"a\_b\%\textbackslash{}\{\}\$\~{}\^{}\#\&\textless{}\textgreater{}\textbar{}\textquotedbl{}"
    )
    assert latex_escaped("é≤α字") == r"é$\le$$\alpha$\texttt{U+5B57}"


NAMES = ("a_b%", "\\input{x}", "x" * 60, "字", "é", "weights.0.gamma", "x y", "$", "a^b", "θ", "λ₁", "[0]", "&", "~")


def compiled(text, folder):
    """What LaTeX says of a document; the test is skipped, with a reason, where there is none."""
    if shutil.which("pdflatex") is None:
        pytest.skip("NOT TESTED: no LaTeX on this machine (on Debian: apt install texlive-latex-recommended)")
    (folder / "x.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "x.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=200)
    said = done.stdout.decode(errors="replace")
    return done.returncode, re.findall(r"Overfull .hbox.*", said), said[-600:]


@pytest.mark.slow
def test_latex_compiles(tmp_path):
    """Every op on its first sample, and hostile names, in one document."""
    parts = []
    for op in OPS.values():
        if op.differentiable:
            f, inputs = op.on(op.samples[0])
            floats = [isinstance(x, float | np.ndarray) and np.asarray(x).dtype.kind == "f" for x in inputs]
            out = f(*(Value(x, name=f"x{k}") if is_float else x for k, (x, is_float) in enumerate(zip(inputs, floats))))
            parts.append(step(out, grad=np.ones(out.shape) if out.ndim else None).latex())
    parts += [step(ag_sum(names)).latex() for names in (NAMES[:7], NAMES[7:])]
    code, _, said = compiled(DOCUMENT % "\n".join(parts), tmp_path)
    assert code == 0, said


def ag_sum(names):
    first, *rest = (Value([1.5, float(k)], name=name) for k, name in enumerate(names))
    total = first
    for one in rest:
        total = total * one
        total.name = f"t {one.name}"
    return total.sum()


@pytest.mark.slow
def test_a_document_of_one_graph_compiles(tmp_path):
    path = step(small_graph()).save(tmp_path / "steps.tex")
    code, _, said = compiled(path.read_text(encoding="utf-8"), tmp_path)
    assert code == 0, said


@pytest.mark.slow
def test_nothing_runs_off_the_page(tmp_path):
    """Every example, and a block whose heads are stacks of matrices."""
    x = np.arange(24.0).reshape(3, 8) % 5
    roots = [example.graph() for example in (*EXAMPLES, example6_complete_transformer)]
    roots.append((nn.TransformerBlock(8, 2, rng=0)(x) ** 2).sum())
    parts = [step(root, backward=root.size == 1).latex() for root in roots]
    assert compiled(DOCUMENT % "\n".join(parts), tmp_path)[:2] == (0, [])


def test_a_stack_of_matrices_goes_on_in_the_next_row():
    stack = np.linspace(-1, 1, 24).reshape(3, 2, 4)
    assert number_latex(stack).count(r"\\ &\begin{bmatrix}") == 2
    assert r"\\ &" not in number_latex(stack[:, :, :1])


def test_a_sum_beside_a_factor_stands_in_brackets():
    """`∑ x · y` would be the sum of the products."""
    x, y = Value([[1.0, 2.0], [3.0, 4.0]], name="x"), Value([2.0, 5.0], name="y")
    assert r"\left(\sum x\right)\cdot y" in step((x.sum() * y).sum()).latex()
    extreme = r"\operatorname*{max}_{\text{each row}} x"
    assert rf"\left({extreme}\right)\odot y" in step((x.max(axis=1) * y).sum()).latex()


def test_a_number_is_not_said_twice():
    """A transpose in numbers is its own result."""
    x = Value([[1.0, 2.0], [3.0, 4.0]], name="x")
    assert step(x.T.sum()).latex().count(r"\begin{bmatrix} 1 & 3 \\ 2 & 4 \end{bmatrix}") == 2  # and in the sum


def test_nothing_to_step_through(tmp_path):
    assert step(Value(2.0, name="a")).latex() == ""
    assert "Nothing is computed" in step(Value(2.0, name="a")).latex(document=True)
    with pytest.raises(ValueError, match="nothing was computed"):
        step(Value(2.0, name="a")).save(tmp_path / "steps.pdf")
