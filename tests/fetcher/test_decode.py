"""Case HTTP-03 and C9: content codings undone in bounded steps, damage named."""

import gzip
import zlib

import brotli  # type: ignore[import-untyped] # the library has no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.decode import STEP, Body, Corrupt, Unsupported

PAGE = b"<p>" + bytes(range(32, 127)) * 50 + b"</p>"
GZIP = gzip.compress(PAGE, mtime=0)


def raw_deflate(data: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(data) + deflater.flush()


def streamed_zstd(data: bytes) -> bytes:
    compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return compressor.compress(data) + compressor.flush()


CODED = {
    "gzip": GZIP,
    "x-gzip": GZIP,
    "GZIP": GZIP,
    "deflate": zlib.compress(PAGE),
    "Deflate": raw_deflate(PAGE),
    "br": brotli.compress(PAGE),
    "zstd": zstandard.compress(PAGE),
    "Zstd": streamed_zstd(PAGE),
    "identity": PAGE,
    "": PAGE,
    "gzip, br": brotli.compress(GZIP),
    "gzip,zstd,identity": zstandard.compress(GZIP),
}


def read(coding: str, wire: bytes, limit: int = 1 << 20, step: int = 65_536) -> tuple[bytes, str]:
    body = Body(coding, limit)
    try:
        for at in range(0, len(wire), step):
            if not body.feed(wire[at : at + step]):
                break
    except Corrupt:
        return body.octets(), "corrupt"
    return body.octets(), body.end()


@pytest.mark.parametrize("coding", CODED)
@pytest.mark.parametrize("step", [1, 7, 65_536])
def test_a_whole_body_is_decoded(coding: str, step: int) -> None:
    assert read(coding, CODED[coding], step=step) == (PAGE, "")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "Deflate", "br", "zstd", "Zstd"])
def test_a_body_cut_in_half_is_incomplete(coding: str) -> None:
    wire = CODED[coding]
    octets, damage = read(coding, wire[: len(wire) // 2])
    assert PAGE.startswith(octets)
    assert damage == "incomplete"


def test_gzip_without_its_trailer_is_usable_and_flagged() -> None:
    assert read("gzip", GZIP[:-8]) == (PAGE, "no-trailer")


@pytest.mark.parametrize("coding", ["gzip", "zstd", "deflate"])
def test_dirt_after_the_end_is_dropped(coding: str) -> None:
    assert read(coding, CODED[coding] + b"<!-- served by x -->") == (PAGE, "")


@pytest.mark.parametrize("step", [1, 65_536])
def test_all_members_are_read(step: int) -> None:
    assert read("gzip", GZIP + GZIP, step=step) == (PAGE + PAGE, "")
    frames = CODED["zstd"] + b"\x50\x2a\x4d\x18\x02\0\0\0xx" + CODED["Zstd"]
    assert read("zstd", frames, step=step) == (PAGE + PAGE, "")


@pytest.mark.parametrize("coding", list(CODED))
def test_an_empty_body_is_whole_whatever_its_coding(coding: str) -> None:
    assert read(coding, b"") == (b"", "")


def test_a_flipped_checksum_is_corrupt() -> None:
    wire = bytearray(GZIP)
    wire[-8] ^= 1
    assert read("gzip", bytes(wire)) == (PAGE, "corrupt")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_is_not_coded_as_it_says_is_corrupt(coding: str) -> None:
    assert read(coding, b"<html>plain text, sent by mistake</html>")[1] in {"corrupt", "incomplete"}


@pytest.mark.parametrize("coding", ["compress", "sdch", "gzip, what", "gzip,gzip,gzip,gzip"])
def test_an_unknown_coding_or_too_many_are_unsupported(coding: str) -> None:
    with pytest.raises(Unsupported):
        Body(coding, 1000)


ZEROS = b"\0" * (64 << 20)


def zstd_bomb() -> bytes:
    """A frame of run-length blocks: four octets for 128 KiB each."""
    block = (128 * 1024 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * 10_000


@pytest.mark.parametrize(
    ("coding", "bomb"),
    [
        ("gzip", gzip.compress(ZEROS, 9)),
        ("deflate", zlib.compress(ZEROS, 9)),
        ("br", brotli.compress(ZEROS, quality=1)),
        ("zstd", zstd_bomb()),
        ("gzip, gzip", gzip.compress(gzip.compress(ZEROS, 9), 9)),
    ],
)
def test_a_bomb_is_cut_at_the_limit(coding: str, bomb: bytes) -> None:
    octets, damage = read(coding, bomb, limit=1_000_000)
    assert (len(octets), damage) == (1_000_000, "size-limit")


@pytest.mark.parametrize(
    ("coding", "bomb"),
    [
        ("gzip", gzip.compress(ZEROS, 9)),
        ("br", brotli.compress(ZEROS, quality=1)),
        ("zstd", zstd_bomb()),
    ],
)
def test_no_step_is_larger_than_promised(coding: str, bomb: bytes) -> None:
    body = Body(coding, 1 << 40)
    steps = (len(part) for part, _ in zip(body._codings[0].feed(bomb), range(50), strict=False))  # noqa: SLF001 - the step is the thing under test
    assert max(steps) <= STEP


def test_a_body_that_decodes_to_nothing_is_cut_by_its_wire_size() -> None:
    empty = gzip.compress(b"", mtime=0)
    assert read("gzip", empty * 9000, limit=100_000) == (b"", "size-limit")


def test_codings_that_only_keep_us_busy_are_cut_short() -> None:
    idle = gzip.compress(b"\0\0\0\xff\xff" * 1_000_000, 9)
    stored = gzip.compress(b"\x1f\x8b\x08\0\0\0\0\0\0\0", 9)
    assert read("gzip, gzip", stored + idle, limit=100_000) == (b"", "corrupt")


@pytest.mark.parametrize("step", [1, 65_536])
def test_optional_parts_of_a_gzip_header_are_skipped(step: int) -> None:
    """RFC 1952, 2.3: FHCRC, FEXTRA, FNAME and FCOMMENT."""
    head = b"\x1f\x8b\x08\x1e\0\0\0\0\0\0" + b"\x03\0abc" + b"name\0" + b"comment\0" + b"hc"
    assert read("gzip", head + GZIP[10:], step=step) == (PAGE, "")


def test_endless_members_and_headers_are_corrupt() -> None:
    assert read("gzip", gzip.compress(b"", mtime=0) * 10_001)[1] == "corrupt"
    assert read("gzip", b"\x1f\x8b\x08\x08\0\0\0\0\0\0" + b"n" * 400_000)[1] == "corrupt"


def test_a_plain_body_of_exactly_the_limit_is_whole() -> None:
    assert read("", PAGE, limit=len(PAGE)) == (PAGE, "")
    assert read("", PAGE, limit=len(PAGE) - 1) == (PAGE[:-1], "size-limit")


@given(st.sampled_from(["gzip", "deflate", "br", "zstd"]), st.binary(max_size=300))
def test_any_octets_end_in_a_verdict(coding: str, wire: bytes) -> None:
    assert read(coding, wire, step=13)[1] in {"", "incomplete", "corrupt", "no-trailer"}


@given(st.binary(max_size=2000), st.integers(1, 400), st.booleans())
def test_zstd_blocks_are_found_wherever_the_wire_splits(data: bytes, step: int, sum_: bool) -> None:
    wire = zstandard.ZstdCompressor(write_checksum=sum_).compress(data)
    assert read("zstd", wire, step=step) == (data, "")


@given(st.binary(max_size=2000), st.data())
def test_a_flipped_or_cut_gzip_never_passes_for_another_page(
    data: bytes, draw: st.DataObject
) -> None:
    wire = bytearray(gzip.compress(data, mtime=0))
    at = draw.draw(st.integers(10, len(wire) - 1))
    wire[at] ^= draw.draw(st.integers(1, 255))
    octets, damage = read("gzip", bytes(wire))
    assert damage or octets == data
