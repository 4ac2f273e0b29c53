"""Python's `mcp` 1.x, from 1.6 on."""

from __future__ import annotations  # what a release does not know is never looked up

import asyncio
import inspect
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator

import mcp.types as types
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.websocket import websocket_client
from steps import ROOT, SAID, Heard, Outcome, command, filled_in, main

try:
    from mcp.client.streamable_http import streamable_http_client as http_client
except ImportError:
    try:
        from mcp.client.streamable_http import streamablehttp_client as http_client
    except ImportError:
        http_client = None  # 1.6 knows no Streamable HTTP


async def _elicit(_context: Any, params: Any) -> types.ElicitResult:
    if params.message == "decline":
        return types.ElicitResult(action="decline")
    return types.ElicitResult(action="accept", content=filled_in(params.requestedSchema))


async def _sample(_context: Any, _params: Any) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text=SAID)
    return types.CreateMessageResult(role="assistant", content=content, model="none", stopReason="endTurn")


async def _roots(_context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri=ROOT, name="project")])


class Peer:
    Error = McpError

    def __init__(self, transport: str, revision: str) -> None:
        self.transport, self.asked = transport, revision
        self.heard = Heard()
        self.on_progress: dict[Any, Any] = {}

    @asynccontextmanager
    async def another(self, target: str) -> AsyncIterator["Peer"]:
        async with connected(self.transport, self.asked, target) as peer:
            yield peer

    async def notice(self, message: Any) -> None:
        notification = getattr(message, "root", None)
        if isinstance(notification, types.ResourceUpdatedNotification):
            self.heard.tell("updated", str(notification.params.uri))
        elif isinstance(notification, types.ToolListChangedNotification):
            self.heard.tell("tools changed", None)
        elif isinstance(notification, types.ProgressNotification):
            if noticed := self.on_progress.get(notification.params.progressToken):
                noticed(notification.params.progress)

    async def log(self, params: Any) -> None:
        self.heard.tell("log", params.data)

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def resources(self) -> list[str]:
        return [str(resource.uri) for resource in (await self.session.list_resources()).resources]

    async def templates(self) -> list[str]:
        return [each.uriTemplate for each in (await self.session.list_resource_templates()).resourceTemplates]

    async def prompts(self) -> list[str]:
        return [prompt.name for prompt in (await self.session.list_prompts()).prompts]

    async def call(self, name: str, arguments: dict[str, Any] | None = None, progress: Any = None) -> Outcome:
        params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
        if progress:
            # By hand, for the first releases know no callback for it.
            token = f"progress-{len(self.on_progress)}"
            self.on_progress[token] = progress
            params["_meta"] = {"progressToken": token}
        request = types.CallToolRequest(method="tools/call", params=types.CallToolRequestParams(**params))
        result = await self.session.send_request(types.ClientRequest(request), types.CallToolResult)
        text = "".join(block.text for block in result.content if block.type == "text")
        return Outcome(text, [block.type for block in result.content], result.isError)

    async def read(self, uri: str) -> str:
        contents = (await self.session.read_resource(types.AnyUrl(uri))).contents
        return contents[0].text if hasattr(contents[0], "text") else contents[0].blob

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        return (await self.session.get_prompt(name, arguments)).messages[0].content.text

    async def complete_prompt(self, name: str, argument: str, value: str) -> list[str]:
        ref = types.PromptReference(type="ref/prompt", name=name)
        return (await self.session.complete(ref, {"name": argument, "value": value})).completion.values

    async def complete_template(self, template: str, argument: str, value: str) -> list[str]:
        # It was renamed on the way.
        reference = getattr(types, "ResourceTemplateReference", None) or types.ResourceReference
        ref = reference(type="ref/resource", uri=template)
        return (await self.session.complete(ref, {"name": argument, "value": value})).completion.values

    async def ping(self) -> None:
        await self.session.send_ping()

    async def set_level(self, level: Any) -> None:
        await self.session.set_logging_level(level)

    @asynccontextmanager
    async def subscription(self, uri: str) -> AsyncIterator[None]:
        await self.session.subscribe_resource(types.AnyUrl(uri))
        yield
        await self.session.unsubscribe_resource(types.AnyUrl(uri))

    @asynccontextmanager
    async def listening_to_tools(self) -> AsyncIterator[None]:
        yield

    async def cancel(self, name: str) -> None:
        began = asyncio.Event()
        request = self.session._request_id  # the next one's
        running = asyncio.create_task(self.call(name, progress=lambda _: began.set()))
        await began.wait()
        params = types.CancelledNotificationParams(requestId=request, reason="not wanted any more")
        cancelled = types.CancelledNotification(method="notifications/cancelled", params=params)
        await self.session.send_notification(types.ClientNotification(cancelled))
        running.cancel()
        await asyncio.wait([running])


@asynccontextmanager
async def connected(transport: str, revision: str, target: str) -> AsyncIterator[Peer]:
    # What it asks for; it accepts every one that it knows.
    types.LATEST_PROTOCOL_VERSION = revision
    peer = Peer(transport, revision)
    if transport == "http":
        streams = http_client(target)
    elif transport == "sse":
        streams = sse_client(target)
    elif transport == "websocket":
        streams = websocket_client(target)
    else:
        program, arguments = command()
        streams = stdio_client(StdioServerParameters(command=program, args=arguments))
    answers = {"sampling_callback": _sample, "list_roots_callback": _roots, "elicitation_callback": _elicit}
    known = inspect.signature(ClientSession).parameters
    answers = {name: answer for name, answer in answers.items() if name in known}
    async with streams as (receive, send, *_):
        session = ClientSession(receive, send, logging_callback=peer.log, message_handler=peer.notice, **answers)
        async with session:
            initialized = await session.initialize()
            peer.session, peer.server = session, initialized.serverInfo.name
            peer.revision = str(initialized.protocolVersion)
            yield peer


if __name__ == "__main__":
    main(connected)
