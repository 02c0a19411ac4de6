"""Pages that take too long or kill their process; their neighbours do not notice."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import psutil
import pytest
import zstandard

from services.common.errors import Retry
from services.common.settings import Parser
from services.parser.document import Task
from services.parser.pool import Pool

ENDLESS = b"<div>" * 200_000
"""lexbor's time grows with the square of the depth: this takes a minute and more."""


def task(body: bytes) -> Task:
    return Task(
        url="http://h.test/",
        body=zstandard.ZstdCompressor().compress(body),
        size=len(body),
        headers=[("content-type", "text/html")],
        agent="Recrawl",
        now=0,
        max_links=100,
        max_text=1000,
    )


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    pool = Pool(Parser(workers=1, page_timeout=1.5))
    yield pool
    await pool.close()


def workers() -> list[psutil.Process]:
    """The parsing processes: children of the fork server, which is a child of ours."""
    found = []
    for child in psutil.Process().children():
        if "forkserver" in " ".join(child.cmdline()):
            found += child.children()
    return found


async def busy_worker(*others: psutil.Process) -> psutil.Process:
    while True:
        for process in workers():
            if process not in others and process.cpu_times().user > 0.2:
                return process
        await asyncio.sleep(0.05)


async def test_a_page_that_takes_too_long_is_given_up_and_the_next_one_read(pool: Pool) -> None:
    """C9: only the text is lost; the pool goes on."""
    slow, good = await asyncio.gather(pool.read(task(ENDLESS)), pool.read(task(b"<p>words")))
    assert (slow.failure, slow.text, good.failure, good.text) == ("parse-timeout", "", "", "words")


async def test_a_page_whose_process_dies_once_keeps_its_body_text_and_links() -> None:
    """C9: the second try does not look for the main text, which is most of the work."""
    pool = Pool(Parser(workers=1, page_timeout=120))
    try:
        body = b"<a href=/next>next</a>" + b"<p>Some words of a long page.</p>" * 100_000
        reading = asyncio.create_task(pool.read(task(body)))
        (await busy_worker()).kill()
        document = await reading
        assert (document.failure, document.text_source) == ("parse-crashed", "body")
        assert [link.url for link in document.links] == ["http://h.test/next"]
    finally:
        await pool.close()


async def test_a_page_that_kills_its_process_twice_is_given_up() -> None:
    pool = Pool(Parser(workers=1, page_timeout=60))
    try:
        reading = asyncio.create_task(pool.read(task(ENDLESS)))
        first = await busy_worker()
        first.kill()
        (await busy_worker(first)).kill()
        assert (await reading).failure == "parse-crashed"
        assert (await pool.read(task(b"<p>words"))).text == "words"
    finally:
        await pool.close()


async def test_a_process_that_dies_idle_is_replaced(pool: Pool) -> None:
    assert (await pool.read(task(b"<p>one"))).text == "one"
    for process in workers():
        process.kill()
    text = ""
    for _ in range(50):
        try:
            text = (await pool.read(task(b"<p>two"))).text
            break
        except Retry:
            await asyncio.sleep(0.1)
    assert text == "two"


async def test_a_fault_of_ours_costs_the_page_its_content_only(pool: Pool) -> None:
    """The service sends no body that its record belies; if one came, it would end nothing."""
    broken = await pool.read(msgspec.structs.replace(task(b"<p>one"), size=3))
    assert broken.failure == "parse-failed"
    assert "DeadLetter" in broken.detail
    assert (await pool.read(task(b"<p>two"))).text == "two"


async def test_a_page_whose_process_is_told_to_end_is_not_at_fault() -> None:
    """E3: whoever ends the process group means us, not the page."""
    pool = Pool(Parser(workers=1, page_timeout=60))
    try:
        reading = asyncio.create_task(pool.read(task(ENDLESS)))
        (await busy_worker()).terminate()
        with pytest.raises(Retry):
            await reading
    finally:
        await pool.close()


async def test_pages_in_work_when_the_pool_closes_are_tried_again() -> None:
    pool = Pool(Parser(workers=1, page_timeout=60))
    reading = asyncio.create_task(pool.read(task(ENDLESS)))
    await busy_worker()
    await pool.close()
    with pytest.raises(Retry):
        await reading


async def test_a_page_that_needs_too_much_memory_is_given_up() -> None:
    hungry = Pool(Parser(workers=1, max_memory=256 << 20, page_timeout=30))
    try:
        many = b"<p>" + b"<b>x</b>" * 2_000_000
        read = await hungry.read(task(many))
        assert read.failure in {"parse-memory", "parse-crashed", "parse-failed"}
        assert (await hungry.read(task(b"<p>words"))).text == "words"
    finally:
        await hungry.close()


async def test_ctrl_c_does_not_reach_the_processes(pool: Pool) -> None:
    await pool.read(task(b"<p>one"))
    for process in workers():
        process.send_signal(signal.SIGINT)
    assert (await pool.read(task(b"<p>two"))).text == "two"


SCRIPT = """
import asyncio, os, sys
sys.path.insert(0, {root!r})
from services.common.errors import Retry
from services.common.settings import Parser
from services.parser.pool import Pool
from services.parser.document import Task

async def main():
    pool = Pool(Parser(workers=2))
    await pool.read(Task(url="http://h.test/", body=b"", size=0, headers=[], agent="x", now=0,
                         max_links=1, max_text=1000))
    print("ready", flush=True)
    await asyncio.sleep(60)

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_the_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    """E3: nothing is left behind by kill -9."""
    script = tmp_path / "parent.py"
    script.write_text(SCRIPT.format(root=str(Path(__file__).parents[2])))
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout:
        assert parent.stdout.readline() == b"ready\n"
        children = psutil.Process(parent.pid).children(recursive=True)
        assert len(children) >= 3  # fork server, resource tracker, two workers
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []
