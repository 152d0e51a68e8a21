"""Colours and fonts, light and dark, in one place.

Every painted element carries its light colour as an attribute, which is what printers and other programs
see; on a screen the classes `hg-f-<token>` (fill) and `hg-s-<token>` (stroke) replace it by a variable that
knows about dark. A page's own choice (`data-theme` on an ancestor, or JupyterLab's attribute) beats the
system's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from autograd.formula.text import xml

# token: (light, dark)
TOKENS: dict[str, tuple[str, str]] = {
    "surface": ("#FFFFFF", "#15181D"),
    "panel": ("#F6F7F9", "#1C2026"),
    "ink": ("#1A1D23", "#E9ECF1"),
    "muted": ("#5A626E", "#A6AFBB"),
    "line": ("#858E9B", "#78828F"),
    "hair": ("#D3D8DF", "#353C46"),
    "parameter-fill": ("#E3EEFA", "#142A42"),
    "parameter-line": ("#0B5CAD", "#6DB0F5"),
    "input-fill": ("#DDF2EF", "#0F302E"),
    "input-line": ("#0A6B66", "#5FD0C5"),
    "constant-fill": ("#F4F5F7", "#23272E"),
    "constant-line": ("#858E9B", "#78828F"),
    "result-fill": ("#FFFFFF", "#1E2229"),
    "result-line": ("#858E9B", "#78828F"),
    "output-fill": ("#EFEAF6", "#2B2438"),
    "output-line": ("#1A1D23", "#E9ECF1"),
    "module-fill": ("#EEF0F3", "#262B33"),
    "module-line": ("#5A626E", "#A6AFBB"),
    "scope-fill": ("#F7F8FA", "#1A1E24"),
    "scope-line": ("#C3C9D2", "#3D4651"),
    "grad": ("#A84300", "#FFB066"),
    "grad-line": ("#D96300", "#FF9736"),
    "grad-fill": ("#FFF1E2", "#38260F"),
    "now-fill": ("#FFDDB5", "#5A3510"),
    "change": ("#7A1FA2", "#D9A9F5"),
    "bad": ("#B0003A", "#FF7FA3"),
    "bad-fill": ("#FFE3EC", "#45122A"),
}

MONO = "ui-monospace,'SF Mono',SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif"

FONTS = {"mono": MONO, "sans": SANS}
LIGHT, DARK = 0, 1


def light(token: str) -> str:
    """The colour as an attribute carries it."""
    return TOKENS[token][LIGHT]


def variables(theme: int) -> str:
    """`--hg-ink:#1A1D23;…` for one theme."""
    return "".join(f"--hg-{token}:{pair[theme]};" for token, pair in TOKENS.items())


def variables_css(selector: str = ".hg") -> str:
    """The variables on `selector`: the system's theme, unless an ancestor or the element itself names one."""

    def chosen(name: str, jupyter: str) -> str:
        return (
            f'[data-theme="{name}"] {selector},{selector}[data-theme="{name}"],'
            f'[data-jp-theme-light="{jupyter}"] {selector}'
        )

    return (
        f"@media screen{{{selector}{{{variables(LIGHT)}}}}}"
        f"@media screen and (prefers-color-scheme:dark){{{selector}{{{variables(DARK)}}}}}"
        f"@media screen{{{chosen('light', 'true')}{{{variables(LIGHT)}}}"
        f"{chosen('dark', 'false')}{{{variables(DARK)}}}}}"
    )


def css(tokens: set[str] | None = None) -> str:
    """The style sheet of an SVG drawing: variables, and one fill and one stroke class per token used."""
    used = [token for token in TOKENS if tokens is None or token in tokens]
    classes = "".join(
        f".hg-f-{token}{{fill:var(--hg-{token})}}.hg-s-{token}{{stroke:var(--hg-{token})}}" for token in used
    )
    return (
        variables_css() + f"@media screen{{{classes}}}.hg-mono{{font-variant-numeric:tabular-nums;"
        "font-variant-ligatures:none}"
    )


def recoloured(svg: str, theme_name: str) -> str:
    """The SVG with its attributes in a theme's colours, for programs that read no style sheet."""
    if theme_name != "dark":
        return svg

    def element(found: re.Match[str]) -> str:
        tag = found[0]
        for kind, attribute in (("f", "fill"), ("s", "stroke")):
            token = re.search(rf"hg-{kind}-([a-z-]+)", tag)
            if token:
                tag = re.sub(rf' {attribute}="#[0-9A-F]{{6}}"', f' {attribute}="{TOKENS[token[1]][DARK]}"', tag)
        return tag

    return re.sub(r"<\w[^>]*class=\"hg-[^>]*>", element, svg)


def checked_theme(theme: str | Mapping[str, str]) -> str | Mapping[str, str]:
    """A theme's name, or colours and fonts by their names here; refuses others."""
    if isinstance(theme, str) and theme in ("auto", "light", "dark"):
        return theme
    if not isinstance(theme, Mapping):
        raise ValueError(f"theme is 'auto', 'light', 'dark' or a dict such as {{'grad': '#0A6B66'}}; got {theme!r}")
    for name, look in theme.items():
        if name not in TOKENS and name not in FONTS:
            raise ValueError(f"theme has no {name!r}; it has {', '.join([*TOKENS, *FONTS])}")
        if not isinstance(look, str) or not re.fullmatch(r"[#\w ,.()%'-]+", look):
            raise ValueError(f"theme[{name!r}] is a colour or font as CSS writes it, such as '#0A6B66'; got {look!r}")
    return theme


def in_own(svg: str, own: Mapping[str, str]) -> str:
    """The SVG in colours and fonts of somebody's own, on a screen and on paper."""
    for name, look in own.items():
        if name in FONTS:
            svg = svg.replace(xml(FONTS[name]), xml(f"'{look}',{FONTS[name]}"))
        else:
            svg = re.sub(rf"--hg-{name}:[^;]*;", f"--hg-{name}:{look};", svg)
            for kind, attribute in (("f", "fill"), ("s", "stroke")):
                svg = re.sub(rf'(class="[^"]*hg-{kind}-{name}(?![\w-])[^>]*? {attribute}=")[^"]*', rf"\g<1>{look}", svg)
    return svg


def fill(token: str) -> str:
    """The attributes that fill with a token."""
    return f'class="hg-f-{token}" fill="{TOKENS[token][LIGHT]}"'


def stroke(token: str, width: float) -> str:
    """The attributes that outline with a token and fill nothing."""
    return f'class="hg-s-{token}" stroke="{TOKENS[token][LIGHT]}" stroke-width="{width:g}" fill="none"'


def outline(fill_token: str, line_token: str, width: float) -> str:
    """The attributes that fill with one token and outline with another."""
    return (
        f'class="hg-f-{fill_token} hg-s-{line_token}" fill="{TOKENS[fill_token][LIGHT]}" '
        f'stroke="{TOKENS[line_token][LIGHT]}" stroke-width="{width:g}"'
    )
