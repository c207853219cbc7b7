"""Characters of symbol fonts as Unicode: documents write ≥, µ and ± that way, as letters of another font."""

from __future__ import annotations

_SYMBOL = {
    **dict(zip(range(0x20, 0x7F), (
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
    ), strict=True)),
    **dict(zip(range(0xA0, 0xF0), (
        "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪"
    ), strict=True)),
    0xF1: "〉", 0xF2: "∫",
}  # fmt: skip
_WINGDINGS = {
    0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x72: "❒", 0x75: "◆", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xA8: "◻",
    0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}


def is_symbol_font(font: str) -> bool:
    return font.lower() in _FONTS


def symbols(text: str, font: str) -> str:
    """Text in a symbol font, as what it shows. U+FFFD stands for a sign without a Unicode character here."""
    signs = _FONTS.get(font.lower())
    if signs is None:
        return text
    return "".join(char if char.isspace() else signs.get(ord(char) & 0xFF, "\ufffd") for char in text)
