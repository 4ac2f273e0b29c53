"""The steps that a Python client goes through, whatever its SDK calls them.

`python CLIENT.py TRANSPORT REVISION STEP...` prints `PASSED STEP` or `FAILED STEP: why` for each, in the order of
`STEPS`. A client gives `main` a way to connect; what that yields has the methods of `Peer`. The environment says what
there is to meet: TARGET (a URL, or a command as a JSON list), OFFER (a file: what the server offers), WATCHED (a served
file to write to), CUT (TARGET, with answers that break off), METRICS (what the entrances' operators look at).
"""

import asyncio
import json
import os
import re
import sys
import time
import traceback
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import anyio

# How long a step may take, in seconds. A client that waits in vain is given up after this.
PATIENCE = 30

MODERN = "2026-07-28"
OFFER = json.loads(Path(os.environ["OFFER"]).read_text())
WATCHED = Path(os.environ["WATCHED"])
ROOT = "file:///home/ada/project"
SAID = "The model says so."


@dataclass
class Outcome:
    """What a tool returned."""

    text: str
    kinds: list[str]
    failed: bool


class Heard:
    """What the server told on its own account, by kind."""

    def __init__(self) -> None:
        self._told: list[tuple[str, Any]] = []
        self._news = asyncio.Event()

    def tell(self, kind: str, what: Any) -> None:
        self._told.append((kind, what))
        self._news.set()

    def of(self, kind: str) -> list[Any]:
        return [what for its_kind, what in self._told if its_kind == kind]

    async def until(self, kind: str, enough: Callable[[list[Any]], bool]) -> list[Any]:
        while not enough(self.of(kind)):
            self._news.clear()
            await self._news.wait()
        return self.of(kind)


def command() -> tuple[str, list[str]]:
    """The program that speaks over standard input and output, and its arguments."""
    program, *arguments = json.loads(os.environ["TARGET"])
    return program, arguments


def filled_in(schema: dict[str, Any]) -> dict[str, Any]:
    """A form, filled in: with the default, the last choice, or something of the type that is asked for."""
    form = {}
    for name, field in schema.get("properties", {}).items():
        items = field.get("items", field)
        choices = items.get("enum") or [choice["const"] for choice in items.get("oneOf", items.get("anyOf", []))]
        one = choices[-1] if choices else {"string": "Ada", "boolean": True, "integer": 1, "number": 1.5}.get(field["type"])
        form[name] = field.get("default", [one] if field["type"] == "array" else one)
    return form


def same(what: Any, expected: Any) -> None:
    if what != expected:
        raise AssertionError(f"got {what!r}, not {expected!r}")


def holds(what: Any, *parts: Any) -> None:
    missing = [part for part in parts if part not in what]
    if missing:
        raise AssertionError(f"{missing!r} is not in {what!r}")


async def connect(peer: Any) -> None:
    same(peer.revision, peer.wanted)
    same(peer.server, "switchyard")


async def list_all(peer: Any) -> None:
    holds(await peer.tools(), *OFFER["tools"])
    holds(await peer.resources(), *OFFER["resources"], WATCHED.as_uri())
    holds(await peer.templates(), *OFFER["templates"])
    holds(await peer.prompts(), *OFFER["prompts"])


async def call(peer: Any) -> None:
    tool = OFFER["call"]
    same(await peer.call(tool["name"], tool["arguments"]), Outcome(tool["text"], ["text"], False))


async def content(peer: Any) -> None:
    same((await peer.call("test_multiple_content_types")).kinds, ["text", "image", "resource"])
    same((await peer.call("test_image_content")).kinds, ["image"])
    # What a client of 2024-11-05 cannot take is described to it.
    same((await peer.call("test_audio_content")).kinds, ["text" if peer.wanted == "2024-11-05" else "audio"])


async def error(peer: Any) -> None:
    if OFFER["fails"]:
        same((await peer.call(OFFER["fails"])).failed, True)
    same(await code_of(peer, peer.call("no_such_tool")), -32602)
    same(await code_of(peer, peer.read("file:///no/such/file")), -32602 if peer.wanted == MODERN else -32002)


async def code_of(peer: Any, request: Any) -> int:
    try:
        answer = await request
    except peer.Error as error:
        return error.error.code
    raise AssertionError(f"it was answered: {answer!r}")


async def read(peer: Any) -> None:
    for uri, text in OFFER["texts"].items():
        same(await peer.read(uri), text)
    same(await peer.read(WATCHED.as_uri()), WATCHED.read_text())


async def prompt(peer: Any) -> None:
    prompt = OFFER["prompt"]
    holds(await peer.prompt(prompt["name"], prompt["arguments"]), prompt["text"])


async def complete(peer: Any) -> None:
    same(await peer.complete_prompt("test_prompt_with_arguments", "arg1", "pa"), ["paris", "park", "party"])
    same(await peer.complete_template("test://template/{id}/data", "id", "12"), ["12", "123"])


async def ping(peer: Any) -> None:
    await peer.ping()


async def progress(peer: Any) -> None:
    heard = Heard()
    await peer.call("test_tool_with_progress", progress=lambda progress: heard.tell("progress", progress))
    same(await heard.until("progress", lambda told: len(told) >= 3), [0, 50, 100])


async def log(peer: Any) -> None:
    await peer.set_level("debug")
    await peer.call("test_tool_with_logging")
    told = await peer.heard.until("log", lambda told: len(told) >= 3)
    same(told, ["Tool execution started", "Tool processing data", "Tool execution completed"])


async def elicit(peer: Any) -> None:
    answered = await peer.call("test_elicitation", {"message": "Who are you?"})
    same(answered.text, 'User response: action=accept, content={"username":"Ada","email":"Ada"}')
    declined = await peer.call("test_elicitation", {"message": "decline"})
    holds(declined.text, "action=decline")


async def choose(peer: Any) -> None:
    kept = await peer.call("test_elicitation_sep1034_defaults")
    holds(kept.text, '"name":"John Doe"', '"age":30', '"score":95.5', '"status":"active"', '"verified":true')
    chosen = await peer.call("test_elicitation_sep1330_enums")
    holds(chosen.text, '"titledSingle":"value3"', '"legacyEnum":"opt3"', '"titledMulti":["value3"]')


async def sample(peer: Any) -> None:
    same((await peer.call("test_sampling", {"prompt": "Is it so?"})).text, f"LLM response: {SAID}")


async def roots(peer: Any) -> None:
    said = await peer.call("test_input_required_result_list_roots")
    same(said.text, "The client works in 1 directories.")


async def rounds(peer: Any) -> None:
    same((await peer.call("test_input_required_result_multi_round")).text, '"Ada" likes "Ada".')
    same((await peer.call("test_input_required_result_multiple_inputs")).text, "There are three answers.")
    holds((await peer.call("test_input_required_result_request_state")).text, "state-ok")
    holds(await peer.prompt("test_input_required_result_prompt", {}), "It is about")


async def subscribe(peer: Any) -> None:
    uri = WATCHED.as_uri()
    async with peer.subscription(uri):
        fresh = f"Written by process {os.getpid()}, after it subscribed.\n"
        draft = WATCHED.with_name(f".{WATCHED.name}")
        draft.write_text(fresh)
        draft.rename(WATCHED)
        # News may still be of how it was made, before.
        while await peer.read(uri) != fresh:
            await peer.heard.until("updated", lambda told, seen=len(peer.heard.of("updated")): len(told) > seen)
        await peer.heard.until("updated", lambda told: uri in told)


async def changed(peer: Any) -> None:
    async with peer.listening_to_tools():
        await peer.call("test_trigger_tool_change")
        await peer.heard.until("tools changed", bool)


async def cancel(peer: Any) -> None:
    await peer.cancel("test_until_cancelled")
    # They are asked again and again, for nobody tells of it.
    while await asyncio.to_thread(calls_in_flight):
        await asyncio.sleep(0.05)
    await call(peer)


def calls_in_flight() -> int:
    """How many calls run at services, for all the entrances, beside the one by which each follows changes."""
    calls = 0
    for url in os.environ["METRICS"].split():
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            text = answer.read().decode()
        calls += sum(map(int, re.findall(r"^switchyard_bus_calls_in_flight\{.*\} (\d+)$", text, re.MULTILINE))) - 1
    return calls


async def resume(peer: Any) -> None:
    async with peer.another(os.environ["CUT"]) as cut_off:
        said = await cut_off.call("test_reconnection")
    same(said.text, "Came through, on whichever stream.")


STEPS: dict[str, Callable[[Any], Any]] = {
    "connect": connect, "list": list_all, "call": call, "content": content, "error": error, "read": read,
    "prompt": prompt, "complete": complete, "ping": ping, "progress": progress, "log": log, "elicit": elicit,
    "choose": choose, "sample": sample, "roots": roots, "rounds": rounds, "subscribe": subscribe, "changed": changed,
    "cancel": cancel, "resume": resume,
}  # fmt: skip


def why(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".replace("\n", " ")


async def _run(connected: Callable[..., Any], transport: str, revision: str, wanted: list[str]) -> None:
    async with connected(transport, revision, os.environ["TARGET"]) as peer:
        peer.wanted = revision
        for name, step in STEPS.items():
            if name not in wanted:
                continue
            began = time.monotonic()
            try:
                with anyio.fail_after(PATIENCE):
                    await step(peer)
                print(f"PASSED {name}", flush=True)
                print(f"{name} took {time.monotonic() - began:.2f} s", file=sys.stderr)
            except Exception as error:
                print(f"FAILED {name}: {why(error)}", flush=True)
                traceback.print_exc()


def main(connected: Callable[..., Any]) -> None:
    """Goes through the steps that the command line names, with the peer that `connected` yields."""
    transport, revision, *wanted = sys.argv[1:]
    try:
        asyncio.run(_run(connected, transport, revision, wanted))
        print("PASSED close")
    except BaseException as error:
        # Either it never was connected, or the client did not take the end well.
        print(f"FAILED close: {why(error)}")
        raise
