from __future__ import annotations

from datetime import date
from pathlib import Path
from uuid import uuid4

import pytest
from answer_evidence import document, hits_of, key

from veraz.answer.select import citation
from veraz.answer.sentences import RevisionKey, candidates
from veraz.answer.validate import Validation, claims_from_text, validate
from veraz.demo import CORPUS
from veraz.nouns.answer import Citation, Claim


def cited(
    n: int, quote: str, text: str | None = None, *, doc: str = "", lang: str = "en"
) -> tuple[Citation, str]:
    text = quote if text is None else text
    start = max(0, text.find(quote))
    citation = Citation(
        n=n,
        external_id=doc or f"d{n}",
        source="s",
        title="T",
        url=None,
        revision=1,
        revised_at=date(2024, 1, 1),
        chunk_id=uuid4(),
        ord=0,
        heading_path=(),
        page=None,
        start=start,
        end=start + len(quote),
        quote=quote,
        superseded_by=None,
        lang=lang,
    )
    return citation, text


def check(raw: str | list[Claim], *sources: tuple[Citation, str]) -> Validation:
    texts: dict[RevisionKey, str] = {("s", c.external_id, 1): text for c, text in sources}
    claims = claims_from_text(raw) if isinstance(raw, str) else raw
    return validate(claims, [c for c, _ in sources], texts)


def why(raw: str | list[Claim], *sources: tuple[Citation, str]) -> str:
    result = check(raw, *sources)
    assert result.claims == ()
    assert result.refused
    return result.dropped[0].why


def test_numbers_that_are_no_source_drop_the_sentence_and_keep_the_rest() -> None:
    sources = [
        cited(n, q)
        for n, q in enumerate(["The limit is 30 km/h.", "It was set in 2019.", "A b c d.", "E."], 1)
    ]
    result = check("The limit is 30 km/h [1]. It was set in 2019 [7].", *sources)
    assert [(c.text, c.citations) for c in result.claims] == [("The limit is 30 km/h.", (1,))]
    (dropped,) = result.dropped
    assert dropped.text == "It was set in 2019."
    assert "[7]" in dropped.why
    assert not result.refused


@pytest.mark.parametrize(
    ("claim", "source", "lang", "stands"),
    [
        ("La dosis es 2 mg.", "La dosis es 2.000 mg.", "es", False),
        ("La dosis es 2000 mg.", "La dosis es 2.000 mg.", "es", True),
        ("La dosis es 2 000 mg.", "La dosis es 2.000 mg.", "es", True),
        (
            "La dosis es 2.000 mg.",
            "La dosis es 2 g.",
            "es",
            False,
        ),  # another number: a claim repeats, it does not convert
        ("The dose is 2 mg.", "The dose is 2.000 mg.", "en", True),
        ("The dose is 2000 mg.", "The dose is 2.000 mg.", "en", False),
        ("Dose: 2 mg.", "Dose: 2.000 mg.", "", False),
        ("Dose: 2000 mg.", "Dose: 2.000 mg.", "", False),
        ("Dose: 2.000 mg.", "Dose: 2.000 mg.", "", True),
        ("Dose: 2.000 mg.", "Dose: 2,000 mg.", "", False),
        ("La dose est 1,5 mg.", "La dose est 1.5 mg.", "fr", True),
        ("La dose est 15 mg.", "La dose est 1,5 mg.", "fr", False),
    ],
)
def test_a_dose_is_read_as_the_language_of_its_source_writes_it(
    claim: str, source: str, lang: str, stands: bool
) -> None:
    result = check([Claim(claim, (1,), 1.0)], cited(1, source, lang=lang))
    assert bool(result.claims) is stands, result.dropped
    assert not any(mark in d.why for d in result.dropped for mark in "~¬¦")


def test_words_in_quotation_marks_must_be_in_the_source() -> None:
    source = cited(1, "Supplier shall notify the buyer within 10 days.")
    raw = 'The contract says "Supplier shall promptly notify the buyer within 10 business days" [1].'
    assert "quotes" in why(raw, source)
    fine = "The contract says “supplier shall  notify\nthe buyer within 10 days” [1]."
    assert len(check(fine, source).claims) == 1


def test_true_words_in_the_wrong_place() -> None:
    sources = cited(1, "Do not exceed 4 g per day."), cited(2, "In children, do not exceed 1 g per day.")
    result = check('"Do not exceed 1 g per day" [1]. "In children, do not exceed 4 g per day" [2].', *sources)
    assert result.claims == ()
    assert len(result.dropped) == 2
    assert result.refused
    assert "child" in why("Do not exceed 1 g per day [2].", *sources)  # its condition is missing
    assert len(check("In children, do not exceed 1 g per day [2].", *sources).claims) == 1


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Cool the burn for 10 minutes.", "Cool the burn for 20 minutes."),
        ("Take 5 g daily.", "Take 5 mg daily."),
        ("Take 500 mg three times in 24 hours.", "Take 500 mg in 24 hours."),
        ("The limit is 105 CFU/mL.", "The limit is 10⁵ CFU/mL."),
        (
            "Metformin must be taken with an eGFR below 30.",
            "Metformin must not be taken with an eGFR below 30.",
        ),
        ("Do not use ice on a burn.", "Use ice on a burn."),
        ("Exceed 4 g per day.", "Do not exceed 4 g per day."),
        ("Adults take 5 ml every day.", "Take 5 ml every day."),
        ("The dose for children is 5 ml.", "The dose for adults is 5 ml."),
        ("No tome ibuprofeno con warfarina.", "Tome ibuprofeno con warfarina."),
        ("Prenez de l'aspirine.", "Ne prenez pas d'aspirine."),
    ],
)
def test_what_the_source_does_not_carry_is_dropped(claim: str, source: str) -> None:
    assert check([Claim(claim, (1,), 1.0)], cited(1, source)).claims == ()


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Cool the burn for 20 minutes.", "Cool the burn for 20 minutes."),
        ("Do not exceed 4000 mg in 24 hours.", "Do not exceed 4,000 mg in 24 hours."),
        ("Wait 1 hour.", "Wait 1 hour."),
        ("Burns need 20 minutes of water.", "Cool burns with water for 20 minutes. Do not use ice."),
        ("The limit is 10⁵ CFU/mL.", "The limit is 10⁵ CFU/mL."),
        ("Antibiotics do not act on viruses.", "Antibiotics do not act on viruses. Rest helps."),
    ],
)
def test_what_the_source_carries_stays(claim: str, source: str) -> None:
    assert len(check([Claim(claim, (1,), 1.0)], cited(1, source)).claims) == 1


def test_a_claim_without_citations_is_dropped() -> None:
    assert why("Nitrogen boils at minus 196 degrees.", cited(1, "Something else.")) == "it cites nothing"


@pytest.mark.parametrize("text", ["Cool the burn for 10 minutes.", "", "xCool the burn for 20 minutes."])
def test_a_quotation_must_stand_where_it_says(text: str) -> None:
    citation, _ = cited(1, "Cool the burn for 20 minutes.")
    claim = [Claim(citation.quote, (1,), 1.0)]
    assert "not what its revision says" in why(claim, (citation, text))


def test_a_missing_revision_is_no_support() -> None:
    citation, _ = cited(1, "Cool the burn.")
    result = validate([Claim("Cool the burn.", (1,), 1.0)], [citation], {})
    assert "not available" in result.dropped[0].why


def test_a_table_row_is_supported_with_its_header() -> None:
    table = "| eGFR (per 1.73 m²) | Dose |\n|---|---|\n| 30 to 44 | 1000 mg. Do not start |\n| Below 30 | none |\n"
    row = cited(1, "| 30 to 44 | 1000 mg. Do not start |", table)
    assert (
        len(
            check([Claim("eGFR (per 1.73 m²): 30 to 44; Dose: 1000 mg. Do not start", (1,), 1.0)], row).claims
        )
        == 1
    )
    assert check([Claim("eGFR (per 1.73 m²): Below 30; Dose: 1000 mg", (1,), 1.0)], row).claims == ()


def test_two_sources_may_carry_a_claim_together() -> None:
    sources = (
        cited(1, "Cool the burn for 20 minutes."),
        cited(2, "Cooling helps up to 3 hours after the burn."),
    )
    claim = [Claim("Cool the burn for 20 minutes, up to 3 hours after it.", (1, 2), 1.0)]
    assert len(check(claim, *sources).claims) == 1


def test_too_many_drops_refuse() -> None:
    source = cited(1, "Rest well.")
    good, bad = Claim("Rest well.", (1,), 1.0), Claim("Take 9 pills.", (1,), 1.0)
    assert not check([good, bad], source).refused
    assert check([good, bad, bad], source).refused
    assert check([], source).refused


def test_markers_are_read_before_and_after_the_full_stop() -> None:
    claims = claims_from_text("One thing is so [1]. Another is that. [2][3] A third one [2, 4] stands.")
    assert [(c.text, c.citations) for c in claims] == [
        ("One thing is so.", (1,)),
        ("Another is that.", (2, 3)),
        ("A third one stands.", (2, 4)),
    ]


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.md")), ids=lambda p: p.name)
def test_verbatim_sentences_always_pass(path: Path) -> None:
    text = path.read_text("utf-8").split("---\n", 2)[2]
    ref = document(path.name, path.stem)
    for candidate in candidates(hits_of(ref, text), {key(ref): text}):
        claim = Claim(candidate.shown, (1,), 1.0)
        assert validate([claim], [citation(1, candidate)], {key(ref): text}).dropped == ()
