"""Main text, body text, and what the extractor alone would lose (PAR-03, PAR-05)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from services.parser.text import body_text, main_text, plain_text

WORDS = "The river rose by two metres in the night and the old bridge was closed to lorries."


def main(html: str) -> str:
    return main_text(html, LexborHTMLParser(html))


def body(html: str) -> str:
    return body_text(LexborHTMLParser(html))


def test_the_article_is_taken_and_navigation_left() -> None:
    html = f"""<html><body><nav><a href=/>Home</a> <a href=/about>About us</a></nav>
    <article><h1>Flood</h1><p>{WORDS}</p><p>{WORDS[::-1]}</p></article>
    <footer>Copyright notice</footer></body></html>"""
    text = main(html)
    assert WORDS in text
    assert "About us" not in text
    assert "Copyright" not in text


def test_short_pages_have_each_paragraph_once() -> None:
    """Case PAR-05."""
    html = """<body><nav><a href=/>Home</a></nav><article><h1>Title</h1><p>First words.</p>
    <p>Second words.</p></article><footer>foot</footer>"""
    text = main(html)
    assert (text.count("First words."), text.count("Second words.")) == (1, 1)


def test_a_paragraph_outside_the_content_block_is_there_once() -> None:
    """Case PAR-05."""
    inside, outside = (
        "Sixty letters of words that stand in the block of content.",
        (WORDS * 3)[:200],
    )
    text = main(f"<body><div id=content><p>{inside}</p></div><p>{outside}</p></body>")
    assert (text.count(inside), text.count(outside[60:150])) == (1, 1)


def test_two_documents_in_one_are_read_to_the_end() -> None:
    """Case PAR-05: lxml ends at the first </html>."""
    one = f"<html><body><p>{WORDS}</p></body></html>"
    two = f"<html><body><p>{WORDS.upper()}</p></body></html>"
    text = main(one + two)
    assert WORDS in text
    assert WORDS.upper() in text


def test_a_stray_bracket_costs_no_more_than_html_says() -> None:
    """Case PAR-05."""
    text = main(f"<body><article><p>if a <b and c> d then</p><p>{WORDS}</p></article>")
    assert "if a" in text
    assert "d then" in text
    assert WORDS in text


def test_words_of_nested_inline_elements_stay_whole_and_in_order() -> None:
    """From PostgreSQL's manual: code in em in code."""
    html = f"""<body><div><p>{WORDS}</p><p>Two types: <code>bit(<em><code>n</code></em>)</code> and
    <code>bit varying(<em><code>n</code></em>)</code>, where <em><code>n</code></em> is a
    number.</p></div></body>"""
    assert "Two types: bit(n) and bit varying(n), where n is a number." in main(html)


def test_a_span_in_a_sentence_is_part_of_it_whatever_its_class() -> None:
    """From Python's manual: a class with `menu` in it."""
    html = f"""<body><div role=main><p>{WORDS}</p><p>Choose <span class=menuselection>Start,
    Programs</span> and wait.</p></div></body>"""
    assert "Choose Start, Programs and wait." in main(html)


def test_a_section_is_not_left_out_for_the_words_of_its_permanent_link() -> None:
    """From Python's manual: the section `#menus` of IDLE's page."""
    html = f"""<body><div role=main><section id=idle><h1>IDLE<a href="#idle">¶</a></h1>
    <p>{WORDS}</p><section id=menus><h2>Menus<a href="#menus">¶</a></h2>
    <p>There are two main windows.</p></section></section></div></body>"""
    assert "There are two main windows." in main(html)


def test_lists_of_a_page_without_a_content_block_are_kept_in_their_place() -> None:
    html = f"""<body><div><p>{WORDS}</p><dl><dt>term</dt><dd>What it means.</dd></dl>
    <ul><li>an item</li></ul><p>{WORDS.upper()}</p></div></body>"""
    found = [main(html).find(part) for part in (WORDS, "term", "means.", "item", WORDS.upper())]
    assert found == sorted(found)
    assert found[0] >= 0


def test_divisions_of_a_list_item_do_not_run_together() -> None:
    """From Java's manual: tables made of div."""
    html = f"""<body><main><p>{WORDS}</p><ul><li><section><h2>Fields</h2><div><div>Type</div>
    <div>Field</div><div><code>long</code></div></div></section></li></ul></main></body>"""
    assert "Type Field long" in main(html).replace("\n", " ")


def test_references_that_are_shown_stay_as_they_are_shown() -> None:
    """From Python's manual of HTML."""
    html = f"<body><article><p>{WORDS} Write &amp;lt; or &amp;#60; for &lt; here.</p></article>"
    assert "Write &lt; or &#60; for < here." in main(html)


def test_a_table_reads_without_markdown() -> None:
    html = f"""<body><article><p>{WORDS}</p><table><tr><th>Operator</th><th>Meaning</th></tr>
    <tr><td>a || b</td><td>joins both texts</td></tr></table><p>{WORDS}</p></article></body>"""
    text = main(html)
    assert "a || b | joins both texts" in text
    assert "---" not in text


def test_control_characters_do_not_reach_the_text() -> None:
    """Case PAR-03."""
    text = main(f"<body><article><p>one\x0btwo\x1f\0&#xD800;&#11;&#x1F; {WORDS}</p></article>")
    assert WORDS in text
    assert text.isprintable() or "\n" in text
    assert not set("\0\x0b\x1f") & set(text)
    text.encode()


def test_an_xml_declaration_in_decoded_text_is_ignored() -> None:
    """Case PAR-03."""
    html = f'<?xml version="1.0" encoding="iso-8859-1"?><html><body><p>café {WORDS}</p></body>'
    assert f"café {WORDS}" in main(html)


@pytest.mark.parametrize("html", ["", " ", "\0", "<!doctype html>", "<html></html>", "<!-- x -->"])
def test_a_page_without_text_has_none(html: str) -> None:
    assert (main(html), body(html)) == ("", "")


def test_body_text_leaves_out_what_is_not_shown() -> None:
    html = """<head><title>t</title><style>p{}</style></head><body><script>x()</script>
    <p>One <b>bold</b> word</p><noscript>no</noscript><ul><li>a<li>b</ul><svg><text>s</text></svg>
    <template>t</template>end</body>"""
    assert body(html) == "One bold word\na\nb end"


def test_a_frameset_has_no_body_text() -> None:
    assert body("<html><frameset><frame src=/a></frameset></html>") == ""


def test_a_plain_file_is_its_own_text() -> None:
    assert plain_text("a\r\nb\0\x07\tc\n") == "a\nb\tc"


@given(st.text(max_size=300))
def test_any_markup_gives_text_that_can_be_stored(html: str) -> None:
    for text in (main(html), body(html), plain_text(html)):
        text.encode()
        assert "\0" not in text
