from __future__ import annotations

import time
from datetime import date
from email.message import EmailMessage

import pytest
from tests.support.office import blocks, headings, parse

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument


def mail(text: str | None = "Take 5 mg.", subject: str = "Dose") -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject, "Ana <a@x.org>", "b@x.org"
    message["Date"] = "Tue, 05 Mar 2024 10:30:00 +0100"
    if text is not None:
        message.set_content(text)
    return message


def read(message: EmailMessage | bytes) -> ParsedDocument:
    return parse(message if isinstance(message, bytes) else message.as_bytes(), "a.eml")


def test_subject_text_and_fields() -> None:
    doc = read(mail(subject="Änderung der Dosis"))
    assert (doc.title, headings(doc)) == ("Änderung der Dosis", [(1, "Änderung der Dosis")])
    assert blocks(doc) == [("paragraph", "Take 5 mg.")]
    assert doc.published_at == date(2024, 3, 5)
    assert dict(doc.meta) == {"from": "Ana <a@x.org>", "to": "b@x.org", "date": "2024-03-05T10:30:00+01:00"}


def test_of_alternatives_the_plain_text_unless_the_other_has_a_table() -> None:
    both = mail("Take 5 mg.")
    both.add_alternative("<p>Take <b>5</b> mg.</p>", subtype="html")
    assert read(both).text == "Dose\n\nTake 5 mg."
    table = mail("Drug mg Sorbex 5")
    table.add_alternative(
        "<table><tr><th>Drug</th><th>mg</th></tr><tr><td>Sorbex</td><td>5</td></tr></table>", subtype="html"
    )
    assert blocks(read(table)) == [("table", "| Drug | mg |\n|---|---|\n| Sorbex | 5 |")]


def test_html_in_a_container_with_its_images_is_read_once() -> None:
    message = mail("see the page")
    message.add_alternative("<h1>Head</h1><p>one two three four five six seven</p>", subtype="html")
    message.get_payload()[1].add_related(b"png", "image", "png", cid="<1>")  # type: ignore[union-attr, index]
    doc = read(message)
    assert doc.text == "Dose\n\nHead\n\none two three four five six seven"
    assert headings(doc) == [(1, "Dose"), (2, "Head")]


def test_an_alternative_in_pieces_is_read_whole_and_what_is_attached_between_them_is_named() -> None:
    """As programs write a mail in which a file was dropped into the text."""
    message = mail("see below")
    message.add_alternative("<p>Before the file, in several words</p>", subtype="html")
    rich = message.get_payload()[1]  # type: ignore[index]
    assert isinstance(rich, EmailMessage)
    rich.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="dose.pdf")
    rich.add_attachment("<p>after it</p>", subtype="html", disposition="inline")
    rich.add_attachment("<p>not of it</p>", subtype="html", filename="page.html")
    rich.add_attachment(b"png", "image", "png", disposition="inline", filename="logo.png")
    doc = read(message)
    assert doc.text == "Dose\n\nBefore the file, in several words\n\nafter it"
    assert doc.warnings == ("2 attachments left out: dose.pdf, page.html",)


def test_attachments_are_named() -> None:
    message = mail()
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="dosis-ñ.pdf")
    message.add_attachment("a,b", subtype="csv", filename="x.csv")
    assert read(message).warnings == ("2 attachments left out: dosis-ñ.pdf, x.csv",)


def test_a_forwarded_mail_is_a_section() -> None:
    outer = mail("See below.", "Fwd: Dose")
    outer.add_attachment(mail("Take 5 mg.", "Dose"))
    doc = read(outer)
    assert headings(doc) == [(1, "Fwd: Dose"), (2, "Dose")]
    assert [text for _, text in blocks(doc)] == [
        "See below.",
        "From: Ana <a@x.org>\nTo: b@x.org\nDate: Tue, 05 Mar 2024 10:30:00 +0100",
        "Take 5 mg.",
    ]


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-8", "koi8-r"])
def test_character_sets(charset: str) -> None:
    text = "доза" if charset == "koi8-r" else "5 µg täglich"
    message = mail(None)
    message.set_content(text, charset=charset, cte="base64")
    assert read(message).text == f"Dose\n\n{text}"


def test_a_wrong_character_set_is_told() -> None:
    payload = b"Subject: x\nContent-Type: text/plain; charset=us-ascii\nContent-Transfer-Encoding: 8bit\n\n5 \xc2\xb5g\n"
    doc = read(payload)
    assert doc.text == "x\n\n5 µg"
    assert doc.warnings == ("a text part is not us-ascii, as it says: read as utf-8",)


def test_soft_line_breaks_are_joined() -> None:
    payload = b"Subject: x\nContent-Type: text/plain; format=flowed\n\nTake one \ntablet.\n-- \nAna\n"
    assert "Take one tablet.\n" in read(payload).text


def test_encrypted_empty_and_no_mail() -> None:
    locked = b"Subject: x\nContent-Type: multipart/encrypted; boundary=b\n\n--b\n\nx\n--b--\n"
    for payload, reason in (
        (locked, "encrypted mail"),
        (b"", "no content"),
        (b"just a line\nand another\n", "no mail"),
        (mail(" ").as_bytes(), "a mail without text"),
        (
            b"Subject: x\nContent-Type: text/plain; charset=utf-16\n\n\xff\xfe5\x00\n",
            "a text part left out: not valid utf-16",
        ),
    ):
        with pytest.raises(ItemError, match=reason):
            read(payload)


def test_mails_in_mails_end() -> None:
    message = mail("inmost")
    for _ in range(40):
        outer = mail("x")
        outer.add_attachment(message)
        message = outer
    doc = read(message)
    assert "inmost" not in doc.text
    assert "mails nested more than 20 deep left out" in doc.warnings


@pytest.mark.parametrize(
    "charset", ["utf-16", "utf-16-le", "utf-32", "utf-7", "unicode_escape", "hex", "nonsense"]
)
def test_a_charset_that_a_part_is_surely_not_in_is_not_believed(charset: str) -> None:
    doc = read(f"From: a\nContent-Type: text/plain; charset={charset}\n\nTake 5 mg \\u0041 daily!\n".encode())
    assert doc.text == "Take 5 mg \\u0041 daily!"
    assert doc.warnings == (f"a text part is not {charset}, as it says: read as utf-8",)


def test_a_part_in_utf_16_is_read() -> None:
    body = "Dosis: 5 mg täglich".encode("utf-16-le").hex("=").upper()
    head = b"From: a\nContent-Type: text/plain; charset=utf-16-le\nContent-Transfer-Encoding: quoted-printable\n\n"
    assert read(head + b"=" + body.encode()).text == "Dosis: 5 mg täglich"


@pytest.mark.parametrize("field", ["From: " + "a@b.org, " * 40_000, "Subject: " + "=?utf-8?q?a?= " * 20_000])
def test_endless_header_fields_are_read_as_far_as_they_are_of_use(field: str) -> None:
    began = time.process_time()
    doc = read(f"{field}\n\nTake 5 mg.".encode())
    assert time.process_time() - began < 10
    assert "Take 5 mg." in doc.text
    name = field.partition(":")[0]
    assert f"the field {name} is read as far as its first 20,000 characters" in doc.warnings


def test_a_field_that_cannot_be_parsed_counts_as_it_stands() -> None:
    doc = read(b"From: " + b"(" * 5_000 + b"\nSubject: Dose\n\nTake 5 mg.")
    assert doc.text == "Dose\n\nTake 5 mg."
