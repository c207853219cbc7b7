"""Sentences: a table of what must and must not be a boundary, and the properties that quoting relies on."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.nouns.corpus import Span
from veraz.text.sentences import sentence_spans, without_marker


def split(text: str, lang: str = "en") -> list[str]:
    return [text[span.start : span.end] for span in sentence_spans(text, lang)]


# "|" marks the boundaries that there must be, and there must be no other.
TABLE = [
    ("en", "Start with 0.5 mg in the evening.| Increase by 0.25 mg every 3.5 days.| Stop."),
    ("en", "In liver disease the limit is 1,5 mg.| The factor is 1.05."),
    ("en", "Dr. Smith and Mr. Jones saw it.| See Fig. 3 and No. 5 of vol. 2."),
    ("en", "See Fig. 3.| The dose is 5 mg.| It was given i.v. over 3 h."),
    ("en", "Use aspirin, e.g. Bayer, i.e. This one, vs. That one."),
    ("en", "Take approx. 5 mL, max. 20 mL a day.| Do not take more."),
    ("en", "He took 5 mg. twice daily.| Then he took 5 mg.| Then he left."),
    ("en", "Is it safe?| No.| The drug is not safe."),
    ("en", "Come at 8 p.m. Monday or at 10.30 a.m. on Tuesday.| It starts at 8 p.m.| The clinic is shut."),
    ("en", "The U.S. Food and Drug Administration warns of it.| It was approved in the U.S.| This is new."),
    ("en", "J. R. Smith et al. found it.| W. Jones did not."),
    ("en", "They need vitamin D.| Patients with scurvy need vitamin C.| It helps."),
    ("en", "Wait... and see.| Really?!| Yes!| Good."),
    ("en", '"Stop now."| She left (see below).| (This is an aside.)| End.'),
    ("en", "Within 72 hours of the rash.|Treatment helps.| See www.Example.com or a.b@Mail.org now."),
    ("en", "Visit https://x.org/a.Bcd?q=1.| Then call."),
    ("en", "1. Take one tablet.| 2. Wait.| 3. Call."),
    ("en", "Dose: 5 mg. 3 times a day is too much.| Stop."),
    ("en", "First line of\na wrapped sentence that goes on\nand ends.| Next."),
    ("en", "One paragraph without a stop\n\n|Another"),
    ("en", "One paragraph\r\n \r\n|Another\r\n\r\n|Third"),
    ("en", "Do not take it if you\n|- are pregnant\n|- have gout.| Ask first.\n|* are old"),
    ("en", "Risks include:    |- Age    |- Being a man    |- Gout"),
    ("en", "It helps:  |- Rest  |- Water   |These pages say more."),
    ("en", "Very common side effects\n|Pain in the joints\n|Cough"),
    ("en", "- Not installed: a superuser runs\n  `CREATE EXTENSION x` in the database of the service.\n|- Rest"),
    ("en", "- Made for those whom\n  Parkinson's disease keeps from swallowing tablets at all.\n|- Others"),
    ("en", "- Rest\n|Call a doctor when the rash has not gone after three days."),
    ("en", "The command reads all below\n`docs/` and nothing else, whatever else the folder holds."),
    ("en", "The best of the arms was rrf\n(k = 60), above the better of the two by a few points.| Next."),
    ("en", "It reads Word, PowerPoint, Excel,\nEPUB and mail, and a few formats that are less common."),
    ("en", "the lipids were low . |1. they rose in twins and then they fell . |2. they did not rise"),
    ("es", "Tome 1 comprimido, p. ej. Ibuprofeno.| El Dr. García y la Sra. Paz lo ven.| Véase pág. 3.| ¿Qué es?"),
    ("es", "Tiene 2,5 mg.| No conducir.| Aprox. 5 UI, etc.| Consulte a su médico."),
    ("fr", "M. Dupont prend p. ex. 5 mg.| Mme Martin en prend 2,5.| Qu'est-ce que c'est ?| Rien."),
    ("fr", "Avec M. Dupont, env. 3 fois.| Voir fig. 2."),
    ("de", "Nehmen Sie z. B. Aspirin am 3. Mai ein.| Das ist gut.| Ca. 5 mg, d. h. Wenig.| Am 3. Juni 2020."),
    ("de", "Dr. Müller nimmt 2,5 mg bzw. Mehr.| Die Dosis ist gering."),
    ("it", "Il dott. Rossi e la sig.ra Bianchi prendono p.es. Aspirina.| Non è vero.| È così."),
    ("pt", "O Dr. Silva e a Sra. Costa tomam aprox. 5 mg.| Não conduza.| Está bem."),
    ("nl", "Dhr. Jansen neemt bijv. Aspirine.| Gebruik het niet.| Dat is o.a. Paracetamol."),
    ("zh", "剂量是0.5毫克。|不要超过！|是吗？|「是的。」|完"),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "marked"), TABLE)
def test_boundaries(lang: str, marked: str) -> None:
    pieces = marked.split("|")
    assert split("".join(pieces), lang) == [piece.strip() for piece in pieces]


def test_rows_of_a_table_are_apart() -> None:
    rows = ["| Drug | Dose |", "|---|---|", "| A | 5 mg and 6 mg |"]
    assert split("\n".join(rows)) == rows


@given(
    st.text(alphabet=st.sampled_from(list("Aab 0159.,!?…。-•\n\r\t|#(\"'")), max_size=200),
    st.sampled_from(["en", "de", "xx"]),
)
def test_spans_are_ordered_trimmed_and_lossless(text: str, lang: str) -> None:
    at, kept = 0, []
    for span in sentence_spans(text, lang):
        assert at <= span.start < span.end
        assert text[at : span.start].strip() == ""
        piece = text[span.start : span.end]
        assert piece == piece.strip()
        kept.append(piece)
        at = span.end
    assert text[at:].strip() == ""


@given(st.text(alphabet=st.sampled_from(list("0123456789.,: aA")), max_size=80))
def test_no_boundary_lies_between_digit_separator_and_digit(text: str) -> None:
    for span in sentence_spans(text, "en"):
        before, after = text[max(0, span.end - 2) : span.end], text[span.end : span.end + 1]
        assert not (len(before) == 2 and before[0].isdigit() and before[1] in ".,:" and after.isdigit())


@pytest.mark.parametrize(
    "text", ["a" * 200_000, "1." * 100_000, "A. " * 70_000, "- " * 100_000, "\n" * 200_000, "x\n" * 90_000]
)
def test_time_is_linear(text: str) -> None:
    began = time.process_time()
    sentence_spans(text, "en")
    assert time.process_time() - began < 8


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("- have gout", "have gout"),
        ("3) call", "call"),
        ("• call", "call"),
        ("have gout", "have gout"),
        ("2.5 mg", "2.5 mg"),
    ],
)
def test_a_marker_can_be_left_out_of_a_quote(text: str, quoted: str) -> None:
    span = without_marker(text, Span(0, len(text)))
    assert text[span.start : span.end] == quoted
