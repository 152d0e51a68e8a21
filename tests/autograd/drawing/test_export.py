"""Files: by extension, whole or not at all, and a clear word when something is missing."""

import io
import os
import stat
import sys

import pytest

from autograd import Value, draw
from autograd.drawing.paint import images
from autograd.saving import browser


@pytest.fixture
def drawing():
    a = Value(2.0, name="a")
    loss = a * a + 1
    loss.backward()
    return draw(loss)


@pytest.mark.parametrize(
    ("name", "start"),
    [("g.svg", b"<svg"), ("g.SVG", b"<svg"), ("g.dot", b"digraph"), ("g.gv", b"digraph"), ("g.mmd", b"flowchart"),
     ("g.html", b"<!doctype html>")],
)  # fmt: skip
def test_the_extension_decides(tmp_path, drawing, name, start):
    path = drawing.save(tmp_path / name)
    assert path.read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [name]  # nothing else is left behind


def test_a_path_may_be_text(tmp_path, drawing):
    drawing.save(str(tmp_path / "g.svg"))
    assert (tmp_path / "g.svg").exists()


@pytest.mark.parametrize("name", ["graph", "graph.", "graph.jpeg", ".svg"])
def test_an_unknown_extension_lists_the_known_ones(tmp_path, drawing, name):
    with pytest.raises(ValueError, match=r"\.svg, .*\.png, \.pdf"):
        drawing.save(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_folders_are_not_made(tmp_path, drawing):
    with pytest.raises(FileNotFoundError, match="mkdir -p"):
        drawing.save(tmp_path / "missing" / "g.svg")
    assert os.listdir(tmp_path) == []


def test_a_folder_is_not_overwritten(tmp_path, drawing):
    (tmp_path / "g.svg").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        drawing.save(tmp_path / "g.svg")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_an_error_and_leaves_nothing(tmp_path, drawing):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        drawing.save(tmp_path / "g.svg")
    tmp_path.chmod(0o700)
    assert os.listdir(tmp_path) == []


def test_a_failure_half_way_keeps_the_old_file(tmp_path, drawing, monkeypatch):
    path = tmp_path / "g.svg"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *args: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        drawing.save(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["g.svg"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_file_has_ordinary_permissions(tmp_path, drawing):
    before = os.umask(0o022)
    try:
        mode = drawing.save(tmp_path / "g.svg").stat().st_mode
    finally:
        os.umask(before)
    assert stat.S_IMODE(mode) == 0o644


def test_without_tools_an_image_says_what_to_install(tmp_path, drawing, monkeypatch):
    monkeypatch.setattr(images, "_by_cairo", lambda *args: None)
    monkeypatch.setattr(browser, "find_chromium", lambda: None)
    with pytest.raises(images.ImageToolMissing, match=r"handgrad\[images\].*Save as \.svg"):
        drawing.save(tmp_path / "g.png")
    assert os.listdir(tmp_path) == []


def test_a_browser_makes_png_and_pdf(tmp_path, drawing, chromium, monkeypatch):
    monkeypatch.setattr(images, "_by_cairo", lambda *args: None)
    monkeypatch.setattr(browser, "find_chromium", lambda: chromium)
    assert drawing.save(tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")
    assert drawing.save(tmp_path / "g.pdf", theme="dark").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_cairosvg_makes_png_and_pdf(drawing):
    png = images._by_cairo([drawing.svg], "png", 2)
    if png is None:
        pytest.skip("NOT TESTED: CairoSVG is not installed (pip install 'handgrad[images]')")
    assert png.startswith(b"\x89PNG")
    assert images._by_cairo([drawing.svg], "pdf", 1).startswith(b"%PDF")


def test_names_that_cairo_has_no_font_for_go_to_a_browser_or_are_told(tmp_path, monkeypatch):
    pytest.importorskip("cairosvg", exc_type=(ImportError, OSError), reason="NOT TESTED: CairoSVG is not installed")
    made = draw(Value(2.0, name="\U00012000") * 3)  # a cuneiform sign
    monkeypatch.setattr(images, "_by_browser", lambda *args: b"by a browser")
    assert made.save(tmp_path / "g.png").read_bytes() == b"by a browser"
    assert draw(Value(2.0, name="x") * 3).save(tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(images, "_by_browser", lambda *args: None)
    with pytest.warns(UserWarning, match="no font here shows \U00012000"):
        assert made.save(tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")


def test_a_png_has_the_drawings_colours(tmp_path, drawing, chromium, monkeypatch):
    """The surface is painted, light or dark, and twice the drawing's size."""
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setattr(images, "_by_cairo", lambda *args: None)
    monkeypatch.setattr(browser, "find_chromium", lambda: chromium)
    for theme, corner in (("light", (255, 255, 255)), ("dark", (21, 24, 29))):
        picture = image.open(drawing.save(tmp_path / f"{theme}.png", theme=theme)).convert("RGB")
        assert picture.getpixel((3, 3)) == corner
        assert abs(picture.width - 2 * drawing.placement.width) <= 2
        assert abs(picture.height - 2 * drawing.placement.height) <= 2


def test_a_png_by_a_browser_is_the_whole_drawing(tmp_path, drawing, chromium, monkeypatch):
    """A browser keeps a part of its window for itself: the lowest card must still be there."""
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setattr(images, "_by_cairo", lambda *args: None)
    monkeypatch.setattr(browser, "find_chromium", lambda: chromium)
    picture = image.open(drawing.save(tmp_path / "g.png")).convert("L")
    inked = picture.point(lambda level: 255 if level < 200 else 0).getbbox()
    lowest = max(box.bottom for box in drawing.placement.boxes.values())
    assert abs(inked[3] - 2 * lowest) <= 6


def test_the_first_rows_of_a_png():
    image = pytest.importorskip("PIL.Image")
    picture = image.effect_noise((9, 7), 50).convert("RGB")
    whole = io.BytesIO()
    picture.save(whole, "png")
    cut = image.open(io.BytesIO(images.first_rows(whole.getvalue(), 3)))
    assert cut.tobytes() == picture.crop((0, 0, 9, 3)).tobytes()
    assert image.open(io.BytesIO(images.first_rows(whole.getvalue(), 99))).size == (9, 7)


def test_a_wrong_theme_is_refused(tmp_path, drawing):
    with pytest.raises(ValueError, match=r"'light', 'dark' or a dict .*; got 'sepia'"):
        drawing.save(tmp_path / "g.png", theme="sepia")
