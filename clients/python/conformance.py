"""Runs the list of cases that every client must pass: one JSON line a case on standard output.

    python3 conformance.py CASES.json --socket PATH
    TRL_TOKEN=... python3 conformance.py CASES.json --url http://127.0.0.1:7655

The list itself says what its words mean. ``--offers secrets,approver``: what the runtime was
started with; cases that need more are skipped.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import sys
from typing import Any, Callable, Dict, List, Sequence, cast

import trl

Json = Dict[str, Any]
_DEADLINE_SECONDS = 60.0


class Missed(Exception):
    """What was given is not what was looked for."""


class Case:
    def __init__(self, client: trl.Client, session: trl.Session | None) -> None:
        self._client = client
        self._session = session
        self._known: Json = {} if session is None else {"session": session.id}

    def step(self, step: Json) -> None:
        try:
            given = self._do(step)
        except trl.TrlError as error:
            if step.get("fails") != error.code:
                raise Missed(f"it failed with {error.code}: {error.message}") from error
            self._look(error.data, step.get("data", {}))
            self._keep(error.data, step)
            return
        if "fails" in step:
            raise Missed(f"{step['fails']} was wanted, it gave {json.dumps(given)[:400]}")
        self._look(given, step.get("gives", {}))
        self._keep(given, step)

    def _do(self, step: Json) -> Json:
        options = self._filled(step.get("options", {}))
        if "call" in step:
            return self._client.call(step["call"], self._filled(step["params"]))
        if "attach" in step:
            exec_id, start = self._filled(step["attach"]), step.get("from", 0)
            return _gathered(self._client.attach(exec_id, start, _DEADLINE_SECONDS))
        session = self._of(step)
        if "run" in step:
            return _wire(session.run(step["run"], deadline=_DEADLINE_SECONDS, **options))
        if "start" in step:
            return {"exec_id": session.start(step["start"], **options)}
        with session.stream(step["stream"], deadline=_DEADLINE_SECONDS, **options) as stream:
            return _gathered(stream)

    def _of(self, step: Json) -> trl.Session:
        if "of" in step:
            return self._client.session(self._filled(step["of"]))
        if self._session is None:
            raise Missed("the case has no session")
        return self._session

    def _keep(self, given: Json, step: Json) -> None:
        for name, path in step.get("as", {}).items():
            self._known[name] = _at(given, path)

    def _look(self, given: Json, wanted: Json) -> None:
        for path, one in wanted.items():
            found = _at(given, path)
            if not _fits(found, self._filled(one)):
                raise Missed(f"{path}: {json.dumps(one)} was wanted, got {json.dumps(found)[:400]}")

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("$"):
            return self._known.get(value[1:], value)
        if isinstance(value, list):
            return [self._filled(item) for item in cast("Sequence[Any]", value)]
        if isinstance(value, dict):
            return {key: self._filled(item) for key, item in cast("Json", value).items()}
        return value




def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        items = cast("Sequence[Any]", value if isinstance(value, list) else [])
        fields = cast("Json", value if isinstance(value, dict) else {})
        if part.isdigit() and int(part) < len(items):
            value = items[int(part)]
        elif part in fields:
            value = fields[part]
        else:
            return None
    return value


_TYPES: Dict[str, Callable[[Any], bool]] = {
    "integer": lambda found: isinstance(found, int) and not isinstance(found, bool),
    "string": lambda found: isinstance(found, str),
    "boolean": lambda found: isinstance(found, bool),
}


def _fits(found: Any, wanted: Any) -> bool:
    if not isinstance(wanted, dict):
        return type(found) is type(wanted) and bool(found == wanted)
    return _meets(found, cast("Json", wanted))


def _meets(found: Any, wanted: Json) -> bool:
    length = len(cast("str", found)) if isinstance(found, (str, list)) else None
    if "missing" in wanted:
        return found is None
    if "matches" in wanted:
        return isinstance(found, str) and re.search(wanted["matches"], found) is not None
    if "has" in wanted:
        return length is not None and wanted["has"] in found
    if "length" in wanted:
        return length is not None and length == wanted["length"]
    if "least" in wanted:
        size = cast("object", found) if length is None else length
        return isinstance(size, (int, float)) and size >= wanted["least"]
    return _TYPES[wanted["type"]](found)


def _wire(receipt: trl.Receipt) -> Json:
    """A receipt as the wire has it."""
    answer: Json = {
        **receipt.raw,
        "truncated": receipt.truncated,
        "stdout_omitted_bytes": receipt.stdout_omitted_bytes,
        "stderr_omitted_bytes": receipt.stderr_omitted_bytes,
    }
    for name, data in (("stdout", receipt.stdout_data), ("stderr", receipt.stderr_data)):
        try:
            answer[name] = data.decode()
        except UnicodeDecodeError:
            answer[name] = base64.b64encode(data).decode()
            answer[f"{name}_encoding"] = "base64"
    return answer


def _gathered(stream: trl.Stream) -> Json:
    """Everything of a stream, and whether each event began where the one before ended."""
    first = stream.offset
    position = first
    kept: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
    contiguous = True
    for event in stream:
        if isinstance(event, trl.Output):
            contiguous = contiguous and event.offset == position
            position = event.offset + len(event.data)
            kept[event.stream].append(event.data)
        elif isinstance(event, trl.Gap):
            contiguous = False
            position = event.end
    texts = {name: b"".join(pieces).decode("utf-8", "replace") for name, pieces in kept.items()}
    ends = stream.collect(0).raw
    return {**texts, "offset": first, "next": position, "contiguous": contiguous, "exit": ends}


def _run(client: trl.Client, case: Json) -> str | None:
    """What went wrong, or nothing."""
    session = None
    at = 0
    try:
        if case["session"] is not None:
            session = client.create_session(**case["session"])
        runner = Case(client, session)
        for at, step in enumerate(case["steps"], 1):
            runner.step(step)
    except (Missed, trl.TrlError, TimeoutError) as error:
        return f"step {at}: {error}"
    finally:
        if session is not None:
            try:
                session.destroy(force=True)
            except trl.TrlError as error:
                if error.code != "SESSION_NOT_FOUND":
                    raise
    return None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("--socket")
    parser.add_argument("--url")
    parser.add_argument("--offers", default="")
    given = parser.parse_args()
    offers = given.offers.split(",")
    with open(given.cases, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    token = os.environ.get("TRL_TOKEN") if given.url else None
    failed = 0
    with trl.connect(given.socket, url=given.url, token=token) as client:
        for case in cases:
            line: Json = {"name": case["name"]}
            if "needs" in case and case["needs"] not in offers:
                line["skip"] = f"the runtime offers no {case['needs']}"
            else:
                line["why"] = _run(client, case)
                failed += line["why"] is not None
            print(json.dumps(line), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
